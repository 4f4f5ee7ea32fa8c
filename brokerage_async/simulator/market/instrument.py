"""Tradable instruments, futures products and the symbols of options."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

import attrs

from ..._generated.models import InstrumentCollection, InstrumentType, OptionType

__all__ = ["FUTURES", "FutureProduct", "Instrument", "day_of", "occ_symbol", "parse_occ"]

_OCC = re.compile(r"(?P<root>[A-Z0-9/.]{1,6}) *(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{8})", re.ASCII)

_UNDERLYING_TYPES = {
    InstrumentType.EQUITY_OPTION: InstrumentType.EQUITY,
    InstrumentType.FUTURE_OPTION: InstrumentType.FUTURE,
}


@attrs.frozen(kw_only=True)
class Instrument:
    """Tradable instrument.

    ``multiplier`` is the number of units of the underlying per contract. ``strike``, ``option_type`` and ``expires``
    are set for options. ``halted`` instruments cannot be traded, ``closing_only`` ones only closed, ``hard_to_borrow``
    ones not sold short.
    """

    symbol: str
    instrument_type: InstrumentType
    underlying: str
    multiplier: Decimal = Decimal(1)
    tick: Decimal = Decimal("0.01")
    strike: Decimal | None = None
    option_type: OptionType | None = None
    expires: date | None = None
    halted: bool = False
    closing_only: bool = False
    hard_to_borrow: bool = False

    @property
    def is_option(self) -> bool:
        """Whether it is an option, on shares or on a future."""
        return self.option_type is not None

    @property
    def is_future(self) -> bool:
        """Whether it is a future (not an option on one)."""
        return self.instrument_type is InstrumentType.FUTURE

    @property
    def collection(self) -> InstrumentCollection | None:
        """Exchange calendar of the instrument; None for trading around the clock."""
        if self.instrument_type in (InstrumentType.FUTURE, InstrumentType.FUTURE_OPTION):
            return InstrumentCollection.CME
        return None if self.instrument_type is InstrumentType.CRYPTOCURRENCY else InstrumentCollection.EQUITY

    @property
    def underlying_type(self) -> InstrumentType:
        """Instrument type of the underlying."""
        return _UNDERLYING_TYPES.get(self.instrument_type, self.instrument_type)


@attrs.frozen(kw_only=True)
class FutureProduct:
    """Futures product: price level, contract size, initial margin per contract, option strikes."""

    code: str
    price: Decimal
    multiplier: Decimal
    tick: Decimal
    margin: Decimal
    strike_step: Decimal
    sector: str


FUTURES = {
    code: FutureProduct(
        code=code,
        price=Decimal(price),
        multiplier=Decimal(multiplier),
        tick=Decimal(tick),
        margin=Decimal(margin),
        strike_step=Decimal(step),
        sector=sector,
    )
    for code, price, multiplier, tick, margin, step, sector in (
        ("ES", "6000", "50", "0.25", "15000", "5", "Equity Index"),
        ("NQ", "21500", "20", "0.25", "22000", "50", "Equity Index"),
        ("RTY", "2200", "50", "0.1", "7500", "10", "Equity Index"),
        ("CL", "70", "1000", "0.01", "6200", "0.5", "Energy"),
        ("NG", "3.5", "10000", "0.001", "4100", "0.05", "Energy"),
        ("GC", "3300", "100", "0.1", "16000", "5", "Metals"),
        ("ZB", "115", "1000", "0.03125", "4000", "1", "Interest Rate"),
        ("6E", "1.15", "125000", "0.00005", "2600", "0.005", "Currency"),
    )
}
"""Futures products by code; the first has the large option chain."""


def day_of(code: str) -> date | None:
    """Return the day that symbols write as ``260612``, None if it does not exist."""
    try:
        return date(2000 + int(code[:2]), int(code[2:4]), int(code[4:]))
    except ValueError:
        return None


def occ_symbol(root: str, expires: date, option_type: OptionType, strike: Decimal) -> str:
    """Return an OCC symbol such as ``AAPL  260612C00110000``.

    It has the root padded to six, the date, C or P, and the strike times 1000 in eight digits.
    """
    return f"{root:<6}{expires:%y%m%d}{option_type}{int(strike * 1000):08d}"


def parse_occ(symbol: str) -> tuple[str, date, OptionType, Decimal] | None:
    """Return the parts of an OCC symbol: root, expiration date, C or P, strike."""
    match = _OCC.fullmatch(symbol)
    if match is None:
        return None
    expires = day_of(match["day"])
    if expires is None:
        return None
    return match["root"], expires, OptionType(match["kind"]), Decimal(int(match["strike"])) / 1000
