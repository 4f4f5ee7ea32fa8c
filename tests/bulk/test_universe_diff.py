"""Differences of two partitions: exactly what changed."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async.bulk import UniverseResult, universe, universe_diff
from brokerage_async.bulk.checkpoint import Checkpoint
from brokerage_async.errors import ConfigurationError


def partition(folder: Path, day: str, rows: Mapping[str, list[Any]], **manifest: Any) -> Path:
    """Write a partition of the rows of each list and chain."""
    folder.mkdir(exist_ok=True)
    target = folder / f"day={day}"
    with Checkpoint(folder / ".rows") as checkpoint:
        checkpoint.load({})
        for key, items in rows.items():
            checkpoint.add(key, [models.converter.unstructure(item) for item in items])
        counts = universe._write(folder / f".{target.name}" / universe.PARTITION, checkpoint, list(rows))
        checkpoint.discard()
    result = UniverseResult(path=target, day=date.fromisoformat(day), counts=counts, missing=[],
                            failed=manifest.get("failed", {}))  # fmt: skip
    universe._put_partition(result, {"day": day, "underlyings": manifest.get("underlyings")})
    return target


def diff(folder: Path, before: Mapping[str, list[Any]], after: Mapping[str, list[Any]]) -> list[Any]:
    one, other = partition(folder, "2026-06-10", before), partition(folder, "2026-06-11", after)
    return [tuple(row.values()) for row in universe_diff(one, other).to_pylist()]


def option(strike: int, days: int = 9, underlying: str = "SPY", **fields: Any) -> models.EquityOption:
    symbol = f"{underlying:6}260619C{strike * 1000:08}"
    return models.EquityOption(symbol=symbol, underlying_symbol=underlying, days_to_expiration=days, **fields)


def test_listed_delisted_and_changed_fields(tmp_path: Path) -> None:
    ticks = (models.TickSize(value=Decimal("0.01")),)
    finer = (models.TickSize(value=Decimal("0.010")), models.TickSize(value=Decimal("0.005"), threshold=Decimal(1)))
    before = {
        "equities": [
            models.Equity(symbol="A", borrow_rate=Decimal("1.50"), tick_sizes=ticks, active=True),
            models.Equity(symbol="B", description="before"),
            models.Equity(symbol="GONE"),
        ],
        "equity_options SPY": [option(500), option(505)],
    }
    halted = datetime(2026, 6, 11, 14, tzinfo=UTC)
    after = {
        "equities": [
            models.Equity(symbol="A", borrow_rate=Decimal("1.5"), tick_sizes=finer, active=False, halted_at=halted),
            models.Equity(symbol="B", extra={"new": 1}),
            models.Equity(symbol="NEW", borrow_rate=Decimal("0.125")),
        ],
        "equity_options SPY": [option(500, 8), option(510, 8)],
    }
    assert diff(tmp_path, before, after) == [
        ("equities", "A", "changed", "active", "true", "false"),
        ("equities", "A", "changed", "halted_at", None, "2026-06-11T14:00:00+00:00"),
        ("equities", "A", "changed", "tick_sizes",
         '[{"value":0.01,"threshold":null,"symbol":null,"extra":null}]',
         '[{"value":0.01,"threshold":null,"symbol":null,"extra":null},'
         '{"value":0.005,"threshold":1,"symbol":null,"extra":null}]'),
        ("equities", "B", "changed", "description", "before", None),
        ("equities", "B", "changed", "extra", None, '{"new":1}'),
        ("equities", "GONE", "delisted", None, None, None),
        ("equities", "NEW", "listed", None, None, None),
        ("equity_options", "SPY   260619C00505000", "delisted", None, None, None),
        ("equity_options", "SPY   260619C00510000", "listed", None, None, None),
    ]  # fmt: skip


def test_equal_numbers_of_other_scales_are_not_changes(tmp_path: Path) -> None:
    rows = [models.Equity(symbol="A", borrow_rate=Decimal("1.5"))]
    more = [models.Equity(symbol="B", borrow_rate=Decimal("0.000001"))]
    assert diff(tmp_path, {"equities": rows + more}, {"equities": rows}) == [
        ("equities", "B", "delisted", None, None, None)
    ]
    digits, more_digits = (Decimal(12345678901234567890123456789012345670 + last) for last in (1, 2))
    one = partition(tmp_path / "long", "2026-06-10", {"equities": [models.Equity(symbol="A", borrow_rate=digits)]})
    other = partition(
        tmp_path / "long", "2026-06-11", {"equities": [models.Equity(symbol="A", borrow_rate=more_digits)]}
    )
    assert universe_diff(one, other).to_pylist()[0]["after"] == str(more_digits)


def test_underlyings_that_one_side_lacks_are_not_compared(tmp_path: Path) -> None:
    both, spy = {"equity_options SPY": [option(500)]}, [option(500, 8)]
    more = both | {"equity_options QQQ": [option(400, underlying="QQQ")]}
    for number, options in enumerate(({"failed": {"QQQ": "reason"}}, {"underlyings": ["SPY"]})):
        folder = tmp_path / str(number)
        one = partition(folder, "2026-06-10", more)
        other = partition(folder, "2026-06-11", {"equity_options SPY": spy}, **options)
        assert (universe_diff(one, other).num_rows, universe_diff(other, one).num_rows) == (0, 0), options
    of_futures = {"future_options /ES": [models.FutureOption(symbol="./ESU6 C1", product_code="ES")]}
    one = partition(tmp_path / "futures", "2026-06-10", both | of_futures)
    other = partition(tmp_path / "futures", "2026-06-11", both | {"future_options /NQ": []}, failed={"/ES": "reason"})
    assert universe_diff(one, other).num_rows == 0


def test_partition_is_named_by_its_folder_its_file_or_a_directory_of_many(tmp_path: Path) -> None:
    old, new = ([models.Equity(symbol=symbol)] for symbol in "AB")
    first = partition(tmp_path, "2026-06-10", {"equities": old})
    partition(tmp_path, "2026-06-11", {"equities": new})
    (tmp_path / ".day=2026-06-12").mkdir()
    expected = universe_diff(first, tmp_path)
    assert expected["change"].to_pylist() == ["delisted", "listed"]
    assert universe_diff(first / universe.PARTITION, tmp_path / "day=2026-06-11").equals(expected)
    assert universe_diff(tmp_path, tmp_path).num_rows == 0
    with pytest.raises(ConfigurationError, match=r"partition must be one of client\.bulk\.universe, got"):
        universe_diff(first, tmp_path / "nowhere")


def test_rows_of_overlapping_chains_are_sorted_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(universe, "ROWS_AT_ONCE", 3)
    symbols = [f"{letter}{number}" for number in range(7) for letter in "CAB"]
    rows = {
        "equities": [models.Equity(symbol=symbol) for symbol in symbols],
        **{f"equity_options {each}": [option(strike, underlying=each) for strike in (9, 5)] for each in "CBA"},
        "warrants": [],
    }
    file = pq.ParquetFile(partition(tmp_path, "2026-06-10", rows) / universe.PARTITION)
    found = file.read(["symbol"])["symbol"].to_pylist()
    assert found == sorted(found)
    assert (len(found), file.num_row_groups > 2) == (27, True)
