"""Push as a doorbell: hints that a list may have changed.

The polls alone decide on reports. A lost hint costs nothing but time, and a repeated one at most a poll.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

__all__ = ["ALERT_EVENTS", "BALANCE_EVENTS", "ORDER_EVENTS", "POSITION_EVENTS", "Doorbell", "Doorbells", "Found"]

ORDER_EVENTS: frozenset[str] = frozenset({"Order", "ComplexOrder"})
POSITION_EVENTS: frozenset[str] = frozenset({"CurrentPosition"})
BALANCE_EVENTS: frozenset[str] = frozenset({"AccountBalance"})
ALERT_EVENTS: frozenset[str] = frozenset({"QuoteAlert"})

Found = Callable[[float], None]
"""Takes a change that a poll on schedule found, as the time of the poll before: an event should have announced it."""

Doorbell = Callable[[Callable[[], None]], AbstractAsyncContextManager[Found | None]]
"""Calls the given function after each event while the context is open; see `Found` for its value."""


class Doorbells(Protocol):
    """Source of doorbells: the streams of a client."""

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Doorbell:
        """Return a doorbell for events of these types; None for the accounts of the user.

        Raises:
            ConfigurationError: the client cannot stream.
        """
        ...
