"""Partitions of every instrument: whole or absent, continued, within the published rates."""

import asyncio
import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerage_async import errors
from brokerage_async.bulk import UniverseResult, universe, universe_diff
from brokerage_async.bulk.universe import KINDS, MANIFEST, PARTITION
from brokerage_async.simulator import Simulator

UNDERLYINGS = ["SPY", "AAB", "NOPE", "/ES"]
LISTS = {kind: None for kind in KINDS if not kind.endswith("options")}


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
    assert files(tmp_path / "new") == [f"day=2026-06-10/{MANIFEST}", f"day=2026-06-10/{PARTITION}"]
    assert steps == [(number, 9) for number in range(1, 10)]
    table = pq.read_table(result.path / PARTITION, partitioning=None)
    assert Counter(table["kind"].to_pylist()) == result.counts
    assert table["symbol"].to_pylist() == sorted(table["symbol"].to_pylist())
    strings = [field.name for field in table.schema if pa.types.is_string(field.type)]
    decimals = {field.name: field.type.scale for field in table.schema if pa.types.is_decimal128(field.type)}
    assert (strings, decimals["strike_price"], decimals["borrow_rate"]) == ([], 0, 2)
    manifest = json.loads((result.path / MANIFEST).read_text())
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
    sim = simulator()
    result = await fetch(sim, tmp_path, kinds=["warrants", "equity_options"], underlyings=["SPY"])
    before = asked(sim)
    assert await fetch(sim, tmp_path, kinds=["equity_options", "warrants"], underlyings=["SPY"]) == result
    assert asked(sim) - before == {"/market-time/sessions/current": 1}
    for options, name in (({"kinds": ["warrants"]}, "kinds"), ({"underlyings": ["AAB"]}, "underlyings")):
        with pytest.raises(errors.ConfigurationError, match=f"must belong to this fetch, got other {name}: remove it"):
            await fetch(sim, tmp_path, **{"kinds": ["warrants", "equity_options"], "underlyings": ["SPY"]} | options)
    assert files(tmp_path) == [f"day=2026-06-10/{MANIFEST}", f"day=2026-06-10/{PARTITION}"]


@pytest.mark.parametrize("options", [{"kinds": []}, {"kinds": ["equity_options"], "underlyings": ["NOPE"]}])
async def test_partition_without_any_row_is_one_all_the_same(tmp_path: Path, options: Any) -> None:
    sim = simulator()
    result = await fetch(sim, tmp_path, **options)
    assert (sum(result.counts.values()), pq.read_table(result.path / PARTITION, partitioning=None).num_rows) == (0, 0)
    assert universe_diff(result.path, tmp_path).num_rows == 0


async def test_all_underlyings_are_those_that_the_lists_name(tmp_path: Path) -> None:
    sim = simulator(equities=3, equity_options=0)
    result = await fetch(sim, tmp_path, kinds=["equity_options"], underlyings=None)
    assert (result.counts, result.missing) == ({"equity_options": 1350}, [])
    chosen = pq.read_table(result.path / PARTITION, partitioning=None)["underlying_symbol"].to_pylist()
    assert set(chosen) == {"AAPL", "SPY", "QQQ"}


async def test_interrupted_fetch_goes_on_and_is_the_same(tmp_path: Path) -> None:
    whole, sim = await fetch(simulator(), tmp_path / "whole"), simulator()

    def stop(at: int, done: int, *_: object) -> None:
        if done == at:
            raise KeyboardInterrupt

    for number in (3, 7):
        with pytest.raises(KeyboardInterrupt):
            await fetch(sim, tmp_path / "cut", on_progress=partial(stop, number))
        assert files(tmp_path / "cut") == [".day=2026-06-10.partial"]
    with pytest.raises(errors.ConfigurationError, match=r"must belong to this fetch.*or remove .*\.partial"):
        await fetch(sim, tmp_path / "cut", underlyings=["SPY"])
    result = await fetch(sim, tmp_path / "cut")
    assert result.resumed > 3
    for name in (MANIFEST, PARTITION):
        assert (result.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert [record for record in sim.ledger.requests if record.status == 429] == []


async def test_failed_chains_are_named_and_failed_lists_leave_nothing(tmp_path: Path) -> None:
    sim = simulator()
    sim.faults.add("GET", "option-chains/SPY", "status(422)", times=None)
    result = await fetch(sim, tmp_path / "chain", kinds=["equity_options"], underlyings=["SPY", "AAB"])
    assert (list(result.failed), result.counts) == (["SPY"], {"equity_options": 450})
    assert list(json.loads((result.path / MANIFEST).read_text())["failed"]) == ["SPY"]
    sim.faults.add("GET", "instruments/warrants", "status(422)", times=None)
    with pytest.raises(errors.IncompleteFetchError, match="lists of instruments failed, so nothing was written"):
        await fetch(sim, tmp_path / "list", kinds=["warrants"])
    assert files(tmp_path / "list") == [".day=2026-06-10.partial"]


async def test_failed_chains_are_fetched_again_by_the_same_call(tmp_path: Path) -> None:
    options: Any = {"kinds": ["equities", "equity_options"], "underlyings": ["SPY", "AAB", "NOPE"]}
    whole, sim = await fetch(simulator(), tmp_path / "whole", **options), simulator()
    sim.faults.add("GET", "option-chains/SPY", "status(422)", times=2)
    for failed in (["SPY"], ["SPY"], [], []):
        before = asked(sim)
        result = await fetch(sim, tmp_path / "again", **options)
        assert (list(result.failed), json.loads((result.path / MANIFEST).read_text())["failed"].keys()) == (
            failed,
            result.failed.keys(),
        )
        assert set(asked(sim) - before) <= {"/market-time/sessions/current", "/option-chains/SPY"} or not before
    assert files(tmp_path / "again") == files(tmp_path / "whole")
    assert asked(sim)["/option-chains/SPY"] == 3
    for name in (MANIFEST, PARTITION):
        assert (result.path / name).read_bytes() == (whole.path / name).read_bytes()


async def test_partition_killed_while_it_is_replaced_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim, options = simulator(), {"kinds": ["equity_options"], "underlyings": ["SPY", "AAB"]}
    sim.faults.add("GET", "option-chains/SPY", "status(422)", times=1)
    await fetch(sim, tmp_path, **options)

    def kill(path: Path, aside: Path) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(universe, "replace_durably", kill)
        with pytest.raises(ZeroDivisionError):
            await fetch(sim, tmp_path, **options)
    assert not (tmp_path / "day=2026-06-10").exists()
    result = await fetch(sim, tmp_path, **options)
    assert (result.failed, result.resumed) == ({}, 2)
    assert files(tmp_path) == [f"day=2026-06-10/{MANIFEST}", f"day=2026-06-10/{PARTITION}"]


async def test_leftovers_of_earlier_days_are_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".day=2026-06-09").mkdir()
    (tmp_path / ".day=2026-06-09.partial").write_text("")
    await fetch(simulator(), tmp_path, kinds=["warrants"])
    assert files(tmp_path) == [f"day=2026-06-10/{MANIFEST}", f"day=2026-06-10/{PARTITION}"]
    assert "was never completed, and is removed" in caplog.text


async def test_rates_are_kept_while_it_runs_and_no_longer(tmp_path: Path) -> None:
    sim = simulator(rate_limit=None)
    async with sim.client() as client:
        began = asyncio.get_running_loop().time()
        one = client.bulk.universe(tmp_path / "a", kinds=["equity_options"], underlyings=["SPY", "AAB"])
        other = client.bulk.universe(tmp_path / "b", kinds=["equity_options"], underlyings=["AAC", "AAD"])
        await asyncio.gather(one, other)
        took = asyncio.get_running_loop().time() - began
        assert 1.5 <= took < 4.0
        assert client.session.engine.limiter._per_operation == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["bonds"]}, "kinds must be among equities, .*got 'bonds'"),
        ({"kinds": "equities"}, "kinds must be a list of str"),
        ({"underlyings": "SPY"}, "underlyings must be a list of str"),
        ({"on_progress": 1}, "on_progress must be a function"),
    ],
)
async def test_invalid_arguments_are_refused_before_anything_is_sent(
    tmp_path: Path, options: Any, message: str
) -> None:
    sim = simulator()
    async with sim.client() as client:
        with pytest.raises(errors.ConfigurationError, match=message):
            client.bulk.universe(tmp_path, **options)
        assert not sim.ledger.requests
        (tmp_path / "file").write_text("")
        with pytest.raises(errors.ConfigurationError, match=r"cannot write .*file: File exists"):
            await client.bulk.universe(tmp_path / "file")
