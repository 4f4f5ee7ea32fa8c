"""Pages of a list fetched ahead of their consumer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from ..operation import Page

__all__ = ["Prefetcher"]

E = TypeVar("E")


class Prefetcher(Generic[E]):
    """Fetches pages ahead of the consumer, by a fixed number of workers.

    A worker asks for its next page at once, not when the consumer takes the last one: workers whose pages arrive
    together would otherwise wait for all of them to be decoded, and stay in step for good. As many finished pages as
    there are workers may wait for the consumer.
    """

    __slots__ = ("_arrived", "_bell", "_broken", "_end", "_fetch", "_next", "_room", "_size", "_workers")

    def __init__(self, fetch: Callable[[int], Awaitable[Page[E]]], workers: int, first: int) -> None:
        self._fetch = fetch
        self._size = workers
        self._next = self._end = first
        self._broken = False
        self._arrived: dict[int, Page[E] | BaseException] = {}
        self._bell = asyncio.Event()
        self._room = asyncio.Semaphore(2 * workers)
        self._workers: list[asyncio.Task[None]] = []

    def extend(self, end: int) -> None:
        """Fetch up to the page before ``end``, or no further once a page has failed."""
        if self._broken:
            return
        self._end = end
        self._workers = [worker for worker in self._workers if not worker.done()]
        for _ in range(min(end - self._next, self._size) - len(self._workers)):
            self._workers.append(asyncio.create_task(self._work()))

    def __contains__(self, offset: int) -> bool:
        return offset < self._next or (offset < self._end and not all(worker.done() for worker in self._workers))

    async def take(self, offset: int) -> Page[E]:
        """Return the page once it has arrived, or raise its failure."""
        while offset not in self._arrived:
            self._bell.clear()
            await self._bell.wait()
        page = self._arrived.pop(offset)
        if isinstance(page, BaseException):
            raise page
        self._room.release()
        return page

    async def close(self) -> None:
        """Cancel the fetches under way."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            await self._room.acquire()
            if self._next >= self._end:
                self._room.release()
                return
            offset = self._next
            self._next += 1
            try:
                self._arrived[offset] = await self._fetch(offset)
            except BaseException as error:  # raised to the consumer when it comes to this page
                self._arrived[offset] = error
                self._broken, self._end = True, offset
                return
            finally:
                self._bell.set()
