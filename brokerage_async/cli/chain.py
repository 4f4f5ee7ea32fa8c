"""Chain command: the expirations of an underlying, or the strikes around the money of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import attrs

from .._decimals import read_decimal
from ..chains import Expiration, OptionChain, Strike
from ..client import Client
from ..errors import APIError, ConfigurationError, InvalidRequestError
from ..models import MarketDataSnapshot, NestedFuturesOptionChain, NestedOptionChain
from ..symbols import parse_future
from .console import columns, complain, echo_json, show
from .market import price_of
from .order_words import exclude
from .service import connect
from .tables import Layout, Row, plain, raw, table_of

__all__ = ["Choice", "show_chain"]

Nested = NestedFuturesOptionChain | list[NestedOptionChain]
Prices = Mapping[str, MarketDataSnapshot]

STRIKES_SHOWN = 10

EXPIRATIONS = Layout(
    title="Expirations",
    headings=("expiration", "days", "root", "cycle", "settlement", "underlying", "strikes"),
    right=frozenset({"days", "strikes"}),
    dispensable=("underlying", "settlement", "cycle"),
)
STRIKES = Layout(
    title="Strikes",
    headings=("call", "call bid", "call ask", "strike", "put bid", "put ask", "put"),
    right=frozenset({"call bid", "call ask", "strike", "put bid", "put ask"}),
    unbroken=frozenset({"call", "put"}),
    dispensable=(("call", "put"),),
)


@attrs.frozen(kw_only=True)
class Choice:
    """Options that choose an expiration and its strikes."""

    on: date | None = None
    near: date | None = None
    days: int | None = None
    root: str | None = None
    settlement: str | None = None
    cycle: str | None = None
    around: str | None = None
    strikes: int | None = None

    @property
    def of_one_expiration(self) -> bool:
        """True if one expiration is chosen."""
        return any(value is not None for value in (self.on, self.near, self.days))

    @property
    def kind(self) -> dict[str, str | None]:
        """Terms that expirations of one day differ in."""
        return {"root": self.root, "settlement": self.settlement, "cycle": self.cycle}

    def fits(self, expiration: Expiration) -> bool:
        """Return True for an expiration of the chosen kind."""
        return all(value is None or getattr(expiration, name) == value for name, value in self.kind.items())

    def price(self) -> Decimal | None:
        """Read the price that the strikes are around, if given."""
        try:
            return None if self.around is None else read_decimal(self.around)
        except ValueError:
            raise InvalidRequestError(f"--around must be a plain number such as 187.50, got {self.around!r}") from None


async def show_chain(symbol: str, choice: Choice, *, as_json: bool, simulated: bool) -> None:
    """Show the expirations of an underlying, or the strikes of the chosen one."""
    if not choice.of_one_expiration:
        exclude("a list of expirations", {"--around": choice.around, "--strikes": choice.strikes})
    around = choice.price()
    async with connect(simulated=simulated) as service:
        nested, future = await read_chain(service.client, symbol)
        chain = chain_of(nested, future)
        if choice.of_one_expiration:
            expiration = chain.expiration(near=choice.near, on=choice.on, days=choice.days, **choice.kind)
            await show_strikes(service.client, expiration, around, choice.strikes or STRIKES_SHOWN, as_json=as_json)
        elif as_json:
            echo_json(raw(nested))
        else:
            fitting = (each for each in chain.expirations if choice.fits(each))
            show(table_of(map(expiration_row, fitting), EXPIRATIONS, columns()))


async def show_strikes(
    client: Client, expiration: Expiration, around: Decimal | None, count: int, *, as_json: bool
) -> None:
    """Show the strikes of an expiration around a price, by default that of the underlying."""
    price = around if around is not None else await price_of_underlying(client, expiration)
    strikes = expiration.nearest(price, count)
    prices = await option_prices(client, strikes)
    if as_json:
        echo_json(as_values(expiration, strikes, price, prices))
        return
    title = f"{expiration} of {expiration.underlying} around {plain(price)}"
    rows = (strike_row(strike, prices) for strike in strikes)
    show(table_of(rows, attrs.evolve(STRIKES, title=title), columns()))


async def read_chain(client: Client, symbol: str) -> tuple[Nested, str | None]:
    """Return the chain of a symbol, and the future that is asked for, if any.

    ``/ES`` is a futures product, and ``/ESZ6`` one future of it; other symbols are underlyings of equity options.
    """
    if not symbol.startswith("/"):
        return await client.option_chains.nested(symbol), None
    try:
        product = parse_future(symbol, on=client.watch.now().date()).product
    except InvalidRequestError:
        return await client.option_chains.nested_futures(symbol[1:]), None
    return await client.option_chains.nested_futures(product), symbol


def chain_of(nested: Nested, future: str | None) -> OptionChain:
    """Return the expirations to choose from: of the options on one future, if it is named."""
    chain = OptionChain.of(nested)
    if future is None:
        return chain
    return OptionChain(tuple(each for each in chain.expirations if each.underlying == future))


async def price_of_underlying(client: Client, expiration: Expiration) -> Decimal:
    """Return the price of the underlying, which may be an index.

    Raises:
        InvalidRequestError: the service gives none.
    """
    symbol = expiration.underlying
    future = symbol.startswith("/")
    try:
        rows = await client.market_data.by_type(
            equity=None if future else [symbol], index=None if future else [symbol], future=[symbol] if future else None
        )
    except (APIError, ConfigurationError) as error:
        complain(error)
        rows = []
    price = price_of(rows)
    if price is None:
        raise InvalidRequestError(f"the service gives no price of {symbol}: pass --around PRICE")
    return price


async def option_prices(client: Client, strikes: Sequence[Strike]) -> Prices:
    """Return the prices of the options; none, with a word about it, where the service serves no prices."""
    rows = [strike.row for strike in strikes]
    symbols = [symbol for row in rows for symbol in (row.call, row.put) if symbol]
    try:
        return (await client.bulk.market_data(symbols)).found
    except (APIError, ConfigurationError) as error:
        complain(error)
        return {}


def expiration_row(expiration: Expiration) -> Row:
    """Return the cells of an expiration."""
    return {
        "expiration": str(expiration.day),
        "days": "" if expiration.days is None else str(expiration.days),
        "root": expiration.root,
        "cycle": expiration.cycle,
        "settlement": expiration.settlement,
        "underlying": expiration.underlying,
        "strikes": str(len(expiration.strikes)),
    }


def strike_row(strike: Strike, prices: Prices) -> Row:
    """Return the cells of a strike: its call on the left, its put on the right."""
    call, put = strike.row.call or "", strike.row.put or ""
    empty = MarketDataSnapshot()
    of_call, of_put = prices.get(call, empty), prices.get(put, empty)
    return {
        "call": call,
        "call bid": plain(of_call.bid),
        "call ask": plain(of_call.ask),
        "strike": plain(strike.price),
        "put bid": plain(of_put.bid),
        "put ask": plain(of_put.ask),
        "put": put,
    }


def as_values(expiration: Expiration, strikes: Sequence[Strike], price: Decimal, prices: Prices) -> dict[str, Any]:
    """Return the expiration with the chosen strikes, and all prices of their options, as JSON values."""
    row = attrs.evolve(expiration.row, strikes=tuple(strike.row for strike in strikes))
    return {
        "underlying-symbol": expiration.underlying,
        "root-symbol": expiration.root,
        "around": plain(price),
        "expiration": raw(row),
        "prices": [raw(found) for found in prices.values()],
    }
