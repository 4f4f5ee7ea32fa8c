"""Tradable instruments and the symbols of equity options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import TypeAlias

import attrs

from ..._generated.models import InstrumentCollection, InstrumentType, OptionType
from .calendar import local_epoch
from .future_products import product_of

_OCC = re.compile(r"(?P<root>[A-Z0-9/.]{1,6}) *(?P<day>\d{6})(?P<kind>[CP])(?P<strike>\d{8})", re.ASCII)

_UNDERLYING_TYPES = {
    InstrumentType.EQUITY_OPTION: InstrumentType.EQUITY,
    InstrumentType.FUTURE_OPTION: InstrumentType.FUTURE,
}


Ticks: TypeAlias = tuple[tuple[Decimal | None, Decimal], ...]
"""Ranges of a tick table, lowest first: the price at which it ends (None: never), and the tick."""

EQUITY_TICKS: Ticks = ((Decimal("1.0"), Decimal("0.0001")), (None, Decimal("0.01")))
OPTION_TICKS: Ticks = ((Decimal("3.0"), Decimal("0.01")), (None, Decimal("0.05")))
_TICKS: Mapping[InstrumentType, Ticks] = {
    InstrumentType.EQUITY: EQUITY_TICKS,
    InstrumentType.EQUITY_OPTION: OPTION_TICKS,
}


@attrs.frozen(kw_only=True)
class Instrument:
    """Tradable instrument.

    ``multiplier`` is the number of units of the underlying per contract. ``strike`` and ``option_type`` are set for
    options, ``expires`` for options and futures (at ``expiration_hour``, New York time). ``halted`` instruments cannot
    be traded, ``closing_only`` ones only closed, ``hard_to_borrow`` ones not sold short, ``fractional`` ones in parts.
    ``ticks`` are its own, if it has a table.
    """

    symbol: str
    instrument_type: InstrumentType
    underlying: str
    multiplier: Decimal = Decimal(1)
    tick: Decimal = Decimal("0.01")
    strike: Decimal | None = None
    option_type: OptionType | None = None
    expires: date | None = None
    expiration_hour: float = 16.0
    halted: bool = False
    closing_only: bool = False
    hard_to_borrow: bool = False
    fractional: bool = False
    ticks: Ticks = ()

    @property
    def expires_at(self) -> float | None:
        """Time of expiration in epoch seconds."""
        return None if self.expires is None else local_epoch(self.expires, self.expiration_hour)

    def tick_at(self, price: Decimal) -> Decimal:
        """Return the tick of prices around ``price`` at its venue."""
        ticks = self.ticks or _TICKS.get(self.instrument_type, ((None, self.tick),))
        return next(tick for end, tick in ticks if end is None or price < end)

    def is_on_tick(self, price: Decimal) -> bool:
        """Return whether its venue takes a price."""
        return price % self.tick_at(price) == 0

    @property
    def is_option(self) -> bool:
        """Whether it is an option, on shares or on a future."""
        return self.option_type is not None

    @property
    def is_call(self) -> bool:
        """Whether it is a call."""
        return self.option_type is OptionType.CALL

    @property
    def is_future(self) -> bool:
        """Whether it is a future (not an option on one)."""
        return self.instrument_type is InstrumentType.FUTURE

    @property
    def collection(self) -> InstrumentCollection | None:
        """Exchange calendar of the instrument. None for trading around the clock."""
        return collection_of(self.underlying)

    @property
    def underlying_type(self) -> InstrumentType:
        """Instrument type of the underlying."""
        return _UNDERLYING_TYPES.get(self.instrument_type, self.instrument_type)


def collection_of(underlying: str) -> InstrumentCollection | None:
    """Return the exchange calendar of an underlying, None for trading around the clock."""
    if underlying.startswith("/"):
        product = product_of(underlying)
        return InstrumentCollection.CFE if product and product.exchange == "CFE" else InstrumentCollection.CME
    return None if underlying.endswith("/USD") else InstrumentCollection.EQUITY


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
