"""Recordings: segments and Parquet files by day, whole after any end, and their replay in the simulator."""

import asyncio
import re
import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from typer.testing import CliRunner

from brokerage_async import Client, errors, models
from brokerage_async.arrow import segments
from brokerage_async.arrow.columns import event_schema
from brokerage_async.arrow.segments import Segment, batches_of, recorded_files, rewrite
from brokerage_async.cli.app import app
from brokerage_async.simulator import Simulator, read_prices, run
from brokerage_async.stream import Recording, record
from brokerage_async.tickets import buy_to_open, limit
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.stream.world import SMALL, in_world

GAP = {"at": "2026-06-10T14:00:01+00:00", "since": None, "reason": "lost"}


async def move(sim: Simulator, count: int, pause: float, symbol: str = "AAPL") -> None:
    for number in range(count):
        sim.set_price(symbol, Decimal(10_000 + number * 37 % 101) / 100)
        await asyncio.sleep(pause)


def names(directory: Path) -> list[str]:
    return [path.relative_to(directory).as_posix() for path in recorded_files(directory)]


def rows_in(directory: Path) -> list[dict[str, Any]]:
    return [row for path in recorded_files(directory) for batch, _ in batches_of(path) for row in batch.to_pylist()]


@in_world
async def test_recording_has_parquet_by_day_and_continues_with_a_gap(
    sim: Simulator, client: Client, tmp_path: Path
) -> None:
    sim.clock.advance((datetime(2026, 6, 10, 23, 59, 50, tzinfo=UTC) - sim.clock.time).total_seconds())
    await client.market_time.equity_holidays()
    moving = asyncio.create_task(move(sim, 200, 0.3))
    done = await client.stream.record(tmp_path, ["AAPL", "BTC/USD"], seconds=20)
    assert isinstance(done, Recording)
    assert done.gaps == []
    assert names(tmp_path) == [
        f"day=2026-06-{day}/{kind}-00000{number}.parquet"
        for day, kind, number in ((10, "Quote", 1), (10, "Trade", 2), (11, "Quote", 3), (11, "Trade", 4))
    ]
    assert len(rows_in(tmp_path)) == done.rows > 100
    recording = asyncio.create_task(client.stream.record(tmp_path, ["AAPL"], ["Quote"]))
    await asyncio.sleep(3.5)
    with pytest.raises(errors.ConfigurationError, match="another recorder that is running"):
        await client.stream.record(tmp_path, ["AAPL"])
    recording.cancel()
    await raised_by(recording, asyncio.CancelledError)
    moving.cancel()
    assert names(tmp_path)[-2:] == ["day=2026-06-11/Quote-000005.parquet", "day=2026-06-11/Trade-000004.parquet"]
    last = max(row["received_at"] for row in rows_in(tmp_path))
    replay = read_prices(tmp_path)
    [(since, until)] = replay.gaps
    assert since is not None
    assert since < until < last
    assert set(replay) == {"AAPL", "BTC/USD"}  # by the symbols that were given


def test_segment_cut_at_any_byte_gives_the_batches_before(tmp_path: Path) -> None:
    schema = event_schema(models.Quote)
    segment = Segment(tmp_path / "day=2026-06-10" / "Quote-000001.arrows", schema)
    ends = [segment.path.stat().st_size]
    for number in range(4):
        rows = [{"event_symbol": "A", "bid_price": number + each / 10} for each in range(number + 1)]
        segment.write(pyarrow.RecordBatch.from_pylist(rows, schema), [GAP] if number == 2 else [])
        ends.append(segment.path.stat().st_size)
    segment.close()
    whole = segment.path.read_bytes()
    misses = []
    for end in sorted({*range(0, len(whole) + 1, 29), *(end + step for end in ends for step in (-1, 0, 1) if end)}):
        segment.path.write_bytes(whole[:end])
        found = [(batch.num_rows, gaps) for batch, gaps in batches_of(segment.path)]
        expected = [(number + 1, [GAP] if number == 2 else []) for number in range(4) if ends[number + 1] <= end]
        if found != expected:
            misses.append((end, found))
    assert not misses, misses[:5]
    segment.path.write_bytes(whole[:-20])
    rewrite(segment.path)
    [path] = recorded_files(tmp_path)
    assert path.suffix == ".parquet"
    assert [(batch.num_rows, gaps) for batch, gaps in batches_of(path)] == [(6, [GAP])]


async def test_cancelled_recorder_keeps_its_directory_until_its_files_are_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    monkeypatch.setattr(record, "MAX_INLINE", 0)
    monkeypatch.setattr(segments, "rewrite", lambda path: may_go_on.wait(30) and rewrite(path))
    recorder = record.Recorder(tmp_path)
    schema, now = event_schema(models.Trade), datetime(2026, 6, 10, tzinfo=UTC)
    batch = pyarrow.RecordBatch.from_pylist([{"event_symbol": "A", "price": 1.0, "received_at": now}], schema)
    recorder.write(batch.replace_schema_metadata({"event_type": "Trade"}), {}, now)
    closing = asyncio.create_task(recorder.aclose())
    await asyncio.sleep(0.01)
    closing.cancel()
    await asyncio.wait({closing})
    assert closing.cancelled()
    raised(errors.ConfigurationError, record.Recorder, tmp_path, match="another recorder that is running")
    may_go_on.set()
    await recorder.aclose()
    assert [Path(name).suffix for name in names(tmp_path)] == [".parquet"]
    await record.Recorder(tmp_path).aclose()


def test_segment_beside_its_parquet_file_counts_once(tmp_path: Path) -> None:
    schema = event_schema(models.Trade)
    segment = Segment(tmp_path / "day=2026-06-10" / "Trade-000001.arrows", schema)
    segment.write(pyarrow.RecordBatch.from_pylist([{"event_symbol": "A", "price": 1.0}], schema), [])
    segment.close()
    before = segment.path.read_bytes()
    rewrite(segment.path)
    segment.path.write_bytes(before)  # as if it had been killed before it removed the segment
    assert len(rows_in(tmp_path)) == 1
    rewrite(segment.path)
    assert names(tmp_path) == ["day=2026-06-10/Trade-000001.parquet"]


async def trade(client: Client, simulator: Simulator) -> str:
    """Buy at limits below the price, one after another, for an hour. Return the history."""
    account = simulator.account_numbers[0]
    for number in range(60):
        price = Decimal(10_000 + number * 53 % 90) / 100
        await client.orders.submit(account, limit(buy_to_open("AAPL", 10), price=price))
        await asyncio.sleep(60)
    return simulator.ledger.history()


def recorded(directory: Path, symbols: list[str], count: int, pause: float, kinds: Any = None) -> Any:
    """Record ``count`` moves of AAPL, one every ``pause`` seconds, and return their prices."""

    async def record(client: Client, simulator: Simulator) -> None:
        moving = asyncio.create_task(move(simulator, count, pause))
        await client.stream.record(directory, symbols, *([kinds] if kinds else []), seconds=count * pause)
        await moving

    run(record, **SMALL)
    return read_prices(directory)


PRICES = [Decimal(10_000 + number * 37 % 101) / 100 for number in range(10)]


def test_recorded_hour_replayed_twice_has_the_same_history(tmp_path: Path) -> None:
    recorded(tmp_path, ["AAPL", "SPY"], 600, 6)
    first, second = (run(trade, seed=7, prices=read_prices(tmp_path), **SMALL) for _ in range(2))
    assert first == second
    assert first is not None
    assert first.count("Filled") > 20
    assert run(trade, seed=7, **SMALL) != first


def test_replayed_prices_are_those_that_were_recorded(tmp_path: Path) -> None:
    async def watch(client: Client, simulator: Simulator) -> list[tuple[Decimal | None, Decimal | None]]:
        found = []
        await asyncio.sleep(0.5)
        for _ in range(10):
            [data] = await client.market_data.by_type(equity=["AAPL"])
            found.append((data.bid, data.ask))
            await asyncio.sleep(2)
        return found

    replay = recorded(tmp_path, ["AAPL"], 10, 2)
    assert replay.start == datetime(2026, 6, 10, 14, tzinfo=UTC)
    found = run(watch, prices=replay, environment="production", **SMALL)
    assert found == [(price - Decimal("0.01"), price + Decimal("0.01")) for price in PRICES]


@pytest.mark.virtual_time(False)
async def test_recording_is_replayed_over_a_socket_in_the_pace_of_its_arrival(tmp_path: Path) -> None:
    replay = await asyncio.to_thread(recorded, tmp_path, ["AAPL"], 10, 2, ["Quote"])
    assert replay.start is not None
    expected = [price - Decimal("0.01") for price in PRICES]
    bids, times = list[Decimal | None](), list[float]()
    async with Simulator(prices=replay, start=replay.start, **SMALL) as simulator, simulator.client() as client:
        simulator.clock.speed = 10.0
        async with client.stream.quotes(["AAPL"], [models.Quote]) as quotes, asyncio.timeout(20):
            async for event in quotes:
                if isinstance(event, models.Quote):
                    bids.append(event.bid_price)
                    times.append(simulator.clock.now() - replay.start.timestamp())
                if len(bids) > 1 and bids[-1] == expected[-1]:
                    break
    assert bids == expected[-len(bids) :]
    assert len(bids) > 5
    assert 15 < times[-1] < 25  # simulated seconds: it came after 18


def test_directory_without_prices_is_refused(tmp_path: Path) -> None:
    raised(ValueError, read_prices, tmp_path, match="must have quotes or trades that were recorded")


def test_console_records_for_some_seconds(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["stream", "record", str(tmp_path), "AAPL", "--event", "Quote", "--seconds", "2", "--simulator"]
    )
    assert result.exit_code == 0, (result.output, result.exception)
    assert re.fullmatch(rf"[1-9]\d* rows in {re.escape(str(tmp_path))}, 0 gaps\n", result.stdout)
    assert names(tmp_path)[0].endswith("Quote-000001.parquet")
