"""Recorder of market data: batches that become files, partitioned by day."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow
from pyarrow import parquet

from ..arrow import segments
from ..arrow.columns import pc
from ..errors import ConfigurationError
from ..http.concurrency import outliving, result_of
from ..protocol.streams.events import Gap
from ..storage.files import open_locked
from .consumer import gaps_of

MAX_ROWS = 1_000_000  # rows of a segment at most
MAX_INLINE = 20_000  # rows that are rewritten on the event loop; more are rewritten in a thread


class Recorder:
    """Writer of batches into a directory, which belongs to one recorder at a time. Recover it first."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        lock = self._directory / ".lock"
        lock.touch(0o600)  # another user could lock any file that he may read
        try:
            self._lock = open_locked(lock)
        except BlockingIOError:
            raise ConfigurationError(f"{self._directory} belongs to another recorder that is running") from None
        self._open: dict[str, tuple[date, segments.Segment]] = {}
        self._rewriting: set[asyncio.Task[None]] = set()
        self._number = 0
        self._before: datetime | None = None
        self._told = set[str]()
        self.rows: int = 0
        self.gaps: list[Gap] = []

    async def recover(self) -> None:
        """Rewrite the segments that an earlier recorder left behind. The time since its end counts as a gap."""
        for path in self._directory.glob("day=*/.*.parquet"):
            path.unlink()
        for path in self._directory.glob("day=*/*.arrows"):
            if path.stat().st_size > MAX_INLINE * 100:
                await asyncio.to_thread(segments.rewrite, path)
            else:
                segments.rewrite(path)
        files = segments.recorded_files(self._directory)
        self._number = max((int(path.stem.rpartition("-")[2]) for path in files), default=0)
        last = [path for path in files if path.parent == files[-1].parent and path.suffix == ".parquet"]
        times = [pc.max(parquet.read_table(path, columns=["received_at"])["received_at"]).as_py() for path in last]
        self._before = max((time for time in times if time is not None), default=None)  # when its last row came

    def write(self, batch: pyarrow.RecordBatch, symbols: Mapping[str, str], now: datetime) -> None:
        """Write a batch to the segments of its event type and days."""
        kind = batch.schema.metadata[b"event_type"].decode()
        gaps = gaps_of(batch)
        if self._before is not None and kind not in self._told:
            gaps = [Gap(since=self._before, reason="nothing was recorded"), *gaps]
        self._told.add(kind)
        self.gaps += gaps
        self.rows += batch.num_rows
        days = pc.cast(batch.column("received_at"), pyarrow.date32(), safe=False)
        for day in pc.unique(days).to_pylist() or [now.astimezone(UTC).date()]:
            part = batch if len(batch) == 0 else batch.filter(pc.equal(days, pyarrow.scalar(day)))
            written = [
                {"at": now.isoformat(), "since": gap.since and gap.since.isoformat(), "reason": gap.reason}
                for gap in gaps
            ]
            found = self._open.get(kind)
            if found is not None and (found[0] != day or found[1].rows >= MAX_ROWS):
                self._end(kind)
                found = None
            if found is None:
                self._number += 1
                path = self._directory / f"day={day}" / f"{kind}-{self._number:06}.arrows"
                names = json.dumps({streamer: name for name, streamer in symbols.items()})
                schema = part.schema.with_metadata({"event_type": kind, "symbols": names})
                found = self._open[kind] = day, segments.Segment(path, schema)
            found[1].write(part, written)
            gaps = []

    async def aclose(self) -> None:
        """End all segments and rewrite them. The directory is given up after that, even if this call is cancelled."""
        await result_of(outliving(self._finish(), "recorder"))

    async def _finish(self) -> None:
        try:
            for kind in list(self._open):
                self._end(kind)
            if self._rewriting:
                await asyncio.wait(self._rewriting)
            await asyncio.gather(*self._rewriting)  # raises the first error
        finally:
            self._lock.close()

    def _end(self, kind: str) -> None:
        _, segment = self._open.pop(kind)
        segment.close()
        if segment.rows <= MAX_INLINE:
            segments.rewrite(segment.path)
            return
        self._rewriting.add(asyncio.ensure_future(asyncio.to_thread(segments.rewrite, segment.path)))
