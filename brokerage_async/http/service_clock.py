"""The service's time, read from its answers."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta

import attrs

from ..protocol.response import read_http_date

MAX_DRIFT = 1e-4
"""Seconds per second by which the loop's clock may drift away from the service's."""

MAX_SUSPENSION = 10.0
"""Seconds for which this machine may sleep before the time is out of date: the loop's clock may not count them."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@attrs.define(eq=False)
class ServiceClock:
    """The offset of the service's clock to the event loop's, from the ``Date`` headers of its answers.

    The local wall clock plays no part in it. A ``Date`` has whole seconds and was written between sending and arrival,
    so each one bounds the offset on both sides, and several narrow it down. The time returned is the earliest possible
    one: late by at most a second and the duration of a call, and never early. An answer that contradicts the earlier
    ones, because a clock was set or a simulator advanced, replaces them.
    """

    _date: str | None = None
    _min_offset: float | None = None
    _max_offset: float = 0.0
    _observed_at: float = 0.0
    _wall_offset: float = 0.0

    def observe(self, date: str | None, sent_at: float, arrived_at: float) -> None:
        """Take note of the ``Date`` of an answer. Both times are the loop's. An invalid one is ignored."""
        if date is None:
            return
        if date == self._date:
            self._wall_offset = time.time() - arrived_at
            return
        seconds = read_http_date(date)
        if seconds is None:
            return
        low, high = seconds - arrived_at, seconds + 1 - sent_at
        if self._min_offset is not None:
            drift = (arrived_at - self._observed_at) * MAX_DRIFT
            earlier_low, earlier_high = self._min_offset - drift, self._max_offset + drift
            if low <= earlier_high and earlier_low <= high:
                low, high = max(low, earlier_low), min(high, earlier_high)
        self._date, self._observed_at = date, arrived_at
        self._min_offset, self._max_offset = low, high
        self._wall_offset = time.time() - arrived_at

    def now(self, loop_time: float) -> datetime | None:
        """Return the service's time at ``loop_time``, or None before the first observation."""
        if self._min_offset is None:
            return None
        try:
            return EPOCH + timedelta(seconds=self._min_offset + loop_time)
        except OverflowError:
            return None

    def is_stale(self, loop_time: float) -> bool:
        """Return True if this machine seems to have slept since the last answer. The next one makes the time right.

        The wall clock has advanced further than the loop's then. Each look notes the offset between the two: a wall
        clock that was set back hides neither a later sleep nor one that was seen before.
        """
        wall_offset = time.time() - loop_time
        has_slept = wall_offset - self._wall_offset > MAX_SUSPENSION
        self._wall_offset = -math.inf if has_slept else min(self._wall_offset, wall_offset)
        return self._min_offset is not None and has_slept
