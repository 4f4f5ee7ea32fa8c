"""Concurrency: an async function mapped over a source of any length, and work that outlives its cancelled caller.

`ConcurrentMap` yields results as they complete, or in the order of the source. `outliving` begins work that must not
end halfway, `result_of` waits for it, and `GroupCommit` lets many callers share it. `end` cancels tasks and leaves none
behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Generic, Self, TypeVar

from .._arguments import running_loop

S = TypeVar("S")
R = TypeVar("R")

_BACKGROUND: set[asyncio.Task[Any]] = set()
"""Work whose caller may be gone; the event loop itself holds tasks weakly."""


class ConcurrentMap(AsyncIterator[tuple[int, R]], Generic[S, R]):
    """Calls of one function for the items of a source, a bounded number of them in flight.

    Iterating yields ``(index, result)`` as calls complete, or ``in_order`` of the source. The index counts the items
    from 0. The source is read only as far as needed: at most ``2 * concurrency`` items are in flight or waiting for the
    consumer. The first error of the function or of the source ends the iteration, and the calls in flight are
    cancelled. It runs once. Close it where an iteration may end early.

    Args:
        function: called for each item of the source.
        source: iterator of any length. It is never advanced by two workers at once, and not closed.
        concurrency: maximum number of calls in flight.
        in_order: hold back results that overtake earlier ones.
    """

    def __init__(
        self,
        function: Callable[[S], Awaitable[R]],
        source: AsyncIterator[S] | Iterable[S],
        *,
        concurrency: int,
        in_order: bool = False,
    ) -> None:
        self._function = function
        self._source = source if isinstance(source, AsyncIterator) else _iterate(source)
        self._concurrency = concurrency
        self._in_order = in_order
        self._read = self._finished = self._following = 0
        self._closed = False
        self._turn = asyncio.Lock()
        self._room = asyncio.Semaphore(2 * concurrency)
        self._completed: asyncio.Queue[tuple[int, R] | asyncio.Task[None]] = asyncio.Queue()
        self._arrived: dict[int, R] = {}
        self._workers: list[asyncio.Task[None]] = []

    def __aiter__(self) -> Self:
        """Begin the calls."""
        if not self._workers and not self._closed:
            self._start_worker()
        return self

    async def __anext__(self) -> tuple[int, R]:
        while self._following not in self._arrived:
            if self._finished == len(self._workers):
                raise StopAsyncIteration
            completed = await self._completed.get()
            if not isinstance(completed, asyncio.Task):
                index, self._arrived[index] = completed
                self._following = self._following if self._in_order else index
            elif self._closed:
                raise StopAsyncIteration
            else:
                self._finished += 1
                if completed.cancelled() or completed.exception() is not None:
                    await self.aclose()
                completed.result()
        index = self._following
        self._following += 1
        self._room.release()
        return index, self._arrived.pop(index)

    async def aclose(self) -> None:
        """Cancel the calls in flight. An iteration under way ends."""
        self._closed = True
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    def _start_worker(self) -> None:
        worker = asyncio.create_task(self._work(), name="brokerage_async worker")
        worker.add_done_callback(self._completed.put_nowait)
        self._workers.append(worker)

    async def _work(self) -> None:
        """Call the function for one item after another until the source ends.

        The next call starts before the consumer sees the last result. Workers whose results arrive together would
        otherwise wait until all of them are processed, and stay in step from then on.
        """
        while True:
            await self._room.acquire()
            async with self._turn:
                try:
                    item = await anext(self._source)
                except StopAsyncIteration:
                    return
                index = self._read
                self._read += 1
            if len(self._workers) < self._concurrency:
                self._start_worker()
            self._completed.put_nowait((index, await self._function(item)))


async def _iterate(items: Iterable[S]) -> AsyncIterator[S]:
    for item in items:
        yield item


def outliving(work: Coroutine[Any, Any, R], name: str) -> asyncio.Task[R]:
    """Begin work that goes on when its caller is cancelled. Wait for it with `result_of`."""
    task = running_loop().create_task(work, name=f"brokerage_async {name}")
    _BACKGROUND.add(task)
    task.add_done_callback(_BACKGROUND.discard)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio logs it
    return task


async def result_of(work: asyncio.Task[R]) -> R:
    """Return the result of ``work``, which goes on if this is cancelled.

    `asyncio.shield` does the same, but from Python 3.14 on it reports a later failure of ``work`` as unhandled.
    """
    await asyncio.wait({work})
    return work.result()


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait for their end, even if this is cancelled as well: then it raises that afterwards."""
    cancellation: asyncio.CancelledError | None = None
    for task in tasks:
        task.cancel()
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        raise cancellation


class GroupCommit:
    """Numbers that are written together: those asked for during a write go into the next one.

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
        """Return when a number is written. A write that a cancelled call began is completed regardless."""
        while self._needs_writing(number):
            self._wanted.add(number)
            if self._running is None or self._running.done():
                self._running = outliving(self._write_all(), "write")
            await result_of(self._running)

    async def finish(self) -> None:
        """Wait for the write under way, if any, whether it succeeds or fails."""
        if self._running is not None and not self._running.done():
            await asyncio.wait({self._running})

    async def _write_all(self) -> None:
        numbers = {number for number in self._wanted if self._needs_writing(number)}
        self._wanted.clear()
        await self._write(numbers)
