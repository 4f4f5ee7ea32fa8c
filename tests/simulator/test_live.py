"""Paper accounts on live prices: what a program meets, and what a restart keeps. A second simulator is the source."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import Client, errors, models
from brokerage_async.config import RetryPolicy
from brokerage_async.simulator import LiveQuotes, Simulator
from brokerage_async.tickets import buy_to_open, limit, market, sell_to_open

pytestmark = pytest.mark.virtual_time(False)
Served = tuple[Simulator, Client]


def service(**options: Any) -> Simulator:
    return Simulator(environment="production", equities=30, chain_rows=20, **options)


@contextlib.asynccontextmanager
async def paper_on(source: Simulator, wait: float = 10.0, **options: Any) -> AsyncIterator[Served]:
    async with source.client(read_only=True) as reader:
        prices = LiveQuotes(reader, wait=wait)
        simulator = Simulator("production", prices=prices, start=source.clock.time, **options)
        async with simulator as paper, paper.client() as client:
            yield paper, client


async def trade(client: Client, account: str, *orders: models.NewOrder) -> None:
    for order in orders:
        await client.orders.submit(account, order)
    async with asyncio.timeout(20):
        while [order for order in await client.orders.live("me", [account]) if order.status != "Filled"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def silence(paper: Simulator, begun: bool = True) -> None:
    async with asyncio.timeout(20):
        while bool(paper.brokerage.state.prices.silence) is not begun:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.05)


async def held(client: Client, account: str) -> dict[str | None, tuple[Any, Any]]:
    positions = await client.positions.list(account)
    return {each.symbol: (each.quantity, each.average_open_price) for each in positions}


async def test_live_account_outlasts_a_restart_with_its_state_file(tmp_path: Path) -> None:
    options = {"state": tmp_path / "state", "without": ["administrators_remove_orders"]}
    async with service() as source:
        async with paper_on(source, **options) as (paper, client):
            account = paper.account_numbers[0]
            assert await held(client, account) == {}
            [chain] = await client.option_chains.nested("AAPL")
            put = str(chain.expirations[3].strikes[10].put)
            future = (await client.instruments.futures(product_codes=["ES"]).collect(1))[0].symbol
            bought = [market(buy_to_open("AAPL", 10)), market(sell_to_open(put, 1)), market(buy_to_open(future, 1))]
            await trade(client, account, *bought)
            before = await held(client, account)
            assert before.keys() == {"AAPL", put, future}
        async with paper_on(source, **options) as (paper, client):
            assert await held(client, account) == before
            await trade(client, account, market(buy_to_open("AAPL", 1)))
            assert paper.ledger.price_gaps[-1].reason == "the source is not connected"
            assert paper.ledger.price_gaps[-1].until is not None


async def test_live_options_are_delivered_at_their_expiration() -> None:
    async with service() as source, paper_on(source, without=["administrators_remove_orders"]) as (paper, client):
        account = paper.account_numbers[0]
        [chain] = await client.option_chains.nested("AAPL")
        expiration = chain.expirations[2]
        in_the_money = str(expiration.strikes[5].call)
        await trade(client, account, market(buy_to_open(in_the_money, 2)))
        paper.clock.set(datetime.combine(expiration.expiration_date, time(21), UTC))
        [position] = await client.positions.list(account)
        assert (position.symbol, position.quantity) == ("AAPL", 200)


async def test_live_answers_are_those_of_the_source_and_errors_name_it() -> None:
    async with service() as source, paper_on(source, wait=3) as (paper, client):
        account = paper.account_numbers[0]
        for _ in range(3):
            equity = await client.instruments.equity("KO")
        assert equity.symbol == "KO"
        assert source.ledger.count("instruments.equity") == 1
        with pytest.raises(errors.NotFoundError):
            await client.instruments.equity("NOPE")
        with pytest.raises(errors.APIError, match="not simulated on live prices"):
            await client.backtests.list()
        source.faults.add("GET", "/instruments/equities/MSFT", "status(503)", times=None)
        with pytest.raises(errors.ServerError, match="the source of live prices") as caught:
            await client.with_options(retry=RetryPolicy(max_attempts=1)).instruments.equity("MSFT")
        assert caught.value.status == 502
        with pytest.raises(errors.PreflightError, match="503"):
            await client.orders.submit(account, market(buy_to_open("MSFT", 1)))
        await client.orders.submit(account, market(buy_to_open("KO", 1)))
        source.streams.mute()
        with pytest.raises(errors.PreflightError, match="SPY: got no price there"):
            await client.orders.submit(account, market(buy_to_open("SPY", 1)))
        source.streams.drop()
        await silence(paper, begun=False)
        await trade(client, account, market(buy_to_open("SPY", 1)))
        with pytest.raises(errors.UnprocessableError, match="is not listed at the source"):
            await client.orders.submit(account, limit(buy_to_open("/XXZ6", 1), price="1"))
        assert {each.effect for each in source.ledger.requests} == {"read"}


async def test_live_orders_wait_when_prices_are_not_followed_any_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("a defect")

    async with service() as source, paper_on(source) as (paper, client):
        account = paper.account_numbers[0]
        await trade(client, account, market(buy_to_open("AAPL", 1)))
        monkeypatch.setattr(LiveQuotes, "_hear", break_down)
        source.set_price("AAPL", 190)
        await silence(paper)
        placed = await client.orders.submit(account, market(buy_to_open("AAPL", 1)))
        assert "a defect" in str(placed.warnings)
        assert "live quotes: reads ended" in caplog.text


def test_live_prices_come_over_connections_alone() -> None:
    simulator = Simulator("production", prices=LiveQuotes(service().client(read_only=True)))
    with pytest.raises(ValueError, match="must be entered"):
        simulator.client()
    with pytest.raises(ValueError, match="wait must be a positive"):
        LiveQuotes(service().client(read_only=True), wait=0)
