"""Event loops for tests: an ordinary one, and one on virtual time.

On virtual time, when every task waits, the clock jumps to the next timer. Hours pass in milliseconds, and nothing
depends on the machine: the same program has the same history. Sockets and threads do not work there.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


MAX_TURNS = 200_000
"""Maximum iterations of a virtual loop without time passing."""


class DeadlockError(RuntimeError):
    """Every task waits without a timer that could end it, or a task spins and time stands still."""


class _JumpingSelector(selectors.BaseSelector):
    """Selector that never watches anything. Instead of waiting, it advances the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self._turns = 0
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = key = selectors.SelectorKey(fileobj, fileobj, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("every task waits without a timer")
        self._turns = 0 if timeout > 0 else self._turns + 1
        if self._turns > MAX_TURNS:
            self._turns = 0
            raise DeadlockError("time stands still: a task spins")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop on virtual time, which starts at second 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        self._clock_resolution = 1e-9
        self.set_debug(False)  # under -X dev each of millions of steps would record its stack

    def time(self) -> float:
        return self._jumping.now

    def jump(self, seconds: float) -> None:
        """Advance the clock without running anything, as a suspended machine does."""
        self._jumping.now += seconds


def on_virtual_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Run a coroutine function in a `VirtualLoop`, where it must leave no task behind."""
    return _in_loop(function, VirtualLoop)


def on_real_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Run a coroutine function in an ordinary loop, for tests that need sockets."""
    return _in_loop(function, asyncio.new_event_loop)


def run_in(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` in ``loop``, then close it. The current loop of the thread is not touched."""
    try:
        try:
            return loop.run_until_complete(main)
        finally:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(_settled(left))
            loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _in_loop(
    function: Callable[P, Coroutine[Any, Any, T]], make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> Callable[P, T]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        async def main() -> T:
            result = await function(*args, **kwargs)
            await asyncio.sleep(0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks left behind: {left}"
            return result

        return run_in(make_loop(), main())

    return run


async def _settled(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
