"""Pump that runs due events of the simulator while streams are open, so that events come without a request."""

from __future__ import annotations

import asyncio

from ..api.brokerage import Brokerage
from ..clock import Clock

MAX_NAP = 60.0
"""Longest wait in seconds between two looks at the clock."""


class Pump:
    """Task that advances the brokerage while there are connections."""

    def __init__(self, brokerage: Brokerage, clock: Clock) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Run until the last connection is closed."""
        if self._task is None or self._task.done():
            self._wake = asyncio.Event()
            self._brokerage.state.event_queue.on_schedule = lambda _: self._wake.set()
            self._clock.on_advance = self._wake.set
            self._task = asyncio.get_running_loop().create_task(self._run(), name="simulator streams")
        self._wake.set()

    async def stop(self) -> None:
        """End the task."""
        task, self._task = self._task, None
        self._brokerage.state.event_queue.on_schedule = self._clock.on_advance = None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    def check(self) -> None:
        """End the task after the last connection."""
        if not self._brokerage.streams.sessions and self._task is not None:
            self._brokerage.state.event_queue.on_schedule = self._clock.on_advance = None
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        queue = self._brokerage.state.event_queue
        while True:
            self._wake.clear()
            now = self._clock.now()
            self._brokerage.advance(now)
            due = queue.next_due
            speed = self._clock.speed
            nap = MAX_NAP if due is None or not speed else min(MAX_NAP, max(0.0, due - now) / speed)
            try:
                async with asyncio.timeout(nap):
                    await self._wake.wait()
            except TimeoutError:
                pass
