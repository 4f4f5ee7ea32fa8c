"""Many keys in few requests: the engine of ``client.bulk``, for any coroutine function ``fetch(batch) -> values``.

Keys are cut into batches (``batches``), a bounded number of batches is in flight (``http.concurrency``), and each is
resolved down to single keys if necessary.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Container,
    Generator,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from .._arguments import check_count, check_function, running_loop
from .._decimals import Decimals
from ..arrow import to_arrow, to_pandas, to_polars
from ..errors import ConfigurationError
from ..http.concurrency import ConcurrentMap
from .batches import Batch, Batcher, Bisection, FailureScope, FetchBatch, failure_scope, url_length

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

T = TypeVar("T")
Progress = Callable[[int, "int | None", float], object]
"""Called with ``(keys done, total or None, elapsed seconds)``."""


@attrs.frozen(kw_only=True)
class BulkResult(Generic[T]):
    """Result of a whole bulk fetch.

    Attributes:
        found: the values by key, in the order of the input.
        missing: the keys that the service does not know, in the order of the input.
        failed: the keys whose request failed, with their errors.
        model: the class of the values (or of their items, where a value is a list), if known.
    """

    found: dict[str, T]
    missing: list[str] = attrs.field(factory=list)
    failed: dict[str, Exception] = attrs.field(factory=dict)
    model: type[Any] | None = attrs.field(default=None, repr=False, eq=False)

    def to_arrow(self, *, decimals: Decimals = "exact") -> pyarrow.Table:
        """Return the values as an Arrow table. See `brokerage_async.arrow.to_arrow`.

        The first column is ``key``. A value that is a list gives a row for each of its items.

        Raises:
            ConfigurationError: pyarrow is missing (extra ``arrow``), or a number fits no column.
        """
        return to_arrow(**self._rows(), decimals=decimals)

    def to_pandas(self, *, decimals: Decimals = "exact") -> pandas.DataFrame:
        """Return the values as a pandas frame. See `to_arrow`, and `brokerage_async.arrow.to_pandas`."""
        return to_pandas(**self._rows(), decimals=decimals)

    def to_polars(self, *, decimals: Decimals = "exact") -> polars.DataFrame:
        """Return the values as a Polars frame. See `to_arrow`, and `brokerage_async.arrow.to_polars`."""
        return to_polars(**self._rows(), decimals=decimals)

    def _rows(self) -> dict[str, Any]:
        """Return the arguments of a table: rows, their class, and the key of each row."""
        keys, rows = list[str](), list[Any]()
        for key, value in self.found.items():
            several = value if isinstance(value, list | tuple) else [value]
            keys += [key] * len(several)
            rows += several
        return {"rows": rows, "model": self.model, "keys": keys}


class BulkFetch(Generic[T]):
    """Values for many keys, fetched in batches.

    Nothing is sent before it is iterated or awaited, and it runs once::

        async for symbol, equity in client.bulk.equities(symbols): ...       # as they arrive, in bounded memory
        result = await client.bulk.equities(symbols)                         # a BulkResult, in the order of the input
        async with client.bulk.equities(symbols) as fetch:                   # nothing is in flight after the block
            async for symbol, equity in fetch: ...
            print(fetch.missing, fetch.failed)

    Args:
        keys: any iterable or async iterable of strings, of any length. A repeated key is requested once. A batch is
            sent as soon as it is full or the keys end.
        fetch: requests one batch: takes a tuple of keys, returns the values by key.
        concurrency: maximum number of batches in flight.
        batch_size: maximum number of keys in a batch.
        batch_length: maximum number of characters in a batch, as ``length`` measures them.
        length: returns the characters that keys add to a request.
        on_progress: called as ``on_progress(done, total, elapsed)`` after each batch; ``total`` is None for keys
            without a length, ``elapsed`` is in seconds. An exception that it raises ends the fetch.
        failure_scope: classifies an error of ``fetch``.
        model: the class of the values (or of their items, where a value is a list), for tables and files.
        name: names service, endpoint and arguments; `fetch_to_file` continues only a fetch of the same name.

    Raises:
        InvalidRequestError: ``keys`` is not an iterable of strings. Keys of an iterator are checked as they are read.
        ConfigurationError: another argument is invalid.

    Attributes:
        missing: keys that the service does not know, so far.
        failed: keys whose request failed, with their errors, so far.
    """

    def __init__(
        self,
        keys: Iterable[str] | AsyncIterable[str],
        fetch: FetchBatch[T],
        *,
        concurrency: int = 8,
        batch_size: int = 100,
        batch_length: int = 6_000,
        length: Callable[[Sequence[str]], int] = url_length,
        on_progress: Progress | None = None,
        failure_scope: Callable[[Exception], FailureScope] = failure_scope,
        model: type[Any] | None = None,
        name: str = "",
    ) -> None:
        check_count("concurrency", concurrency)
        check_count("batch_size", batch_size)
        check_count("batch_length", batch_length)
        check_function("length", length)
        check_function("failure_scope", failure_scope)
        if on_progress is not None:
            check_function("on_progress", on_progress)
        if not callable(fetch):
            raise ConfigurationError(f"fetch must be a coroutine function, got {fetch!r}")
        self._batcher = Batcher(keys, batch_size, batch_length, length)
        self._bisection = Bisection(fetch, failure_scope, concurrency, batch_size)
        self._concurrency = concurrency
        self._on_progress = on_progress
        self.model = model
        self.name = name
        self._closed = self._complete = False
        self._calls: ConcurrentMap[Batch[T], Batch[T]] | None = None
        self.missing: list[str] = []
        self.failed: dict[str, Exception] = self._batcher.rejected

    def __repr__(self) -> str:
        # asyncio.run(fetch) quotes it: "a coroutine was expected, got ..."
        return "<bulk fetch: await it, or iterate over it, in a coroutine>"

    async def __aenter__(self) -> BulkFetch[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel the requests in flight and wait for their end.

        An iteration that continues yields nothing more. Awaiting the whole result raises RuntimeError.
        """
        self._closed = True
        if self._calls is not None:
            await self._calls.aclose()

    def __aiter__(self) -> AsyncIterator[tuple[str, T]]:
        resolved = self._start()  # here, so that a second iteration is refused before its first step

        async def pairs() -> AsyncIterator[tuple[str, T]]:
            async with aclosing(resolved):
                async for _, batch in resolved:
                    for pair in batch.found.items():
                        yield pair

        return pairs()

    def __await__(self) -> Generator[Any, None, BulkResult[T]]:
        return self._collect().__await__()

    async def read_keys(self) -> list[str]:
        """Read every key now, and return them in order, without repetitions.

        Raises:
            InvalidRequestError: a key is not a string.
        """
        return await self._batcher.read()

    def skip(self, keys: Container[str]) -> None:
        """Leave out the keys in a container. They count as done."""
        self._batcher.known = keys

    async def batches(self) -> AsyncGenerator[tuple[int, Batch[T]], None]:
        """Yield each batch, with its place, when it is resolved into found, missing and failed keys."""
        async with aclosing(self._start()) as resolved:
            async for pair in resolved:
                yield pair
        if not self._complete:
            raise RuntimeError("the bulk fetch was closed before every key was resolved")

    async def _collect(self) -> BulkResult[T]:
        async with aclosing(self.batches()) as resolved:
            batches = dict([pair async for pair in resolved])
        result: BulkResult[T] = BulkResult(found={}, failed=self.failed, model=self.model)
        for index in sorted(batches):
            result.found.update(batches[index].found)
            result.missing.extend(batches[index].missing)
        return result

    def _start(self) -> AsyncGenerator[tuple[int, Batch[T]], None]:
        """Return a generator of each batch, with its place, when it is resolved."""
        if self._calls is not None:
            raise RuntimeError("a bulk fetch runs once: make a new one to fetch again")
        batches = self._batcher.batches()
        calls = self._calls = ConcurrentMap(self._bisection.resolve, batches, concurrency=self._concurrency)

        async def run() -> AsyncGenerator[tuple[int, Batch[T]], None]:
            clock = running_loop().time
            started, resolved, reported = clock(), 0, 0

            def report() -> None:
                nonlocal reported
                done = self._batcher.skipped + resolved
                if self._on_progress is not None and reported < done:
                    reported = done
                    self._on_progress(done, self._batcher.total, clock() - started)

            if self._closed:
                await calls.aclose()
            async with aclosing(batches), aclosing(aiter(calls)) as answers:
                async for index, batch in answers:
                    resolved += len(batch.keys)
                    self.missing.extend(batch.missing)
                    self.failed.update(batch.failed)
                    report()
                    yield index, batch
                if not self._closed:
                    self._bisection.raise_if_denied()
                report()  # the last keys may have been duplicates
                self._complete = not self._closed

        return run()
