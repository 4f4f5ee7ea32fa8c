"""The tape of one consumer: rows of market events that become Arrow record batches.

Rows are read into columns some thousand at a time, while their values are still in the cache of the processor.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..arrow import require
from ..protocol.decoding.issues import IGNORED, Issues
from ..protocol.streams.events import MARKET_EVENTS, Gap, Rows

if TYPE_CHECKING:
    import pyarrow

    from ..arrow.rows import RowReader


CHUNK = 4_000
"""Rows that are read into columns at a time."""

MAX_HEARD = 64
"""Chunks whose symbols are kept apart, until they are asked for or merged."""

MAX_ROWS = 65_536
"""Rows of a batch at most, unless the consumer asks for another number."""


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
    offset: float = 0.0
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
        """Whether a batch is ready."""
        return bool(self._ready)

    def want(self, kind: str, symbol: str) -> None:
        """Keep the rows of a symbol."""
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
            from ..arrow.rows import RowReader

            self._read(part)
            part.columns = rows.columns
            part.reader = RowReader(MARKET_EVENTS[rows.type], rows.columns, self._issues)
        clock = asyncio.get_running_loop().time
        if not part.values:  # the clock of the service, as far from the loop's for all rows of a chunk
            part.offset = self._now().timestamp() - clock()
        part.as_floats = part.as_floats and rows.as_floats
        count = len(rows.values) // len(part.columns)
        if part.values:
            part.values += rows.values
        else:  # a copy if more follow: another tape may have the same rows
            part.values = rows.values if count >= CHUNK else rows.values.copy()
        part.received.extend(array("q", [int((part.offset + clock()) * 1e6)]) * count)
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
        """Drop everything."""
        self._ready.clear()
        self._waiting = 0
        for part in self._parts.values():
            part.values, part.received, part.chunks, part.rows, part.gaps = [], array("q"), [], 0, []

    def _read(self, part: _Part) -> None:
        """Read the values of a part into columns, those of the wanted symbols alone."""
        if not part.values or part.reader is None:
            return
        import pyarrow
        import pyarrow.compute

        compute: Any = pyarrow.compute  # its functions are made at run time
        values, received, part.values, part.received = part.values, part.received, [], array("q")
        chunk = part.reader.batch(values, received, as_floats=part.as_floats)
        part.as_floats = True
        if part.wanted is None:
            part.wanted = pyarrow.array(part.symbols, pyarrow.string())
        symbols = chunk.column("event_symbol")
        is_wanted = compute.is_in(symbols, part.wanted)
        if not compute.all(is_wanted).as_py():  # another consumer wants the others
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

        from ..arrow.rows import event_schema

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
