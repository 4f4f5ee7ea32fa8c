"""The simulated service's clock: it starts at a fixed moment, runs with the event loop, and can be put forward."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

__all__ = ["DEFAULT_START", "Clock"]

DEFAULT_START = datetime(2026, 6, 10, 14, 0, tzinfo=UTC)
"""A Wednesday, ten in the morning in New York: the markets are open."""


def _tick() -> float:
    """The running loop's time, which may be a virtual one; monotonic time outside of a loop."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


class Clock:
    """Tells simulated time in epoch seconds. It only ever goes forward."""

    def __init__(self, start: datetime = DEFAULT_START) -> None:
        if start.tzinfo is None:
            raise ValueError("the start of the simulation needs a time zone")
        self._base = start.timestamp()
        self._origin: float | None = None
        self._latest = self._base

    def now(self) -> float:
        """Simulated epoch seconds; the clock begins to run when it is asked for the first time."""
        tick = _tick()
        if self._origin is None:
            self._origin = tick
        reading = self._base + (tick - self._origin)
        if reading < self._latest:
            # Another loop, with a time of its own: go on from where the last one stopped.
            self._base, self._origin, reading = self._latest, tick, self._latest
        self._latest = reading
        return reading

    @property
    def time(self) -> datetime:
        """Simulated time as a date-time in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    def advance(self, seconds: float) -> None:
        """Put the clock forward.

        Raises:
            ValueError: ``seconds`` is negative.
        """
        if seconds < 0:
            raise ValueError("simulated time cannot go back")
        self.now()
        self._base += seconds

    def set(self, moment: datetime) -> None:
        """Put the clock forward to ``moment``.

        Raises:
            ValueError: ``moment`` has passed, or has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError("the moment needs a time zone")
        self.advance(moment.timestamp() - self.now())
