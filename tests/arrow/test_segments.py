"""Segments that become Parquet files. The recorder that writes them is tested in `tests/stream/test_record.py`."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerage_async.arrow.segments import Segment, rewrite
from brokerage_async.storage import files


def test_rewrite_removes_the_segment_when_its_file_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = pa.RecordBatch.from_pylist([{"a": 1}])
    segment, synced = Segment(tmp_path / "day=2026-06-10" / "Quote-000001.arrows", batch.schema), list[Path]()
    segment.write(batch, [])
    segment.close()

    def sync(path: Path) -> None:
        assert segment.path.exists()
        synced.append(path)

    monkeypatch.setattr(files, "_sync", sync)
    rewrite(segment.path)
    folder = segment.path.parent
    assert synced == [folder / ".Quote-000001.parquet", folder]
    assert [path.name for path in folder.iterdir()] == ["Quote-000001.parquet"]
    assert pq.read_table(folder, partitioning=None).to_pylist() == [{"a": 1}]
