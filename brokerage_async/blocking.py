"""The client for synchronous code: one event loop in a thread serves scripts, frameworks, notebooks and threads.

::

    with Blocking(Client.from_env) as b:
        equity = b.run(b.client.instruments.equity("AAPL"))
        for order in b.iterate(b.client.orders.list(account)):
            print(order.id)
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Generic, Self, TypeVar

from .client import Client
from .errors import ConfigurationError

__all__ = ["Blocking"]

T = TypeVar("T")
C = TypeVar("C", bound=Client)
_END: Any = object()
_NOT_OPEN = "not open: enter the `with` block of Blocking, or call open()"
_INSIDE = "run() would wait for itself: `await` the call, it is made in the loop of Blocking"
GRACE = 30.0  # seconds that an interrupted call may take to end


class Blocking(Generic[C]):
    """Calls of a client that wait for their results, from any thread but the one of its loop.

    It works beside a running event loop, as in a notebook. Left open, it ends with the interpreter. ``factory``, such
    as ``Client.from_env``, makes the client in the thread of the loop.
    """

    def __init__(self, factory: Callable[[], C]) -> None:
        self._factory = factory
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: C | None = None
        self._end: Callable[[], object] = lambda: None

    @property
    def client(self) -> C:
        """The client. Raises ConfigurationError when this is not open."""
        if self._client is None:
            raise ConfigurationError(_NOT_OPEN)
        return self._client

    def open(self) -> Self:
        """Start the loop and open the client; `close` ends both. Errors of the factory are raised here."""
        if self._loop is not None:
            raise ConfigurationError("open already")
        self._loop = loop = asyncio.new_event_loop()
        self._thread = thread = threading.Thread(target=_serve, args=(loop,), name="brokerage-async", daemon=True)
        thread.start()

        async def make() -> C:
            return await self._factory().__aenter__()

        try:
            self._client = client = self.run(make())
        except BaseException:
            _stop(loop, thread)
            self._loop = None
            raise
        self._end = weakref.finalize(self, _stop, loop, thread, client)
        return self

    def close(self) -> None:
        """Close the client and end the loop. Pending calls are cancelled. Calling it again does nothing."""
        self._end()  # a finalizer: the second call does nothing
        self._loop = self._client = None

    __enter__ = open  # noqa: A003 - the method above

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, awaitable: Awaitable[T], timeout: float | None = None) -> T:
        """Wait for a call and return its result. Its errors are raised unchanged.

        Ctrl-C, and the end of ``timeout`` seconds with a TimeoutError, cancel the call and wait for its end. The error
        that it ended with is their ``__cause__``: for an order, it says what became of it.
        """
        loop = self._loop
        if loop is None or loop.is_closed() or threading.current_thread() is self._thread:
            getattr(awaitable, "close", list)()  # a coroutine, so that no warning follows the error
            raise ConfigurationError(_NOT_OPEN if loop is None or loop.is_closed() else _INSIDE)
        outcome: Future[T] = Future()

        async def call() -> None:
            try:
                outcome.set_result(await awaitable)
            except BaseException as error:  # a cancellation too, with its notes
                outcome.set_exception(error)

        running = asyncio.run_coroutine_threadsafe(call(), loop)
        try:
            return outcome.result(timeout)
        except BaseException as error:
            if outcome.done() and outcome.exception() is error:
                raise
            running.cancel()
            if not wait([outcome], GRACE).done:
                error.add_note(f"the call did not end within {GRACE:g} s of its cancellation")
                raise
            if (ended := outcome.exception()) is None:
                error.add_note(f"the call had ended with {outcome.result()!r}")
            raise error from ended

    def iterate(self, source: AsyncIterable[T]) -> Iterator[T]:
        """Iterate over a pager, a watcher, a stream or a bulk fetch. Leaving the loop early closes it."""

        async def items() -> AsyncGenerator[T, None]:
            async with source if isinstance(source, AbstractAsyncContextManager) else nullcontext():
                async for item in source:
                    yield item

        async def step() -> T:  # the loop closes what was begun in it, and is left open
            return await anext(iterator, _END)

        iterator = items()
        try:
            while (item := self.run(step())) is not _END:
                yield item
        finally:
            if self._loop is not None and not self._loop.is_closed():
                self.run(iterator.aclose())


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()  # the runner then cancels the remaining tasks


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: Client | None = None) -> None:
    if threading.current_thread() is thread:  # collected by the loop itself
        loop.stop()
        return
    if client is not None and thread.is_alive():
        asyncio.run_coroutine_threadsafe(client.aclose(), loop).result(GRACE)
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    thread.join(GRACE)
