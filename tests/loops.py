"""Event loops for tests: an ordinary one, and the simulator's on virtual time."""

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, Self, TypeVar

from brokerage_async.simulator.virtual_run import VirtualLoop

P = ParamSpec("P")
T = TypeVar("T")


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


class ThreadLoop:
    """Event loop in a separate thread, for servers that synchronous code calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="another loop")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the loop, and return its result, awaited if need be."""

        async def called() -> Any:
            result = function(*arguments)
            return await result if isinstance(result, Awaitable) else result

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(60)


def leaving_no_task(function: Callable[P, Coroutine[Any, Any, T]], *others: str) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a coroutine function fail that leaves tasks behind, but for those of ``others``."""

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        before = asyncio.all_tasks()
        result = await function(*args, **kwargs)
        await asyncio.sleep(0)
        left = {task for task in asyncio.all_tasks() - before if not any(name in repr(task) for name in others)}
        assert not left, f"tasks left behind: {left}"
        return result

    return run


def _in_loop(
    function: Callable[P, Coroutine[Any, Any, T]], make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> Callable[P, T]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_in(make_loop(), leaving_no_task(function)(*args, **kwargs))

    return run


async def _settled(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
