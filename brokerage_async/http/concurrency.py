"""Bounded concurrency: an async function mapped over a source of any length.

`ConcurrentMap` yields results as they complete; `map_in_order` returns them as a list in the order of the source.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Generic, TypeVar

S = TypeVar("S")
R = TypeVar("R")


class ConcurrentMap(Generic[S, R]):
    """Calls of one function for the items of a source, a bounded number of them in flight.

    Iterating yields ``(index, result)`` as calls complete. The index counts the items from 0. The source is read only
    as far as needed: at most ``2 * concurrency`` items are in flight or waiting for the consumer. The first error of
    the function or of the source ends the iteration, and the calls in flight are cancelled. It runs once.

    Args:
        function: called for each item of the source.
        source: iterator of any length. It is never advanced by two workers at once, and not closed.
        concurrency: maximum number of calls in flight.
    """

    def __init__(
        self, function: Callable[[S], Awaitable[R]], source: AsyncIterator[S] | Iterable[S], *, concurrency: int
    ) -> None:
        self._function = function
        self._source = source if isinstance(source, AsyncIterator) else _iterate(source)
        self._concurrency = concurrency
        self._read = 0
        self._closed = False
        self._turn = asyncio.Lock()
        self._room = asyncio.Semaphore(2 * concurrency)
        self._completed: asyncio.Queue[tuple[int, R] | asyncio.Task[None]] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []

    async def __aiter__(self) -> AsyncGenerator[tuple[int, R], None]:
        finished = 0
        if not self._closed:
            self._start_worker()
        try:
            while finished < len(self._workers):
                completed = await self._completed.get()
                if isinstance(completed, asyncio.Task):
                    if self._closed:
                        return
                    completed.result()
                    finished += 1
                    continue
                self._room.release()
                yield completed
        finally:
            await self.aclose()

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


async def map_in_order(function: Callable[[S], Awaitable[R]], items: Iterable[S], *, concurrency: int) -> list[R]:
    """Return the results in the order of ``items``.

    The first failure cancels the other calls.
    """
    async with aclosing(aiter(ConcurrentMap(function, items, concurrency=concurrency))) as completed:
        results = {index: result async for index, result in completed}
    return [results[index] for index in range(len(results))]


async def _iterate(items: Iterable[S]) -> AsyncIterator[S]:
    for item in items:
        yield item
