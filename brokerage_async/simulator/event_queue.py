"""Queue of scheduled events: the one place where simulated time moves forward."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import attrs

__all__ = ["EventQueue", "ScheduledEvent"]


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

    ``on_schedule``, if any, is called with the time of each new event.
    """

    __slots__ = ("_count", "_heap", "on_schedule")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, ScheduledEvent]] = []
        self._count = 0
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
        """Run everything that is due by ``now``, including follow-up events.

        Each action gets its own time.
        """
        heap = self._heap
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
