"""Event loop of a simulated process. The world decides when time passes."""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

MAX_HANDLES = 20_000
"""So many callbacks may run in one moment; more means that something spins."""


class ProcessLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in order of arrival and never waits.

    ``clock`` gives the time of this process. ``before_each`` is called before every callback: the place where a
    cancellation can come from another task of the same process. Sockets and threads do not exist here, but a blocking
    function given to `run_in_executor` goes to ``blocking``.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.time = clock  # type: ignore[method-assign]
        self.before_each: Callable[[], None] | None = None
        self.blocking: Callable[[Callable[[], Any]], asyncio.Future[Any]] | None = None
        self.uncaught: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._number = itertools.count()

    def run_ready(self) -> None:
        """Run every callback that is ready, and those that they make ready."""
        ready, before_each = self._ready, self.before_each
        if not ready:
            return
        asyncio._set_running_loop(self)
        try:
            for _ in range(MAX_HANDLES):
                if not ready:
                    return
                if before_each is not None:
                    before_each()
                handle = ready.popleft()
                if not handle._cancelled:  # type: ignore[attr-defined]
                    handle._run()  # type: ignore[attr-defined]
            raise RuntimeError("time stands still: something spins")
        finally:
            asyncio._set_running_loop(None)

    def next_timer(self) -> float | None:
        """Return when the next timer is due, by this loop's clock."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def fire_timers(self) -> bool:
        """Make every timer that is due ready. Return whether there was one."""
        fired, now = False, self.time()
        while (due := self.next_timer()) is not None and due <= now:
            self._ready.append(heapq.heappop(self._timers)[2])
            fired = True
        return fired

    def finish(self) -> None:
        """Cancel what still runs, until nothing does."""
        self.before_each = None
        for _ in range(100):
            going = [task for task in self.tasks if not task.done()]
            for task in going:
                task.cancel()
            self._ready.extend(heapq.heappop(self._timers)[2] for _ in range(len(self._timers)))
            self.run_ready()
            if not going:
                break
        self._timers.clear()

    # Methods that asyncio needs.

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._number), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass  # dropped when its time comes

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, **options)
        self.tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        assert self.blocking is not None, "this process has no threads"
        return self.blocking(lambda: func(*args))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.uncaught.append(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False
