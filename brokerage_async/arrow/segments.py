"""Files of recorded batches: segments that grow by whole messages, and the Parquet files that they become.

A segment is an Arrow IPC stream. Its writer may be killed at any moment: the part written so far can be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from ..storage.files import replace_durably

GROUP = 65_536  # rows of a row group

PARTITION = "day="


class Segment:
    """A segment that is being written, to a file whose name ends in ``.arrows``."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path: Path = path
        self.rows: int = 0
        self._buffer = BytesIO()
        self._file = path.open("xb", buffering=0)
        self._writer = ipc.new_stream(self._buffer, schema)
        self._flush()

    def write(self, batch: pa.RecordBatch, gaps: Sequence[Mapping[str, Any]]) -> None:
        """Append a batch and the gaps before it. Afterwards the operating system has it."""
        self._writer.write_batch(batch, custom_metadata={"gaps": json.dumps(gaps)} if gaps else None)
        self.rows += batch.num_rows
        self._flush()

    def close(self) -> None:
        self._writer.close()
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        left = memoryview(self._buffer.getvalue())
        while left:
            left = left[self._file.write(left) :]
        self._buffer.seek(0)
        self._buffer.truncate()


def recorded_files(directory: Path) -> list[Path]:
    """Return the files of a recording by day and name, a segment only until its Parquet file is there."""
    found = sorted(directory.glob(f"{PARTITION}*/*"))
    return [
        each
        for each in found
        if not each.name.startswith(".")
        and (each.suffix == ".parquet" or (each.suffix == ".arrows" and each.with_suffix(".parquet") not in found))
    ]


def batches_of(path: Path) -> Iterator[tuple[pa.RecordBatch, list[dict[str, Any]]]]:
    """Yield the batches of a segment or Parquet file, and the gaps before each.

    What a killed writer left unfinished at the end of a segment is passed over.
    """
    if path.suffix == ".parquet":
        file = parquet.ParquetFile(path)
        gaps = json.loads((file.metadata.metadata or {}).get(b"gaps", b"[]"))
        for batch in file.iter_batches():
            yield batch.replace_schema_metadata(file.schema_arrow.metadata), gaps
            gaps = []
        if gaps:
            yield pa.RecordBatch.from_pylist([], file.schema_arrow), gaps
        return
    with path.open("rb") as stream:
        try:
            reader = ipc.open_stream(stream)
            while True:
                batch, custom = reader.read_next_batch_with_custom_metadata()
                yield batch, json.loads((custom or {}).get(b"gaps", b"[]"))
        except (StopIteration, pa.ArrowInvalid, OSError):
            return


def rewrite(path: Path) -> None:
    """Replace a segment by a Parquet file of the same rows, which is there whole or not at all."""
    final, aside = path.with_suffix(".parquet"), path.with_name(f".{path.stem}.parquet")
    if not final.exists() and (found := next(batches_of(path), None)) is not None:
        schema, gaps, waiting = found[0].schema, list[dict[str, Any]](), list[pa.RecordBatch]()
        with parquet.ParquetWriter(aside, schema, compression="zstd") as writer:
            for batch, before in batches_of(path):
                gaps += before
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= GROUP:
                    writer.write_table(pa.Table.from_batches(waiting, schema).combine_chunks())
                    waiting = []
            writer.write_table(pa.Table.from_batches(waiting, schema).combine_chunks())
            writer.add_key_value_metadata({"gaps": json.dumps(gaps)})
        replace_durably(final, aside)
    path.unlink(missing_ok=True)
