"""The client judges time by the service: neither this machine's clock nor its date plays a part."""

import asyncio
import time
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from brokerage_async.journal import MemoryJournal
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.versions import VERSIONS
from brokerage_async.tickets import buy_to_open, limit
from brokerage_async.watch import feed, poll
from tests.http.calls import raised_by
from tests.trading import SMALL

pytestmark = pytest.mark.virtual_time

OPENING = datetime(2026, 6, 10, 13, 30, tzinfo=UTC)
"""Wednesday, 9:30 in New York."""

MINUTES = timedelta(minutes=1)
ORDER = limit(buy_to_open("AAPL", 1), price="10")
CLOCKS = {
    "laptop ten minutes fast": timedelta(minutes=10),
    "laptop ten minutes slow": timedelta(minutes=-10),
    "container in 1970": datetime(1970, 1, 1, tzinfo=UTC) - OPENING,
    "machine of another season": timedelta(days=165),
    "machine of another century": timedelta(days=36_500),
}


@pytest.fixture(params=CLOCKS.values(), ids=list(CLOCKS))
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set this machine's clock wrong, as compared with a service where the market opens in five minutes."""

    class Wall(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return OPENING - 5 * MINUTES + request.param + timedelta(seconds=asyncio.get_running_loop().time())

    monkeypatch.setattr(feed, "datetime", Wall)
    monkeypatch.setattr(time, "time", lambda: Wall.now().timestamp())


def simulator(before: timedelta = 5 * MINUTES) -> Simulator:
    return Simulator(start=OPENING - before, latency=0.1, **SMALL)


def lateness(sim: Simulator, at: datetime) -> float:
    return (sim.clock.time - at).total_seconds()


@pytest.mark.usefixtures("wrong_clock")
async def test_market_watcher_agrees_with_the_service_whatever_this_machine_says() -> None:
    sim = simulator()
    async with sim.client() as client, client.watch.market("Equity", extended=True, initial=True) as market:
        change = await anext(market)
        assert (change.kind, change.key) == ("started", date(2026, 6, 10))
        for kind, hours in (("opened", 0), ("closed", 6.5), ("ended", 10.5)):
            change = await anext(market)
            assert (change.kind, change.at) == (kind, OPENING + timedelta(hours=hours))
            assert 0 <= lateness(sim, change.at) < 1.5
        assert abs(client.watch.now() - sim.clock.time) < timedelta(seconds=1.5)


@pytest.mark.usefixtures("wrong_clock")
async def test_time_of_the_service_is_asked_for_or_its_absence_said(caplog: pytest.LogCaptureFixture) -> None:
    sim = simulator()
    async with sim.client() as client:
        for _ in range(2):
            assert abs(client.watch.now() - sim.clock.time) > timedelta(minutes=1)
        assert caplog.text.count("has not shown its time") == 1
        assert abs(await client.watch.synchronise() - sim.clock.time) < timedelta(seconds=1.5)
        assert abs(client.watch.now() - sim.clock.time) < timedelta(seconds=1.5)


@pytest.mark.usefixtures("wrong_clock")
async def test_market_hours_poll_first_at_the_opening_of_the_service() -> None:
    sim, polls = simulator(), list[float]()

    async def fetch() -> list[int]:
        polls.append(lateness(sim, OPENING))
        return []

    async with sim.client() as client:
        pace = client.watch.market_hours(trading=60, resting=3600)
        async with poll(fetch, key=int, interval=pace) as changes:
            await raised_by(asyncio.wait_for(anext(changes), 600), TimeoutError)
    in_hours = [each for each in polls if each >= 0]
    assert polls[0] < -299
    assert in_hours[0] < 1.5
    assert 5 <= len(in_hours) <= 6
    assert len(polls) <= 8


@pytest.mark.usefixtures("wrong_clock")
async def test_order_watchers_judge_ages_by_the_service() -> None:
    sim = simulator()
    async with sim.client() as client:
        placed = await client.orders.submit(sim.account_numbers[0], ORDER)
        async with client.watch.orders("me", [sim.account_numbers[0]]) as changes:
            change = await anext(changes)
        assert abs(lateness(sim, change.at)) < 2
        sim.clock.advance(3 * 86400)  # it is on no list of today any more
        order = await client.watch.order("me", sim.account_numbers[0], placed.order.id or "")
        assert order.status == "Expired"


EVENING = datetime(2026, 6, 10, 20, 30, tzinfo=timezone(timedelta(hours=-4)))
"""In New York, when it is the next day in UTC already."""


async def test_order_placed_at_half_past_eight_is_found_under_every_version() -> None:
    for version in (None, "20250813", "20261012"):
        sim = Simulator(start=EVENING, versions=VERSIONS, **SMALL)  # type: ignore[arg-type]
        client, account = sim.client(accept_version=version), sim.account_numbers[0]
        async with client:
            entry = client.order_entry(MemoryJournal())
            sim.faults.add("POST", r"/orders$", "drop_after")
            ticket = limit(buy_to_open("AAPL", 1), price="1", time_in_force="GTC")
            order_id = (await entry.place(account, ticket, allow_warnings=True)).require().order_id
            for days in range(3):
                found = [
                    await client.orders.list(account).collect(),
                    await client.orders.search("me", [account]).collect(),
                    await client.orders.search("me", [account], start_date=EVENING.date()).collect(),
                    await client.orders.live("me", [account]),
                    await client.orders.list_live(account, underlying_symbol="AAPL").collect(),
                ]
                assert [[order.id for order in orders] for orders in found] == [[order_id]] * 5, (version, days)
                sim.clock.advance(86_400)
            assert found[0][0].received_at.astimezone(UTC).date() > EVENING.date()
            await client.orders.cancel(account, str(order_id))
            sim.clock.advance(2 * 86_400)
            assert await client.orders.live("me", [account]) == []
            assert (await client.watch.order("me", account, str(order_id))).status == "Cancelled"
