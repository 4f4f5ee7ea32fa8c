"""The service's time, read from its answers."""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime, timedelta

__all__ = ["ServiceClock"]

REFRESH = 30.0
"""Seconds for which an observed offset is used before the next answer is read for it."""


class ServiceClock:
    """The offset of the service's clock to the event loop's, from the ``Date`` headers of its answers.

    The local wall clock plays no part. A ``Date`` has whole seconds and is as old as its way here, so the time is late
    by at most a second and that delay, and never early.
    """

    __slots__ = ("_observed_at", "_offset")

    def __init__(self) -> None:
        self._observed_at = float("-inf")
        self._offset: float | None = None

    def observe(self, date: str | None, loop_time: float) -> None:
        """Take note of a ``Date`` header that arrived at ``loop_time``; one without meaning is ignored."""
        if date is None or loop_time - self._observed_at < REFRESH:
            return
        try:
            moment = email.utils.parsedate_to_datetime(date)
            seconds = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            return
        self._offset, self._observed_at = seconds - loop_time, loop_time

    def now(self, loop_time: float) -> datetime | None:
        """Return the service's time at ``loop_time``, or None before the first observation."""
        if self._offset is None:
            return None
        try:
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self._offset + loop_time)
        except OverflowError:
            return None
