"""The bodies that are decoded, as the simulated service writes them: pages of 1,000 rows, and what a program polls."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from brokerage_async import Client, models
from brokerage_async._generated import operations
from brokerage_async._generated.converters import WIRES
from brokerage_async.operation import Operation
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.simulator import Simulator

ROWS = 1000
DISTINCT_ORDERS = 100
FIGURES = (
    "open", "day_high_price", "day_low_price", "year_low_price", "year_high_price", "volume", "volatility", "delta",
    "gamma", "theta", "rho", "vega", "theo_price", "dx_mark",
)  # fmt: skip
"""Fields that the service sends with options and the simulator does not."""
STRIKES, EXPIRATIONS, SYMBOLS, POSITIONS = 5000, 50, 100, 500


@attrs.frozen
class Page:
    """A body, the operation that it answers, and the model of its rows."""

    name: str
    operation: Operation[Any]
    model: type[Any]
    body: bytes

    def rows(self) -> list[dict[str, Any]]:
        """The rows as untyped JSON."""
        found: list[dict[str, Any]] = msgspec.json.decode(self.body)["data"]["items"]
        return found

    def with_rows(self, rows: list[dict[str, Any]]) -> Page:
        """The same page with other rows."""
        answer = {**msgspec.json.decode(self.body), "data": {"items": rows}}
        return attrs.evolve(self, body=msgspec.json.encode(answer))


class _Recording:
    """Another transport that keeps the last body."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.body = b""

    async def send(self, request: Any) -> Any:
        response = await self.inner.send(request)
        self.body = response.body
        return response

    async def close(self) -> None:
        await self.inner.close()


def pages() -> list[Page]:
    """Equities, equity options, future options, and orders of two legs that were filled."""
    return asyncio.run(_record(chain_only=False))


def chain() -> Page:
    """The futures option chain of 20,000 rows."""
    return asyncio.run(_record(chain_only=True))[0]


def holdings() -> list[Page]:
    """A nested option chain of 5,000 strikes, market data of 100 symbols, and 500 positions."""
    return asyncio.run(_record_holdings())


async def _record_holdings() -> list[Page]:
    sim = Simulator(wire="documented", environment="production")
    transport = _Recording(sim.transport())
    async with Client(sim.environment, sim.credentials, transport=transport) as client:
        options = await client.instruments.equity_options()
        half = SYMBOLS // 2
        equities = await client.instruments.equities(per_page=half).collect(half)
        await client.market_data.by_type(
            equity=[str(each.symbol) for each in equities], equity_option=[str(each.symbol) for each in options[:half]]
        )
        prices = Page("market data", operations.MARKET_DATA_BY_TYPE, models.MarketDataSnapshot, transport.body)
        account = sim.account_numbers[0]
        for number in range(DISTINCT_ORDERS // 2):
            symbols = [str(options[number].symbol), str(options[number + DISTINCT_ORDERS].symbol)]
            await client.orders.submit(account, two_leg_order(symbols))
        sim.clock.advance(600)
        await client.positions.list(account)
        positions = Page("positions", operations.POSITIONS_LIST, models.Position, transport.body)
        await client.option_chains.nested("AAPL")
        chain = Page("nested option chain", operations.OPTION_CHAINS_NESTED, models.NestedOptionChain, transport.body)
    figures = [_key(models.MarketDataSnapshot, name) for name in FIGURES]
    rows = enumerate(prices.rows())
    prices = prices.with_rows([{**row, **{key: f"{n}.{m}5" for m, key in enumerate(figures)}} for n, row in rows])
    return [_with_strikes(chain), prices, positions.with_rows(_repeated(positions.rows(), POSITIONS))]


def _with_strikes(page: Page) -> Page:
    """The chain with as many expirations and strikes as a large underlying has, each symbol another one."""
    [chain, *_] = page.rows()
    [expiration, *_] = chain["expirations"]
    [strike, *_] = expiration["strikes"]
    price_key, days_key = _key(models.OptionStrike, "strike_price"), _key(models.OptionExpiration, "days_to_expiration")
    expirations = []
    for number in range(EXPIRATIONS):
        prices = range(100, 100 + STRIKES // EXPIRATIONS)
        strikes = [
            {key: f"{price}.0" if key == price_key else f"{value}{number}x{price}" for key, value in strike.items()}
            for price in prices
        ]
        expirations.append({**expiration, days_key: number, "strikes": strikes})
    return page.with_rows([{**chain, "expirations": expirations}])


def _key(model: type[Any], name: str) -> str:
    """The key of a field in JSON."""
    return next(key for key, field in wire_fields(WIRES[model]).items() if field.target == name)


def _repeated(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return (rows * (count // len(rows) + 1))[:count]


async def _record(*, chain_only: bool) -> list[Page]:
    # Identifiers as text: the peer refuses the numbers that the service was seen to send.
    sim = Simulator(wire="documented")
    transport = _Recording(sim.transport())

    def page(operation: Operation[Any], model: type[Any]) -> Page:
        whole = Page(operation.name, operation, model, transport.body)
        return whole if chain_only else whole.with_rows(whole.rows()[:ROWS])

    async with Client(sim.environment, sim.credentials, transport=transport) as client:
        await client.instruments.futures_option_chain("ES")
        future_options = page(operations.INSTRUMENTS_FUTURES_OPTION_CHAIN, models.FutureOption)
        if chain_only:
            return [future_options]
        await client.instruments.equities(per_page=ROWS).collect(ROWS)
        equities = page(operations.INSTRUMENTS_EQUITIES, models.Equity)
        options = await client.instruments.equity_options()
        equity_options = page(operations.INSTRUMENTS_EQUITY_OPTIONS, models.EquityOption)
        account = sim.account_numbers[0]
        for number in range(DISTINCT_ORDERS):
            symbols = [str(options[number].symbol), str(options[number + DISTINCT_ORDERS].symbol)]
            await client.orders.submit(account, two_leg_order(symbols))
        sim.clock.advance(600)
        await client.orders.list(account, per_page=DISTINCT_ORDERS).collect(DISTINCT_ORDERS)
    orders = Page("orders", operations.ORDERS_LIST, models.Order, transport.body)
    return [equities, equity_options, future_options, orders.with_rows(orders.rows() * (ROWS // DISTINCT_ORDERS))]


def two_leg_order(symbols: list[str]) -> models.NewOrder:
    """A market order over two equity options."""
    return models.NewOrder(
        order_type=models.OrderType.MARKET,
        time_in_force=models.TimeInForce.DAY,
        legs=[
            models.NewOrderLeg(
                action=models.LegAction.BUY_TO_OPEN,
                instrument_type=models.InstrumentType.EQUITY_OPTION,
                symbol=symbol,
                quantity=Decimal(2),
            )
            for symbol in symbols
        ],
    )
