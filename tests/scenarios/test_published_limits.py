"""The published rates: the simulator enforces them, and clients that keep to them see no 429."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from brokerage_async import Client, Limits, RetryPolicy
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.errors import RateLimitError
from brokerage_async.fleet import Fleet, RedisLimits
from brokerage_async.operation import PUBLISHED_RATES
from brokerage_async.simulator import Simulator
from tests.fleet.engines import engine_server, missing
from tests.fleet.shared_budget import busiest_second
from tests.http.calls import raised_by
from tests.stream.world import drain

pytestmark = pytest.mark.virtual_time


def simulator(**options: Any) -> Simulator:
    defaults = {"equities": 400, "equity_options": 200, "chain_rows": 60, "warrants": 10, "rate_limit": "published"}
    return Simulator(**(defaults | options))


def moments(sim: Simulator, operation: str) -> list[float]:
    return [record.at for record in sim.ledger.requests if record.operation == operation]


def test_published_rates_name_operations_of_the_service() -> None:
    limits = Limits.published()
    assert set(limits.per_operation) == set(PUBLISHED_RATES) <= set(OPERATIONS)
    some = {"positions.list": 1, "market_data.by_type": 2, "instruments.equity": 3, "orders.submit": 20}
    assert some.items() <= PUBLISHED_RATES.items()
    assert (limits.reads_per_second or 0) + (limits.trades_per_second or 0) == 50.0


async def test_simulator_refuses_what_exceeds_a_published_rate() -> None:
    sim = simulator()
    async with sim.client(limits=Limits.unlimited(), retry=RetryPolicy.none()) as client:
        account = sim.account_numbers[0]
        await client.positions.list(account)
        await raised_by(client.positions.list(sim.account_numbers[1]), RateLimitError)
        await client.balances.list(account)  # another operation
        await asyncio.sleep(1)
        await client.positions.list(account)
        found = await asyncio.gather(*(client.market_time.equity_holidays() for _ in range(51)), return_exceptions=True)
    assert any(isinstance(each, RateLimitError) for each in found), "all together 50"
    assert sum(not isinstance(each, Exception) for each in found) >= 45


async def test_nightly_fetch_and_two_watchers_of_positions_keep_to_the_published_rates() -> None:
    sim = simulator()
    async with sim.client(limits=Limits.published()) as client:
        watchers = [client.watch.positions([account], interval=1) for account in sim.account_numbers[:2]]
        watching = [asyncio.create_task(drain(watcher, 1_000)) for watcher in watchers]
        symbols = [equity.symbol for equity in await client.instruments.equities(per_page=200).collect(max_items=400)]
        names = [symbol for symbol in symbols if symbol is not None]
        assert not (await client.bulk.equities(names)).failed
        assert not (await client.bulk.dividends(names[:60])).failed
        assert not (await client.bulk.futures_option_chains(["ES", "NQ", "CL", "GC", "ZN"])).failed
        await asyncio.gather(*(client.option_chains.nested("AAPL") for _ in range(5)))
        await asyncio.gather(*(client.instruments.equity(name) for name in names[:12]))
        await asyncio.sleep(20)
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)
        for watcher in watchers:
            await watcher.aclose()
    assert 429 not in {record.status for record in sim.ledger.requests}
    assert len(moments(sim, "positions.list")) >= 15
    for name, rate in PUBLISHED_RATES.items():
        assert busiest_second(moments(sim, name)) <= rate, name
    assert busiest_second([record.at for record in sim.ledger.requests]) <= 50


@pytest.mark.virtual_time(False)
@pytest.mark.redis
@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
async def test_fleet_of_three_keeps_to_the_published_rates() -> None:
    with engine_server() as server:
        async with simulator(environment="production", rate_limit=None) as sim, AsyncExitStack() as stack:
            clients = []
            for _ in range(3):
                fleet = await stack.enter_async_context(Fleet(server.url))
                limits = RedisLimits(fleet, requests_per_second=50, limits=Limits.published(), local_share=0.2)
                clients.append(await stack.enter_async_context(sim.client(limits=limits)))
            await asyncio.gather(*(client.authorize() for client in clients))
            await asyncio.sleep(3)  # until all workers were seen
            before = len(sim.ledger.requests)
            sim.rate_limit = "published"
            account, counts = sim.account_numbers[0], [0, 0, 0]

            async def read(number: int, client: Client) -> None:
                async with asyncio.timeout(8):
                    while True:
                        await client.positions.list(account)
                        counts[number] += 1

            async def others(client: Client) -> None:
                async with asyncio.timeout(8):
                    while True:
                        await client.market_data.by_type(equity=["AAPL"])
                        await client.market_time.equity_holidays()

            work = [read(number, client) for number, client in enumerate(clients)] + [others(each) for each in clients]
            found = await asyncio.gather(*work, return_exceptions=True)
        records = sim.ledger.requests[before:]
    assert all(isinstance(each, TimeoutError) for each in found), found
    assert all(record.status == 200 for record in records)
    assert 6 <= sum(counts) <= 9, "one a second, of all three together"
    quotes = [record.at for record in records if record.operation == "market_data.by_type"]
    assert 12 <= len(quotes) <= 18
