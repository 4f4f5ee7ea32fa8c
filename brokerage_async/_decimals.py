"""Decimals: exact numbers read from JSON or given by a caller, and written to JSON.

The cache holds short strings only: it is bounded in bytes, whatever the service sends.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from .errors import InvalidRequestError

Amount: TypeAlias = Decimal | int | str

Decimals = Literal["exact", "string", "float"]
"""How decimals are written.

``exact``: as decimals; see each function. ``string``: the digits as they were sent, of any length, trailing zeros
included. ``float``: the nearest 64-bit float, for statistics and charts, not for money.
"""

#: The longest string that a cache holds. Longer values are read each time.
MAX_CACHED_LENGTH = 64
#: Entries of the cache. A full one starts over.
MAX_DECIMALS = 8192

#: Takes every digit of a number or raises, whatever the context of the caller. Unlike `Decimal` it also refuses
#: underscores and surrounding spaces, and it takes two thirds of the time.
_EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, clamp=0, flags=[],
    traps=[
        decimal.InvalidOperation, decimal.Overflow, decimal.Underflow, decimal.Inexact, decimal.Rounded,
        decimal.Subnormal, decimal.Clamped,
    ],
)  # fmt: skip


class _Decimals(dict[Any, Decimal]):
    """Cache of decimals: prices and sizes repeat a great deal, and a hit costs a third of a conversion.

    A ``dict`` with `__missing__` finds a hit without entering Python code.
    """

    def __missing__(self, raw: str | int) -> Decimal:
        try:
            value = _EXACT.create_decimal(raw)
        except ArithmeticError:
            raise ValueError(f"not a decimal: {raw!r}") from None
        if isinstance(raw, str):
            size = len(raw)
            if not raw.isascii():  # digits of other scripts, which would not be returned
                raise ValueError(f"not a decimal: {raw!r}")
        else:
            size = raw.bit_length()
        if not value.is_finite():
            raise ValueError(f"not a finite decimal: {raw!r}")
        if size <= MAX_CACHED_LENGTH:
            if len(self) >= MAX_DECIMALS:
                self.clear()
            self[raw] = value
        return value


#: Reads a finite decimal. Raises ValueError for anything that is not a finite number as JSON would write it.
read_decimal: Callable[[str | int], Decimal] = _Decimals().__getitem__


def read_number(raw: Any) -> Decimal:
    """Read a finite decimal from a JSON number or string. A float has the digits of its repr.

    Raises ValueError for any other value, as `read_decimal` does.
    """
    if isinstance(raw, Decimal):
        return finite(raw)
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise ValueError(f"not a decimal: {type(raw).__name__}")
    return read_decimal(raw if isinstance(raw, int) else str(raw))


def finite(value: Decimal) -> Decimal:
    """Return the value. Raises ValueError when it is not finite."""
    if not value.is_finite():
        raise ValueError(f"not a finite decimal: {value}")
    return value


def decimal_text(value: Decimal | int) -> str:
    """Write a decimal as the service reads it: plain digits without an exponent.

    Raises ValueError for NaN and Infinity, and TypeError for a float, whose digits are not the ones that were typed.
    """
    if isinstance(value, Decimal):
        digits = str(value)
        if digits.isdigit() or ("E" not in digits and "N" not in digits and "I" not in digits):
            return digits
        return _plain(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"expected a Decimal, got {type(value).__name__} {value!r}")


decimal_as_sent: Callable[[Decimal], Any] = decimal_text  # of a field that is read as a number: a string nevertheless


def decimal_number(value: Decimal | int) -> Decimal:
    """Write a decimal that is a number on the wire, digit by digit. Raise as `decimal_text` does."""
    return Decimal(decimal_text(value))


def _plain(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"decimal must be finite, got {value}")
    # Written out in full, an absurd exponent would be gigabytes of zeros.
    return format(value, "f") if abs(value.adjusted()) <= 64 else str(value)


MAX_DIGITS = 64  # most digits of an amount before the point, and most zeros behind it


def exact(name: str, amount: Amount) -> Decimal:
    """Return ``amount`` exactly. A str must hold a plain finite number, as JSON would write it. Floats are refused."""
    if isinstance(amount, bool) or not isinstance(amount, Decimal | int | str):
        raise InvalidRequestError(f"{name} must be a Decimal, an int or a str, got {amount!r}")
    try:
        number = finite(amount) if isinstance(amount, Decimal) else read_decimal(amount)
    except ValueError:
        raise InvalidRequestError(f"{name} must be a plain number such as '187.50', got {amount!r}") from None
    if abs(number.adjusted()) > MAX_DIGITS:  # arithmetic would overflow, and written out it could be gigabytes
        raise InvalidRequestError(
            f"{name} must have at most {MAX_DIGITS} digits before and after the point, got {number:.3E}"
        )
    return number
