"""Simulated equities, equity options and warrants, thousands of them from the seed, and cryptocurrencies."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache

import attrs

from ..._generated import converters as wires
from ..._generated.models import InstrumentCollection, InstrumentType, Lendability, OptionType
from ..api.wire import like, timestamp
from ..keyed_random import KeyedRandom, key_of
from .calendar import local_epoch, monthly_expiration
from .instrument import EQUITY_TICKS, LISTED, OPTION_TICKS, Instrument, Ticks, occ_symbol

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

    number: int
    symbol: str
    price: Decimal
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


def equities(count: int, random: KeyedRandom) -> list[EquityDefinition]:
    """Return the first ``count`` equities: the well-known ones, then invented ones."""
    made = list(known_equities().values())[:count]
    # AAA, AAB, …: three letters first, then four, then five.
    tickers = ("".join(each) for n in (3, 4, 5) for each in itertools.product(string.ascii_uppercase, repeat=n))
    free = (ticker for ticker in tickers if ticker not in known_equities())
    for number, symbol in zip(range(len(made) + 1, count + 1), free, strict=False):
        draw = random.bits(key_of(symbol))
        invented = EquityDefinition(
            number=number,
            symbol=symbol,
            price=Decimal(500 + draw % 40_000) / 100,
            description=f"{symbol} Holdings, Inc. - Common Stock",
            is_etf=draw >> 20 & 7 == 0,
            lendability=_LENDABILITY[0 if draw >> 24 & 7 else 1 + (draw >> 27 & 1)],
        )
        made.append(invented)
    return made


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
        is_closing_only=definition.closing_only,
        is_options_closing_only=definition.closing_only,
        active=True,
        is_fractional_quantity_eligible=definition.fractional,
        is_illiquid=definition.closing_only,
        bypass_manual_review=False,
        country_of_incorporation="USA",
        country_of_taxation="USA",
        instrument_sub_type="ETF" if definition.is_etf else "Common Stock",
        overnight_trading_permitted=definition.is_etf,
        pre_ipo=False,
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
    days: list[date] = []
    year, month = today.year - 1, 12
    while len(days) < count:
        day = monthly_expiration(year, month)
        if day < today:
            days = [day]
        else:
            days.append(day)
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return days


def equity_options(count: int, roots: list[EquityDefinition], today: date) -> list[Instrument]:
    """Return the first ``count`` options: ten roots, ten expirations (one past), strikes around the price."""
    candidates = roots[:_OPTION_ROOTS]
    needed = -(-count // max(1, len(candidates) * _EXPIRATIONS * 2))
    made = (option for root in candidates for option in options_on(root, today, max(_STRIKES, needed)))
    return list(itertools.islice(made, count))


def options_on(root: EquityDefinition, today: date, strikes: int = _STRIKES) -> Iterator[Instrument]:
    """Yield the options on an equity, including expired ones."""
    step = strike_step(root.price)
    lowest = max(step, (root.price // step - strikes // 2) * step)
    for expires in monthly_expirations(today, _EXPIRATIONS):
        for position in range(strikes):
            strike = lowest + step * position
            for option_type in (OptionType.CALL, OptionType.PUT):
                yield equity_option(root.symbol, expires, option_type, strike, active=position % 50 != 49)


def equity_option(
    underlying: str,
    expires: date,
    option_type: OptionType,
    strike: Decimal,
    *,
    symbol: str | None = None,
    active: bool = True,
) -> Instrument:
    return Instrument(
        symbol=symbol or occ_symbol(underlying.replace("/", ""), expires, option_type, strike),
        instrument_type=InstrumentType.EQUITY_OPTION,
        underlying=underlying,
        multiplier=Decimal(100),
        strike=strike,
        option_type=option_type,
        expires=expires,
        active=active,
    )


def strike_step(price: Decimal) -> Decimal:
    return Decimal(5) if price >= 100 else Decimal(1)


def option_row(definition: Instrument, today: date) -> wires.EquityOptionWire:
    assert definition.expires is not None
    assert definition.strike is not None
    expires_at = timestamp(local_epoch(definition.expires, 16))
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
        stops_trading_at=expires_at,
        market_time_instrument_collection=InstrumentCollection.EQUITY,
        days_to_expiration=(definition.expires - today).days,
        expires_at=expires_at,
        is_closing_only=False,
        streamer_symbol=short,
        old_security_number=f"{key_of(definition.symbol) % 10**8:08d}",
    )


def warrants(count: int, roots: Iterable[EquityDefinition]) -> list[wires.WarrantWire]:
    """Return ``count`` warrants named after the first equities without a slash, with a W appended."""
    plain = (root for root in roots if "/" not in root.symbol and not root.is_index)
    return [
        wires.WarrantWire(
            symbol=f"{root.symbol}W",
            instrument_type=InstrumentType.WARRANT,
            cusip=f"{number:08d}W",
            listed_market=_MARKETS[number % 3],
            description=f"{root.symbol} - Warrants",
            is_closing_only=False,
            active=True,
        )
        for number, root in zip(range(1, count + 1), plain, strict=False)
    ]
