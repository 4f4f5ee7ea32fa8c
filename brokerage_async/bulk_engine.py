"""Asking for many keys in few requests: the engine under ``client.bulk``, for any coroutine ``fetch(batch) -> values``.

The engine reads keys as it needs them, cuts them into batches, keeps a bounded number of batches in flight, and hands
on what arrives. A batch that cannot be answered is halved until the keys at fault stand alone.
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
    Generator,
    Iterable,
    Mapping,
    Sequence,
    Sized,
)
from contextlib import aclosing
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

import attrs

from .checks import check_count
from .errors import (
    APIError,
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    PermissionDeniedError,
    RateLimitError,
    ResponseDecodeError,
    ResponseLostError,
    ServerError,
    VersionNotSupportedError,
)
from .seen import Seen

if TYPE_CHECKING:
    import pyarrow

__all__ = ["BulkFetch", "BulkResult", "Fetch", "Progress", "Verdict", "judge", "url_length"]

T = TypeVar("T")
Fetch = Callable[[tuple[str, ...]], Awaitable[Mapping[str, T]]]
Progress = Callable[[int, "int | None", float], object]

PATIENCE = 64
"""At least so many doubtful failures in a row, with no answer between them, before they are taken for the service's
fault and end a fetch. Large batches have more: halving one down to its first key alone fails once at every step."""


class Verdict(enum.Enum):
    """Whose fault a failed batch is, and so what becomes of it."""

    KEYS = "one of the keys is at fault: halve the batch"
    DOUBT = "one of the keys or the service is at fault: halve the batch while other requests are answered"
    AGAIN = "no key is at fault and waiting helps: ask the same batch again"
    END = "nothing that is asked can be answered: end the fetch"


def judge(error: Exception) -> Verdict:
    """The verdict on an error of this library; anything that is no such error ends the fetch."""
    match error:
        case RateLimitError():
            return Verdict.AGAIN
        case ServerError() | ResponseLostError():
            return Verdict.DOUBT
        case AuthenticationError() | PermissionDeniedError() | VersionNotSupportedError():
            return Verdict.END
        case APIError() | InvalidRequestError() | ResponseDecodeError():
            return Verdict.KEYS
        case _:
            return Verdict.END


def url_length(keys: Sequence[str]) -> int:
    """Characters that ``keys`` take in a URL as values of an array parameter, its repeated name included."""
    text = "".join(keys)
    encoded = text if text.isascii() and text.isalnum() else quote(text, safe="", errors="replace")
    return 16 * len(keys) + len(encoded)


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
        from .frames import table_of_found  # only here: pyarrow is an extra

        return table_of_found(self.found, self.model)


@attrs.define
class _Batch(Generic[T]):
    """Keys that are asked in one request, and what became of them."""

    index: int
    keys: tuple[str, ...]
    found: dict[str, T] = attrs.field(factory=dict)
    missing: list[str] = attrs.field(factory=list)
    failed: dict[str, Exception] = attrs.field(factory=dict)


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
        _check_source(keys)
        for name, bound in (("concurrency", concurrency), ("batch_size", batch_size), ("batch_length", batch_length)):
            check_count(name, bound)
        if on_progress is not None and not callable(on_progress):
            raise ConfigurationError(f"on_progress must be callable, not {type(on_progress).__name__}")
        self._source = keys
        self._fetch = fetch
        self._concurrency = concurrency
        self._batch_size = batch_size
        self._batch_length = batch_length
        self._length = length
        self._on_progress = on_progress
        self._verdict = verdict
        self._model = model
        self._total = len(keys) if isinstance(keys, Sized) else None
        self._done = 0
        self._doubts = 0
        self._closed = False
        self._patience = max(PATIENCE, 2 * concurrency * batch_size.bit_length())
        self._batches: AsyncGenerator[_Batch[T], None] | None = None
        self._lanes: list[asyncio.Task[None]] = []
        self._answers: asyncio.Queue[_Batch[T] | asyncio.Task[None]] = asyncio.Queue()
        self._turn = asyncio.Lock()
        self._room = asyncio.Semaphore(concurrency)
        self.missing: list[str] = []
        self.failed: dict[str, Exception] = {}

    async def __aenter__(self) -> BulkFetch[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel what is in flight and wait until it is gone; an iteration that goes on finds nothing more."""
        self._closed = True
        for lane in self._lanes:
            lane.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)

    def __aiter__(self) -> AsyncIterator[tuple[str, T]]:
        return self._pairs(self._start())

    def __await__(self) -> Generator[Any, None, BulkResult[T]]:
        return self._collect(self._start()).__await__()

    def _start(self) -> AsyncGenerator[_Batch[T], None]:
        if self._batches is not None:
            raise RuntimeError("a bulk fetch runs once: make a new one to ask again")
        self._batches = self._cut()
        return self._answered(self._batches)

    async def _pairs(self, answered: AsyncGenerator[_Batch[T], None]) -> AsyncIterator[tuple[str, T]]:
        async with aclosing(answered):
            async for batch in answered:
                for pair in batch.found.items():
                    yield pair

    async def _collect(self, answered: AsyncGenerator[_Batch[T], None]) -> BulkResult[T]:
        async with aclosing(answered):
            batches = [batch async for batch in answered]
        batches.sort(key=attrgetter("index"))
        result: BulkResult[T] = BulkResult(found={}, failed=self.failed, model=self._model)
        for batch in batches:
            result.found.update(batch.found)
            result.missing.extend(batch.missing)
        return result

    async def _answered(self, batches: AsyncGenerator[_Batch[T], None]) -> AsyncGenerator[_Batch[T], None]:
        """The batches as they are answered. Further ones are in flight while the consumer is busy; no more than
        ``concurrency`` of them wait for it."""
        clock = asyncio.get_running_loop().time
        started, reported = clock(), 0
        self._lanes = [asyncio.create_task(self._lane(batches)) for _ in range(self._concurrency)]
        for lane in self._lanes:
            lane.add_done_callback(self._answers.put_nowait)
        running = self._concurrency
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
                self._done += len(batch.keys)
                self.missing.extend(batch.missing)
                self.failed.update(batch.failed)
                if self._on_progress is not None:
                    self._on_progress(self._done, self._total, clock() - started)
                    reported = self._done
                yield batch
            if self._on_progress is not None and reported < self._done:  # the last keys were duplicates
                self._on_progress(self._done, self._total, clock() - started)
        finally:
            await self.aclose()
            await batches.aclose()

    async def _lane(self, batches: AsyncIterator[_Batch[T]]) -> None:
        """Ask for one batch after the other. The next one is sent before anybody looks at the last: lanes whose answers
        come together would otherwise wait for all of them to be decoded, and stay in step for good."""
        while True:
            async with self._turn:
                batch = await anext(batches, None)
            if batch is None:
                return
            await self._answer(batch)
            await self._room.acquire()
            self._answers.put_nowait(batch)

    async def _answer(self, batch: _Batch[T]) -> None:
        """Ask for a batch, then for ever smaller parts of it, until every key is found, missing or failed."""
        parts = [batch.keys]
        while parts:
            keys = parts.pop()
            try:
                answer = await self._fetch(keys)
            except Exception as error:
                verdict = self._verdict(error)
                self._doubts = self._doubts + 1 if verdict in (Verdict.DOUBT, Verdict.AGAIN) else 0
                if verdict is Verdict.END or self._doubts >= self._patience:
                    raise
                if verdict is Verdict.AGAIN:
                    await asyncio.sleep(getattr(error, "retry_after", None) or 1.0)
                    parts.append(keys)
                elif len(keys) == 1:
                    batch.failed[keys[0]] = error
                else:
                    middle = len(keys) // 2
                    parts += keys[middle:], keys[:middle]
            else:
                self._doubts = 0
                found = {key: answer[key] for key in keys if key in answer}
                batch.found |= found
                if len(found) < len(keys):
                    batch.missing += [key for key in keys if key not in found]

    async def _cut(self) -> AsyncGenerator[_Batch[T], None]:
        """The distinct keys in batches, within the bounds of count and length."""
        seen, pending, index = Seen(), list[str](), itertools.count()
        async with aclosing(_slices(self._source, self._batch_size)) as slices:
            async for keys in slices:
                _check_keys(keys)
                fresh = seen.new(keys)
                if "" in fresh:  # it would be no filter at all, and fetch everything
                    fresh.remove("")
                    self.failed[""] = ConfigurationError("an empty symbol cannot be asked for")
                self._done += len(keys) - len(fresh)
                pending += fresh
                while len(pending) >= self._batch_size:
                    yield _Batch(next(index), self._take(pending))
        while pending:
            yield _Batch(next(index), self._take(pending))

    def _take(self, pending: list[str]) -> tuple[str, ...]:
        """The keys of the next batch, taken from the head of those that wait."""
        count = min(self._batch_size, len(pending))
        if self._length(pending[:count]) > self._batch_length:
            lengths = itertools.accumulate(self._length((key,)) for key in pending)
            fitting = itertools.takewhile(lambda length: length <= self._batch_length, lengths)
            count = max(1, sum(1 for _ in fitting))  # a key that is too long by itself goes alone
        keys = tuple(pending[:count])
        del pending[: len(keys)]
        return keys


def _check_source(keys: object) -> None:
    if isinstance(keys, str | bytes | bytearray):
        raise InvalidRequestError(f"an iterable of symbols is needed, not the one string {keys!r}")
    if not isinstance(keys, Iterable | AsyncIterable):
        raise InvalidRequestError(f"an iterable of symbols is needed, not {type(keys).__name__}")
    if isinstance(keys, Collection):
        _check_keys(keys)


def _check_keys(keys: Iterable[object]) -> None:
    for key in keys:
        if not isinstance(key, str):
            raise InvalidRequestError(f"every symbol must be a text, not {type(key).__name__} {key!r}")


async def _slices(source: Iterable[str] | AsyncIterable[str], size: int) -> AsyncGenerator[list[str], None]:
    """The keys of either kind of source, up to ``size`` at a time, read no further than that."""
    if isinstance(source, AsyncIterable):
        keys: list[str] = []
        iterator = aiter(source)
        try:
            async for key in iterator:
                keys.append(key)
                if len(keys) == size:
                    yield keys
                    keys = []
        finally:
            if isinstance(iterator, AsyncGenerator):  # nobody else can close it
                await iterator.aclose()
        yield keys
    else:
        rest = iter(source)
        while keys := list(itertools.islice(rest, size)):
            yield keys
