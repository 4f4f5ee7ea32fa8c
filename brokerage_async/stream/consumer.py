"""The end of one consumer that a connection fills: policies, buffer, sink, and the iterator over record batches."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import attrs

from .._arguments import check_count, validator
from ..errors import SlowConsumerError
from ..protocol.streams.events import MARKET_EVENTS, Gap, Snapshot, UnknownEvent
from .tape import Tape

if TYPE_CHECKING:
    import pyarrow


@attrs.frozen(kw_only=True)
class Conflate:
    """Keep the latest event of each symbol: a slow consumer skips those between."""


@attrs.frozen(kw_only=True)
class DropOldest:
    """Keep the latest ``limit`` events of the type; ``stream.dropped`` counts those that were dropped."""

    limit: int = attrs.field(default=10_000, validator=validator(check_count))


@attrs.frozen(kw_only=True)
class Fail:
    """Keep all events. The stream ends with `SlowConsumerError` when more than ``limit`` of them wait."""

    limit: int = attrs.field(default=10_000, validator=validator(check_count))


Policy = Conflate | DropOldest | Fail
"""Policy for the events of one type when their consumer is slow."""

_QUEUED = frozenset({"Trade", "TradeETH", "TimeAndSale", "Candle", "Series"})

MARKET_POLICIES: Mapping[type[Any], Policy] = {
    **{model: DropOldest() if name in _QUEUED else Conflate() for name, model in MARKET_EVENTS.items()},
    Snapshot: DropOldest(limit=1_000),
    UnknownEvent: DropOldest(limit=1_000),
}
"""Policy of each type of market event: trades, candles and series are queued, all others conflated by symbol."""


class BufferFullError(Exception):
    """A buffer is full that may drop nothing."""


class EventBuffer:
    """Bounded buffer of one consumer.

    Events before a gap stay before it: neither `Conflate` nor `DropOldest` reaches across. When the next gap comes
    before the consumer has read as far as the last one, conflated events and snapshots between them are dropped: the
    subscriptions have brought newer ones.

    Attributes:
        dropped: events that were dropped by `DropOldest`.
    """

    __slots__ = ("_before", "_counts", "_latest", "_order", "_policies", "_queues", "dropped")

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        self._policies = policies
        self._before: deque[Any] = deque()  # everything before the last gap, and that gap
        self._counts: Counter[type[Any]] = Counter()  # of those
        self._order: deque[Any] = deque()
        self._latest: dict[Any, Any] = {}
        self._queues: dict[type[Any], deque[Any]] = {
            kind: deque() for kind, policy in policies.items() if not isinstance(policy, Conflate)
        }
        self.dropped: int = 0

    def __len__(self) -> int:
        return len(self._before) + len(self._order)

    def put(self, event: Any) -> None:
        """Add an event.

        Raises:
            BufferFullError: the policy forbids to drop any, and the buffer is full.
        """
        kind = event.__class__
        policy = self._policies[kind]
        if policy.__class__ is Conflate:
            key = (kind, event.event_symbol)
            if key not in self._latest:
                self._order.append(key)
            self._latest[key] = event
            return
        queue = self._queues[kind]
        limit: int = policy.limit  # type: ignore[union-attr]
        if policy.__class__ is Fail and len(queue) + self._counts[kind] >= limit:
            raise BufferFullError
        if len(queue) < limit:
            self._order.append(kind)
        else:
            queue.popleft()
            self.dropped += 1
        queue.append(event)

    def put_gap(self, gap: Gap) -> None:
        """Add a gap. One that follows another gap directly extends it."""
        waiting = [self._take() for _ in range(len(self._order))]
        if self._before:
            waiting = [
                event
                for event in waiting
                if event.__class__ is not Snapshot and self._policies[event.__class__].__class__ is not Conflate
            ]
        if self._before and not waiting:
            return
        self._before += [*waiting, gap]
        self._counts.update(map(type, waiting))
        # The oldest events before the last gap that exceed their limit are dropped.
        excess = Counter({
            kind: count - self._policies[kind].limit  # type: ignore[union-attr]
            for kind, count in self._counts.items()
            if kind is not Gap and self._policies[kind].__class__ is DropOldest
        })  # fmt: skip
        if not any(count > 0 for count in excess.values()):
            return
        kept: deque[Any] = deque()
        for event in self._before:
            if excess[event.__class__] > 0:
                excess[event.__class__] -= 1
                self._counts[event.__class__] -= 1
                self.dropped += 1
            elif not (event.__class__ is Gap and kept and kept[-1].__class__ is Gap):
                kept.append(event)
        self._before = kept

    def get(self) -> Any:
        """Return the next event. Raises IndexError when there is none."""
        if not self._before:
            return self._take()
        event = self._before.popleft()
        self._counts[event.__class__] -= 1
        return event

    def _take(self) -> Any:
        """Return the next event after the last gap."""
        entry = self._order.popleft()
        return self._latest.pop(entry) if entry.__class__ is tuple else self._queues[entry].popleft()

    def clear(self) -> None:
        """Drop everything."""
        self._before.clear()
        self._counts.clear()
        self._order.clear()
        self._latest.clear()
        for queue in self._queues.values():
            queue.clear()


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
