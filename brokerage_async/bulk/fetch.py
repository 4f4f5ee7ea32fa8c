"""Asking for many keys in few requests: the engine under ``client.bulk``, for any coroutine ``fetch(batch) -> values``.

Keys are cut into batches (``batches``), a bounded number of batches is in flight, each is asked for until all of its
keys are answered (``halving``), and what arrives is handed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import aclosing
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from .._arguments import check_count, check_function
from ..errors import ConfigurationError
from .batches import Batch, Cutter, url_length
from .bisect import Fetch, Halving, Verdict, judge

if TYPE_CHECKING:
    import pyarrow

__all__ = ["BulkFetch", "BulkResult", "Progress"]

T = TypeVar("T")
Progress = Callable[[int, "int | None", float], object]
"""Told ``(keys done, total or None, elapsed seconds)``."""


@attrs.frozen(kw_only=True)
class BulkResult(Generic[T]):
    """What a whole bulk fetch brought.

    Attributes:
        found: the values by the key that was asked, in the order of the input.
        missing: the keys that the service does not know, in the order of the input.
        failed: the keys that could not be answered, each with its error.
        model: the class of the values (or of their items, where a value is a list), if it is known.
    """

    found: dict[str, T]
    missing: list[str] = attrs.field(factory=list)
    failed: dict[str, Exception] = attrs.field(factory=dict)
    model: type[Any] | None = attrs.field(default=None, repr=False, eq=False)

    def to_arrow(self) -> pyarrow.Table:
        """What was found as an Arrow table (extra ``frames``): a column ``key``, then one for each field of the model.

        A value that is a list gives a row for each of its items. Decimals are ``decimal128(38, 18)``, points in time
        ``timestamp('us', 'UTC')``, dates ``date32``; nested models are structs, unknown fields JSON text in ``extra``.
        """
        from ..arrow import table_of_found  # only here: pyarrow is an extra

        return table_of_found(self.found, self.model)


class BulkFetch(Generic[T]):
    """Values for many keys. Nothing is asked before it is iterated or awaited, and it runs once::

        async for symbol, equity in client.bulk.equities(symbols): ...       # as they arrive, in bounded memory
        result = await client.bulk.equities(symbols)                         # a BulkResult, in the order of the input
        async with client.bulk.equities(symbols) as fetch:                   # nothing is in flight after the block
            async for symbol, equity in fetch: ...
            print(fetch.missing, fetch.failed)

    Args:
        keys: any iterable or async iterable of strings, of any length; a key that comes twice is asked once. A batch
            is asked as soon as it is full or the keys end.
        fetch: asks for one batch: takes a tuple of keys, returns the values by key.
        concurrency: how many batches are in flight at most.
        batch_size, batch_length: how many keys a batch holds at most, and how many characters (as ``length`` measures).
        length: the characters that keys add to a request.
        on_progress: called as ``on_progress(done, total, elapsed)`` after each batch; ``total`` is None for keys
            without a length, ``elapsed`` is in seconds. What it raises ends the fetch.
        verdict: whose fault an error of ``fetch`` is.
        model: the class of the values, for ``BulkResult.to_arrow``.

    Raises:
        InvalidRequestError: ``keys`` are no iterable of texts; what only shows while they are read, when it is met.
        ConfigurationError: another argument cannot be used.

    Attributes:
        missing: keys that the service does not know, so far.
        failed: keys that could not be answered, each with its error, so far.
    """

    def __init__(
        self,
        keys: Iterable[str] | AsyncIterable[str],
        fetch: Fetch[T],
        *,
        concurrency: int = 8,
        batch_size: int = 100,
        batch_length: int = 6_000,
        length: Callable[[Sequence[str]], int] = url_length,
        on_progress: Progress | None = None,
        verdict: Callable[[Exception], Verdict] = judge,
        model: type[Any] | None = None,
    ) -> None:
        for name, bound in (("concurrency", concurrency), ("batch_size", batch_size), ("batch_length", batch_length)):
            check_count(name, bound)
        for name, function in (("length", length), ("verdict", verdict), ("on_progress", on_progress or _no_progress)):
            check_function(name, function)
        if not callable(fetch):
            raise ConfigurationError(f"fetch must be a coroutine function, not {type(fetch).__name__}")
        self._cutter = Cutter(keys, size=batch_size, room=batch_length, length=length)
        self._halving = Halving(fetch, verdict, concurrency=concurrency, size=batch_size)
        self._concurrency = concurrency
        self._on_progress = on_progress or _no_progress
        self._model = model
        self._answered_keys = 0
        self._closed = self._complete = False
        self._batches: AsyncGenerator[Batch[T], None] | None = None
        self._lanes: list[asyncio.Task[None]] = []
        self._answers: asyncio.Queue[Batch[T] | asyncio.Task[None]] = asyncio.Queue()
        self._turn = asyncio.Lock()
        self._room = asyncio.Semaphore(concurrency)
        self.missing: list[str] = []
        self.failed: dict[str, Exception] = self._cutter.refused

    async def __aenter__(self) -> BulkFetch[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel what is in flight and wait until it is gone. An iteration that goes on finds nothing more; who awaits
        the whole result gets a RuntimeError."""
        self._closed = True
        for lane in self._lanes:
            lane.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)

    def __aiter__(self) -> AsyncIterator[tuple[str, T]]:
        return self._pairs(self._start())

    def __await__(self) -> Generator[Any, None, BulkResult[T]]:
        return self._collect(self._start()).__await__()

    def _start(self) -> AsyncGenerator[Batch[T], None]:
        if self._batches is not None:
            raise RuntimeError("a bulk fetch runs once: make a new one to ask again")
        self._batches = self._cutter.batches()
        return self._answered(self._batches)

    async def _pairs(self, answered: AsyncGenerator[Batch[T], None]) -> AsyncIterator[tuple[str, T]]:
        async with aclosing(answered):
            async for batch in answered:
                for pair in batch.found.items():
                    yield pair

    async def _collect(self, answered: AsyncGenerator[Batch[T], None]) -> BulkResult[T]:
        async with aclosing(answered):
            batches = [batch async for batch in answered]
        if not self._complete:
            raise RuntimeError("the bulk fetch was closed before every key was answered")
        batches.sort(key=attrgetter("index"))
        result: BulkResult[T] = BulkResult(found={}, failed=self.failed, model=self._model)
        for batch in batches:
            result.found.update(batch.found)
            result.missing.extend(batch.missing)
        return result

    async def _answered(self, batches: AsyncGenerator[Batch[T], None]) -> AsyncGenerator[Batch[T], None]:
        """The batches as they are answered. Further ones are in flight while the consumer is busy; no more than
        ``concurrency`` of them wait for it."""
        clock, total = asyncio.get_running_loop().time, self._cutter.total
        started, reported = clock(), 0
        most = self._concurrency if total is None else max(1, min(self._concurrency, total))
        running = 0 if self._closed else most
        self._lanes = [asyncio.create_task(self._lane(batches)) for _ in range(running)]
        for lane in self._lanes:
            lane.add_done_callback(self._answers.put_nowait)
        try:
            while running:
                batch = await self._answers.get()
                if isinstance(batch, asyncio.Task):
                    if self._closed:
                        return
                    batch.result()
                    running -= 1
                    continue
                self._room.release()
                self._note(batch)
                self._on_progress(self._done, total, clock() - started)
                reported = self._done
                yield batch
            if reported < self._done:  # the last keys were duplicates
                self._on_progress(self._done, total, clock() - started)
            self._complete = not self._closed
        finally:
            await self.aclose()
            await batches.aclose()

    @property
    def _done(self) -> int:
        """How many of the keys that were read need nothing more."""
        return self._cutter.passed + self._answered_keys

    def _note(self, batch: Batch[T]) -> None:
        self._answered_keys += len(batch.keys)
        self.missing.extend(batch.missing)
        self.failed.update(batch.failed)

    async def _lane(self, batches: AsyncIterator[Batch[T]]) -> None:
        """Ask for one batch after the other. The next one is sent before anybody looks at the last: lanes whose answers
        come together would otherwise wait for all of them to be decoded, and stay in step for good."""
        while True:
            async with self._turn:
                batch = await anext(batches, None)
            if batch is None:
                return
            await self._halving.answer(batch)
            await self._room.acquire()
            self._answers.put_nowait(batch)


def _no_progress(done: int, total: int | None, elapsed: float) -> None:
    """What is told when nobody wants to know."""
