"""Bodies to decode, written by the simulated service: pages of 1,000 rows, and lists that a program polls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Self

import attrs
import msgspec

from brokerage_async import Client, models, tickets
from brokerage_async._generated import operations
from brokerage_async.operation import Operation
from brokerage_async.simulator import Simulator

ROWS = 1000
DISTINCT_ORDERS = 100
STRIKES, EXPIRATIONS, SYMBOLS, POSITIONS = 5000, 50, 100, 500
STRIKE_STEPS = ("0.5", "1", "2.5", "5")
MOMENTS = 20
"""Bodies of market data with other prices in each, so that no contender reads the same numbers time and again."""

Row = dict[str, Any]


@attrs.frozen
class Page:
    """A body, and the operation that it answers."""

    name: str
    operation: Operation[Any]
    body: bytes
    later: tuple[bytes, ...] = ()
    """What the service answers to the same request later, where that is something else."""

    @property
    def model(self) -> Any:
        """The model of the rows."""
        return self.operation.result

    def rows(self) -> list[Row]:
        """Return the rows as untyped JSON."""
        found: list[Row] = msgspec.json.decode(self.body)["data"]["items"]
        return found

    def with_rows(self, rows: list[Row]) -> Self:
        """Return the same page with other rows."""
        answer = {**msgspec.json.decode(self.body), "data": {"items": rows}}
        return attrs.evolve(self, body=msgspec.json.encode(answer))


def changed(row: Row, **values: Any) -> Row:
    """Return a row with other values, given by the names of the fields."""
    return {**row, **{name.replace("_", "-"): value for name, value in values.items()}}


def page_of(model: type[Any]) -> Page:
    """Return the page of a model."""
    return next(page for page in asyncio.run(pages()) if page.model is model)


@asynccontextmanager
async def _simulated(**options: Any) -> AsyncIterator[tuple[Simulator, Client, Any]]:
    """Yield a simulated service, its client, and the same client with raw answers."""
    # Identifiers as strings: the peer refuses the numbers that the service was seen to send.
    sim = Simulator(wire="documented", **options)
    async with sim.client() as client:
        yield sim, client, client.with_raw_response


async def chain() -> Page:
    """Return the futures option chain of 20,000 rows."""
    operation = operations.INSTRUMENTS_FUTURES_OPTION_CHAIN
    async with _simulated() as (_, _, raw):
        return Page(operation.name, operation, (await raw.instruments.futures_option_chain("ES")).body)


async def pages() -> list[Page]:
    """Return equities, equity options, future options, and orders of two legs that were filled."""
    async with _simulated() as (sim, client, raw):
        options = await raw.instruments.equity_options()
        answers = {
            operations.INSTRUMENTS_EQUITIES: await raw.instruments.equities(per_page=ROWS),
            operations.INSTRUMENTS_EQUITY_OPTIONS: options,
            operations.INSTRUMENTS_FUTURES_OPTION_CHAIN: await raw.instruments.futures_option_chain("ES"),
        }
        await _fill(sim, client, options.parse(), DISTINCT_ORDERS)
        listed = await raw.orders.list(sim.account_numbers[0], per_page=DISTINCT_ORDERS)
    found = [Page(operation.name, operation, answer.body) for operation, answer in answers.items()]
    orders = Page(operations.ORDERS_LIST.name, operations.ORDERS_LIST, listed.body)
    return [
        *(each.with_rows(each.rows()[:ROWS]) for each in found),
        orders.with_rows(orders.rows() * (ROWS // DISTINCT_ORDERS)),
    ]


async def holdings() -> list[Page]:
    """Return a nested option chain of 5,000 strikes, market data of 100 symbols (twice), and 500 positions."""
    async with _simulated(environment="production") as (sim, client, raw):
        options = await client.instruments.equity_options()
        half = SYMBOLS // 2
        equities = await client.instruments.equities(per_page=half).collect(half)
        quotes = await raw.market_data.by_type(
            equity=[str(each.symbol) for each in equities], equity_option=[str(each.symbol) for each in options[:half]]
        )
        await _fill(sim, client, options, DISTINCT_ORDERS // 2)
        listed = await raw.positions.list(sim.account_numbers[0])
        strikes = await raw.option_chains.nested("AAPL")
    prices = Page("market data of 100 symbols", operations.MARKET_DATA_BY_TYPE, quotes.body)
    positions = Page("500 positions", operations.POSITIONS_LIST, listed.body)
    nested = Page("nested option chain of 5,000 strikes", operations.OPTION_CHAINS_NESTED, strikes.body)
    moments = _moments(prices)
    prices = attrs.evolve(prices, body=moments[0])
    polled = attrs.evolve(prices, name=f"{prices.name}, polled while prices move", later=tuple(moments[1:]))
    held = positions.rows()
    rows = [_position(held[n % len(held)], n) for n in range(POSITIONS)]
    return [_with_strikes(nested), prices, polled, positions.with_rows(rows)]


async def _fill(sim: Simulator, client: Client, options: list[models.EquityOption], orders: int) -> None:
    for number in range(orders):
        symbols = [str(options[number].symbol), str(options[number + DISTINCT_ORDERS].symbol)]
        await client.orders.submit(sim.account_numbers[0], two_leg_order(symbols))
    sim.clock.advance(600)


def two_leg_order(symbols: list[str]) -> models.NewOrder:
    """Return a limit order over two equity options, at a price that is filled at once."""
    return tickets.limit(*(tickets.buy_to_open(symbol, 2) for symbol in symbols), debit=500)


# -- market data, as a program that polls every few seconds finds it

_QUOTES = ("bid", "ask", "mid", "mark", "last", "last_mkt")
_GREEKS = ("volatility", "delta", "gamma", "theta", "rho", "vega")
_OF_THE_DAY = ("open", "day_high_price", "day_low_price")
_MODELLED = ("theo_price", "dx_mark")


def _moments(page: Page) -> list[bytes]:
    """Return bodies with the keys, and numbers of the length, that the service was recorded to send for their type.

    Values of the day stay. Quotes move a little each time, sizes and volumes at random.
    """
    chance = Random(0)
    rows = [{key.replace("-", "_"): value for key, value in row.items()} for row in page.rows()]
    rows = [{**row, **_day(row, chance)} for row in rows]
    bodies = []
    for _ in range(MOMENTS):
        bodies.append(page.with_rows([changed({}, **row) for row in rows]).body)
        rows = [_moved(row, chance) for row in rows]
    return bodies


def _day(row: Row, chance: Random) -> Row:
    price = float(row["mark"])
    day = {key: f"{chance.uniform(price * 0.9, price * 1.1):.2f}" for key in _OF_THE_DAY}
    day |= {"last_mkt": row["last"], "volume": f"{chance.randrange(900)}.0"}
    if row["instrument_type"] == models.InstrumentType.EQUITY_OPTION:
        greeks = {key: f"{'-' * (key == 'theta')}{chance.random():.4f}" for key in _GREEKS}
        return {**day, **greeks, **dict.fromkeys(_MODELLED, f"{price:.4f}"), "open_interest": chance.randrange(5000)}
    year = {key: f"{chance.uniform(price * 0.7, price * 1.3):.2f}" for key in ("year_low_price", "year_high_price")}
    return {**day, **year, "volume": f"{chance.randrange(10**8)}.0", "beta": "1.2345", "dividend_frequency": "4.0"}


def _moved(row: Row, chance: Random) -> Row:
    share = chance.gauss(0, 0.0005)
    quotes = {key: f"{float(row[key]) * (1 + share):.2f}" for key in _QUOTES}
    modelled = {key: f"{float(row[key]) * (1 + share):.4f}" for key in (*_GREEKS, *_MODELLED) if key in row}
    sizes = {key: f"{chance.randrange(1, 500)}.0" for key in ("bid_size", "ask_size")}
    traded = chance.randrange(5) if modelled else chance.randrange(10_000)
    return {**row, **quotes, **modelled, **sizes, "volume": f"{float(row['volume']) + traded:.1f}"}


# -- positions and strikes, each with another symbol


def _position(row: Row, number: int) -> Row:
    """Return one of many positions, with quantities in the form that the service was recorded to send."""
    return changed(
        row,
        symbol=_option_symbol("AAPL", date(2026, 6, 19) + timedelta(number % 50), "P", 100 + number),
        quantity=number % 20 + 1,
        multiplier=100,
        restricted_quantity=0,
        average_open_price=f"{number * 0.37 + 1:.2f}",
        close_price=f"{number % 50 * 0.41 + 1:.2f}",
        created_at=f"2026-06-{number % 10 + 1:02}T14:{number % 60:02}:11.{number:03}+00:00",
    )


def _with_strikes(page: Page) -> Page:
    """Return the chain with as many expirations and strikes as a large underlying has."""
    [chain, *_] = page.rows()
    [expiration, *_] = chain["expirations"]
    expirations = []
    for number in range(EXPIRATIONS):
        day = date(2026, 6, 19) + timedelta(7 * number)
        step = Decimal(STRIKE_STEPS[number % len(STRIKE_STEPS)])
        strikes = [_strike("AAPL", day, 100 + n * step) for n in range(STRIKES // EXPIRATIONS)]
        own = {"expiration_date": f"{day}", "days_to_expiration": 9 + 7 * number, "strikes": strikes}
        expirations.append(changed(expiration, **own))
    return page.with_rows([{**chain, "expirations": expirations}])


def _strike(root: str, day: date, price: Decimal) -> Row:
    found = {"strike_price": f"{price:.1f}"}
    for name, letter in (("call", "C"), ("put", "P")):
        found[name] = _option_symbol(root, day, letter, price)
        found[f"{name}_streamer_symbol"] = f".{root}{day:%y%m%d}{letter}{price.normalize():f}"
    return changed({}, **found)


def _option_symbol(root: str, day: date, letter: str, price: Decimal | int) -> str:
    return f"{root:6}{day:%y%m%d}{letter}{int(price * 1000):08}"
