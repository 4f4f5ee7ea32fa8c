"""Streams that are open but mute, and histories of streams by seed; `nox -s proofs` runs more of both."""

import asyncio
from collections import Counter
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from brokerage_async import Client
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.stream import Gap
from brokerage_async.stream.quotes import TradingHours, collection_of
from tests.loops import on_virtual_time
from tests.stream import mute, seeds
from tests.stream.world import SMALL, buy, drain, in_world, ready
from tests.tables import for_each


async def beat(sim: Simulator, symbol: str, seconds: float) -> None:
    """Push an event of a symbol every second, as far as the connections are not mute."""
    for _ in range(int(seconds)):
        await asyncio.sleep(1)
        for session in [each for each in sim.streams.sessions if isinstance(each, DxLinkSession)]:
            session.prices_changed({symbol: True}, sim.clock.now())


def gaps(events: list[Any]) -> list[str]:
    return [event.reason for event in events if isinstance(event, Gap)]


def test_days_of_some_seeds_have_no_problem() -> None:
    assert sum(map(mute.play, range(2)), Counter())["mute days"] == 1


@in_world
async def test_mute_stream_is_opened_again_until_it_has_events(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.quotes(["SPY"], policies={})) as stream:
        await beat(sim, "SPY", 400)
        opened, open_session = [], sim.streams.open

        def open_mute(path: str, now: float) -> Any:
            session = open_session(path, now)
            opened.append(sim.clock.now())
            if session is not None:
                session.is_mute = len(opened) < 4
            return session

        sim.streams.open = open_mute  # type: ignore[method-assign]
        sim.streams.mute()
        before = sim.clock.now()
        await asyncio.sleep(600)
        assert gaps(await drain(stream)) == ["stale"], "nothing was read between, so that one gap stands for all"
        waits = [round(after - before) for before, after in zip([before, *opened], opened, strict=False)]
        assert all(low <= wait <= low + 12 for low, wait in zip((60, 60, 120, 240), waits, strict=True)), waits


@in_world
async def test_timetable_is_read_again_after_weeks_of_sleep(sim: Simulator, client: Client) -> None:
    hours = TradingHours(client.stream._access)
    for _ in range(2):
        assert await hours.was_open("SPY", 60)
        sim.clock.advance(14 * 86_400)
        await client.market_time.equity_holidays()  # shows the time of the service


@on_virtual_time
async def test_silence_of_a_closed_market_is_no_fault_and_costs_one_look_at_the_timetable() -> None:
    start = datetime(2026, 11, 27, 12, 45, tzinfo=ZoneInfo("America/New_York"))  # closes at 13:00
    sim = Simulator(seed=1, start=start, **SMALL)
    async with sim.client() as client, ready(client.stream.quotes(["SPY"])) as stream:
        await beat(sim, "SPY", 15 * 60)
        sim.streams.mute()  # without the prices that the simulator pushes every minute, open or not
        await asyncio.sleep(3 * 3600)
        assert gaps(await drain(stream)) == []
        assert sim.ledger.count("market_time.sessions") == 1


@in_world
async def test_stream_without_a_timetable_is_not_judged(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.quotes(["SPY"])) as stream:
        await beat(sim, "SPY", 400)
        sim.faults.add("GET", "/market-time", "status(503)", times=1000)
        sim.streams.mute()
        await asyncio.sleep(600)
        assert gaps(await drain(stream)) == []
        sim.faults.clear()
        await asyncio.sleep(120)
        assert gaps(await drain(stream)) == ["stale"]


@in_world
async def test_removed_symbol_is_not_missed(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.quotes(["SPY", "AAPL"])) as stream:
        await beat(sim, "SPY", 400)
        await stream.remove(["SPY"])
        await asyncio.sleep(600)
        assert gaps(await drain(stream)) == []


@in_world
async def test_account_stream_that_misses_a_change_of_an_order_is_opened_again(sim: Simulator, client: Client) -> None:
    account, changes = sim.account_numbers[0], list[Any]()
    async with (
        client.stream.account([account]) as stream,
        client.watch.orders("me", [account], interval=30, push=True) as watcher,
    ):

        async def note() -> None:
            async for change in watcher:
                changes.append(change)

        noting = asyncio.ensure_future(note())
        await stream.ready()
        for _ in range(10):  # a quiet hour, and orders with their events
            await asyncio.sleep(360)
            await client.orders.submit(account, buy())
        assert gaps(await drain(stream)) == []
        count = len(changes)
        sim.streams.mute()
        await client.orders.submit(account, buy())
        start = sim.clock.time
        await asyncio.sleep(60)
        [gap] = [event for event in await drain(stream) if isinstance(event, Gap)]
        assert gap.reason == "stale"
        assert gap.since is not None
        assert gap.since <= start
        assert len(changes) > count
        await client.orders.submit(account, buy())
        assert [type(event).__name__ for event in await drain(stream)].count("AccountEvent") > 1
        for _ in range(4):  # a service that never announces an order costs one connection in five minutes
            sim.streams.mute()
            await client.orders.submit(account, buy())
            await asyncio.sleep(40)
        assert len(gaps(await drain(stream))) <= 1
        noting.cancel()
        await asyncio.wait({noting})


def test_collection_of_each_kind_of_symbol() -> None:
    wanted = {
        "SPY": "Equity", ".SPY260619C600": "Equity", "SPX": "Equity", "/ESU26:XCME": "CME",
        "./EW1U26C5000:XCME": "CME", "/VXM26:XCBF": "CFE", "BTC/USD:CXTALP": None, "SPY{=5m}": "Equity",
    }  # fmt: skip
    assert {symbol: collection_of(symbol) for symbol in wanted} == wanted


@for_each("seed", [1, 2])
def test_history_of_a_seed(seed: int) -> None:
    counts = seeds.play(seed)
    assert counts["gaps"] > 3
    assert counts["changes"] > 20
