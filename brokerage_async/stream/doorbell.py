"""Doorbell: a function is called after each event, so that a watcher polls sooner than it would otherwise."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, SlowConsumerError
from ..http.concurrency import end
from ..protocol.streams.events import AccountEvent, Gap
from ..protocol.streams.timing import Found
from .access import StreamAccess

logger: logging.Logger = logging.getLogger("brokerage_async.stream")

RETRY_AFTER = 60.0
"""Seconds without a stream after one has ended, while polling alone goes on."""

ALERT, ORDER = "QuoteAlert", "Order"

GRACE = 10.0
"""Seconds by which an event may come later than the change in the list."""


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

    def judge(since: float) -> None:
        if last < since:
            renew(since)

    def found(since: float) -> None:
        timers.difference_update([timer for timer in timers if timer.when() <= loop.time()])
        timers.add(loop.call_later(GRACE, judge, since))

    task = loop.create_task(listen(), name="brokerage_async doorbell")
    try:
        yield found if ORDER in events else None
    finally:
        for timer in timers:
            timer.cancel()
        await end(task)
