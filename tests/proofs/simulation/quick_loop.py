"""Event loop with real sockets that shortens waiting.

While code runs, the clock runs at its normal rate. While every task waits, it runs many times as fast, so that a quiet
hour takes seconds.
"""

import asyncio
import selectors
import time
from typing import Any

FACTOR = 1000.0
MAX_IDLE = 5.0
"""Real seconds without a timer and without a byte, after which the loop is stuck."""


class StuckError(RuntimeError):
    """Every task waits without a timer that could end it, and no socket is ready."""


class _QuickSelector(selectors.DefaultSelector):
    """Waits for a fraction of the requested time, and counts the difference."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor
        self.spared = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            found = super().select(MAX_IDLE)
            if not found:
                raise StuckError("every task waits without a timer and no socket is ready")
            return found
        if (found := super().select(0)) or timeout <= 0:  # what is ready took no time, however busy the machine is
            return found
        began = time.monotonic()
        found = super().select(timeout / self._factor)
        waited = time.monotonic() - began
        passed = min(waited * self._factor, timeout) if found else timeout
        self.spared += max(0.0, passed - waited)
        return found


class QuickLoop(asyncio.SelectorEventLoop):
    """Event loop whose clock starts at second 0."""

    def __init__(self, factor: float = FACTOR) -> None:
        self._quick = _QuickSelector(factor)
        self._began = time.monotonic()
        self.uncaught: list[str] = []
        super().__init__(self._quick)
        self.set_debug(False)

    def time(self) -> float:
        return time.monotonic() - self._began + self._quick.spared

    def jump(self, seconds: float) -> None:
        """Advance the clock without running anything, as a suspended machine does."""
        self._quick.spared += seconds

    def call_exception_handler(self, context: Any) -> None:
        """Record an uncaught exception, because it is a violation."""
        self.uncaught.append(str(context.get("exception") or context.get("message")))
