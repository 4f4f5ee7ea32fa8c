"""The iterator over record batches that a user holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Self

from .consumer import Sink
from .tape import Tape

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Batches"]


class Batches:
    """Async iterator over the record batches of a stream. A cancelled ``anext`` loses none."""

    def __init__(self, begin: Callable[[], Awaitable[None]], sink: Sink, tape: Tape, seconds: float | None) -> None:
        self._begin, self._sink, self._tape, self._seconds = begin, sink, tape, seconds
        self._due: float | None = None

    def rest(self) -> Iterator[pyarrow.RecordBatch]:
        """Yield everything that waits, without waiting for more."""
        self._tape.cut()
        while self._tape.is_ready:
            yield self._tape.get()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pyarrow.RecordBatch:
        await self._begin()
        sink, tape, clock = self._sink, self._tape, asyncio.get_running_loop().time
        if self._due is None and self._seconds is not None:
            self._due = clock() + self._seconds
        while True:
            if tape.is_ready and not sink.is_held:
                return tape.get()
            if sink.is_closed or sink.error is not None:
                tape.cut()
                if not tape.is_ready:
                    sink.check()
                    raise StopAsyncIteration
            elif self._due is not None and self._seconds is not None and clock() >= self._due and not sink.is_held:
                self._due = clock() + self._seconds
                tape.cut()
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(None if sink.is_held else self._due):
                        await sink.wait()
