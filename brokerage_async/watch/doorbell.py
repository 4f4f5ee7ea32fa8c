"""Push as a doorbell: hints that a list may have changed, and how many early polls they may cause.

The polls alone decide on reports. A lost hint costs nothing but time, and a repeated one at most a poll.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import attrs

__all__ = ["ALERT_EVENTS", "BALANCE_EVENTS", "ORDER_EVENTS", "POSITION_EVENTS", "Doorbell", "Doorbells", "LookBudget"]

ORDER_EVENTS: frozenset[str] = frozenset({"Order", "ComplexOrder"})
POSITION_EVENTS: frozenset[str] = frozenset({"CurrentPosition"})
BALANCE_EVENTS: frozenset[str] = frozenset({"AccountBalance"})
ALERT_EVENTS: frozenset[str] = frozenset({"QuoteAlert"})

Doorbell = Callable[[Callable[[], None]], AbstractAsyncContextManager[None]]
"""Calls the given function after each event while the context is open."""


class Doorbells(Protocol):
    """Source of doorbells: the streams of a client."""

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Doorbell:
        """Return a doorbell for events of these types; None for the accounts of the user.

        Raises:
            ConfigurationError: the client cannot stream.
        """
        ...


@attrs.define
class LookBudget:
    """Early polls that events may cause: one for each burst, and no more than two per second in the long run.

    Attributes:
        gather: seconds for which the first event of a burst waits for the others.
        rate: early polls per second that are earned.
        burst: early polls that may be saved up.
    """

    gather: float = 0.01
    rate: float = 2.0
    burst: float = 10.0
    _saved: float = attrs.field(default=10.0, init=False)
    _at: float | None = attrs.field(default=None, init=False)
    _is_due: bool = attrs.field(default=False, init=False)

    def ring(self, now: float) -> float | None:
        """Return when to poll after an event; None if that poll is due already."""
        if self._is_due:
            return None
        if self._at is not None:
            self._saved = min(self.burst, self._saved + (now - self._at) * self.rate)
        self._is_due, self._at = True, now
        self._saved -= 1.0
        return now + max(self.gather, -self._saved / self.rate)

    def polled(self) -> None:
        """Note that a poll begins: later events are another burst."""
        self._is_due = False
