"""The market-data stream: one connection for all symbols that the consumers of a client ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import attrs

from .._arguments import running_loop
from .._generated.models import MarketSession
from .._secrets import Secret
from ..errors import StreamRefusedError
from ..http.websocket import WebSocket
from ..protocol.streams.channel import MAX_MESSAGE, Feed, Interruption, Subscription
from ..protocol.streams.dxlink import DX_TIMING, DxLinkConnection
from ..protocol.streams.events import INDEXED, MARKET_EVENTS, Rows, Snapshot, UnknownEvent
from ..protocol.streams.liveliness import Pulse
from ..protocol.timetable import is_open, timetable_range
from .consumer import Policy, Sink, Tape
from .link import CONNECT_TIMEOUT, STALE, Link, RenewalDue, StreamAccess, logger

REFRESH_INTERVAL = 3600.0  # seconds after which a timetable is read again
RETRY_DELAY = 60.0  # seconds to wait after a failure to read it
READ_TIMEOUT = 5.0  # maximum seconds to read it


def collection_of(symbol: str) -> str | None:
    """Return the collection whose hours a streamer symbol has. None for cryptocurrencies, which have none.

    The sessions of futures are the exchange's. A product may have shorter ones.
    """
    symbol = symbol.partition("{")[0]
    if symbol.startswith(("/", "./")):
        return "CFE" if symbol.endswith(":XCBF") else "CME"
    return None if ":" in symbol else "Equity"


class TradingHours:
    """Timetables of the markets, kept for an hour."""

    def __init__(self, access: StreamAccess) -> None:
        self._access = access
        self._sessions: dict[str, list[MarketSession] | None] = {}
        self._read_again: dict[str, float] = {}

    async def was_open(self, symbol: str, seconds: float) -> bool | None:
        """Return whether the market of a symbol has been open for some seconds, None if it cannot be known."""
        collection = collection_of(symbol)
        if collection is None:
            return True
        clock = running_loop().time
        if clock() >= self._read_again.get(collection, float("-inf")):
            first, last = timetable_range(self._access.now())
            try:
                async with asyncio.timeout(READ_TIMEOUT):
                    self._sessions[collection] = await self._access.endpoints.market_time.sessions(
                        last, from_date=first, instrument_collection=collection
                    )
            except Exception as error:  # nothing of it may end the stream
                logger.warning("reading the market timetable failed: %s", type(error).__name__)
                self._read_again[collection] = clock() + RETRY_DELAY
            else:
                self._read_again[collection] = clock() + REFRESH_INTERVAL
        if (sessions := self._sessions.get(collection)) is None:
            return None
        now = self._access.now()
        then = now - timedelta(seconds=seconds)
        return any(is_open([session], then) and is_open([session], now) for session in sessions)


TOKEN_LIFETIME = 24 * 3600.0  # seconds for which a quote token serves, unless it says when it expires
RENEWAL_MARGIN = 600.0  # seconds before its end at which a quote token is renewed
MIN_LIFETIME = 60.0  # minimum seconds for which a connection serves, whatever its token says
SAMPLE = 5.0  # seconds between two looks at which subscriptions had events
AGGREGATION = 0.1  # seconds over which the service may merge events, unless a stream says otherwise
MAX_WAIT = 10.0  # seconds after which symbols without any event are named in a warning

AUTO, HISTORY = "AUTO", "HISTORY"

CAREFUL_MESSAGE = 400
"""Bytes of subscriptions in one message after the service has sent one that was too large: about ten."""

Key = tuple[type[Any], str, str, float | None, bool]


def key_of(subscription: Subscription) -> Key:
    """Return model, symbol, contract, aggregation period and form of the events of a subscription.

    A series is the same under ``AUTO`` and ``HISTORY``.
    """
    kind, contract, aggregation, as_rows = subscription.feed
    return MARKET_EVENTS[kind], subscription.symbol, AUTO if contract == HISTORY else contract, aggregation, as_rows


class QuoteSink(Sink):
    """Sink for the events of some subscriptions, or for their rows if it has a tape."""

    __slots__ = ("subscriptions", "tape")

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        super().__init__(policies)
        self.subscriptions: dict[Key, Subscription] = {}
        self.tape: Tape | None = None


class QuoteLink(Link[DxLinkConnection, QuoteSink]):
    """Connection to the market-data stream.

    ``history_turn`` is held while a history has subscriptions to candles, of which the service takes few at a time.
    """

    def __init__(self, access: StreamAccess) -> None:
        super().__init__("market-data stream", access)
        self._routes: dict[Key, list[QuoteSink]] = {}
        self._last: dict[Key, Any] = {}
        self._contracts: dict[Key, str] = {}  # of series that were empty under theirs
        self._renew_at = 0.0
        self._seen: set[Key] = set()  # subscriptions that had an event since the last sample
        self._unheard: dict[str, float | None] = {}  # symbols without any event, and since when they could have one
        self._pulse = Pulse[Key]()
        self._sample_at = 0.0
        self._stale: list[Key] = []
        self._hours = TradingHours(access)
        self.history_turn: asyncio.Lock = asyncio.Lock()

    # Subscriptions of consumers

    def add(self, sink: QuoteSink, subscriptions: Iterable[Subscription]) -> None:
        """Subscribe a consumer, attached or not. A subscription that it has already is replaced."""
        for each in subscriptions:
            sink.subscriptions[key_of(each)] = each
            if sink in self._sinks:
                self._route(sink, each)
        self._must_send()

    def remove(self, sink: QuoteSink, subscriptions: Iterable[Subscription]) -> None:
        """End subscriptions of a consumer. Unknown ones are ignored."""
        for each in subscriptions:
            if sink.subscriptions.pop(key_of(each), None) is not None and sink in self._sinks:
                self._unroute(sink, each)
        self._must_send()

    def _subscribe(self, sink: QuoteSink) -> None:
        for each in sink.subscriptions.values():
            self._route(sink, each)

    def _unsubscribe(self, sink: QuoteSink) -> None:
        for each in sink.subscriptions.values():
            self._unroute(sink, each)

    def _route(self, sink: QuoteSink, subscription: Subscription) -> None:
        """Hand the events of a subscription to a consumer, too.

        The first consumer subscribes. A later one gets the last event at once, and a snapshot by a new subscription.
        """
        key = key_of(subscription)
        sinks = self._routes.setdefault(key, [])
        is_first = not sinks
        if is_first:
            self._unheard.setdefault(key[1], None)
        if sink not in sinks:
            sinks.append(sink)
        if sink.tape is not None:
            sink.tape.want(subscription.type, key[1])
        if is_first or key[0] in INDEXED or sink.tape is not None:
            if self._connection is not None:
                self._connection.add([self._merged(key)])
        elif (last := self._last.get(key)) is not None:
            sink.put(last)

    def _unroute(self, sink: QuoteSink, subscription: Subscription) -> None:
        key = key_of(subscription)
        sinks = self._routes.get(key, [])
        if sink in sinks:
            sinks.remove(sink)
        if sink.tape is not None:
            sink.tape.leave(subscription.type, key[1])
        if not sinks and self._routes.pop(key, None) is not None:
            self._last.pop(key, None)
            self._contracts.pop(key, None)
            self._pulse.forget([key])
            self._unheard.pop(key[1], None)
            if self._connection is not None:
                self._connection.remove([subscription])

    def _merged(self, key: Key) -> Subscription:
        """Return the subscription that serves all consumers of a key: from the earliest start."""
        wanted = [sink.subscriptions[key] for sink in self._routes[key]]
        starts = [each.from_time for each in wanted if each.from_time is not None]
        contract = wanted[0].contract
        if contract in (AUTO, HISTORY):
            contract = self._contracts.get(key, HISTORY if starts else AUTO)
        return attrs.evolve(wanted[0], from_time=min(starts, default=None), contract=contract)

    def _must_send(self) -> None:
        self._is_ready = False
        self._wake.set()

    # Life of the connection

    async def _open(self) -> tuple[WebSocket, DxLinkConnection]:
        token = await self.access.endpoints.market_data.quote_token()
        url = self.access.checked(token.dxlink_url or "")
        lifetime = TOKEN_LIFETIME
        if token.expires_at is not None:
            lifetime = (token.expires_at - self.access.now()).total_seconds()
        socket = await self.access.open_socket(url, CONNECT_TIMEOUT)
        now = asyncio.get_running_loop().time()
        self._renew_at = now + max(min(lifetime, TOKEN_LIFETIME) - RENEWAL_MARGIN, MIN_LIFETIME)
        connection = DxLinkConnection(
            Secret(token.token or ""),
            now=now,
            timing=DX_TIMING,
            aggregation=AGGREGATION,
            strict=self.access.strict,
            max_message=CAREFUL_MESSAGE if self._is_careful else MAX_MESSAGE,
        )
        connection.add(self._merged(key) for key in self._routes)
        return socket, connection

    async def _messages(self, connection: DxLinkConnection) -> Sequence[Secret]:
        now = asyncio.get_running_loop().time()
        if now >= self._renew_at:
            raise RenewalDue
        if now >= self._sample_at:
            await self._check_pulse(now)
        return connection.send(now)

    def _next_due(self, connection: DxLinkConnection) -> float:
        return min(connection.due, self._renew_at, self._sample_at)

    def _dispatch(self, source: Feed | None, events: list[Any]) -> None:
        routes, last, seen = self._routes, self._last, self._seen
        _, contract, aggregation, as_rows = source or ("", AUTO, None, False)
        contract = AUTO if contract == HISTORY else contract
        for event in events:
            kind = event.__class__
            if kind is Rows:
                for sink in self._sinks:
                    if sink.tape is not None and sink.tape.feed == (contract, aggregation):
                        sink.tape.put(event)
                        if sink.tape.is_ready:
                            sink.wake()
                continue
            if kind is Snapshot:
                key = (event.type, event.symbol, contract, aggregation, as_rows)
                sinks = routes.get(key, ())
                seen.add(key)
                if (not event.events and sinks and self._tries_other_contract(key)) or as_rows:
                    continue
            elif kind is UnknownEvent:
                sinks = [sink for sink in self._sinks if sink.tape is None]
            else:
                key = (kind, event.event_symbol, contract, aggregation, as_rows)
                sinks = routes.get(key, ())
                seen.add(key)
                if sinks and kind not in INDEXED:
                    last[key] = event
            for sink in sinks:
                sink.put(event)

    def _listen(self) -> None:
        """Note the subscriptions that have brought rows."""
        for tape in [sink.tape for sink in self._sinks if sink.tape is not None]:
            contract, aggregation = tape.feed
            for kind, symbol in tape.heard():
                key = key_of(Subscription(kind, symbol, None, contract, aggregation, True))
                self._seen.add(key)
                if key in self._routes and key[0] not in INDEXED:
                    self._last[key] = True  # no event, but the subscription is no longer in doubt

    def _check_ready(self, connection: DxLinkConnection) -> None:
        while connection.interruptions:
            self._settle(connection.interruptions.pop(0))
            self._is_ready = False  # the gap is delivered once everything is subscribed again
        super()._check_ready(connection)

    def _tries_other_contract(self, key: Key) -> bool:
        """Subscribe to a series under the other contract, once, after an empty snapshot under the first one.

        Under the wrong contract the service answers with an empty snapshot, and one report alone says which is right.
        """
        merged = self._merged(key)
        if self._connection is None or merged.from_time is None or key in self._contracts:
            return False
        self._contracts[key] = AUTO if merged.contract == HISTORY else HISTORY
        self._connection.add([self._merged(key)])
        self._must_send()
        return True

    def _settle(self, it: Interruption) -> None:
        """End the streams whose subscriptions are refused. The others of the feed get a gap.

        An error does not name its subscription: those in doubt went out shortly before and have brought no event.
        """
        self._listen()
        kind, contract, aggregation, as_rows = it.feed
        of_feed = [
            key
            for key in self._routes
            if key == key_of(Subscription(kind, key[1], None, contract, aggregation, as_rows))
        ]
        refused: dict[QuoteSink, list[str]] = {}
        for key in sorted(of_feed, key=lambda key: key[1]):
            if key[1] in it.symbols and key not in self._last:
                for sink in self._routes[key]:
                    refused.setdefault(sink, []).append(key[1])
        for sink, symbols in refused.items():
            names = ", ".join(symbols[:10]) + ", ..." * (len(symbols) > 10)
            reason = f"the market-data stream refused {kind} of {names}: {it.reason}"
            sink.fail(StreamRefusedError(reason, code=it.code))
            self.detach(sink)
        self._interrupt({sink: None for key in of_feed for sink in self._routes.get(key, ())}, it.reason)
        for key in of_feed:
            self._last.pop(key, None)

    def _lose(self, reason: str, since: float | None) -> None:
        self._last.clear()  # a later consumer must not take these for the present state
        self._seen.clear()
        self._unheard = dict.fromkeys(self._unheard)
        mute = () if reason != STALE else [key for key in self._stale if key in self._routes and key[0] not in INDEXED]
        self._pulse.renew(mute, asyncio.get_running_loop().time())
        super()._lose(reason, since)

    async def _check_pulse(self, now: float) -> None:
        """Raise `RenewalDue` when a lively subscription fell silent while its market is open."""
        self._listen()
        for key in self._seen if self._unheard else ():
            self._unheard.pop(key[1], None)
        unheard = [symbol for symbol, since in self._unheard.items() if since is not None and now >= since + MAX_WAIT]
        for symbol in unheard:  # they are named once: the service may not know them
            del self._unheard[symbol]
        if unheard:
            names = ", ".join(unheard[:10]) + f" and {len(unheard) - 10} more" * (len(unheard) > 10)
            logger.warning("market-data stream: no event within %g s: %s (unknown, or not traded?)", MAX_WAIT, names)
        if self._is_ready:
            self._unheard = {symbol: now if since is None else since for symbol, since in self._unheard.items()}
        self._pulse.note(self._seen & self._routes.keys(), now)
        self._seen.clear()
        self._sample_at = now + SAMPLE
        mute = self._pulse.mute(now)
        for key, since in list(mute.items()):
            was_open = await self._hours.was_open(key[1], now - since)
            if was_open is False:
                self._pulse.forget([key])
            if not was_open or key in self._seen:
                del mute[key]
        if mute:
            names = ", ".join(sorted({f"{key[0].__name__} of {key[1]}" for key in mute})[:10])
            logger.warning("market-data stream: no event for %.0f s: %s", now - min(mute.values()), names)
            self._stale = list(mute)
            raise RenewalDue(STALE, min(mute.values()) - SAMPLE)
