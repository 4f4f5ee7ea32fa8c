"""Output files of a fetch: whole or absent, with every digit."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async.bulk import formats
from brokerage_async.bulk.formats import FORMATS, Style, put_in_place
from brokerage_async.errors import ConfigurationError
from brokerage_async.models import Dividend, Equity

ROWS = [
    ("A", {"symbol": "A", "active": True, "borrow-rate": "0.10", "id": 7, "halted-at": "2026-01-02T03:04:05Z"}),
    ("B", {"symbol": 'B, "b"', "tick-sizes": [{"value": "0.01", "threshold": "3"}], "new": {"x": 1}}),
    ("B", {}),
]


def put(path: Path, rows: Any, model: Any, **style: Any) -> None:
    put_in_place(path, lambda aside: FORMATS[path.suffix](aside, rows, model, Style(**style)))


def written(tmp_path: Any, suffix: Any, rows: Any, model: Any = Equity) -> Any:
    path = tmp_path / f"out{suffix}"
    put(path, lambda: rows, model)
    return path


def test_json_lines_are_what_the_service_sent(tmp_path: Path) -> None:
    lines = written(tmp_path, ".jsonl", ROWS).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"key": key, **row} for key, row in ROWS]
    assert all(line.startswith('{"key":') for line in lines)


def test_the_key_is_the_one_that_was_asked_whatever_the_service_calls_its_fields(tmp_path: Path) -> None:
    [line] = written(tmp_path, ".jsonl", [("A", {"key": "other", "symbol": "A"})]).read_text().splitlines()
    assert json.loads(line) == {"key": "A", "symbol": "A"}


def test_csv_has_a_column_for_each_field(tmp_path: Path) -> None:
    with written(tmp_path, ".csv", ROWS).open(newline="", encoding="utf-8") as file:
        first, second, third = csv.DictReader(file)
    assert [row["key"] for row in (first, second, third)] == ["A", "B", "B"]
    assert (first["active"], first["borrow_rate"], first["id"]) == ("true", "0.10", "7")
    assert first["halted_at"] == "2026-01-02T03:04:05+00:00"
    assert (second["symbol"], json.loads(second["extra"])) == ('B, "b"', {"new": {"x": 1}})
    assert json.loads(second["tick_sizes"]) == [{"value": "0.01", "threshold": "3"}]
    assert set(third.values()) == {"B", ""}


FORMULAS = [
    '=HYPERLINK("http://example.com")', "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "'",
]  # fmt: skip


def csv_rows(path: Any) -> Any:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("formula", FORMULAS)
def test_csv_marks_strings_that_a_spreadsheet_would_run(tmp_path: Path, formula: Any) -> None:
    row = {"symbol": formula, "lendability": formula, "borrow-rate": "-0.5", "id": -7}
    (written_row,) = csv_rows(written(tmp_path, ".csv", [(formula, row)]))
    assert [written_row[name] for name in ("key", "symbol", "lendability")] == ["'" + formula] * 3
    assert [written_row[name] for name in ("borrow_rate", "id")] == ["-0.5", "-7"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_raw_csv_leaves_strings_as_they_are(tmp_path: Path, formula: Any) -> None:
    put(tmp_path / "raw.csv", lambda: [(formula, {"symbol": formula})], Equity, raw=True)
    (row,) = csv_rows(tmp_path / "raw.csv")
    assert (row["key"], row["symbol"]) == (formula, formula)


def test_raw_changes_no_other_format(tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", lambda: [("=1", {"symbol": "=1"})], Equity, raw=True)
    assert json.loads((tmp_path / "raw.jsonl").read_text()) == {"key": "=1", "symbol": "=1"}


def test_parquet_is_typed(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(written(tmp_path, ".parquet", ROWS))
    assert table.column("key").to_pylist() == ["A", "B", "B"]
    assert table.column("borrow_rate").to_pylist() == [Decimal("0.10"), None, None]
    assert table.column("halted_at").to_pylist()[0] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_parquet_is_written_group_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(formats, "GROUP", 2)
    file = parquet.ParquetFile(written(tmp_path, ".parquet", ROWS))
    assert (file.num_row_groups, file.metadata.num_rows) == (2, 3)


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_nothing_found_is_a_file_all_the_same(tmp_path: Path, suffix: Any) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    assert written(tmp_path, suffix, []).exists()


def test_the_file_is_replaced_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")

    def rows() -> Iterator[Any]:
        yield "A", {}
        assert out.read_text() == "before"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put(out, rows, Dividend)
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_number_too_wide_for_the_columns_so_far_widens_the_whole_file(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [("A", {"borrow-rate": "1.5"}), ("B", {"borrow-rate": "1e-30", "tick-sizes": [{"value": "1"}]})]
    put(tmp_path / "out.parquet", lambda: rows, Equity)
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column("borrow_rate").to_pylist() == [Decimal("1.5"), Decimal("1e-30")]


def test_rows_without_keys_and_decimals_of_other_forms(tmp_path: Path) -> None:
    rows = [(None, row) for _, row in ROWS]
    put(tmp_path / "out.jsonl", lambda: rows, Equity, keyed=False)
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [row for _, row in rows]
    put(tmp_path / "out.csv", lambda: rows, Equity, keyed=False)
    assert "key" not in csv_rows(tmp_path / "out.csv")[0]
    parquet = pytest.importorskip("pyarrow.parquet")
    for decimals, amount in (("exact", Decimal("0.10")), ("string", "0.10"), ("float", 0.1)):
        put(tmp_path / "out.parquet", lambda: rows, Equity, keyed=False, decimals=decimals)
        table = parquet.read_table(tmp_path / "out.parquet")
        assert "key" not in table.column_names
        assert table.column("borrow_rate").to_pylist() == [amount, None, None]


@pytest.mark.parametrize("row", [{"borrow-rate": "1e60"}, {"borrow-rate": "1e-60"}, {"id": 10**20}])
def test_a_number_too_wide_for_any_column_costs_the_file_and_no_row(tmp_path: Path, row: Any) -> None:
    pytest.importorskip("pyarrow")
    out = tmp_path / "out.parquet"
    out.write_text("before")
    with pytest.raises(ConfigurationError, match="JSON lines and CSV hold"):
        put(out, lambda: [("A", {}), ("B", row)], Equity)
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(ConfigurationError, match=r"cannot write .*out\.jsonl"):
        put(tmp_path / "out.jsonl", lambda: ROWS, Equity)
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
