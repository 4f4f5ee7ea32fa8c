"""The end of one consumer that a connection fills: policies, the buffer or tape, the sink, and iterators over batches.

On a tape the rows of market events become Arrow record batches. They are read into columns some thousand at a time,
while their values are still in the cache of the processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
from array import array
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import attrs

from .._arguments import check_count, validator
from ..arrow import require
from ..errors import SlowConsumerError
from ..protocol.decoding.issues import IGNORED, Issues
from ..protocol.streams.events import MARKET_EVENTS, Gap, Rows, Snapshot, UnknownEvent

if TYPE_CHECKING:
    import pyarrow

    from ..arrow.columns import RowReader


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
    """Bounded buffer of one consumer, in the order of arrival.

    Events before a gap stay before it: `Conflate` does not reach across. When the next gap comes before the consumer
    has read as far as the last one, conflated events and snapshots between them are dropped: the subscriptions have
    brought newer ones.
    """

    __slots__ = ("_events", "_number", "_policies", "_queues", "_side", "dropped")

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        self._policies = policies
        self._side = 0  # number of gaps so far
        self._number = 0
        # By type, symbol and side if conflated, by type and side if a gap, by number if queued.
        self._events: OrderedDict[Any, Any] = OrderedDict()
        self._queues: dict[type[Any], deque[int]] = {
            kind: deque() for kind, policy in policies.items() if not isinstance(policy, Conflate)
        }
        self.dropped: int = 0  # by `DropOldest`

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Any) -> None:
        """Add an event. Raise BufferFullError if the buffer is full, and the policy forbids to drop any."""
        kind = event.__class__
        policy = self._policies[kind]
        if policy.__class__ is Conflate:
            self._events[kind, event.event_symbol, self._side] = event
            return
        queue = self._queues[kind]
        if len(queue) >= policy.limit:  # type: ignore[union-attr]
            if policy.__class__ is Fail:
                raise BufferFullError
            del self._events[queue.popleft()]
            self.dropped += 1
        self._number += 1
        self._events[self._number] = event
        queue.append(self._number)

    def put_gap(self, gap: Gap) -> None:
        """Add a gap. One that follows another gap directly extends it."""
        events, self._events = self._events, OrderedDict()
        last = next((key for key, event in reversed(events.items()) if event.__class__ is Gap), None)
        is_after_last = is_after_gap = False
        for key, event in events.items():
            kind = event.__class__
            if is_after_last and kind is Snapshot:
                self._queues[kind].pop()
            elif not (is_after_last and key.__class__ is tuple) and not (is_after_gap and kind is Gap):
                self._events[key] = event
                is_after_gap = kind is Gap
            is_after_last = is_after_last or key == last
        if not is_after_gap:
            self._side += 1
            self._events[Gap, self._side] = gap

    def get(self) -> Any:
        """Return the next event. Raises KeyError when there is none."""
        key, event = self._events.popitem(last=False)
        if key.__class__ is int:
            self._queues[event.__class__].popleft()
        return event

    def clear(self) -> None:
        self._events.clear()
        for queue in self._queues.values():
            queue.clear()


CHUNK = 4_000  # rows that are read into columns at a time
MAX_HEARD = 64  # chunks whose symbols are kept apart, until they are asked for or merged
MAX_ROWS = 65_536  # rows of a batch at most, unless the consumer asks for another number


def gaps_of(batch: pyarrow.RecordBatch) -> list[Gap]:
    """Return the gaps before the first row of a batch, from its metadata."""
    found = json.loads((batch.schema.metadata or {}).get(b"gaps", b"[]"))
    return [Gap(since=each["since"] and datetime.fromisoformat(each["since"]), reason=each["reason"]) for each in found]


@attrs.define
class _Part:
    """Rows of one event type: values, then columns of them."""

    symbols: dict[str, None] = attrs.field(factory=dict)
    reader: RowReader | None = None
    columns: Sequence[str] = ()
    values: list[Any] = attrs.field(factory=list)
    as_floats: bool = True
    received: array[int] = attrs.field(factory=lambda: array("q"))
    chunks: list[pyarrow.RecordBatch] = attrs.field(factory=list)
    rows: int = 0
    heard: list[pyarrow.Array] = attrs.field(factory=list)
    wanted: pyarrow.Array | None = None
    gaps: list[Gap] = attrs.field(factory=list)
    lost: int = 0
    before: list[Gap] = attrs.field(factory=list)


class Tape:
    """Buffer of one consumer of batches, bounded in rows. Beyond the bound the oldest batches are dropped."""

    def __init__(
        self, kinds: Iterable[str], feed: tuple[str, float | None], issues: Issues, now: Callable[[], datetime]
    ) -> None:
        require("arrow")
        self._parts = {kind: _Part() for kind in kinds}
        self._ready: deque[tuple[str, pyarrow.RecordBatch, list[Gap], datetime]] = deque()
        self._waiting = 0
        self._taken: datetime | None = None
        self._issues, self._now = issues, now
        self.feed: tuple[str, float | None] = feed
        self.dropped: int = 0
        self.max_rows: int = MAX_ROWS
        self.limit: int = 500_000

    def __len__(self) -> int:
        """Return the number of rows that wait. A batch without any counts as one."""
        return self._waiting + sum(part.rows + len(part.received) for part in self._parts.values())

    @property
    def is_ready(self) -> bool:
        return bool(self._ready)

    def want(self, kind: str, symbol: str) -> None:
        self._parts[kind].symbols[symbol] = self._parts[kind].wanted = None

    def leave(self, kind: str, symbol: str) -> None:
        """Keep no further rows of a symbol."""
        self._read(self._parts[kind])
        self._parts[kind].symbols.pop(symbol, None)
        self._parts[kind].wanted = None

    def put(self, rows: Rows) -> None:
        """Add rows. Other event types are ignored."""
        part = self._parts.get(rows.type)
        if part is None:
            return
        if rows.columns != part.columns or part.reader is None:
            if "eventSymbol" not in rows.columns:
                self._issues.report(f"$.{rows.type}", "rows without eventSymbol", IGNORED)
                return
            from ..arrow.columns import RowReader

            self._read(part)
            part.columns = rows.columns
            part.reader = RowReader(MARKET_EVENTS[rows.type], rows.columns, self._issues)
        part.as_floats = part.as_floats and rows.as_floats
        count = len(rows.values) // len(part.columns)
        if part.values:
            part.values += rows.values
        else:  # a copy if more follow: another tape may have the same rows
            part.values = rows.values if count >= CHUNK else rows.values.copy()
        part.received.extend(array("q", [int(self._now().timestamp() * 1e6)]) * count)
        if len(part.received) >= min(CHUNK, self.max_rows - part.rows):
            self._read(part)
            if part.rows >= self.max_rows:
                self._cut(rows.type, part, is_whole=True)
            self._bound()

    def put_gap(self, gap: Gap) -> None:
        """Add a gap before the next row of every event type. One that follows another gap directly extends it."""
        for kind, part in self._parts.items():
            self._read(part)
            if part.rows:
                self._cut(kind, part)
            part.gaps = part.gaps or [gap]
        self._bound()

    def heard(self) -> Iterator[tuple[str, str]]:
        """Yield type and symbol of the rows that came since the last call."""
        for kind, part in self._parts.items():
            self._read(part)
            heard = {symbol for symbols in part.heard for symbol in symbols.unique().to_pylist()}
            part.heard = []
            yield from ((kind, symbol) for symbol in heard & part.symbols.keys())

    def cut(self) -> None:
        """Make batches of everything that waits."""
        for kind, part in self._parts.items():
            self._read(part)
            self._cut(kind, part)
        self._bound()

    def get(self) -> pyarrow.RecordBatch:
        """Return the next batch, with the gaps before it in its metadata. Raises IndexError when there is none."""
        kind, batch, gaps, at = self._ready.popleft()
        self._waiting -= batch.num_rows or 1
        part = self._parts[kind]
        if part.lost:
            reason = f"the consumer was too slow: {part.lost} rows were dropped"
            gaps = [*part.before, Gap(since=self._taken, reason=reason), *gaps]
            part.lost, part.before = 0, []
        self._taken = at
        if not gaps:
            return batch
        written = [{"since": gap.since and gap.since.isoformat(), "reason": gap.reason} for gap in gaps]
        return batch.replace_schema_metadata({**batch.schema.metadata, b"gaps": json.dumps(written)})

    def clear(self) -> None:
        self._ready.clear()
        self._waiting = 0
        for part in self._parts.values():
            part.values, part.received, part.chunks, part.rows, part.gaps = [], array("q"), [], 0, []

    def _read(self, part: _Part) -> None:
        """Read the values of a part into columns, of the wanted symbols alone."""
        if not part.values or part.reader is None:
            return
        import pyarrow

        from ..arrow.columns import pc

        values, received, part.values, part.received = part.values, part.received, [], array("q")
        chunk = part.reader.batch(values, received, as_floats=part.as_floats)
        part.as_floats = True
        if part.wanted is None:
            part.wanted = pyarrow.array(part.symbols, pyarrow.string())
        symbols = chunk.column("event_symbol")
        is_wanted = pc.is_in(symbols, part.wanted)
        if not pc.all(is_wanted).as_py():  # another consumer wants the others
            chunk = chunk.filter(is_wanted)
        part.heard.append(symbols)
        if len(part.heard) > MAX_HEARD:
            part.heard = [pyarrow.chunked_array(part.heard).unique()]
        if chunk.num_rows:
            part.chunks.append(chunk)
            part.rows += chunk.num_rows

    def _cut(self, kind: str, part: _Part, *, is_whole: bool = False) -> None:
        """Make batches of a part: of all its rows and gaps, or of as many rows as fill whole batches."""
        import pyarrow

        from ..arrow.columns import event_schema

        if not part.rows and not part.gaps:
            return
        schema = event_schema(MARKET_EVENTS[kind])
        table = pyarrow.Table.from_batches(part.chunks, schema).combine_chunks()
        batches = table.to_batches(max_chunksize=self.max_rows) or [pyarrow.RecordBatch.from_pylist([], schema)]
        part.chunks = [batches.pop()] if is_whole and batches[-1].num_rows < self.max_rows else []
        part.rows = sum(chunk.num_rows for chunk in part.chunks)
        for batch in batches:
            self._ready.append((kind, batch, part.gaps, self._now()))
            self._waiting += batch.num_rows or 1
            part.gaps = []

    def _bound(self) -> None:
        """Drop the oldest batches while too many rows wait."""
        while len(self) > self.limit:
            if self._ready:
                kind, batch, gaps, _ = self._ready.popleft()
                part = self._parts[kind]
                self._waiting -= batch.num_rows or 1
            else:
                part = max(self._parts.values(), key=lambda each: each.rows)
                if not part.chunks:
                    return
                batch, gaps, part.gaps = part.chunks.pop(0), part.gaps, []
                part.rows -= batch.num_rows
            part.before = part.before or gaps[:1]
            part.lost += batch.num_rows
            self.dropped += batch.num_rows


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
            reason = f"{len(self.buffer)} events wait for a slow consumer: read them sooner, or raise limit"
            self.fail(SlowConsumerError(reason, since=self.now()))
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
        self._available.set()

    async def wait(self) -> None:
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
