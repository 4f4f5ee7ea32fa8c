"""The end of one consumer that a connection fills, and the iterator over its record batches."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from ..errors import SlowConsumerError
from ..protocol.streams.events import Gap
from .policies import BufferFullError, EventBuffer, Policy
from .tape import Tape

if TYPE_CHECKING:
    import pyarrow


class Sink:
    """End of one consumer that a connection fills. It outlives the iterator by one turn of the loop at most.

    Events are held until the subscriptions are complete if a gap is among them: after it none may be missing. ``leave``
    detaches the sink from its connection after a failure.
    """

    __slots__ = ("__weakref__", "_available", "buffer", "error", "gap", "is_closed", "is_held", "leave",
                 "now")  # fmt: skip

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        self.buffer: EventBuffer | Tape = EventBuffer(policies)
        self.error: Exception | None = None
        self.gap: Gap | None = None
        self.is_closed: bool = False
        self.is_held: bool = False
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.leave: Callable[[], object] | None = None
        self._available = asyncio.Event()

    def put(self, event: Any) -> None:
        """Add an event. End the stream if none may be lost and it does not fit."""
        if self.error is not None:
            return
        try:
            self.buffer.put(event)
        except BufferFullError:
            self.fail(SlowConsumerError(f"the consumer is too slow: {len(self.buffer)} events wait", since=self.now()))
            if self.leave is not None:
                self.leave()
        if not self._available.is_set():
            self._available.set()

    def lose(self, since: datetime | None, reason: str) -> None:
        """Note that the connection is lost. The first loss counts until it is up again."""
        if self.gap is None:
            self.gap = Gap(since=since, reason=reason)
        self.release()

    def resume(self, *, held: bool = False) -> None:
        """Report the gap, now that the connection is up again; ``held`` until it is `release` d."""
        if (gap := self.gap) is not None:
            self.gap = None
            self.is_held = held
            self.buffer.put_gap(gap)
            self._available.set()

    def release(self) -> None:
        """Let the consumer have the events that were held."""
        if self.is_held:
            self.is_held = False
            self._available.set()

    def fail(self, error: Exception) -> None:
        """End the stream with an error, after the events that wait."""
        if self.error is None:
            self.error = error
        self.release()
        self._available.set()

    def check(self) -> None:
        """Raise a copy of the error that ended the stream.

        The traceback of a raised error holds the consumer, and with it the stream, which would never be collected.
        """
        if (error := self.error) is not None:
            again = copy.copy(error).with_traceback(error.__traceback__)
            again.__cause__ = error.__cause__
            raise again

    def close(self) -> None:
        """End the stream now, and drop the events that wait."""
        self.is_closed = True
        self.is_held = False
        self.buffer.clear()
        self._available.set()

    def wake(self) -> None:
        """Let the consumer look again."""
        self._available.set()

    async def wait(self) -> None:
        """Wait for an event or the end."""
        self._available.clear()
        await self._available.wait()


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
