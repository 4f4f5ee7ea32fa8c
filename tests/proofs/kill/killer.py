"""Death of a process by SIGKILL at a named point: before, during or after one of its writes."""

import asyncio
import os
import signal
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


def points(*writes: str) -> tuple[str, ...]:
    """Return the points that a killer passes when it watches these writes."""
    return tuple(f"{moment} {write}" for write in writes for moment in ("before", "while", "after"))


class Killer:
    """Kills this process at its point, after it has passed there some times."""

    def __init__(self, point: str, passes: int) -> None:
        self._point = point
        self._passes = passes

    def at(self, point: str) -> None:
        if point == self._point:
            if self._passes == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self._passes -= 1

    async def watch(self, write: str, work: Awaitable[T], seconds: float = 0.0) -> T:
        """Do the work of a write; ``seconds`` after its beginning it is under way."""
        self.at(f"before {write}")
        working = asyncio.ensure_future(work)
        await asyncio.sleep(seconds)
        self.at(f"while {write}")
        done = await working
        self.at(f"after {write}")
        return done
