"""Partitions of every instrument, whole or absent, continued, within the published rates; and their differences."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerage_async import errors, models
from brokerage_async.bulk import UniverseResult, universe, universe_diff
from brokerage_async.bulk.to_file import Checkpoint
from brokerage_async.bulk.universe import MANIFEST, PARTITION
from brokerage_async.simulator import Simulator
from tests.http.calls import raised_by
from tests.protocol.values import raised

UNDERLYINGS = ["SPY", "AAB", "NOPE", "/ES"]
DAY = "day=2026-06-10"
WHOLE = [f"{DAY}/{MANIFEST}", f"{DAY}/{PARTITION}"]


def simulator(**options: Any) -> Simulator:
    return Simulator(**{"equities": 60, "equity_options": 10, "chain_rows": 30, "rate_limit": "published"} | options)


async def fetch(sim: Simulator, folder: Path, **options: Any) -> UniverseResult:
    async with sim.client() as client:
        return await client.bulk.universe(folder, **{"underlyings": UNDERLYINGS} | options)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def asked(sim: Simulator) -> Counter[str]:
    return Counter(record.target.partition("?")[0] for record in sim.ledger.requests if record.method == "GET")


async def test_partition_has_every_instrument_by_symbol(tmp_path: Path) -> None:
    sim, steps = simulator(), list[Any]()
    result = await fetch(sim, tmp_path / "new", on_progress=lambda *step: steps.append(step[:2]))
    assert (str(result.day), result.missing, result.failed, result.resumed) == ("2026-06-10", ["NOPE"], {}, 0)
    assert files(tmp_path / "new") == WHOLE
    assert steps == [(number, 9) for number in range(1, 10)]
    table = pq.read_table(result.path / PARTITION, partitioning=None)
    manifest = json.loads((result.path / MANIFEST).read_text())
    assert Counter(table["kind"].to_pylist()) == result.counts
    assert table["symbol"].to_pylist() == sorted(table["symbol"].to_pylist())
    strings = [field.name for field in table.schema if pa.types.is_string(field.type)]
    decimals = {field.name: field.type.scale for field in table.schema if pa.types.is_decimal128(field.type)}
    assert (strings, decimals["strike_price"], decimals["borrow_rate"]) == ([], 0, 2)
    assert (manifest["counts"], manifest["rows"], manifest["missing"]) == (result.counts, len(table), ["NOPE"])
    async with sim.client() as client:
        listed = {
            "equities": [row.symbol for row in await client.instruments.equities().collect()],
            "futures": [row.symbol for row in await client.instruments.futures().collect()],
            "future_products": [row.root_symbol for row in await client.instruments.future_products().collect()],
            "cryptocurrencies": [row.symbol for row in await client.instruments.cryptocurrencies()],
            "warrants": [row.symbol for row in await client.instruments.warrants()],
            "equity_options": [row.symbol for each in ("SPY", "AAB") for row in await client.option_chains.flat(each)],
            "future_options": [row.symbol for row in await client.instruments.futures_option_chain("ES")],
        }
    for kind, symbols in listed.items():
        rows = table.filter(pa.compute.equal(table["kind"], kind))
        assert rows["symbol"].to_pylist() == sorted(map(str, symbols)), kind


async def test_complete_partition_is_not_fetched_again(tmp_path: Path) -> None:
    sim, options = simulator(), {"kinds": ["warrants", "equity_options"], "underlyings": ["SPY"]}
    result = await fetch(sim, tmp_path, **options)
    before = asked(sim)
    assert await fetch(sim, tmp_path, **options | {"kinds": ["equity_options", "warrants"]}) == result
    assert asked(sim) - before == {"/market-time/sessions/current": 1}
    for other, name in (({"kinds": ["warrants"]}, "kinds"), ({"underlyings": ["AAB"]}, "underlyings")):
        with pytest.raises(errors.ConfigurationError, match=f"must belong to this fetch, got other {name}: remove it"):
            await fetch(sim, tmp_path, **options | other)
    assert files(tmp_path) == WHOLE


@pytest.mark.parametrize("options", [{"kinds": []}, {"kinds": ["equity_options"], "underlyings": ["NOPE"]}])
async def test_partition_without_any_row_is_one_all_the_same(tmp_path: Path, options: Any) -> None:
    result = await fetch(simulator(), tmp_path, **options)
    assert (sum(result.counts.values()), pq.read_metadata(result.path / PARTITION).num_rows) == (0, 0)
    assert universe_diff(result.path, tmp_path).num_rows == 0


async def test_all_underlyings_are_those_that_the_lists_name(tmp_path: Path) -> None:
    sim = simulator(equities=3, equity_options=0)
    result = await fetch(sim, tmp_path, kinds=["equity_options"], underlyings=None)
    assert (result.counts, result.missing) == ({"equity_options": 1350}, [])
    chosen = pq.read_table(result.path / PARTITION, partitioning=None)["underlying_symbol"].to_pylist()
    assert {*chosen} == {"AAPL", "SPY", "QQQ"}


async def test_interrupted_fetch_goes_on_and_is_the_same(tmp_path: Path) -> None:
    whole, sim = await fetch(simulator(), tmp_path / "whole"), simulator()

    def stop(at: int, done: int, *_: object) -> None:
        if done == at:
            raise KeyboardInterrupt

    for number in (3, 7):
        await raised_by(fetch(sim, tmp_path / "cut", on_progress=partial(stop, number)), KeyboardInterrupt)
        assert files(tmp_path / "cut") == [f".{DAY}.partial"]
    with pytest.raises(errors.ConfigurationError, match=r"must belong to this fetch.*or remove .*\.partial"):
        await fetch(sim, tmp_path / "cut", underlyings=["SPY"])
    result = await fetch(sim, tmp_path / "cut")
    assert result.resumed > 3
    for name in (MANIFEST, PARTITION):
        assert (result.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert [record for record in sim.ledger.requests if record.status == 429] == []


async def test_failed_lists_leave_nothing(tmp_path: Path) -> None:
    sim = simulator()
    sim.faults.add("GET", "instruments/warrants", "status(422)", times=None)
    with pytest.raises(errors.IncompleteFetchError, match="lists of instruments failed, so nothing was written"):
        await fetch(sim, tmp_path, kinds=["warrants"])
    assert files(tmp_path) == [f".{DAY}.partial"]


async def test_failed_chains_are_named_and_fetched_again_by_the_same_call(tmp_path: Path) -> None:
    options: Any = {"kinds": ["equities", "equity_options"], "underlyings": ["SPY", "AAB", "NOPE"]}
    whole, sim = await fetch(simulator(), tmp_path / "whole", **options), simulator()
    sim.faults.add("GET", "option-chains/SPY", "status(422)", times=2)
    for failed, count in ((["SPY"], 450), (["SPY"], 450), ([], 900), ([], 900)):
        before = asked(sim)
        result = await fetch(sim, tmp_path / "again", **options)
        assert [*result.failed] == [*json.loads((result.path / MANIFEST).read_text())["failed"]] == failed
        assert result.counts["equity_options"] == count
        assert set(asked(sim) - before) <= {"/market-time/sessions/current", "/option-chains/SPY"} or not before
    assert files(tmp_path / "again") == WHOLE
    assert asked(sim)["/option-chains/SPY"] == 3
    for name in (MANIFEST, PARTITION):
        assert (result.path / name).read_bytes() == (whole.path / name).read_bytes()


async def test_partition_killed_while_replaced_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sim, options = simulator(), {"kinds": ["equity_options"], "underlyings": ["SPY", "AAB"]}
    sim.faults.add("GET", "option-chains/SPY", "status(422)", times=1)
    await fetch(sim, tmp_path, **options)
    with monkeypatch.context() as patch:
        patch.setattr(universe, "replace_durably", Mock(side_effect=ZeroDivisionError))
        await raised_by(fetch(sim, tmp_path, **options), ZeroDivisionError)
    assert not (tmp_path / DAY).exists()
    result = await fetch(sim, tmp_path, **options)
    assert (result.failed, result.resumed) == ({}, 2)
    assert files(tmp_path) == WHOLE


async def test_leftovers_of_earlier_days_are_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".day=2026-06-09").mkdir()
    (tmp_path / ".day=2026-06-09.partial").write_text("")
    await fetch(simulator(), tmp_path, kinds=["warrants"])
    assert files(tmp_path) == WHOLE
    assert "was never completed, and is removed" in caplog.text


async def test_rates_are_kept_while_it_runs_and_no_longer(tmp_path: Path) -> None:
    async with simulator(rate_limit=None).client() as client:
        began = asyncio.get_running_loop().time()
        one = client.bulk.universe(tmp_path / "a", kinds=["equity_options"], underlyings=["SPY", "AAB"])
        other = client.bulk.universe(tmp_path / "b", kinds=["equity_options"], underlyings=["AAC", "AAD"])
        await asyncio.gather(one, other)
        assert 1.5 <= asyncio.get_running_loop().time() - began < 4.0
        assert client.session.engine.limiter._per_operation == {}


async def test_invalid_arguments_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kinds": ["bonds"]}, "kinds must be among equities, .*got 'bonds'"),
        ({"kinds": "equities"}, "kinds must be a list of str"),
        ({"underlyings": "SPY"}, "underlyings must be a list of str"),
        ({"on_progress": 1}, "on_progress must be a function"),
    ]
    sim = simulator()
    async with sim.client() as client:
        for options, message in wrong:
            raised(errors.ConfigurationError, client.bulk.universe, tmp_path, match=message, **options)
        assert not sim.ledger.requests
        (tmp_path / "file").write_text("")
        with pytest.raises(errors.ConfigurationError, match=r"cannot write .*file: File exists"):
            await client.bulk.universe(tmp_path / "file")


# Differences of two partitions.


def partition(folder: Path, day: int, rows: Mapping[str, list[Any]], **manifest: Any) -> Path:
    folder.mkdir(exist_ok=True)
    target = folder / f"day=2026-06-{day}"
    with closing(Checkpoint(folder / ".rows")) as checkpoint:
        checkpoint.load({})
        for key, items in rows.items():
            checkpoint.add(key, [models.converter.unstructure(item) for item in items])
        counts = universe._write(folder / f".{target.name}" / PARTITION, checkpoint, list(rows))
        checkpoint.discard()
    universe._put_partition(target, {"counts": counts, "failed": {}, "underlyings": None} | manifest)
    return target


def diff(folder: Path, before: Mapping[str, list[Any]], after: Mapping[str, list[Any]]) -> list[tuple[Any, ...]]:
    one, other = partition(folder, 10, before), partition(folder, 11, after)
    return [tuple(row.values()) for row in universe_diff(one, other).to_pylist()]


def option(strike: int, days: int = 9, underlying: str = "SPY", **fields: Any) -> models.EquityOption:
    symbol = f"{underlying:6}260619C{strike * 1000:08}"
    return models.EquityOption(symbol=symbol, underlying_symbol=underlying, days_to_expiration=days, **fields)


def test_listed_delisted_and_changed_fields_but_not_other_scales_of_equal_numbers(tmp_path: Path) -> None:
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


def equity(symbol: str, borrow_rate: str | int = 1) -> models.Equity:
    return models.Equity(symbol=symbol, borrow_rate=Decimal(borrow_rate))


def test_columns_of_other_scales_are_compared_to_the_last_digit(tmp_path: Path) -> None:
    one, more = equity("A", "1.5"), equity("B", "0.000001")
    [gone] = diff(tmp_path / "scale", {"equities": [one, more]}, {"equities": [one]})
    assert gone == ("equities", "B", "delisted", None, None, None)
    before, after = (12345678901234567890123456789012345670 + last for last in (1, 2))
    [found] = diff(tmp_path / "long", {"equities": [equity("A", before)]}, {"equities": [equity("A", after)]})
    assert found[-1] == str(after)


def test_underlyings_that_one_side_lacks_are_not_compared(tmp_path: Path) -> None:
    both, spy = {"equity_options SPY": [option(500)]}, {"equity_options SPY": [option(500, 8)]}
    more = both | {"equity_options QQQ": [option(400, underlying="QQQ")]}
    of_futures = {"future_options /ES": [models.FutureOption(symbol="./ESU6 C1", product_code="ES")]}
    for number, (before, after, manifest) in enumerate((
        (more, spy, {"failed": {"QQQ": "reason"}}),
        (more, spy, {"underlyings": ["SPY"]}),
        (both | of_futures, both | {"future_options /NQ": []}, {"failed": {"/ES": "reason"}}),
    )):  # fmt: skip
        one = partition(tmp_path / str(number), 10, before)
        other = partition(tmp_path / str(number), 11, after, **manifest)
        assert universe_diff(one, other).num_rows == universe_diff(other, one).num_rows == 0, manifest


def test_partition_is_named_by_its_folder_its_file_or_a_directory_of_many(tmp_path: Path) -> None:
    first, last = (partition(tmp_path, day, {"equities": [equity(name, "1")]}) for day, name in ((10, "A"), (11, "B")))
    (tmp_path / ".day=2026-06-12").mkdir()
    expected = universe_diff(first, tmp_path)
    assert expected["change"].to_pylist() == ["delisted", "listed"]
    assert universe_diff(first / PARTITION, last).equals(expected)
    assert universe_diff(tmp_path, tmp_path).num_rows == 0
    with pytest.raises(errors.ConfigurationError, match=r"partition must be one of client\.bulk\.universe, got"):
        universe_diff(first, tmp_path / "nowhere")


def test_rows_of_several_chains_are_sorted_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(universe, "ROWS_AT_ONCE", 3)
    rows = {
        "equities": [models.Equity(symbol=f"{letter}{number}") for number in range(7) for letter in "CAB"],
        **{f"equity_options {each}": [option(strike, underlying=each) for strike in (9, 5)] for each in "CBA"},
        "warrants": [],
    }
    file = pq.ParquetFile(partition(tmp_path, 10, rows) / PARTITION)
    found = file.read(["symbol"])["symbol"].to_pylist()
    assert found == sorted(found)
    assert (len(found), file.num_row_groups > 2) == (27, True)
