"""The two ends of one consumer: the sink that a connection fills, and the iterator that a user holds."""

from __future__ import annotations

import asyncio
import copy
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from ..errors import ConfigurationError, SlowConsumerError
from ..protocol.streams.events import Gap
from .policies import BufferFullError, EventBuffer, Policy
from .tape import Tape

__all__ = ["EventStream", "Sink", "Source"]

E = TypeVar("E")


class Sink:
    """End of one consumer that a connection fills. It outlives the iterator by one turn of the loop at most.

    Attributes:
        buffer: events that wait for the consumer, one by one or as a tape.
        error: error that ended the stream.
        gap: gap to report once the connection is up again.
        is_held: whether events wait until the subscriptions are complete, because a gap is among them: after it none
            may be missing.
        now: clock of the errors.
        leave: detaches the sink from its connection after a failure. None without a connection.
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


class Source(Protocol):
    """Connection as consumers see it."""

    def attach(self, sink: Sink) -> None:
        """Fill ``sink`` from now on. Connect if it is the first."""
        ...

    def detach(self, sink: Sink) -> None:
        """Stop filling ``sink``. Disconnect if it was the last."""
        ...

    def abandon(self, sink: Sink) -> None:
        """Detach ``sink`` in the next turn of the loop. Callable anywhere, even in the middle of a dispatch."""
        ...

    async def wait_ready(self, sink: Sink) -> None:
        """Wait until everything that the consumers asked for is subscribed."""
        ...

    async def join(self) -> None:
        """Wait until a connection without consumers is closed."""
        ...


class EventStream(Generic[E]):
    """Async iterator over the events of a stream, with a `Gap` wherever some may be missing.

    It connects at the first use, and receives events from then on: enter it with ``async with`` to receive them before
    iterating. Close it with ``async with`` or `aclose`. One that is dropped unclosed ends when it is collected, with a
    ResourceWarning. A cancelled ``anext`` loses no event. All streams of one kind share one connection.
    """

    def __init__(self, source: Source, sink: Sink) -> None:
        self._source = source
        self._sink = sink
        self._is_attached = False

    @property
    def dropped(self) -> int:
        """Events that were dropped because the consumer was too slow. Conflated ones do not count."""
        return self._sink.buffer.dropped

    @property
    def interruption(self) -> Gap | None:
        """The gap that is under way, because the connection is lost. None while it is up, or was never made."""
        return self._sink.gap

    @property
    def waiting(self) -> int:
        """Events that wait for the consumer."""
        return len(self._sink.buffer)

    async def ready(self) -> Self:
        """Wait until the service has taken every subscription: events from then on are received.

        Raises:
            StreamError, TokenError, ConfigurationError: the stream ended.
        """
        await self._begin()
        await self._source.wait_ready(self._sink)
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        sink = self._sink
        buffer = sink.buffer
        if isinstance(buffer, Tape):
            raise ConfigurationError("the stream gives batches: iterate over its batches()")
        if not self._is_attached:
            await self._begin()
        while True:
            if buffer and not sink.is_held:
                event: E = buffer.get()
                return event
            if sink.is_closed:
                raise StopAsyncIteration
            sink.check()
            await sink.wait()

    async def aclose(self) -> None:
        """End the iteration now, even while it waits. The last stream of a connection closes it."""
        self.leave()
        if self._is_attached:
            await self._source.join()

    def leave(self) -> None:
        """End the iteration now, without waiting for the end of the connection."""
        self._sink.close()
        if self._is_attached:
            self._source.detach(self._sink)

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _begin(self) -> None:
        """Attach to the connection, once."""
        if not self._is_attached and not self._sink.is_closed:
            self._source.attach(self._sink)
            self._is_attached = True

    def __del__(self, _warn: Any = warnings.warn) -> None:
        if getattr(self, "_is_attached", False) and not self._sink.is_closed and self._sink.error is None:
            self._source.abandon(self._sink)
            name = type(self).__name__
            _warn(f"unclosed {name}: use `async with`, or `await stream.aclose()`", ResourceWarning, source=self)
