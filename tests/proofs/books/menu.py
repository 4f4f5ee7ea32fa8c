"""Instruments that are traded, with the facts that the service lists of them."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar

import attrs

from brokerage_async import Client, models, symbols

from .second import Fact

T = TypeVar("T")

SHARES = ("AAPL", "SPY", "QQQ", "F", "KO", "BRK/B", "MSFT", "HALT", "GONE")
OPTIONS_ON = ("AAPL", "SPY", "QQQ")
INDEX = "SPX"
PRODUCTS = ("ES", "CL", "6E", "MYM")
COINS = ("BTC/USD", "ETH/USD", "ADA/USD")
STRIKES, EXPIRATIONS = 8, 3
MAX_SYMBOLS = 100


@attrs.frozen(kw_only=True)
class Menu:
    """Facts by symbol, and the symbols by kind. Options in groups of one underlying."""

    facts: Mapping[str, Fact]
    shares: list[str]
    futures: list[str]
    coins: list[str]
    options: list[list[str]]


async def menu_of(client: Client) -> Menu:
    equities = [one async for one in client.instruments.equities(symbols=SHARES)]
    invented = [one async for one in client.instruments.equities(per_page=60) if "Holdings" in known(one.description)]
    futures = [one async for one in client.instruments.futures(product_codes=PRODUCTS)]
    traded = [one for one in futures if one.active_month or one.next_active_month]
    sizes = {known(one.symbol): known(one.notional_multiplier) for one in futures}
    coins = await client.instruments.cryptocurrencies(symbols=COINS)
    listed = [list(near(await client.option_chains.flat(symbol))) for symbol in OPTIONS_ON]
    chains = [list(near(await client.instruments.futures_option_chain(code))) for code in PRODUCTS]
    groups = [[option_fact(one, Decimal(known(one.shares_per_contract))) for one in group] for group in listed]
    groups.append(list(index_facts(groups[0])))
    groups += [[option_fact(one, sizes[known(one.underlying_symbol)]) for one in group] for group in chains]
    shares = [fact("Equity", one) for one in (*equities, *invented[:4])]
    contracts = [fact("Future", one, sizes[known(one.symbol)]) for one in traded]
    pairs = [fact("Cryptocurrency", one) for one in coins]
    every = [*shares, *contracts, *pairs, *(one for group in groups for one in group)]
    return Menu(
        facts={one.symbol: one for one in every},
        shares=[one.symbol for one in shares],
        futures=[one.symbol for one in contracts],
        coins=[one.symbol for one in pairs],
        options=[[one.symbol for one in group] for group in groups],
    )


def near(options: Iterable[Any]) -> Iterator[Any]:
    """Yield the options of some strikes in the middle of the first expirations."""
    by_day: dict[Any, dict[Any, list[Any]]] = {}
    for option in options:
        by_day.setdefault(option.expiration_date, {}).setdefault(option.strike_price, []).append(option)
    for day in sorted(by_day)[:EXPIRATIONS]:
        strikes = sorted(by_day[day])
        first = max(0, (len(strikes) - STRIKES) // 2)
        for strike in strikes[first : first + STRIKES]:
            yield from by_day[day][strike]


def fact(kind: str, row: Any, multiplier: Decimal = Decimal(1)) -> Fact:
    return Fact(symbol=row.symbol, kind=kind, underlying=row.symbol, multiplier=multiplier)


def option_fact(option: models.EquityOption | models.FutureOption, multiplier: Decimal) -> Fact:
    return Fact(
        symbol=known(option.symbol),
        kind="Equity Option" if isinstance(option, models.EquityOption) else "Future Option",
        underlying=known(option.underlying_symbol),
        multiplier=multiplier,
        strike=known(option.strike_price),
        option_type=known(option.option_type).value,
        expires=known(option.expiration_date),
    )


def index_facts(like: Iterable[Fact]) -> Iterator[Fact]:
    """Yield options on an index, which are traded without being listed, with the terms of listed ones."""
    for number, one in enumerate(like):
        strike = Decimal(5900 + 25 * (number // 2 % STRIKES))
        symbol = symbols.occ_symbol(INDEX, one.expires, one.option_type, strike)
        yield attrs.evolve(one, symbol=symbol, underlying=INDEX, strike=strike)


async def prices_of(client: Client, facts: Iterable[Fact]) -> dict[str, Decimal]:
    """Return the marks of instruments and of their underlyings."""
    wanted: dict[str, dict[str, None]] = {}
    for one in facts:
        wanted.setdefault(one.kind.lower().replace(" ", "_"), {})[one.symbol] = None
        underlying_kind = {"Equity Option": "equity", "Future Option": "future"}.get(one.kind)
        if one.underlying == INDEX:
            wanted.setdefault("index", {})[INDEX] = None
        elif underlying_kind is not None:
            wanted.setdefault(underlying_kind, {})[one.underlying] = None
    marks: dict[str, Decimal] = {}
    for kind, names in wanted.items():
        every = list(names)
        for start in range(0, len(every), MAX_SYMBOLS):
            asked: Any = {kind: every[start : start + MAX_SYMBOLS]}
            marks |= {known(row.symbol): known(row.mark) for row in await client.market_data.by_type(**asked)}
    return marks


def known(value: T | None) -> T:
    assert value is not None
    return value
