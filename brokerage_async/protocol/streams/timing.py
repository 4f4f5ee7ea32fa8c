"""Times of the stream protocols, in seconds, liveliness, and doorbells: events that make a poll come sooner."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

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
    """Times of one connection, in seconds."""

    heartbeat: float = 20.0  # between two messages that keep it alive; the account stream permits 2 to 60
    silence: float = 60.0  # without any message until it counts as dead
    answer: float = 10.0  # within which the service must answer a request


@attrs.define
class LookBudget:
    """Early polls that events may cause: one for each burst, and no more than two per second in the long run."""

    gather: float = 0.01  # seconds that the first event of a burst waits for the others
    rate: float = 2.0  # early polls per second that are earned
    burst: float = 10.0  # early polls that may be saved up
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


# Liveliness: which subscriptions fell silent although they were lively before. One is lively if it brought events for
# `LIVELY` seconds, with pauses of at most `LONGEST` / `RATIO` within the last `WINDOW` seconds. It is mute after
# `SILENCE` seconds without an event, but not before `RATIO` times its longest pause: rare events may pause for long. No
# published rule says when a stream is stale, so that these are a guess.

SILENCE = 60.0  # minimum seconds without an event
LIVELY = 300.0  # seconds over which events must have come
RATIO = 10.0  # how many times its longest pause a subscription may be silent
LONGEST = 300.0  # seconds of silence that make every lively subscription mute
WINDOW = 1800.0  # seconds that a pause counts, at least

K = TypeVar("K", bound=Hashable)


@attrs.define
class _Beat:
    first: float
    last: float
    turned: float
    pause: float = 0.0
    pause_before: float = 0.0


class Pulse(Generic[K]):
    """Times of the events of each subscription, by any key."""

    def __init__(self) -> None:
        self._beats: dict[K, _Beat] = {}  # the one that is silent for longest comes first
        self._owed: dict[K, float] = {}
        self._patience = SILENCE

    def note(self, keys: Iterable[K], now: float) -> None:
        """Take the keys that had an event."""
        for key in keys:
            beat = self._beats.pop(key, None)
            if beat is None:
                beat = _Beat(now, now, now)
            if now - beat.turned >= WINDOW:
                beat.turned, beat.pause_before, beat.pause = now, beat.pause, 0.0
            beat.pause = max(beat.pause, now - beat.last)
            beat.last = now
            self._beats[key] = beat
            if self._owed.pop(key, None) is not None and not self._owed:
                self._patience = SILENCE

    def mute(self, now: float) -> dict[K, float]:
        """Return the lively keys that fell silent, and when each had its last event."""
        found = dict[K, float]()
        for key, beat in self._beats.items():
            silence = now - beat.last
            if silence < SILENCE:
                break
            allowed = RATIO * max(beat.pause, beat.pause_before)
            if beat.last - beat.first >= LIVELY and allowed <= LONGEST and silence >= allowed:
                found[key] = beat.last
        return found | {key: since for key, since in self._owed.items() if now >= since + self._patience}

    def forget(self, keys: Iterable[K]) -> None:
        """Drop keys: their market is closed, or no consumer wants them."""
        for key in keys:
            self._beats.pop(key, None)
            self._owed.pop(key, None)

    def renew(self, mute: Iterable[K], now: float) -> None:
        """Start over with another connection, which owes an event to each key that was mute.

        Without one it is mute as well, after twice the patience each time.
        """
        owed = list(mute)
        if owed and self._owed:
            self._patience = min(2 * self._patience, 15 * SILENCE)
        self._beats.clear()
        self._owed = dict.fromkeys(owed or self._owed, now)
