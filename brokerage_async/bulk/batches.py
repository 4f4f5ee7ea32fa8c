"""Cutting the keys of a bulk fetch into batches: every key once, and as many together as one request can hold."""

from __future__ import annotations

import itertools
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Collection,
    Iterable,
    Sequence,
    Sized,
)
from contextlib import aclosing
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import attrs

from ..errors import ConfigurationError, InvalidRequestError
from ..http.dedup import Seen

__all__ = ["Batch", "Cutter", "url_length"]

T = TypeVar("T")


@attrs.define
class Batch(Generic[T]):
    """Keys that are asked in one request, and what became of them. ``index`` counts the batches of a fetch from 0."""

    index: int
    keys: tuple[str, ...]
    found: dict[str, T] = attrs.field(factory=dict)
    missing: list[str] = attrs.field(factory=list)
    failed: dict[str, Exception] = attrs.field(factory=dict)


def url_length(keys: Sequence[str]) -> int:
    """Characters that ``keys`` take in a URL as values of an array parameter, its repeated name included."""
    text = "".join(keys)
    encoded = text if text.isascii() and text.isalnum() else quote(text, safe="", errors="replace")
    return 16 * len(keys) + len(encoded)


class Cutter:
    """Reads keys no further than is needed for the next batch.

    Args:
        source: any iterable or async iterable of strings, of any length.
        size, room: how many keys a batch holds at most, and how many characters.
        length: the characters that keys add to a request.

    Raises:
        InvalidRequestError: ``source`` is no iterable of texts; what only shows while it is read, when it is met.

    Attributes:
        total: how many keys there are, None for a source that does not know.
        passed: how many of the keys read so far are in no batch: those that came before, and the empty one.
        refused: keys that cannot be asked for, each with its error.
    """

    def __init__(
        self,
        source: Iterable[str] | AsyncIterable[str],
        *,
        size: int,
        room: int,
        length: Callable[[Sequence[str]], int],
    ) -> None:
        _check_source(source)
        self._source = source
        self._size = size
        self._room = room
        self._length = length
        self.total: int | None = len(source) if isinstance(source, Sized) else None
        self.passed: int = 0
        self.refused: dict[str, Exception] = {}

    async def batches(self) -> AsyncGenerator[Batch[Any], None]:
        """The batches, each as soon as it is full or the keys end."""
        seen, pending, index = Seen(), list[str](), itertools.count()
        async with aclosing(_slices(self._source, self._size)) as slices:
            async for keys in slices:
                _check_keys(keys)
                fresh = seen.new(keys)
                if "" in fresh:  # it would be no filter at all, and fetch everything
                    fresh.remove("")
                    self.refused[""] = ConfigurationError("an empty symbol cannot be asked for")
                self.passed += len(keys) - len(fresh)
                pending += fresh
                while len(pending) >= self._size:
                    yield Batch(next(index), self._take(pending))
        while pending:
            yield Batch(next(index), self._take(pending))

    def _take(self, pending: list[str]) -> tuple[str, ...]:
        """The keys of the next batch, taken from the head of those that wait."""
        count = min(self._size, len(pending))
        if self._length(pending[:count]) > self._room:
            lengths = itertools.accumulate(self._length((key,)) for key in pending)
            fitting = itertools.takewhile(lambda length: length <= self._room, lengths)
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
