"""Liveliness of subscriptions: which of them fell silent although they were lively before.

A subscription is lively if it brought events for `LIVELY` seconds, with pauses of at most `LONGEST` / `RATIO` within
the last `WINDOW` seconds. It is mute after `SILENCE` seconds without an event, but not before `RATIO` times its longest
pause: rare events may pause for long. No published rule says when a stream is stale, so that these are a guess.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import attrs

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
