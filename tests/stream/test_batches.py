"""Record batches of market events: the same rows as the events, gaps in their metadata, bounded."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow
import pytest

from brokerage_async import Client, errors, models
from brokerage_async.arrow import to_arrow
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.streams.events import INDEXED, MARKET_EVENTS, Gap, Rows
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import MarketRows
from brokerage_async.stream import QuoteStream, Snapshot, gaps_of
from brokerage_async.stream.consumer import CHUNK, Tape
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.stream.world import drain, in_world, within, world

NOW = datetime(2026, 6, 10, 14, tzinfo=UTC)


def kind(batch: pyarrow.RecordBatch) -> str:
    return str(batch.schema.metadata[b"event_type"].decode())


def rows_of(batches: list[pyarrow.RecordBatch], columns: list[str]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.select(columns).to_pylist()]


async def batches_of(stream: QuoteStream, during: float = 3.0, **options: Any) -> list[pyarrow.RecordBatch]:
    found = []
    batches = stream.batches(**options)
    try:
        async with asyncio.timeout(during):
            async for batch in batches:
                found.append(batch)
    except TimeoutError:
        return found
    raise AssertionError("the stream ended")


@in_world
async def test_batches_have_the_rows_of_the_events_of_every_type(client: Client) -> None:
    start = datetime(2026, 6, 1, tzinfo=UTC)
    symbols = ["AAPL", ".SPY260619P600"]
    async with (
        client.stream.quotes(symbols, MARKET_EVENTS, period="1h", start=start) as events,
        client.stream.quotes(symbols, MARKET_EVENTS, period="1h", start=start) as rows,
    ):
        batches = await batches_of(rows, during=1.5)
        seen: dict[type[Any], list[Any]] = {}
        for event in await drain(events):
            some = event.events if isinstance(event, Snapshot) else [event]
            for each in some:
                seen.setdefault(type(each), []).append(each)
    assert {model.__name__ for model in seen} == {kind(batch) for batch in batches if batch.num_rows}
    assert len(seen) > 8
    for model, some in seen.items():
        table = to_arrow(some, decimals="float")
        columns = [name for name in table.schema.names if name != "extra"]
        wanted = table.select(columns).to_pylist()
        found = rows_of([batch for batch in batches if kind(batch) == model.__name__], columns)
        found = [row for row in found if not (row.get("event_flags") or 0) & 2]  # markers are no events
        for row in (*wanted, *found):
            if model in INDEXED:
                row.pop("event_flags")
        order = lambda row: (row["event_symbol"], row.get("index") or 0)  # noqa: E731
        assert sorted(found, key=order) == sorted(wanted, key=order), model


@in_world
async def test_gap_is_in_the_metadata_of_the_first_batch_of_every_type(sim: Simulator, client: Client) -> None:
    async with client.stream.quotes(["AAPL"], [models.Quote, models.Trade, models.Greeks]) as stream:
        before = await batches_of(stream, during=1.5)
        sim.set_price("AAPL", "150")
        sim.streams.drop()
        after = await batches_of(stream, during=1.5)
    assert [gaps_of(batch) for batch in before] == [[], []]
    first = {kind(batch): batch for batch in after if gaps_of(batch)}
    assert set(first) == {"Quote", "Trade", "Greeks"}
    for batch in first.values():
        [gap] = gaps_of(batch)
        assert gap.reason == "simulated: the service closed the connection"
        assert gap.since is not None
    assert (first["Greeks"].num_rows, first["Quote"].column("bid_price")[-1].as_py()) == (0, 149.98)
    assert sum(len(gaps_of(batch)) for batch in after) == 3


@in_world
async def test_rows_that_arrive_with_the_end_of_the_connection_come_before_the_gap(
    sim: Simulator, client: Client
) -> None:
    async with client.stream.quotes(["AAPL"], aggregation_period=0) as stream:
        await batches_of(stream, during=1.5)
        sim.set_price("AAPL", "150")
        await asyncio.sleep(0)
        sim.streams.drop()
        before, after = await batches_of(stream, during=2.5)
    assert (before.column("bid_price").to_pylist(), gaps_of(before)) == ([149.98], [])
    assert (after.column("bid_price").to_pylist(), len(gaps_of(after))) == ([149.98], 1)


@on_virtual_time
async def test_rows_that_do_not_fit_end_a_strict_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = MarketRows.rows

    def answer(*args: Any, **options: Any) -> list[dict[str, Any]]:
        return [{**row, "bidPrice": "high"} for row in rows(*args, **options)]

    monkeypatch.setattr(MarketRows, "rows", answer)
    async with world(strict=True) as (_, client), client.stream.quotes(["AAPL"]) as stream:
        with pytest.raises(errors.ResponseDecodeError, match="bid_price: expected double, got a string; rejected in"):
            await within(60, stream.batches(rows=1))


@in_world
async def test_rows_and_seconds_bound_a_batch(sim: Simulator, client: Client) -> None:
    async def move() -> None:
        for cents in range(10_000, 10_070):
            sim.set_price("AAPL", Decimal(cents) / 100)
            await asyncio.sleep(0.1)

    async with client.stream.quotes(["AAPL", "SPY"]) as stream:
        assert (await within(5, stream.batches(limit=1))).num_rows == 1, "the oldest are dropped, never all"
    found = {}
    for options in ({"rows": 20}, {"seconds": 2}, {"seconds": 2, "rows": 15}, {}):
        async with client.stream.quotes(["AAPL"], contract="STREAM", aggregation_period=0) as stream:
            batches = stream.batches(**options)
            await stream.ready()
            moving = asyncio.create_task(move())
            found[str(options)] = [batch.num_rows for batch in await batches_of(stream, 6.05, **options)]
            moving.cancel()
            assert all(batch.num_rows for batch in batches.rest())
    assert found == {
        "{'rows': 20}": [20, 20, 20],
        "{'seconds': 2}": [22, 20, 20],
        "{'seconds': 2, 'rows': 15}": [15, 7, 15, 5, 15, 4],
        "{}": [11, 10, 10, 10, 10, 10],
    }


def tape_of(*symbols: str, kinds: tuple[str, ...] = ("Quote",)) -> Tape:
    tape = Tape(kinds, ("AUTO", None), Issues("test"), lambda: NOW)
    for each in kinds:
        for symbol in symbols:
            tape.want(each, symbol)
    return tape


def quotes(count: int, *symbols: str) -> Rows:
    names = symbols or ("A",)
    return Rows(
        "Quote", ("eventSymbol", "bidPrice"), [each for n in range(count) for each in (names[n % len(names)], n)]
    )


def taken(tape: Tape) -> list[tuple[int, list[Gap]]]:
    tape.cut()
    found = []
    while tape.is_ready:
        batch = tape.get()
        found.append((batch.num_rows, gaps_of(batch)))
    return found


async def test_slow_consumer_loses_the_oldest_rows_and_gets_a_gap() -> None:
    tape = tape_of("A")
    tape.limit = 3 * CHUNK
    lost = Gap(since=NOW, reason="lost")
    tape.put(quotes(CHUNK))
    tape.put_gap(lost)
    for _ in range(4):
        tape.put(quotes(CHUNK))
    assert len(tape) <= tape.limit
    assert tape.dropped == 5 * CHUNK - len(tape)
    [(rows, gaps), *rest] = taken(tape)
    assert gaps[-1] == Gap(since=None, reason=f"the consumer was too slow: {tape.dropped} rows were dropped")
    assert lost in gaps or lost in [gap for _, some in rest for gap in some]
    assert rows + sum(count for count, _ in rest) + tape.dropped == 5 * CHUNK


async def test_endless_gaps_and_rows_stay_bounded() -> None:
    tape = tape_of("A", kinds=("Quote", "Trade"))
    tape.limit = 50
    for number in range(500):
        tape.put(quotes(3))
        tape.put_gap(Gap(since=NOW, reason=str(number)))
    assert len(tape) <= 50
    assert sum(len(gaps) for _, gaps in taken(tape)) <= 60


async def test_tapes_do_not_share_rows_that_they_were_given_together() -> None:
    one, other = tape_of("A"), tape_of("A")
    for count in (3, CHUNK, CHUNK - 1, 5):
        rows = quotes(count)
        for tape in (one, other):
            tape.put(rows)
    assert taken(one) == taken(other) == [(2 * CHUNK + 7, [])]


async def test_rows_of_other_symbols_and_types_are_left_out() -> None:
    tape = tape_of("A", "C")
    tape.put(quotes(6, "A", "B", "C"))
    tape.put(Rows("Trade", ("eventSymbol",), ["A"]))
    assert sorted(tape.heard()) == [("Quote", "A"), ("Quote", "C")]
    tape.put(Rows("Quote", ("eventSymbol",), [["A"], 7, None]))
    assert sorted(tape.heard()) == []
    tape.leave("Quote", "C")
    tape.put(quotes(3, "A", "B", "C"))
    tape.cut()
    assert tape.get().column("event_symbol").to_pylist() == ["A", "C", "A", "C", "A"]


@in_world
async def test_two_consumers_of_batches_get_their_own_symbols(sim: Simulator, client: Client) -> None:
    async with client.stream.quotes(["AAPL", "SPY"]) as one, client.stream.quotes(["SPY", "QQQ"]) as other:
        found = await asyncio.gather(batches_of(one, during=1.5), batches_of(other, during=1.5))
        names = [{row["event_symbol"] for row in rows_of(batches, ["event_symbol"])} for batches in found]
        assert names == [{"AAPL", "SPY"}, {"SPY", "QQQ"}]
        await one.remove(["SPY"])
        await one.add(["QQQ"])
        for symbol in ("SPY", "QQQ"):
            sim.set_price(symbol, "123")
        later = rows_of(await batches_of(one, during=1.5), ["event_symbol"])
        assert {row["event_symbol"] for row in later} == {"QQQ"}


@in_world
async def test_stream_that_gave_events_begins_its_batches_with_a_gap(client: Client) -> None:
    async with client.stream.quotes(["AAPL"]) as stream:
        assert isinstance(await within(1, stream), models.Quote)
        first = await within(3, stream.batches())
        assert [gap.reason for gap in gaps_of(first)] == ["the events before the first batch were delivered one by one"]
        assert first.num_rows == 1
        await raised_by(anext(stream), errors.ConfigurationError, r"iterate over its batches\(\)")


@in_world
async def test_batches_end_with_the_stream_or_its_error(client: Client) -> None:
    stream = client.stream.quotes(["AAPL"])
    batches = stream.batches(seconds=60)
    await stream.ready()
    await asyncio.sleep(1)
    waiting = asyncio.create_task(anext(batches))
    await asyncio.sleep(0)
    await stream.aclose()
    await raised_by(waiting, StopAsyncIteration)
    stream = client.stream.quotes(["AAPL"])
    batches = stream.batches(seconds=60)
    await stream.ready()
    await asyncio.sleep(1)
    await client.aclose()
    assert (await anext(batches)).num_rows == 1  # what came before is delivered
    await raised_by(anext(batches), errors.ConfigurationError, "closed")
