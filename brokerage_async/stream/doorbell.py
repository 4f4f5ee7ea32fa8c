"""Doorbell: a function is called after each event, so that a watcher polls sooner than it would otherwise."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, SlowConsumerError
from ..protocol.streams.events import AccountEvent, Gap
from .access import StreamAccess

__all__ = ["Doorbell", "ringing"]

logger: logging.Logger = logging.getLogger("brokerage_async.stream")

RETRY_AFTER = 60.0
"""Seconds without a stream after one has ended, while polling alone goes on."""

ALERT = "QuoteAlert"

Doorbell = Callable[[Callable[[], None]], AbstractAsyncContextManager[None]]
"""Calls the given function after each event while the context is open."""


class AccountStreams(Protocol):
    """Source of account streams."""

    def account(self, account_numbers: Sequence[str], *, alerts: bool = False) -> Any:
        """Return a stream of the events of accounts."""
        ...


@asynccontextmanager
async def ringing(
    streams: AccountStreams,
    access: StreamAccess,
    accounts: frozenset[str] | None,
    events: frozenset[str],
    ring: Callable[[], None],
) -> AsyncIterator[None]:
    """Call ``ring`` after each event of the types ``events``, and after each gap, while the context is open."""
    task = asyncio.get_running_loop().create_task(_listen(streams, access, accounts, events, ring), name="doorbell")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _listen(
    streams: AccountStreams,
    access: StreamAccess,
    accounts: frozenset[str] | None,
    events: frozenset[str],
    ring: Callable[[], None],
) -> None:
    numbers = None if accounts is None else sorted(accounts)
    while True:
        try:
            if numbers is None:
                numbers = await _own_accounts(access)
            stream = streams.account(numbers, alerts=ALERT in events)
            try:
                async for event in stream:
                    if isinstance(event, Gap) or (isinstance(event, AccountEvent) and event.type in events):
                        ring()
            finally:
                stream.leave()  # no result waits until the connection is closed
        except SlowConsumerError:
            ring()
        except Exception as error:  # a transport may raise anything
            if access.is_closed or _is_cancelled():  # an error in place of a cancellation must not hold the searcher
                return
            reason = str(error) if isinstance(error, BrokerageError) else type(error).__name__
            logger.warning("push is not available, polling goes on alone: %s", reason)
            if isinstance(error, ConfigurationError | InvalidRequestError):
                return
            await asyncio.sleep(RETRY_AFTER)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _own_accounts(access: StreamAccess) -> list[str]:
    """Return the accounts of the user, because the service sends nothing before one is connected."""
    found = await access.endpoints.accounts.list("me")
    return [each.account.account_number for each in found if each.account and each.account.account_number]
