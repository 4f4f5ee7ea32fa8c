"""The account stream: one connection for all accounts that the consumers of a client ask for, and its doorbells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from .._secrets import Secret
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, SlowConsumerError, StreamRefusedError
from ..http.concurrency import end
from ..http.websocket import WebSocket
from ..protocol.streams.account import TOKEN_REFUSED, AccountConnection
from ..protocol.streams.events import AccountEvent, Gap
from ..protocol.streams.timing import Found
from .consumer import Fail, Sink
from .link import CONNECT_TIMEOUT, STALE, Link, RenewalDue, StreamAccess, logger

MIN_RENEWAL = 300.0  # minimum seconds between two connections that are given up as stale

ALERT, ORDER, WATCHLIST = "QuoteAlert", "Order", "PublicWatchlists"


class AccountSink(Sink):
    """Sink for the events of some accounts, and for alerts and public watchlists if wanted."""

    __slots__ = ("accounts", "alerts", "watchlists")

    def __init__(self, accounts: frozenset[str], *, alerts: bool = False, watchlists: bool = False, limit: int) -> None:
        super().__init__({AccountEvent: Fail(limit=limit)})  # none is ever dropped
        self.accounts: frozenset[str] = accounts
        self.alerts: bool = alerts
        self.watchlists: bool = watchlists

    def wants(self, event: AccountEvent) -> bool:
        """Return whether the consumer asked for the event. Events of unknown types go to all."""
        if event.type == ALERT:
            return self.alerts
        if event.type == WATCHLIST:
            return self.watchlists
        number = event.account_number
        return number is None or number in self.accounts


class AccountLink(Link[AccountConnection, AccountSink]):
    """Connection to the account stream. The service has no word for ending a subscription."""

    def __init__(self, access: StreamAccess) -> None:
        super().__init__("account stream", access)
        self._token: Secret | None = None
        self._stale_since: float | None = None
        self._renewed_at = float("-inf")

    def renew(self, since: float) -> None:
        """Reopen the connection, as stale since a time, unless that was done shortly before."""
        now = asyncio.get_running_loop().time()
        if self.is_ready and now >= self._renewed_at + MIN_RENEWAL:
            logger.warning("account stream: an order changed without an event since %.0f s", now - since)
            self._renewed_at, self._stale_since = now, since
            self._wake.set()

    async def _open(self) -> tuple[WebSocket, AccountConnection]:
        url = self.access.account_url()
        await self.access.token()  # fetched before the connection is open, so that it need not wait
        socket = await self.access.open_socket(url, CONNECT_TIMEOUT)
        connection = AccountConnection(
            self._accounts(),
            alerts=any(sink.alerts for sink in self._sinks),
            watchlists=any(sink.watchlists for sink in self._sinks),
            now=asyncio.get_running_loop().time(),
            source=self.access.user_agent,
            strict=self.access.strict,
        )
        return socket, connection

    async def _messages(self, connection: AccountConnection) -> Sequence[Secret]:
        now = asyncio.get_running_loop().time()
        if (since := self._stale_since) is not None:
            self._stale_since = None
            raise RenewalDue(STALE, since)
        if not connection.must_send and now < connection.due:
            return ()
        self._token = await self.access.token()
        return connection.send(self._token, asyncio.get_running_loop().time())

    def _dispatch(self, source: Any, events: list[Any]) -> None:
        for event in events:
            for sink in self._sinks:
                if sink.wants(event):
                    sink.put(event)

    def _subscribe(self, sink: AccountSink) -> None:
        if self._connection is not None:
            self._connection.want(self._accounts(), alerts=sink.alerts, watchlists=sink.watchlists)

    def _check_ready(self, connection: AccountConnection) -> None:
        if connection.rejected:
            for sink in list(self._sinks):
                if missing := sink.accounts & connection.rejected:
                    names = ", ".join(sorted(missing))
                    sink.fail(StreamRefusedError(f"the account stream did not accept {names}", code="not_accepted"))
                    self.detach(sink)
        super()._check_ready(connection)

    def _refused(self, error: StreamRefusedError) -> None:
        if self._token is not None and error.code == TOKEN_REFUSED:
            self.access.session.engine.tokens.invalidate(self._token)

    def _accounts(self) -> frozenset[str]:
        return frozenset[str]().union(*(sink.accounts for sink in self._sinks))


RETRY_AFTER = 60.0  # seconds without a stream after one has ended, while polling alone goes on
GRACE = 10.0  # seconds by which an event may come later than the change in the list


@asynccontextmanager
async def ringing(
    stream_of: Callable[..., Any],
    renew: Callable[[float], None],
    access: StreamAccess,
    accounts: frozenset[str] | None,
    events: frozenset[str],
    ring: Callable[[], None],
) -> AsyncIterator[Found | None]:
    """Call ``ring`` after each event of the types ``events``, and after each gap, while the context is open.

    The events come from the stream that ``stream_of`` makes for accounts. A change of an order that no event announces,
    within some seconds, shows that it is mute: ``renew`` reopens its connection, given the time since when one is
    missing. Other lists change without events, as prices do.
    """
    loop = asyncio.get_running_loop()
    last, timers = float("-inf"), set[asyncio.TimerHandle]()

    def rung() -> None:
        nonlocal last
        last = loop.time()
        ring()

    async def listen() -> None:
        numbers = None if accounts is None else sorted(accounts)
        while True:
            try:
                if numbers is None:
                    owned = await access.endpoints.accounts.list("me")  # nothing is sent before one is connected
                    numbers = [
                        each.account.account_number for each in owned if each.account and each.account.account_number
                    ]
                stream = stream_of(numbers, alerts=ALERT in events)
                try:
                    async for event in stream:
                        if isinstance(event, Gap) or (isinstance(event, AccountEvent) and event.type in events):
                            rung()
                finally:
                    stream.leave()  # no result waits until the connection is closed
            except SlowConsumerError:
                rung()
            except Exception as error:  # a transport may raise anything
                task = asyncio.current_task()
                if access.session.engine.closed or (task is not None and task.cancelling()):
                    return  # an error in place of a cancellation must not hold the searcher
                reason = str(error) if isinstance(error, BrokerageError) else type(error).__name__
                logger.warning("push is not available, polling goes on alone: %s", reason)
                if isinstance(error, ConfigurationError | InvalidRequestError):
                    return
                await asyncio.sleep(RETRY_AFTER)

    def found(since: float) -> None:
        timers.difference_update([timer for timer in timers if timer.when() <= loop.time()])
        timers.add(loop.call_later(GRACE, lambda: renew(since) if last < since else None))

    task = loop.create_task(listen(), name="brokerage_async doorbell")
    try:
        yield found if ORDER in events else None
    finally:
        for timer in timers:
            timer.cancel()
        await end(task)
