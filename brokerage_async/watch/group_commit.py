"""Writes that share a transaction: those asked for while one is under way go into the next one together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["GroupCommit", "completed"]


class GroupCommit:
    """Numbers that are written together.

    Args:
        write: writes a set of numbers durably, or raises.
        needs_writing: returns True until a number is written.
    """

    def __init__(
        self, write: Callable[[AbstractSet[int]], Coroutine[Any, Any, None]], needs_writing: Callable[[int], bool]
    ) -> None:
        self._write = write
        self._needs_writing = needs_writing
        self._wanted: set[int] = set()
        self._running: asyncio.Task[None] | None = None

    async def add(self, number: int) -> None:
        """Return when a number is written. What a cancelled call began is completed by itself."""
        while self._needs_writing(number):
            self._wanted.add(number)
            if self._running is None or self._running.done():
                self._running = completed(self._write_all())
            await asyncio.shield(self._running)

    async def finish(self) -> None:
        """Wait for the write under way, if any, whatever becomes of it."""
        if self._running is not None and not self._running.done():
            await asyncio.wait({self._running})

    async def _write_all(self) -> None:
        numbers = {number for number in self._wanted if self._needs_writing(number)}
        self._wanted.clear()
        await self._write(numbers)


def completed(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Return a task for a write that goes on when its caller is cancelled."""
    task = asyncio.get_running_loop().create_task(work, name="brokerage_async write")
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its caller may be gone
    return task
