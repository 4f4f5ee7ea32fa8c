"""Parts that the symbols of several kinds of instruments share."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from ..errors import InvalidRequestError

CENTURY = 2000
MONTH_CODES = "FGHJKMNQUVXZ"
"""Letters of the contract months, January to December."""

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
