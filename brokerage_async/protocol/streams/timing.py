"""Times of the stream protocols, in seconds, and doorbells: events that make a poll come sooner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import attrs

Found = Callable[[float], None]
"""Takes a change that a poll on schedule found, as the time of the poll before: an event should have announced it."""

Doorbell = Callable[[Callable[[], None]], AbstractAsyncContextManager[Found | None]]
"""Calls the given function after each event while the context is open. See `Found` for its value.

Events are hints. The polls alone decide on reports: a lost hint costs nothing but time, a repeated one at most a poll.
"""


class Doorbells(Protocol):
    """Source of doorbells: the streams of a client."""

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Doorbell:
        """Return a doorbell for events of these types. None for the accounts of the user.

        Raises:
            ConfigurationError: the client cannot stream.
        """
        ...


@attrs.frozen(kw_only=True)
class Timing:
    """Times of one connection.

    Attributes:
        heartbeat: seconds between two messages that keep the connection alive. The account stream permits 2 to 60.
        silence: seconds without any message until a connection counts as dead.
        answer: seconds within which the service must answer a request.
    """

    heartbeat: float = 20.0
    silence: float = 60.0
    answer: float = 10.0


@attrs.define
class LookBudget:
    """Early polls that events may cause: one for each burst, and no more than two per second in the long run.

    Attributes:
        gather: seconds that the first event of a burst waits for the others.
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
        """Return when to poll after an event. None if that poll is due already."""
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
