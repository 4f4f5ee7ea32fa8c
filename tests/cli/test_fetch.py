"""`brokerage-async fetch`: one complete file, whatever happens on the way."""

import csv
import json
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async._generated.endpoints import Endpoints
from brokerage_async.bulk import Bulk
from brokerage_async.bulk.to_file import FORMATS
from brokerage_async.cli import fetch as command
from brokerage_async.cli.fetch import METHODS
from brokerage_async.simulator import Simulator
from tests.tables import lacks

from .conftest import invoke

SYMBOLS = ["AAPL", "SPY", "NOPE", "AMZN", "MSFT", "AAPL", "", "NVDA"]
FOUND = ["AAPL", "SPY", "AMZN", "MSFT", "NVDA"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "symbols").write_text("\n".join(SYMBOLS) + "\n")
    return tmp_path


def fetch(*arguments: Any, stdin: Any = None, code: Any = 0) -> Any:
    return invoke("fetch", *arguments, "--simulator", code=code, width=1_000, input=stdin)


def rows_of(path: Any) -> Any:
    return [json.loads(line) for line in path.read_text().splitlines()]


def keys_of(path: Any) -> Any:
    return [row["key"] for row in rows_of(path)]


def names_in(folder: Any) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_fetch_to_json_lines_csv_and_parquet(folder: Any) -> None:
    result = fetch("equities", "--symbols", "symbols", "--out", "out.jsonl", "--batch-size", "2")
    assert keys_of(folder / "out.jsonl") == FOUND
    first = rows_of(folder / "out.jsonl")[0]
    assert (list(first)[:2], first["borrow-rate"]) == (["key", "active"], "0.0")
    assert lacks(result.stderr, "5 of 6 symbols found", "unknown to the service: NOPE") == []
    assert names_in(folder) == ["out.jsonl", "symbols"]
    fetch("dividends", "--symbols", "-", "--out", "out.csv", stdin="AAPL\nMSFT\n")
    with (folder / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["key", "occurred_date", "amount", "extra"]
    assert {row["key"] for row in rows} == {"AAPL", "MSFT"}
    assert all(Decimal(row["amount"]) > 0 for row in rows)
    parquet = pytest.importorskip("pyarrow.parquet")
    fetch("chains", "--symbols", "-", "--out", "out.parquet", stdin="CL\nnothing\n")
    table = parquet.read_table(folder / "out.parquet")
    assert table.num_rows > 100
    assert str(table.schema.field("strike_price").type) == "decimal128(38, 1)"
    assert set(table.column("key").to_pylist()) == {"CL"}


def test_fetch_each_kind_by_its_symbol(folder: Any) -> None:
    expired = "AAPL  260515C00140000"
    kinds = {"warrants": "AAPLW", "prices": "/ESU6", "equity-chains": "AAPL", "options": expired}
    for kind, symbol in kinds.items():
        fetch(kind, "--symbols", "-", "--out", "out.jsonl", "--concurrency", "1", stdin=f"{symbol}\nNOPE\n")
        assert set(keys_of(folder / "out.jsonl")) == {symbol}
    fetch("earnings", "--symbols", "symbols", "--out", "out.jsonl", "--start-date", "2025-01-01")
    assert all(row["occurred-date"] >= "2025-01-01" for row in rows_of(folder / "out.jsonl"))
    assert set(command.FORMATS) == set(FORMATS)


def test_every_kind_has_another_fetch() -> None:
    bulk = Bulk(Endpoints(None))  # type: ignore[arg-type]
    days = {"earnings": (date(2026, 1, 1),)}
    names = {getattr(bulk, name)([], *days.get(kind, ()), **more).name for kind, (name, more) in METHODS.items()}
    assert len(names) == len(METHODS) == 12
    assert "futures(only_active_futures=False) of " in names


def test_fetch_impossible_arguments_are_refused_at_once(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = {
        ("equities", "out.parquet"): "pip install",
        ("equities", "out.txt"): "must end in",
        ("equities", "out.csv", "--symbols", "nowhere"): "No such file",
        ("earnings", "out.csv"): "earnings need their first day",
        ("dividends", "out.csv", "--start-date", "2025-01-01"): "goes with earnings only",
        ("bonds", "out.csv"): "bonds",
        ("equities", "out.csv", "--symbols", sys.executable): "not a text file",
    }
    for (kind, out, *rest), message in table.items():
        assert message in fetch(kind, "--symbols", "symbols", "--out", out, *rest, code=2).output
    assert names_in(folder) == ["symbols"]


def test_fetch_universe_and_the_difference_of_two(folder: Any) -> None:
    universe = ("universe", "--out", "all", "--symbols", "-", "--kind", "equity_options", "--kind", "warrants")
    result = fetch(*universe, stdin="SPY\nNOPE\n")
    assert lacks(result.stderr, "day=2026-06-10: 200 warrants, 450 equity_options", "without options: NOPE") == []
    (folder / "all" / "day=2026-06-10").rename(folder / "all" / "day=2026-06-09")
    fetch(*universe, stdin="SPY\nNOPE\n")  # the same simulator on another port
    assert invoke("fetch", "diff", "all/day=2026-06-09", "all").stdout == "Nothing changed.\n"
    missing = invoke("fetch", "diff", "all", "nowhere", "--json", code=1, width=1_000)
    assert "partition must be one of client.bulk.universe" in missing.stderr


def fetch_dividends(*options: str, code: int = 0) -> Any:
    """Fetch dividends from a simulator that refuses one symbol."""
    plain = Simulator.__init__

    def with_fault(self: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        self.faults.add("GET", "dividends/MSFT", "status(422)", times=None)

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(Simulator, "__init__", with_fault)
        return fetch("dividends", "--symbols", "symbols", "--out", "out.jsonl", *options, code=code)


def test_fetch_run_again_continues_where_it_stopped_and_mixes_in_no_other_kind(folder: Any) -> None:
    result = fetch_dividends(code=1)
    advice = "out.jsonl was not written: run the same command again to retry"
    assert lacks(result.stderr, "failed: MSFT", advice) == []
    assert names_in(folder) == ["out.jsonl.partial", "symbols"]
    result = fetch("equities", "--symbols", "symbols", "--out", "out.jsonl", code=1)
    difference = "fetch 'dividends() of the simulator' instead of 'equities() of the simulator'"
    assert lacks(result.stderr, difference, "--restart") == []

    result = fetch("dividends", "--symbols", "symbols", "--out", "out.jsonl")
    assert "continued: 5 symbols came from an interrupted run" in result.stderr
    assert list(dict.fromkeys(keys_of(folder / "out.jsonl"))) == FOUND
    assert names_in(folder) == ["out.jsonl", "symbols"]


def test_fetch_skip_failed_omits_symbols_that_failed(folder: Any) -> None:
    result = fetch_dividends("--skip-failed")
    assert lacks(result.stderr, "failed: MSFT", "4 of 6 symbols found") == []
    assert set(keys_of(folder / "out.jsonl")) == {*FOUND} - {"MSFT"}
    assert names_in(folder) == ["out.jsonl", "symbols"]


def test_fetch_restart_drops_what_another_kind_left(folder: Any) -> None:
    fetch_dividends(code=1)
    fetch("equities", "--symbols", "symbols", "--out", "out.jsonl", "--restart")
    assert keys_of(folder / "out.jsonl") == FOUND
