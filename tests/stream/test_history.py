"""Candles of the past: contracts of the service, and `Streams.history`."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from brokerage_async import Client, errors, models
from brokerage_async.arrow import to_arrow, to_pandas
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import MAX_CANDLES, DxLinkSession, MarketRows
from brokerage_async.stream import EventFlag, Snapshot
from tests.loops import on_virtual_time
from tests.stream.test_batches import batches_of, rows_of
from tests.stream.world import drain, in_world, ready, within, world


@on_virtual_time
async def test_candles_with_a_start_come_under_either_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = MarketRows.rows
    needs: tuple[bool, ...] = ()
    asked: list[bool] = []

    def answer(self: MarketRows, kind: str, *args: Any, has_history: bool = True) -> Any:
        if kind == "Candle":
            asked.append(has_history)
        return rows(self, kind, *args, has_history=has_history in needs)

    monkeypatch.setattr(MarketRows, "rows", answer)
    for needs, asks, found in (
        ((True,), [True], 11), ((False,), [True, False], 11), ((True, False), [True], 11), ((), [True, False], 0),
    ):  # fmt: skip
        asked.clear()
        async with world() as (sim, client):
            start = sim.clock.time - timedelta(minutes=10)
            async with client.stream.quotes(["AAPL"], ["Candle"], period="1m", start=start) as stream:
                snapshot = await within(5, stream)
                assert isinstance(snapshot, Snapshot), needs
                assert (len(snapshot.events), asked) == (found, asks), needs
                sim.set_price("AAPL", 77)
                assert [event.close for event in await drain(stream)] == [77], needs
            if found:
                async with client.stream.quotes(["AAPL"], [models.Candle], period="1m", start=start) as stream:
                    batches = await batches_of(stream, during=1.5)
                flags = [row["event_flags"] for row in rows_of(batches, ["event_flags"])]
                assert sum(not flag & EventFlag.REMOVE_EVENT for flag in flags) == 11, needs


async def equity_names(client: Client, count: int) -> list[str]:
    listed = await client.instruments.equities(per_page=1000).collect()
    return [str(each.symbol) for each in listed if not each.is_index][:count]


def count_candles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of subscriptions to candles after each message."""
    process, counts = DxLinkSession._process, list[int]()

    def counted(session: DxLinkSession, *args: Any) -> None:
        process(session, *args)
        subscribed = [key for channel in session._channels.values() for key in channel.subscriptions]
        counts.append(sum(kind == "Candle" for kind, _ in subscribed))

    monkeypatch.setattr(DxLinkSession, "_process", counted)
    return counts


@on_virtual_time
async def test_histories_at_once_and_candles_that_are_followed_share_the_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_candles(monkeypatch)
    async with world(equities=260) as (sim, client):
        names = await equity_names(client, 250)
        start = sim.clock.time - timedelta(minutes=10)
        async with ready(client.stream.quotes(names[:60], [models.Candle], period="1m")) as followed:
            found = await asyncio.gather(
                *(client.stream.history(names[first : first + 125], "5m", start, timeout=5) for first in (0, 125))
            )
            assert all(found)
            assert max(counts) == 100
            sim.set_price(names[0], 77)
            assert 77 in [event.close for event in await drain(followed) if isinstance(event, models.Candle)]


@in_world
async def test_history_waits_for_its_turn_among_all_clients_with_one_source_of_prices(
    sim: Simulator, client: Client
) -> None:
    start = sim.clock.time - timedelta(minutes=10)
    async with sim.client(market_data=client) as other:
        async with client.stream.quote_link.history_turn:
            waiting = [asyncio.create_task(each.stream.history(["AAPL"], "5m", start)) for each in (client, other)]
            await asyncio.sleep(60)
            assert not any(each.done() for each in waiting)
        assert all(await asyncio.gather(*waiting))


@on_virtual_time
async def test_history_of_500_symbols_is_whole_ordered_cut_and_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_candles(monkeypatch)
    async with world(equities=510) as (sim, client):
        names = await equity_names(client, 500)
        assert len(names) == 500
        now = sim.clock.time
        start, end = now - timedelta(minutes=30), now - timedelta(minutes=10)
        candles = await client.stream.history([*names, names[0]], "5m", start, end)
        assert max(counts) == 100
        assert sim.streams.sessions == []
        found: dict[str, list[Any]] = {}
        for each in candles:
            found.setdefault(str(each.event_symbol), []).append(each.time)
        asked = [f"{name}{{=5m}}" for name in names]
        assert list(found) == [name for name in asked if name in found]
        whole = found["AAPL{=5m}"]
        assert start <= whole[0] < start + timedelta(minutes=5)
        assert whole == [whole[0] + number * timedelta(minutes=5) for number in range(4)]
        assert whole[-1] < end
        assert [name for name, times in found.items() if times != [each for each in whole if each in times]] == []
        assert sum(times == whole for times in found.values()) > 300
        assert len(found) > 400
        assert to_arrow(candles).num_rows == len(to_pandas(candles)) == len(candles)
        table = await client.stream.history_table([*names, names[0]], "5m", start, end)
        assert table["symbol"].to_pylist() == [str(each.event_symbol).partition("{")[0] for each in candles]
        assert table["close"].to_pylist() == [float(each.close or 0) for each in candles]
        assert table["time"].to_pylist() == [each.time for each in candles]
        assert (await client.stream.history_table([], "5m", start)).schema.names == table.schema.names


@in_world
async def test_history_survives_a_lost_connection(sim: Simulator, client: Client) -> None:
    start = sim.clock.time - timedelta(minutes=30)
    whole = await client.stream.history(["AAPL", "SPY"], "1m", start)
    sim.streams.faults.add("drop", kind="Candle", times=2)
    assert len(await client.stream.history(["AAPL", "SPY"], "1m", start)) == len(whole) > 50


@in_world
async def test_history_with_others_has_no_candles_before_its_start(sim: Simulator, client: Client) -> None:
    now = sim.clock.time
    early = now - timedelta(hours=1)
    async with ready(client.stream.quotes(["AAPL"], [models.Candle], period="1m", start=early)):
        candles = await client.stream.history(["AAPL"], "1m", now - timedelta(minutes=5))
        assert 5 <= len(candles) <= 6


@in_world
async def test_history_says_what_is_missing(sim: Simulator, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    now = sim.clock.time
    with pytest.raises(errors.StreamError, match=r"no candles within 5 s: ZZZZ\{=d}") as caught:
        await client.stream.history(["AAPL", "ZZZZ"], "1d", now - timedelta(days=3), timeout=5)
    assert caught.value.code == "no_answer"
    assert await client.stream.history([], "1d", now - timedelta(days=3)) == []
    cut = await client.stream.history(["AAPL"], "1m", now - timedelta(days=10))
    assert len(cut) == MAX_CANDLES
    assert "history of AAPL{=m}: older candles were cut off" in caplog.text
    for arguments, reason in (
        ((["AAPL"], "1d", datetime(2026, 1, 1)), "start must be a datetime with a time zone"),  # noqa: DTZ001
        ((["AAPL"], "1d", now, datetime(2026, 1, 1)), "end must be a datetime with a time zone"),  # noqa: DTZ001
        ((["AAPL"], "1d", None), "start must be a datetime with a time zone"),
        (("AAPL", "1d", now), "symbols must be a list of symbols"),
    ):
        with pytest.raises(errors.InvalidRequestError, match=reason):
            await client.stream.history(*arguments)  # type: ignore[arg-type]
    for period, timeout, reason in (("soon", 5.0, "period must"), ("1d", 0.0, "timeout must be a number")):
        with pytest.raises(errors.ConfigurationError, match=reason):
            await client.stream.history(["AAPL"], period, datetime(2026, 1, 1, tzinfo=UTC), timeout=timeout)
