"""Kinds of instruments by the form of their symbols, and the parts that several kinds share."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from ..errors import InvalidRequestError

CENTURY = 2000
MONTH_CODES = "FGHJKMNQUVXZ"
"""Letters of the contract months, January to December."""

OCC = re.compile(r"(?P<root>[A-Z0-9./]{1,6}) *(?P<day>[0-9]{6})(?P<kind>[CP])(?P<strike>[0-9]{8})")

MONTHS_BACK = 12
"""Months that a contract month may lie before the day it is read on: history names expired contracts."""


def checked(symbol: object) -> str:
    """Return a symbol. Raise unless it is a str."""
    if not isinstance(symbol, str):
        raise InvalidRequestError(f"symbol must be a str, got {type(symbol).__name__}")
    return symbol


def day_of(digits: str) -> date | None:
    """Return the day of ``yymmdd`` in this century, None if the calendar lacks it."""
    try:
        return date(CENTURY + int(digits[:2]), int(digits[2:4]), int(digits[4:]))
    except ValueError:
        return None


def contract_year(digit: int, month: int, day: date) -> int:
    """Return the year that ends in ``digit`` of a contract month, seen from ``day``.

    Of every ten years one fits: the earliest whose ``month`` is at most 12 months before ``day``'s.
    """
    earliest = day.year * 12 + day.month - MONTHS_BACK
    year = day.year - 1 + (digit - (day.year - 1)) % 10
    return year if year * 12 + month >= earliest else year + 10


def plain(strike: Decimal) -> str:
    """Return the digits of a strike without an exponent or trailing zeros."""
    digits = f"{strike:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def instrument_type_of(symbol: str) -> str:
    """Return the kind of instrument that the form of a symbol implies.

    ``AAPL`` and ``BRK/B`` are ``Equity``, ``AAPL  260612C00110000`` is ``Equity Option``, ``/ESZ6`` is ``Future``,
    ``./ESZ6 EW3U6 260918P9100`` is ``Future Option``, ``BTC/USD`` is ``Cryptocurrency``.

    Raises:
        InvalidRequestError: the symbol is not a str.
    """
    symbol = checked(symbol)
    if symbol.startswith("./"):
        return "Future Option"
    if symbol.startswith("/"):
        return "Future"
    if OCC.fullmatch(symbol):
        return "Equity Option"
    return "Cryptocurrency" if symbol.endswith("/USD") else "Equity"
