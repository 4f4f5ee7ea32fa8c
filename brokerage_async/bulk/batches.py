"""Batches of a bulk fetch: every key once, as many per request as fit, and failing batches bisected."""

from __future__ import annotations

import asyncio
import enum
import itertools
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Container,
    Iterable,
    Mapping,
    Sequence,
    Sized,
)
from contextlib import aclosing
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import attrs

from ..errors import InvalidRequestError
from ..protocol.dedup import CompactSet
from ..protocol.retry import Fault, Processed, verdict_of

T = TypeVar("T")
FetchBatch = Callable[[tuple[str, ...]], Awaitable[Mapping[str, T]]]
"""Requests one batch: takes a tuple of keys, returns the values by key."""

MAX_CONSECUTIVE_AMBIGUOUS = 64
"""Minimum number of ambiguous failures in a row, with no success between them, that ends a fetch. Large batches allow
more: bisecting one down to its first key alone fails once at every step."""

MAX_THROTTLE_PAUSE = 60.0
"""Maximum seconds of a pause after a 429, whatever its ``Retry-After`` says."""


@attrs.define
class Batch(Generic[T]):
    """Keys of one request, with their values, the missing ones and the failed ones."""

    keys: tuple[str, ...]
    found: dict[str, T] = attrs.field(factory=dict)
    missing: list[str] = attrs.field(factory=list)
    failed: dict[str, Exception] = attrs.field(factory=dict)


def url_length(keys: Sequence[str]) -> int:
    """Return the characters that ``keys`` add to a URL as array parameter.

    The name of the parameter, which repeats, is included.
    """
    joined = "".join(keys)
    encoded = joined if joined.isascii() and joined.isalnum() else quote(joined, safe="", errors="replace")
    return 16 * len(keys) + len(encoded)


@attrs.define(eq=False)
class Batcher:
    """Cuts keys into batches, reading no further than the next batch needs. The arguments are those of `BulkFetch`.

    Attributes:
        total: the number of keys, None if the source has no length.
        known: keys that need no request.
        skipped: the number of keys read so far that are in no batch: repeated and known keys and the empty one.
        rejected: keys that cannot be requested, with their errors.
    """

    _source: Iterable[str] | AsyncIterable[str]
    _max_size: int
    _max_length: int
    _length: Callable[[Sequence[str]], int]
    total: int | None = attrs.field(init=False)
    known: Container[str] = attrs.field(default=(), init=False)
    skipped: int = attrs.field(default=0, init=False)
    rejected: dict[str, Exception] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        source = self._source
        if isinstance(source, str | bytes | bytearray):
            raise InvalidRequestError(f"symbols must be an iterable of str, got the single value {source!r}")
        if not isinstance(source, Iterable | AsyncIterable):
            raise InvalidRequestError(f"symbols must be an iterable of str, got {source!r}")
        if isinstance(source, Collection):
            _check_keys(source)
        self.total = len(source) if isinstance(source, Sized) else None

    async def batches(self) -> AsyncGenerator[Batch[Any], None]:
        """Yield each batch as soon as it is full."""
        seen, pending = CompactSet(), list[str]()
        async with aclosing(_chunks(self._source, self._max_size)) as chunks:
            async for keys in chunks:
                _check_keys(keys)
                fresh = [key for key in seen.new(keys) if key not in self.known]
                if "" in fresh:  # as a filter it would match everything
                    fresh.remove("")
                    self.rejected[""] = InvalidRequestError("symbol must not be empty, got ''")
                self.skipped += len(keys) - len(fresh)
                pending += fresh
                while len(pending) >= self._max_size:
                    yield Batch(self._take(pending))
        while pending:
            yield Batch(self._take(pending))

    async def read(self) -> list[str]:
        """Read the whole source now. Return its keys in order, without repetitions."""
        keys: dict[str, None] = {}
        async with aclosing(_chunks(self._source, self._max_size)) as chunks:
            async for chunk in chunks:
                _check_keys(chunk)
                keys |= dict.fromkeys(chunk)
        self._source, self.total = list(keys), len(keys)
        return list(keys)

    def _take(self, pending: list[str]) -> tuple[str, ...]:
        """Remove and return the keys of the next batch."""
        count = min(self._max_size, len(pending))
        if self._length(pending[:count]) > self._max_length:
            lengths = itertools.accumulate(self._length((key,)) for key in pending)
            fitting = itertools.takewhile(lambda length: length <= self._max_length, lengths)
            count = max(1, sum(1 for _ in fitting))  # an oversized key goes alone
        keys = tuple(pending[:count])
        del pending[: len(keys)]
        return keys


def _check_keys(keys: Iterable[object]) -> None:
    for key in keys:
        if not isinstance(key, str):
            raise InvalidRequestError(f"every symbol must be a str, got {key!r}")


async def _chunks(source: Iterable[str] | AsyncIterable[str], size: int) -> AsyncGenerator[list[str], None]:
    """Yield the keys of any source, up to ``size`` at a time."""
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
            if isinstance(iterator, AsyncGenerator):  # made here, so closed here
                await iterator.aclose()
        yield keys
    else:
        rest = iter(source)
        while keys := list(itertools.islice(rest, size)):
            yield keys


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


@attrs.define(eq=False)
class Bisection(Generic[T]):
    """Resolves the batches of one fetch, splitting those that fail. The arguments are those of `BulkFetch`."""

    _fetch: FetchBatch[T]
    _scope: Callable[[Exception], FailureScope]
    _concurrency: int
    _max_size: int
    _ambiguous: int = attrs.field(default=0, init=False)
    _denied: Exception | None = attrs.field(default=None, init=False)
    _succeeded: bool = attrs.field(default=False, init=False)

    async def resolve(self, batch: Batch[T]) -> Batch[T]:
        """Request a batch, and bisect it until every key is resolved: found, missing or failed.

        Raises the errors that end the fetch, and the last of too many ambiguous failures in a row.
        """
        max_ambiguous = max(MAX_CONSECUTIVE_AMBIGUOUS, 2 * self._concurrency * self._max_size.bit_length())
        parts = [batch.keys]
        while parts:
            keys = parts.pop()
            try:
                answer = await self._fetch(keys)
            except Exception as error:
                scope = self._scope(error)
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
                    batch.failed[keys[0]] = error
                else:
                    middle = len(keys) // 2
                    parts += [keys[middle:], keys[:middle]]
            else:
                self._ambiguous, self._succeeded = 0, True
                found = {key: answer[key] for key in keys if key in answer}
                batch.found |= found
                batch.missing += [key for key in keys if key not in found]
        return batch

    def raise_if_denied(self) -> None:
        """Raise the last denial if no request has succeeded: then it was the fetch that was denied, not the keys."""
        if self._denied is not None and not self._succeeded:
            raise self._denied
