"""What is going to happen, by time: the one place where simulated time moves forward."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import attrs

__all__ = ["Agenda", "Appointment"]


@attrs.define(order=False, eq=False)
class Appointment:
    """Something due at ``when`` (epoch seconds); ``cancel`` makes it not happen."""

    when: float
    action: Callable[[float], None] | None

    def cancel(self) -> None:
        """Forget it; safe to call at any time."""
        self.action = None


class Agenda:
    """Appointments in order of their time, and of their making where times are equal."""

    __slots__ = ("_heap", "_made")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Appointment]] = []
        self._made = 0

    def at(self, when: float, action: Callable[[float], None]) -> Appointment:
        """Have ``action(when)`` called once time reaches ``when`` (epoch seconds)."""
        appointment = Appointment(when, action)
        self._made += 1
        heapq.heappush(self._heap, (when, self._made, appointment))
        return appointment

    def run(self, now: float) -> None:
        """Do everything that is due by ``now``, each at its own time, including what that brings about."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            when, _, appointment = heapq.heappop(heap)
            action, appointment.action = appointment.action, None
            if action is not None:
                action(when)

    @property
    def next_due(self) -> float | None:
        """When something happens next (epoch seconds), None when nothing is planned."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
