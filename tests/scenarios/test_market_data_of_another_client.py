"""A program that trades in one environment at the prices of another: ``Client(market_data=)``."""

import asyncio

import pytest

from brokerage_async import RetryPolicy, errors, models
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, market
from tests.fake_transport import FakeTransport, fail
from tests.http.calls import client_of, raised_by

MARKET = ("/market-data", "/market-metrics", "/api-quote-tokens")
SYMBOLS = ("/instruments/",)
"""What the stream asks for to translate symbols."""


async def test_market_data_client_serves_prices_and_gets_no_order() -> None:
    async with (
        Simulator("sandbox") as broker,
        Simulator("production", seed=5) as prices,
        prices.client() as source,
        broker.client(market_data=source) as client,
    ):
        account = broker.account_numbers[0]
        (row,) = await client.market_data.by_type(equity=["AAPL"])
        assert row.symbol == "AAPL"
        assert await client.market_metrics.dividends("AAPL") == await source.market_metrics.dividends("AAPL")
        assert await client.with_options(timeout=5).market_metrics.list(["AAPL"])
        raw = await client.with_raw_response.market_metrics.dividends("AAPL")
        assert raw.status == 200
        async with client.stream.quotes(["AAPL"], [models.Quote]) as quotes:
            async with asyncio.timeout(20):
                await anext(quotes)
        entry = client.order_entry()
        placement = await entry.place(account, limit(buy_to_open("AAPL", 1), price="1.00"), allow_warnings=True)
        await entry.cancel(account, placement.require().order_id)
        await client.orders.dry_run(account, market(buy_to_open("AAPL", 1)))
        await client.accounts.list("me")
        await client.instruments.warrant("AAPLW")

        asked = [record for record in prices.ledger.requests if record.target != "/oauth/token"]
        assert {record.method for record in asked} == {"GET"}
        assert all(record.target.startswith((*MARKET, *SYMBOLS)) for record in asked)
        assert not any(record.target.startswith(MARKET) for record in broker.ledger.requests)


async def test_market_data_client_is_read_only_whatever_it_was_made_with() -> None:
    wire = FakeTransport()
    async with client_of(wire) as source, client_of(FakeTransport(), market_data=source) as client:
        session = client.session.market_data
        order = limit(buy_to_open("AAPL", 1), price="1.00")
        with pytest.raises(errors.ConfigurationError, match="read-only"):
            await session.execute(OPERATIONS["orders.submit"].bind(account_number="5WT00001", body=order))
        assert not source.session.options.read_only
    assert wire.requests == []


async def test_market_data_in_the_sandbox_fails_with_the_remedy() -> None:
    async with client_of(FakeTransport(fail(502)), retry=RetryPolicy.none()) as client:
        await raised_by(client.market_metrics.dividends("AAPL"), errors.ServerError, r"pass Client\(market_data=\)")
        error = await raised_by(client.instruments.warrant("AAPLW"), errors.ServerError)
        assert "market_data=" not in str(error)


def test_market_data_of_another_type_is_refused() -> None:
    with pytest.raises(errors.ConfigurationError, match="market_data must be of type Client"):
        client_of(FakeTransport(), market_data="production")
