"""Simulated time: the clock, which follows the event loop, the queue of scheduled events, and signals of changes."""

from __future__ import annotations

import asyncio
import heapq
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Generic, TypeVarTuple

import attrs

Ts = TypeVarTuple("Ts")

DEFAULT_START = datetime(2026, 6, 10, 14, 0, tzinfo=UTC)
"""A Wednesday at 10:00 in New York: the markets are open."""

_YEARS = range(1972, 2191)
"""Years to start in: calendars and past transactions are computed for a few years around them."""

_END = datetime(_YEARS[-1] + 1, 1, 1, tzinfo=UTC).timestamp()
_MAX_SPEED = 86400.0


class Clock:
    """Simulated time in epoch seconds. It only ever moves forward.

    ``on_advance``, if any, is called after time was moved.
    """

    def __init__(self, start: datetime = DEFAULT_START) -> None:
        if not isinstance(start, datetime) or start.tzinfo is None:
            raise ValueError(f"start must be a datetime with a time zone, got {start!r}")
        if start.year not in _YEARS:
            raise ValueError(f"start must be in the years {_YEARS[0]} to {_YEARS[-1]}, got {start.isoformat()}")
        self._base = self._latest = start.timestamp()
        self._origin: float | None = None
        self._speed = 1.0
        self._loop: weakref.ref[asyncio.AbstractEventLoop] | None = None
        self.on_advance: Callable[[], None] | None = None

    def now(self) -> float:
        """Return simulated epoch seconds.

        The clock starts at the first call. It follows the time of the running event loop, which may be a virtual one,
        or monotonic time outside of a loop. It stands still between two loops.
        """
        loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):
            loop = asyncio.get_running_loop()
        tick = time.monotonic() if loop is None else loop.time()
        previous = None if self._loop is None else self._loop()
        if self._origin is None or loop is not previous:
            self._base = self._latest
            self._origin = tick
            self._loop = None if loop is None else weakref.ref(loop)
        self._latest = max(self._latest, self._base + (tick - self._origin) * self._speed)
        return self._latest

    @property
    def time(self) -> datetime:
        """Simulated time as a datetime in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    @property
    def speed(self) -> float:
        """Simulated seconds per second; 0 stops the clock."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        if not 0 <= speed <= _MAX_SPEED:
            raise ValueError(f"speed must be from 0 to {_MAX_SPEED:g}, got {speed!r}")
        self._base, self._origin = self.now(), None
        self._speed = float(speed)
        self.now()
        if self.on_advance is not None:
            self.on_advance()

    def advance(self, seconds: float) -> None:
        """Move the clock forward.

        Raises:
            ValueError: ``seconds`` is negative or not a number, or leads beyond the last year of the calendars.
        """
        if not seconds >= 0:
            raise ValueError(f"seconds must not be negative, got {seconds!r}: simulated time cannot go back")
        if self.now() + seconds > _END:
            raise ValueError(f"seconds must lead to a time before the year {_YEARS[-1] + 1}, got {seconds!r}")
        self._base += seconds
        self._latest += seconds
        if self.on_advance is not None:
            self.on_advance()

    def restore(self, now: float) -> None:
        """Set the clock to ``now`` (epoch seconds), which may have passed: the state of that time is restored."""
        self._base = self._latest = now
        self._origin = None

    def set(self, moment: datetime) -> None:
        """Move the clock forward to ``moment``.

        Raises:
            ValueError: ``moment`` has passed, or has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError(f"moment must have a time zone, got {moment!r}")
        self.advance(moment.timestamp() - self.now())


@attrs.define(order=False, eq=False)
class ScheduledEvent:
    """Action due at ``when`` (epoch seconds), unless it is cancelled first."""

    when: float
    action: Callable[[float], None] | None

    def cancel(self) -> None:
        """Cancel the action. Safe to call at any time."""
        self.action = None


class EventQueue:
    """Scheduled events, ordered by time and then by creation.

    ``on_schedule``, if any, is called with the time of each new event. ``until`` is the end of the last run.
    """

    __slots__ = ("_count", "_heap", "on_schedule", "until")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, ScheduledEvent]] = []
        self._count = 0
        self.until: float = 0.0
        self.on_schedule: Callable[[float], None] | None = None

    def at(self, when: float, action: Callable[[float], None]) -> ScheduledEvent:
        """Schedule ``action(when)`` for ``when`` (epoch seconds)."""
        event = ScheduledEvent(when, action)
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, event))
        if self.on_schedule is not None:
            self.on_schedule(when)
        return event

    def run(self, now: float) -> None:
        """Run everything that is due by ``now``, including follow-up events. Each action gets its own time."""
        heap, self.until = self._heap, now
        while heap and heap[0][0] <= now:
            when, _, event = heapq.heappop(heap)
            action, event.action = event.action, None
            if action is not None:
                action(when)

    @property
    def next_due(self) -> float | None:
        """Time of the next event (epoch seconds), None when nothing is scheduled."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None


class Signal(Generic[*Ts]):
    """Kind of event, such as a change of an order."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: list[Callable[[*Ts], object]] = []

    def __call__(self, listener: Callable[[*Ts], object]) -> None:
        """Call ``listener`` at every event."""
        self._listeners.append(listener)

    def emit(self, *event: *Ts) -> None:
        """Call every listener, in the order in which they were added."""
        for listener in self._listeners:
            listener(*event)
