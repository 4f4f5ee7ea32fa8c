"""An ordinary event loop, with ordinary sockets, in which waiting is short.

While code runs, its clock runs as every clock does. While everybody waits, it runs many times as fast, so that an hour
in which little happens takes seconds.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Any

FACTOR = 1000.0
PATIENCE = 5.0
"""Real seconds without a timer and without a byte, after which nothing can happen any more."""


class StuckError(RuntimeError):
    """Every task waits with no timer that could ever end it, and no socket says anything."""


class _QuickSelector(selectors.DefaultSelector):
    """Waits for a fraction of the time it is asked to wait, and counts what it was spared."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor
        self.spared = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            found = super().select(PATIENCE)
            if not found:
                raise StuckError("everything waits for something that cannot happen")
            return found
        if timeout <= 0:
            return super().select(timeout)
        began = time.monotonic()
        found = super().select(timeout / self._factor)
        waited = time.monotonic() - began
        passed = min(waited * self._factor, timeout) if found else timeout
        self.spared += max(0.0, passed - waited)
        return found


class QuickLoop(asyncio.SelectorEventLoop):
    """Starts at second 0."""

    def __init__(self, factor: float = FACTOR) -> None:
        self._quick = _QuickSelector(factor)
        self._began = time.monotonic()
        self.uncaught: list[str] = []
        super().__init__(self._quick)
        self.set_debug(False)

    def time(self) -> float:
        return time.monotonic() - self._began + self._quick.spared

    def jump(self, seconds: float) -> None:
        """Let time pass in which nothing ran, as it does while a machine is suspended."""
        self._quick.spared += seconds

    def call_exception_handler(self, context: Any) -> None:
        """Whatever nobody caught ends up here; kept, because it is a violation."""
        self.uncaught.append(str(context.get("exception") or context.get("message")))
