"""Every instrument of the simulated service, created at first use and rendered once.

Equities, their options and warrants are invented by the thousand from the seed.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from typing import Any

import attrs

from ..._generated import converters as wires
from ..._generated.models import InstrumentCollection, InstrumentType, Lendability, OptionType
from ..api.wire import like, same, timestamp
from ..keyed_random import KeyedRandom, key_of
from .calendar import local_date, local_epoch, monthly_expiration
from .futures import Contract, FutureOptionChain, contract_after, contracts, future_instrument, future_option_instrument
from .instrument import (
    EQUITY_TICKS,
    FUTURES,
    LISTED,
    OPTION_TICKS,
    FutureProduct,
    Instrument,
    RowTable,
    Ticks,
    occ_symbol,
    parse_occ,
    product_of,
)

QUANTITY_PLACES = 8
"""Decimal places of a quantity."""


@attrs.frozen(kw_only=True)
class Cryptocurrency:
    """One pair with the dollar."""

    number: int
    code: str
    name: str
    price: Decimal

    @property
    def symbol(self) -> str:
        return f"{self.code}/USD"

    def instrument(self) -> Instrument:
        kind = InstrumentType.CRYPTOCURRENCY
        return Instrument(symbol=self.symbol, instrument_type=kind, underlying=self.symbol)

    def row(self) -> wires.CryptocurrencyWire:
        venue = wires.DestinationVenueSymbolWire(
            id=100 + self.number,
            symbol=self.symbol,
            destination_venue="ZERO_HASH_CLOB",
            max_quantity_precision=QUANTITY_PLACES,
            max_price_precision=2,
            routable=True,
        )
        return wires.CryptocurrencyWire(
            id=self.number,
            symbol=self.symbol,
            instrument_type=InstrumentType.CRYPTOCURRENCY,
            short_description=self.name,
            description=f"{self.name} to USD",
            is_closing_only=False,
            active=True,
            tick_size="0.01",
            streamer_symbol=f"{self.symbol}:CXTALP",
            destination_venue_symbols=[venue],
        )


CRYPTOCURRENCIES: Mapping[str, Cryptocurrency] = {
    f"{code}/USD": Cryptocurrency(number=number, code=code, name=name, price=Decimal(price))
    for number, line in enumerate(LISTED["Cryptocurrency"], start=1)
    for code, price, name in [line.split(maxsplit=2)]
}
"""Cryptocurrencies by symbol."""


_OPTION_ROOTS = 10
_EXPIRATIONS = 10
_STRIKES = 25
_LENDABILITY = (Lendability.EASY_TO_BORROW, Lendability.LOCATE_REQUIRED, Lendability.PREBORROW)
_MARKETS = ("XNAS", "XNYS", "ARCX")
_CENT = Decimal("0.01")
_DIVIDENDS = 2


def tick_rows(ticks: Ticks) -> list[wires.TickSizeWire]:
    return [wires.TickSizeWire(value=f"{tick:f}", threshold=None if end is None else f"{end:f}") for end, tick in ticks]


@attrs.frozen(kw_only=True)
class EquityDefinition:
    """One share, fund or index."""

    number: int = 0
    symbol: str
    price: Decimal = Decimal(0)
    description: str
    is_etf: bool
    lendability: Lendability
    is_index: bool = False
    halted: bool = False
    closing_only: bool = False

    def instrument(self) -> Instrument:
        return Instrument(
            symbol=self.symbol,
            instrument_type=InstrumentType.EQUITY,
            underlying=self.symbol,
            halted=self.halted,
            closing_only=self.closing_only,
            hard_to_borrow=self.lendability is not Lendability.EASY_TO_BORROW,
            fractional=self.fractional,
        )

    @property
    def instrument_type(self) -> InstrumentType:
        return InstrumentType.INDEX if self.is_index else InstrumentType.EQUITY

    @property
    def fractional(self) -> bool:
        return not self.is_index and self.price < 10_000

    @property
    def optionable(self) -> bool:
        return not self.closing_only and self.price < 10_000

    @property
    def root(self) -> str:
        return self.symbol.replace("/", "")


@cache
def known_equities() -> dict[str, EquityDefinition]:
    """Return the well-known equities by symbol. They can be traded however short the list is."""
    return {
        symbol: EquityDefinition(
            number=number,
            symbol=symbol,
            price=Decimal(price),
            description=description,
            is_etf=kind == "fund",
            is_index=kind == "index",
            lendability=_LENDABILITY[0],
            halted=symbol == "HALT",
            closing_only=symbol == "GONE",
        )
        for number, line in enumerate(LISTED["Equity"], start=1)
        for symbol, price, kind, description in [line.split(maxsplit=3)]
    }


def equity_row(definition: EquityDefinition, opened: float) -> wires.EquityWire:
    """Return an equity as a wire struct. ``opened`` is the start of the simulation (epoch seconds)."""
    is_plain = definition.lendability is Lendability.EASY_TO_BORROW
    return like(
        wires.EquityWire,
        definition,
        id=definition.number,
        instrument_type=InstrumentType.EQUITY,
        cusip=f"{definition.number:09d}",
        short_description=definition.description[:20].strip(),
        listed_market=_MARKETS[definition.number % 3],
        borrow_rate="0.0" if is_plain else "3.25",
        halted_at=timestamp(opened - 3600) if definition.halted else None,
        stops_trading_at=timestamp(opened + 30 * 86400) if definition.closing_only else None,
        market_time_instrument_collection=InstrumentCollection.EQUITY,
        **same(definition.closing_only, "is_closing_only", "is_options_closing_only", "is_illiquid"),
        active=True,
        is_fractional_quantity_eligible=definition.fractional,
        **same(False, "bypass_manual_review", "pre_ipo"),
        **same("USA", "country_of_incorporation", "country_of_taxation"),
        instrument_sub_type="ETF" if definition.is_etf else "Common Stock",
        overnight_trading_permitted=definition.is_etf,
        underlying_product_type="Index" if definition.is_index else "Equity",
        streamer_symbol=definition.symbol,
        tick_sizes=tick_rows(EQUITY_TICKS),
        option_tick_sizes=tick_rows(OPTION_TICKS) if definition.optionable else None,
    )


def quarterly_dividend(equity: EquityDefinition, random: KeyedRandom) -> Decimal:
    """Return the dividend per share of each quarter. Indices and one company in three pay none."""
    key = key_of(equity.symbol)
    if equity.is_index or random.below(3, key, _DIVIDENDS) == 0:
        return Decimal(0)
    return max(_CENT, (equity.price * (10 + random.below(90, key, _DIVIDENDS, 1)) / 10_000).quantize(_CENT))


def monthly_expirations(today: date, count: int) -> list[date]:
    """Return monthly expiration dates: the last past one, then later ones."""
    last = today.year * 12 + today.month - 2
    days = [monthly_expiration(month // 12, month % 12 + 1) for month in range(last, last + count + 1)]
    return days[1:] if days[1] < today else days[:-1]


def options_on(root: EquityDefinition, today: date, strikes: int = _STRIKES) -> Iterator[Instrument]:
    """Yield the options on an equity, including expired ones."""
    step = strike_step(root.price)
    lowest = max(step, (root.price // step - strikes // 2) * step)
    for expires in monthly_expirations(today, _EXPIRATIONS):
        for position in range(strikes):
            strike = lowest + step * position
            for option_type in (OptionType.CALL, OptionType.PUT):
                yield equity_option(root.symbol, expires, option_type, strike, active=position % 50 != 49)


def equity_option(underlying: str, expires: date, option_type: OptionType, strike: Decimal, **more: Any) -> Instrument:
    terms: dict[str, Any] = {
        "symbol": occ_symbol(underlying.replace("/", ""), expires, option_type, strike),
        "instrument_type": InstrumentType.EQUITY_OPTION,
        "underlying": underlying,
        "multiplier": Decimal(100),
        "strike": strike,
        "option_type": option_type,
        "expires": expires,
    }
    return Instrument(**terms | more)


def strike_step(price: Decimal) -> Decimal:
    return Decimal(5) if price >= 100 else Decimal(1)


def option_row(definition: Instrument, today: date) -> wires.EquityOptionWire:
    assert definition.expires is not None
    assert definition.strike is not None
    short = f".{definition.underlying}{definition.expires:%y%m%d}{definition.option_type}{definition.strike:f}"
    return like(
        wires.EquityOptionWire,
        definition,
        listed_market="OPRA",
        strike_price=format(definition.strike, ".1f"),
        root_symbol=definition.symbol[:6].strip(),
        underlying_symbol=definition.underlying,
        expiration_date=definition.expires,
        exercise_style="American",
        shares_per_contract=100,
        option_chain_type="Standard" if definition.active else "Non-standard",
        expiration_type="Regular",
        settlement_type="PM",
        **same(timestamp(local_epoch(definition.expires, 16)), "stops_trading_at", "expires_at"),
        market_time_instrument_collection=InstrumentCollection.EQUITY,
        days_to_expiration=(definition.expires - today).days,
        is_closing_only=False,
        streamer_symbol=short,
        old_security_number=f"{key_of(definition.symbol) % 10**8:08d}",
    )


_SMALL_CHAIN = 400
_KEPT_CHAINS = 32
"""Option chains made on request that stay in memory."""


@attrs.frozen(kw_only=True)
class Sizes:
    """Numbers of rows in the instrument lists."""

    equities: int = 10_000
    equity_options: int = 5_000
    """Of the list of all. Chains of other equities are made when they are requested."""
    chain_rows: int = 20_000
    warrants: int = 200


class Catalogue:
    """Instruments, as rows to be sent and as tradable objects."""

    def __init__(self, sizes: Sizes, random: KeyedRandom, opened: float) -> None:
        self._sizes = sizes
        self._random = random
        self.opened: float = opened
        self._chains: dict[str, FutureOptionChain] = {}
        self._futures: tuple[date, RowTable[Contract]] | None = None
        self.is_live: bool = False
        self.listed: dict[tuple[InstrumentType, str], Instrument] = {}
        """Instruments of a live source, the only ones there are if it `is_live`, and their shares and indices."""
        self.listed_equities: dict[str, EquityDefinition] = {}
        self.missing: dict[str, str] = {}
        """Why symbols of a live source are not listed."""
        self._made_chain = lru_cache(_KEPT_CHAINS)(self._make_chain)
        self._found = cache(self._find)

    @property
    def today(self) -> date:
        """Start date of the simulation. Expirations are relative to it."""
        return local_date(self.opened)

    @cached_property
    def equities(self) -> RowTable[EquityDefinition]:
        """The well-known equities, then invented ones."""
        count, known = self._sizes.equities, known_equities()
        made = list(known.values())[:count]
        # AAA, AAB, …: three letters first, then four, then five.
        tickers = ("".join(each) for n in (3, 4, 5) for each in itertools.product(string.ascii_uppercase, repeat=n))
        free = (ticker for ticker in tickers if ticker not in known)
        for number, symbol in zip(range(len(made) + 1, count + 1), free, strict=False):
            draw = self._random.bits(key_of(symbol))
            invented = EquityDefinition(
                number=number,
                symbol=symbol,
                price=Decimal(500 + draw % 40_000) / 100,
                description=f"{symbol} Holdings, Inc. - Common Stock",
                is_etf=draw >> 20 & 7 == 0,
                lendability=_LENDABILITY[0 if draw >> 24 & 7 else 1 + (draw >> 27 & 1)],
            )
            made.append(invented)
        return RowTable(made, lambda row: row.symbol, lambda row: equity_row(row, self.opened))

    @cached_property
    def equity_options(self) -> RowTable[Instrument]:
        """Options on ten roots with ten expirations (one past), at strikes around the price."""
        count, today, roots = self._sizes.equity_options, self.today, self.equities.definitions[:_OPTION_ROOTS]
        needed = -(-count // max(1, len(roots) * _EXPIRATIONS * 2))
        made = (option for root in roots for option in options_on(root, today, max(_STRIKES, needed)))
        return RowTable(list(itertools.islice(made, count)), lambda row: row.symbol, lambda row: option_row(row, today))

    @cached_property
    def _listed_underlyings(self) -> frozenset[str]:
        return frozenset(option.underlying for option in self.equity_options.definitions)

    def options_on(self, underlying: str) -> RowTable[Instrument]:
        """Return a table that holds all options on an equity, listed or made now, beside others. Expired ones, too."""
        return self.equity_options if underlying in self._listed_underlyings else self._made_chain(underlying)

    def options(self, symbols: Iterable[str]) -> Iterator[tuple[RowTable[Instrument], int]]:
        """Yield the equity options of some symbols that are listed or belong to a chain, as table and position."""
        by_table: dict[RowTable[Instrument], list[str]] = {}
        for symbol in symbols:
            parsed = parse_occ(symbol)
            equity = None if parsed is None else self.equity_of_root(parsed[0])
            table = self.equity_options if equity is None else self.options_on(equity.symbol)
            by_table.setdefault(table, []).append(symbol)
        for table, found in by_table.items():
            yield from ((table, position) for position in table.positions(found))

    def equity_of_root(self, root: str) -> EquityDefinition | None:
        slashed = (equity for equity in known_equities().values() if equity.root == root)
        return self.equity(root) or next(slashed, None)

    def _make_chain(self, underlying: str) -> RowTable[Instrument]:
        equity, today = self.equity(underlying), self.today
        made = [] if equity is None or not equity.optionable else list(options_on(equity, today))
        return RowTable(made, lambda row: row.symbol, lambda row: option_row(row, today))

    @cached_property
    def warrants(self) -> RowTable[wires.WarrantWire]:
        """Warrants named after the first equities without a slash, with a W appended."""
        plain = (root for root in self.equities.definitions if "/" not in root.symbol and not root.is_index)
        made = [
            wires.WarrantWire(
                symbol=f"{root.symbol}W",
                instrument_type=InstrumentType.WARRANT,
                cusip=f"{number:08d}W",
                listed_market=_MARKETS[number % 3],
                description=f"{root.symbol} - Warrants",
                is_closing_only=False,
                active=True,
            )
            for number, root in zip(range(1, self._sizes.warrants + 1), plain, strict=False)
        ]
        return RowTable(made, lambda row: row.symbol or "", lambda row: row)

    @cached_property
    def cryptocurrencies(self) -> RowTable[Cryptocurrency]:
        return RowTable(list(CRYPTOCURRENCIES.values()), lambda row: row.symbol, Cryptocurrency.row)

    def futures(self, today: date) -> RowTable[Contract]:
        if self._futures is None or self._futures[0] != today:
            fronts = {code: contract_after(product, today) for code, product in FUTURES.items()}
            listed = [contract for product in FUTURES.values() for contract in contracts(product, today)]
            table = RowTable(listed, lambda row: row.symbol, lambda row: row.row(today, fronts[row.product.code]))
            self._futures = today, table
        return self._futures[1]

    def chain(self, product_code: str) -> FutureOptionChain | None:
        product = FUTURES.get(product_code)
        if product is None:
            return None
        if product_code not in self._chains:
            large = product_code == next(iter(FUTURES))
            count = self._sizes.chain_rows if large else min(self._sizes.chain_rows, _SMALL_CHAIN)
            self._chains[product_code] = FutureOptionChain(product, count, self.today)
        return self._chains[product_code]

    def future_option(self, streamer_contract: str, code: str) -> Instrument | None:
        """Return the option on a future by the parts of its streamer symbol (``ES2M26``, ``C6000``), or None."""
        chains = (self.chain(product) for product in FUTURES if streamer_contract.startswith(product))
        symbols = (chain.symbol_of(streamer_contract, code) for chain in chains if chain is not None)
        symbol = next(filter(None, symbols), None)
        return None if symbol is None else self.instrument(InstrumentType.FUTURE_OPTION, symbol)

    def instrument(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        return self.listed.get((instrument_type, symbol)) if self.is_live else self._found(instrument_type, symbol)

    def equity(self, symbol: str) -> EquityDefinition | None:
        """Return the equity of a symbol, or None. Well-known ones do not need the whole list."""
        if self.is_live:
            return self.listed_equities.get(symbol)
        return known_equities().get(symbol) or self.equities.get(symbol)

    def underlying(self, symbol: str) -> Cryptocurrency | FutureProduct | EquityDefinition | None:
        """Return the listed cryptocurrency, product of a future, or equity of a symbol."""
        return CRYPTOCURRENCIES.get(symbol) or product_of(symbol) or self.equity(symbol)

    def base_price(self, symbol: str) -> Decimal:
        """Return the price level around which an underlying moves."""
        priced = self.underlying(symbol)
        return Decimal(10 + key_of(symbol) % 90) if priced is None else priced.price

    def _find(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        match instrument_type:
            case InstrumentType.EQUITY:
                equity = self.equity(symbol)
                return None if equity is None or equity.is_index else equity.instrument()
            case InstrumentType.EQUITY_OPTION:
                parsed = parse_occ(symbol)
                if parsed is None:
                    return None
                root, expires, option_type, strike = parsed
                equity = self.equity_of_root(root)
                if not strike or equity is None or not equity.optionable:
                    return None
                return equity_option(equity.symbol, expires, option_type, strike, symbol=symbol)
            case InstrumentType.FUTURE:
                return future_instrument(symbol, self.today)
            case InstrumentType.FUTURE_OPTION:
                return future_option_instrument(symbol)
            case InstrumentType.CRYPTOCURRENCY if symbol in CRYPTOCURRENCIES:
                return CRYPTOCURRENCIES[symbol].instrument()
            case _:
                return None
