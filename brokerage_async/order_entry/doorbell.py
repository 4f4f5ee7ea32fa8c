"""Push in searches: an event of the account stream brings the next look forward, and decides nothing.

An early look may find an order. If it does not, it counts for nothing: the polls of the policy come at their times, and
absence follows from them alone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from ..protocol.streams.timing import LookBudget

__all__ = ["ORDER_EVENTS", "Doorbell", "Doorbells", "EarlyLooks", "early_looks"]

ORDER_EVENTS: frozenset[str] = frozenset({"Order", "ComplexOrder"})

MIN_EARLY = 0.05
"""Seconds by which a look must come earlier than the next poll, which ends it: a later one could not finish."""

Doorbell = Callable[[Callable[[], None]], AbstractAsyncContextManager[object]]
"""Calls the given function after each event while the context is open."""


class Doorbells(Protocol):
    """Source of doorbells: the streams of a client."""

    def check_account(self) -> None:
        """Raise ConfigurationError if the client cannot stream."""
        ...

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Doorbell:
        """Return a doorbell for events of these types."""
        ...


class EarlyLooks:
    """Looks that events bring forward in one search: one for each burst, and few in the long run."""

    def __init__(self) -> None:
        self._budget = LookBudget(rate=0.5)
        self._rung = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def ring(self) -> None:
        """Look soon, because of an event."""
        loop = asyncio.get_running_loop()
        if (when := self._budget.ring(loop.time())) is not None:
            self._timer = loop.call_at(when, self._rung.set)

    async def before(self, due: float) -> bool:
        """Wait until ``due``, or less if an event calls for a look. Return whether one does."""
        loop = asyncio.get_running_loop()
        called = False
        if loop.time() < due - MIN_EARLY:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due - MIN_EARLY):
                    called = await self._rung.wait()
        if not called:
            await asyncio.sleep(max(0.0, due - loop.time()))
        self.reset()
        return called

    def reset(self) -> None:
        """Note that a look begins: it comes after all events so far."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._rung.clear()
        self._budget.polled()


@asynccontextmanager
async def early_looks(bell: Doorbell | None) -> AsyncIterator[EarlyLooks]:
    """Yield the early looks of a search. Without a bell none is ever called for."""
    looks = EarlyLooks()
    try:
        async with contextlib.nullcontext() if bell is None else bell(looks.ring):
            yield looks
    finally:
        looks.reset()
