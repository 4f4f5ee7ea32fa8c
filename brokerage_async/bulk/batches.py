"""Batches of a bulk fetch: every key once, as many per request as fit. And a period of time in ranges of dates."""

from __future__ import annotations

import itertools
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Container,
    Iterable,
    Sequence,
    Sized,
)
from contextlib import aclosing
from datetime import date, timedelta
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import attrs

from .._arguments import check_count, check_date
from ..errors import InvalidRequestError
from ..http.concurrency import map_in_order
from ..protocol.dedup import CompactSet
from ..protocol.validation.rules import add_months

MAX_MONTHS = 9
"""Maximum span between the two dates of one request."""


def split_range(from_date: date, to_date: date, *, months: int = MAX_MONTHS) -> list[tuple[date, date]]:
    """Split a range into the fewest consecutive ranges shorter than ``months``.

    Both ends of every range are included.

    Raises:
        InvalidRequestError: ``to_date`` is before ``from_date``, or one of them is not a date.
        ConfigurationError: ``months`` is less than 1.
    """
    check_date("from_date", from_date)
    check_date("to_date", to_date)
    if to_date < from_date:
        raise InvalidRequestError(f"to_date must not be before from_date, got {from_date} to {to_date}")
    check_count("months", months)
    parts = []
    while from_date < (following := add_months(from_date, months)) <= to_date:
        parts.append((from_date, following - timedelta(days=1)))
        from_date = following
    return [*parts, (from_date, to_date)]


async def over_range(
    fetch: Callable[[date, date], Awaitable[Iterable[T]]],
    from_date: date,
    to_date: date,
    *,
    months: int = MAX_MONTHS,
    concurrency: int = 8,
) -> list[T]:
    """Return the joined results of ``fetch`` over a range of any length.

    ``fetch(from_date, to_date)`` is called for each part. The results keep the order of the dates.

    At most ``concurrency`` parts are in flight. When one of them fails, the others are cancelled and its error raised.
    """
    check_count("concurrency", concurrency)
    parts = split_range(from_date, to_date, months=months)
    found = await map_in_order(lambda part: fetch(*part), parts, concurrency=concurrency)
    return [item for part in found for item in part]


T = TypeVar("T")


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


class Batcher:
    """Cuts keys into batches, reading no further than the next batch needs.

    Args:
        source: iterable or async iterable of strings, of any length.
        max_size: maximum number of keys in a batch.
        max_length: maximum number of characters in a batch, as ``length`` measures them.
        length: returns the characters that keys add to a request.

    Raises:
        InvalidRequestError: ``source`` is not an iterable of strings. Keys of an iterator are checked as they are read.

    Attributes:
        total: the number of keys, None if the source has no length.
        known: keys that need no request.
        skipped: the number of keys read so far that are in no batch: repeated and known keys and the empty one.
        rejected: keys that cannot be requested, with their errors.
    """

    def __init__(
        self,
        source: Iterable[str] | AsyncIterable[str],
        *,
        max_size: int,
        max_length: int,
        length: Callable[[Sequence[str]], int],
    ) -> None:
        if isinstance(source, str | bytes | bytearray):
            raise InvalidRequestError(f"symbols must be an iterable of str, got the single value {source!r}")
        if not isinstance(source, Iterable | AsyncIterable):
            raise InvalidRequestError(f"symbols must be an iterable of str, got {source!r}")
        if isinstance(source, Collection):
            _check_keys(source)
        self._source = source
        self._max_size = max_size
        self._max_length = max_length
        self._length = length
        self.total: int | None = len(source) if isinstance(source, Sized) else None
        self.known: Container[str] = ()
        self.skipped: int = 0
        self.rejected: dict[str, Exception] = {}

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
