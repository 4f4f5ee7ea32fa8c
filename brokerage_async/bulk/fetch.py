"""Many keys in few requests: the engine of ``client.bulk``, for any coroutine function ``fetch(batch) -> values``.

Keys are cut into batches, a bounded number of batches is in flight, and a batch that fails is bisected, down to single
keys if necessary. Adapters at the end turn endpoints into such functions.
"""

from __future__ import annotations

import asyncio
import enum
import itertools
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Container,
    Generator,
    Iterable,
    Mapping,
    Sequence,
    Sized,
)
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from urllib.parse import quote

import attrs

from .._arguments import check_count, check_function, running_loop
from .._decimals import Decimals
from ..arrow import to_arrow, to_pandas, to_polars
from ..errors import ConfigurationError, InvalidRequestError, NotFoundError
from ..http.concurrency import ConcurrentMap
from ..operation import Pager
from ..protocol.dedup import CompactSet
from ..protocol.retry import Fault, Processed, verdict_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

T = TypeVar("T")
FetchBatch = Callable[[tuple[str, ...]], Awaitable[Mapping[str, T]]]
"""Requests one batch: takes a tuple of keys, returns the values by key."""
Progress = Callable[[int, "int | None", float], object]
"""Called with ``(keys done, total or None, elapsed seconds)``."""

MAX_CONSECUTIVE_AMBIGUOUS = 64
"""Minimum number of ambiguous failures in a row, with no success between them, that ends a fetch. Large batches allow
more: bisecting one down to its first key alone fails once at every step."""

MAX_THROTTLE_PAUSE = 60.0  # seconds of a pause after a 429, whatever its ``Retry-After`` says


def url_length(keys: Sequence[str]) -> int:
    """Return the characters that ``keys`` add to a URL as array parameter, its repeated name included."""
    joined = "".join(keys)
    encoded = joined if joined.isascii() and joined.isalnum() else quote(joined, safe="", errors="replace")
    return 16 * len(keys) + len(encoded)


class FailureScope(enum.Enum):
    """What a failed batch says about its keys, and therefore how the fetch continues."""

    KEYS = "at least one key is at fault: bisect the batch"
    AMBIGUOUS = "a key or the service is at fault: bisect the batch as long as other requests succeed"
    DENIED = "a key or the whole fetch is denied: bisect the batch, and end the fetch if no request succeeds"
    THROTTLED = "no key is at fault and waiting helps: request the same batch again"
    FETCH = "no request can succeed: end the fetch"


def failure_scope(error: Exception) -> FailureScope:
    """Classify an error of this library. Any other exception ends the fetch."""
    verdict = verdict_of(error)
    match verdict.fault:
        case Fault.REQUEST:
            return FailureScope.KEYS
        case Fault.ACCESS:
            return FailureScope.DENIED
        case Fault.RATE:
            return FailureScope.THROTTLED
        case Fault.SERVICE | Fault.NETWORK if verdict.processed is not Processed.NO:
            return FailureScope.KEYS if verdict.processed is Processed.YES else FailureScope.AMBIGUOUS
    return FailureScope.FETCH


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
        single = "the single value " if isinstance(keys, str | bytes | bytearray) else ""
        if single or not isinstance(keys, Iterable | AsyncIterable):
            raise InvalidRequestError(f"symbols must be an iterable of str, got {single}{keys!r}")
        if isinstance(keys, Collection):
            for key in keys:
                _checked(key)
        self._source, self._total = keys, len(keys) if isinstance(keys, Sized) else None
        self._fetch, self._failure_scope = fetch, failure_scope
        self._concurrency, self._batch_size = concurrency, batch_size
        self._batch_length, self._length = batch_length, length
        self._on_progress = on_progress
        self.model = model
        self.name = name
        self._done = 0  # keys that are resolved, known, repeated or empty
        self._ambiguous = 0  # failures in a row
        self._denied: Exception | None = None
        self._succeeded = self._closed = False
        self._calls: ConcurrentMap[tuple[str, ...], BulkResult[T]] | None = None
        self.missing: list[str] = []
        self.failed: dict[str, Exception] = {}

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
        resolved = self.batches(whole=False)  # here, so that a second iteration is refused before its first step

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
        async with aclosing(self._keys()) as keys:
            self._source = read = list(dict.fromkeys([key async for key in keys]))
        self._total = len(read)
        return read

    def batches(
        self, *, whole: bool = True, known: Container[str] = ()
    ) -> AsyncGenerator[tuple[int, BulkResult[T]], None]:
        """Return a generator of the result of each batch, with its place, when it is resolved.

        The ``known`` keys are left out and count as done.

        Raises:
            RuntimeError: the fetch ran before. From the generator: it was closed before the ``whole`` was resolved.
        """
        if self._calls is not None:
            raise RuntimeError("a bulk fetch runs once: make a new one to fetch again")
        batches = self._cut(known)
        calls = self._calls = ConcurrentMap(self._resolve, batches, concurrency=self._concurrency)

        async def run() -> AsyncGenerator[tuple[int, BulkResult[T]], None]:
            clock = running_loop().time
            started, reported = clock(), 0

            def report() -> None:
                nonlocal reported
                if self._on_progress is not None and reported < self._done:
                    reported = self._done
                    self._on_progress(self._done, self._total, clock() - started)

            if self._closed:
                await calls.aclose()
            async with aclosing(batches), aclosing(aiter(calls)) as answers:
                async for index, batch in answers:
                    self._done += len(batch.found) + len(batch.missing) + len(batch.failed)
                    self.missing.extend(batch.missing)
                    self.failed.update(batch.failed)
                    report()
                    yield index, batch
                if self._denied is not None and not self._succeeded and not self._closed:
                    raise self._denied  # it was the fetch that was denied, not the keys
                report()  # the last keys may have been duplicates
            if whole and self._closed:
                raise RuntimeError("the bulk fetch was closed before every key was resolved")

        return run()

    async def _collect(self) -> BulkResult[T]:
        async with aclosing(self.batches()) as resolved:
            batches = dict([pair async for pair in resolved])
        result: BulkResult[T] = BulkResult(found={}, failed=self.failed, model=self.model)
        for index in sorted(batches):
            result.found.update(batches[index].found)
            result.missing.extend(batches[index].missing)
        return result

    async def _keys(self) -> AsyncGenerator[str, None]:
        if not isinstance(self._source, AsyncIterable):
            for key in self._source:
                yield _checked(key)
            return
        iterator = aiter(self._source)
        try:
            async for key in iterator:
                yield _checked(key)
        finally:
            if isinstance(iterator, AsyncGenerator):  # made here, so closed here
                await iterator.aclose()

    async def _cut(self, known: Container[str]) -> AsyncGenerator[tuple[str, ...], None]:
        """Yield each batch as soon as it is full, reading no further than it needs."""
        seen, pending = CompactSet(), list[str]()
        async with aclosing(self._keys()) as keys:
            async for key in keys:
                if key and seen.add(key) and key not in known:
                    pending.append(key)
                else:
                    self._done += 1
                if not key:  # as a filter it would match everything
                    self.failed[""] = InvalidRequestError("symbol must not be empty, got ''")
                if len(pending) == self._batch_size:
                    yield self._take(pending)
        while pending:
            yield self._take(pending)

    def _take(self, pending: list[str]) -> tuple[str, ...]:
        count = len(pending)
        if self._length(pending) > self._batch_length:
            lengths = itertools.accumulate(self._length((key,)) for key in pending)
            count = max(1, sum(length <= self._batch_length for length in lengths))  # an oversized key goes alone
        keys = tuple(pending[:count])
        del pending[:count]
        return keys

    async def _resolve(self, batch: tuple[str, ...]) -> BulkResult[T]:
        """Request a batch, and bisect it until every key is found, missing or failed, or an error ends the fetch."""
        max_ambiguous = max(MAX_CONSECUTIVE_AMBIGUOUS, 2 * self._concurrency * self._batch_size.bit_length())
        result: BulkResult[T] = BulkResult(found={})
        parts = [batch]
        while parts:
            keys = parts.pop()
            try:
                answer = await self._fetch(keys)
            except Exception as error:
                scope = self._failure_scope(error)
                if scope is FailureScope.DENIED:
                    self._denied = error
                if scope is FailureScope.KEYS:
                    self._ambiguous = 0
                elif scope is not FailureScope.DENIED or not self._succeeded:
                    self._ambiguous += 1
                if scope is FailureScope.FETCH or self._ambiguous >= max_ambiguous:
                    raise
                if scope is FailureScope.THROTTLED:
                    await asyncio.sleep(min(getattr(error, "retry_after", None) or 1.0, MAX_THROTTLE_PAUSE))
                    parts.append(keys)
                elif len(keys) == 1:
                    result.failed[keys[0]] = error
                else:
                    middle = len(keys) // 2
                    parts += [keys[middle:], keys[:middle]]
            else:
                self._ambiguous, self._succeeded = 0, True
                found = {key: answer[key] for key in keys if key in answer}
                result.found.update(found)
                result.missing.extend(key for key in keys if key not in found)
        return result


def _checked(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidRequestError(f"every symbol must be a str, got {key!r}")
    return key


class _Listed(Protocol):
    """Item of a list that is filtered by symbol."""

    @property
    def symbol(self) -> str | None: ...


L = TypeVar("L", bound=_Listed)


def listed(read: Callable[..., Awaitable[Iterable[L]]]) -> FetchBatch[L]:
    """Adapt a list filtered by ``symbols``, which leaves out the unknown ones."""

    async def fetch(batch: tuple[str, ...]) -> Mapping[str, L]:
        return by_requested(batch, await read(symbols=batch))

    return fetch


def paged(read: Callable[..., Pager[L]]) -> FetchBatch[L]:
    """Adapt a paginated list that is filtered by ``symbols``."""
    # A page as large as the batch: a full page is the last one, with or without a pagination block.
    return listed(lambda symbols: read(symbols=symbols, per_page=len(symbols)).collect(max_items=len(symbols)))


def one_by_one(read: Callable[[str], Awaitable[T]]) -> FetchBatch[T]:
    """Adapt an endpoint for one symbol that answers 404 if unknown."""

    async def fetch(batch: tuple[str, ...]) -> Mapping[str, T]:
        (symbol,) = batch
        try:
            return {symbol: await read(symbol)}
        except NotFoundError:
            return {}

    return fetch


def by_requested(requested: Sequence[str], items: Iterable[L]) -> dict[str, L]:
    """Key the items by the symbols as requested, which the service may spell with other spaces, capitals or a slash."""
    by_symbol = {item.symbol: item for item in items if item.symbol}
    found = {symbol: by_symbol[symbol] for symbol in requested if symbol in by_symbol}
    if len(found) < min(len(requested), len(by_symbol)):
        others = {_folded(symbol): item for symbol, item in by_symbol.items() if symbol not in found}
        for symbol in requested:
            if symbol not in found and (item := others.get(_folded(symbol))) is not None:
                found[symbol] = item
    return found


def _folded(symbol: str) -> str:
    return "".join(symbol.split()).upper().removeprefix("/")
