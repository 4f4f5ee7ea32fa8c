"""Event loops for tests: an ordinary one, and one on virtual time.

On virtual time, when everybody waits, the clock jumps to whoever is due next. Hours pass in milliseconds, and nothing
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


MOST_TURNS = 200_000
"""So many turns of a virtual loop may pass in one moment."""


class DeadlockError(RuntimeError):
    """Every task waits with no timer that could ever end it, or nobody waits and time cannot pass."""


class _JumpingSelector(selectors.BaseSelector):
    """Never watches anything; instead of waiting for ``timeout`` it moves the clock by it."""

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
            raise DeadlockError("everything waits for something that cannot happen")
        self._turns = 0 if timeout > 0 else self._turns + 1
        if self._turns > MOST_TURNS:
            self._turns = 0
            raise DeadlockError("time stands still: something spins")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at second 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        self._clock_resolution = 1e-9
        self.set_debug(False)  # under -X dev every one of millions of steps would record its stack

    def time(self) -> float:
        return self._jumping.now

    def jump(self, seconds: float) -> None:
        """Let time pass in which nothing ran, as it does while a machine is suspended."""
        self._jumping.now += seconds


def on_virtual_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a coroutine function a plain one that runs in a `VirtualLoop`, and must leave no task behind."""
    return _in_loop(function, VirtualLoop)


def on_real_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The same in an ordinary loop, for what needs sockets."""
    return _in_loop(function, asyncio.new_event_loop)


def run_in(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` in ``loop``, then close it. The thread's own current loop is not touched."""
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
