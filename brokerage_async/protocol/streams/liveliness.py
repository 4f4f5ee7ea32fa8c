"""Liveliness of subscriptions: which of them fell silent although they were lively before."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import attrs

from ..._arguments import check_number, check_seconds, validator

K = TypeVar("K", bound=Hashable)


@attrs.frozen(kw_only=True)
class Liveliness:
    """Rules for when the silence of a subscription counts as a fault of the stream.

    A subscription is lively if it brought events for ``lively`` seconds, with pauses of at most ``longest / ratio``
    within the last ``window`` seconds. It is mute after ``silence`` seconds without an event, but not before ``ratio``
    times its longest pause: rare events may pause for long. No published rule says when a stream is stale, so that
    these are a guess.

    Attributes:
        silence: minimum seconds without an event.
        lively: seconds over which events must have come.
        ratio: how many times its longest pause a subscription may be silent.
        longest: seconds of silence that make every lively subscription mute.
        window: seconds that a pause counts, at least.
    """

    silence: float = attrs.field(default=60.0, validator=validator(check_seconds))
    lively: float = attrs.field(default=300.0, validator=validator(check_seconds))
    ratio: float = attrs.field(default=10.0, validator=validator(check_number, maximum=1000))
    longest: float = attrs.field(default=300.0, validator=validator(check_seconds))
    window: float = attrs.field(default=1800.0, validator=validator(check_seconds))


@attrs.define
class _Beat:
    first: float
    last: float
    turned: float
    pause: float = 0.0
    pause_before: float = 0.0


class Pulse(Generic[K]):
    """Times of the events of each subscription, by any key."""

    def __init__(self, rules: Liveliness) -> None:
        self._rules = rules
        self._beats: dict[K, _Beat] = {}  # the one that is silent for longest comes first
        self._owed: dict[K, float] = {}
        self._patience = rules.silence

    def note(self, keys: Iterable[K], now: float) -> None:
        """Take the keys that had an event."""
        for key in keys:
            beat = self._beats.pop(key, None)
            if beat is None:
                beat = _Beat(now, now, now)
            if now - beat.turned >= self._rules.window:
                beat.turned, beat.pause_before, beat.pause = now, beat.pause, 0.0
            beat.pause = max(beat.pause, now - beat.last)
            beat.last = now
            self._beats[key] = beat
            if self._owed.pop(key, None) is not None and not self._owed:
                self._patience = self._rules.silence

    def mute(self, now: float) -> dict[K, float]:
        """Return the lively keys that fell silent, and when each had its last event."""
        rules, found = self._rules, dict[K, float]()
        for key, beat in self._beats.items():
            silence = now - beat.last
            if silence < rules.silence:
                break
            allowed = rules.ratio * max(beat.pause, beat.pause_before)
            if beat.last - beat.first >= rules.lively and allowed <= rules.longest and silence >= allowed:
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
            self._patience = min(2 * self._patience, 15 * self._rules.silence)
        self._beats.clear()
        self._owed = dict.fromkeys(owed or self._owed, now)
