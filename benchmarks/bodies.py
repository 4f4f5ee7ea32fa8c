"""Bodies to decode, written by the simulated service: pages of 1,000 rows, and lists that a program polls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from itertools import islice
from random import Random
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
STRIKES, EXPIRATIONS, SYMBOLS, POSITIONS = 5000, 50, 100, 500
STRIKE_STEPS = ("0.5", "1", "2.5", "5")
MOMENTS = 20
"""Bodies of market data with other prices in each, so that no contender reads the same numbers time and again."""


@attrs.frozen
class Page:
    """A body, the operation that it answers, and the model of its rows."""

    name: str
    operation: Operation[Any]
    model: type[Any]
    body: bytes
    later: tuple[bytes, ...] = ()
    """What the service answers to the same request later, where that is something else."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as untyped JSON."""
        found: list[dict[str, Any]] = msgspec.json.decode(self.body)["data"]["items"]
        return found

    def with_rows(self, rows: list[dict[str, Any]]) -> Page:
        """Return the same page with other rows."""
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
    """Return equities, equity options, future options, and orders of two legs that were filled."""
    return asyncio.run(_record(chain_only=False))


def chain() -> Page:
    """Return the futures option chain of 20,000 rows."""
    return asyncio.run(_record(chain_only=True))[0]


def holdings() -> list[Page]:
    """Return a nested option chain of 5,000 strikes, market data of 100 symbols, and 500 positions."""
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
        await _fill(sim, client, options, DISTINCT_ORDERS // 2)
        await client.positions.list(account)
        positions = Page("positions", operations.POSITIONS_LIST, models.Position, transport.body)
        await client.option_chains.nested("AAPL")
        chain = Page("nested option chain", operations.OPTION_CHAINS_NESTED, models.NestedOptionChain, transport.body)
    keys = _keys(models.MarketDataSnapshot)
    polled_rows = islice(_polled([_renamed(row, _names(models.MarketDataSnapshot)) for row in prices.rows()]), MOMENTS)
    moments = [prices.with_rows([_renamed(row, keys) for row in rows]).body for rows in polled_rows]
    prices = attrs.evolve(prices, body=moments[0])
    polled = attrs.evolve(prices, name="market data, polled", later=tuple(moments[1:]))
    held = positions.rows()
    rows = [_held(held[n % len(held)], n) for n in range(POSITIONS)]
    return [_with_strikes(chain), prices, polled, positions.with_rows(rows)]


def _polled(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield rows of market data as a program that polls every few seconds finds them.

    They have the keys, and numbers of the length, that the service was recorded to send for their type. Values of the
    day stay. Quotes move a little each time, sizes and volumes at random.
    """
    chance = Random(0)
    rows = [{**row, **_day(row, chance)} for row in rows]
    while True:
        yield rows
        rows = [{**row, **_moved(row, chance)} for row in rows]


_QUOTES = ("bid", "ask", "mid", "mark", "last", "last_mkt")
_GREEKS = ("volatility", "delta", "gamma", "theta", "rho", "vega")
_OF_THE_DAY = ("open", "day_high_price", "day_low_price")
_MODELLED = ("theo_price", "dx_mark")


def _day(row: dict[str, Any], chance: Random) -> dict[str, Any]:
    price = float(row["mark"])
    day = {key: f"{chance.uniform(price * 0.9, price * 1.1):.2f}" for key in _OF_THE_DAY}
    day |= {"last_mkt": row["last"], "volume": f"{chance.randrange(900)}.0"}
    if row["instrument_type"] == models.InstrumentType.EQUITY_OPTION:
        greeks = {key: f"{'-' * (key == 'theta')}{chance.random():.4f}" for key in _GREEKS}
        return {**day, **greeks, **dict.fromkeys(_MODELLED, f"{price:.4f}"), "open_interest": chance.randrange(5000)}
    year = {key: f"{chance.uniform(price * 0.7, price * 1.3):.2f}" for key in ("year_low_price", "year_high_price")}
    return {**day, **year, "volume": f"{chance.randrange(10**8)}.0", "beta": "1.2345", "dividend_frequency": "4.0"}


def _moved(row: dict[str, Any], chance: Random) -> dict[str, Any]:
    share = chance.gauss(0, 0.0005)
    quotes = {key: f"{float(row[key]) * (1 + share):.2f}" for key in _QUOTES}
    modelled = {key: f"{float(row[key]) * (1 + share):.4f}" for key in (*_GREEKS, *_MODELLED) if key in row}
    sizes = {key: f"{chance.randrange(1, 500)}.0" for key in ("bid_size", "ask_size")}
    traded = chance.randrange(5) if modelled else chance.randrange(10_000)
    return {**row, **quotes, **modelled, **sizes, "volume": f"{float(row['volume']) + traded:.1f}"}


def _held(row: dict[str, Any], number: int) -> dict[str, Any]:
    """Return one of many positions, with quantities in the form that the service was recorded to send."""
    row = _renamed(row, _names(models.Position))
    symbol = _option_symbol(row["underlying_symbol"], date(2026, 6, 19) + timedelta(number % 50), "P", 100 + number)
    counts = {name: int(row[name]) for name in ("multiplier", "restricted_quantity")}
    prices = {"average_open_price": f"{number * 0.37 + 1:.2f}", "close_price": f"{number % 50 * 0.41 + 1:.2f}"}
    moments = {"created_at": f"2026-06-{number % 10 + 1:02}T14:{number % 60:02}:11.{number:03}+00:00"}
    own = {"symbol": symbol, "quantity": number % 20 + 1, **counts, **prices, **moments}
    return _renamed({**row, **own}, _keys(models.Position))


def _with_strikes(page: Page) -> Page:
    """Return the chain with as many expirations and strikes as a large underlying has, each symbol different."""
    [chain, *_] = page.rows()
    [expiration, *_] = chain["expirations"]
    expirations = []
    for number in range(EXPIRATIONS):
        day = date(2026, 6, 19) + timedelta(7 * number)
        step = Decimal(STRIKE_STEPS[number % len(STRIKE_STEPS)])
        strikes = [_strike("AAPL", day, 100 + n * step) for n in range(STRIKES // EXPIRATIONS)]
        own = {"expiration_date": f"{day}", "days_to_expiration": 9 + 7 * number, "strikes": strikes}
        expirations.append({**expiration, **_renamed(own, _keys(models.OptionExpiration))})
    return page.with_rows([{**chain, "expirations": expirations}])


def _strike(root: str, day: date, price: Decimal) -> dict[str, str]:
    found = {"strike_price": f"{price:.1f}"}
    for name, letter in (("call", "C"), ("put", "P")):
        found[name] = _option_symbol(root, day, letter, price)
        found[f"{name}_streamer_symbol"] = f".{root}{day:%y%m%d}{letter}{price.normalize():f}"
    return _renamed(found, _keys(models.OptionStrike))


def _option_symbol(root: str, day: date, letter: str, price: Decimal | int) -> str:
    return f"{root:6}{day:%y%m%d}{letter}{int(price * 1000):08}"


@cache
def _names(model: type[Any]) -> dict[str, str]:
    """Return the name of each field by its key in JSON."""
    return {key: field.target for key, field in wire_fields(WIRES[model]).items()}


def _keys(model: type[Any]) -> dict[str, str]:
    return {name: key for key, name in _names(model).items()}


def _renamed(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names[name]: value for name, value in row.items()}


async def _record(*, chain_only: bool) -> list[Page]:
    # Identifiers as strings: the peer refuses the numbers that the service was seen to send.
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
        await _fill(sim, client, options, DISTINCT_ORDERS)
        await client.orders.list(account, per_page=DISTINCT_ORDERS).collect(DISTINCT_ORDERS)
    orders = Page("orders", operations.ORDERS_LIST, models.Order, transport.body)
    return [equities, equity_options, future_options, orders.with_rows(orders.rows() * (ROWS // DISTINCT_ORDERS))]


async def _fill(sim: Simulator, client: Client, options: list[models.EquityOption], orders: int) -> None:
    for number in range(orders):
        symbols = [str(options[number].symbol), str(options[number + DISTINCT_ORDERS].symbol)]
        await client.orders.submit(sim.account_numbers[0], two_leg_order(symbols))
    sim.clock.advance(600)


def two_leg_order(symbols: list[str]) -> models.NewOrder:
    """Return a limit order over two equity options, at a price that is filled at once."""
    return models.NewOrder(
        order_type=models.OrderType.LIMIT,
        price=Decimal(500),
        price_effect=models.PriceEffect.DEBIT,
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
