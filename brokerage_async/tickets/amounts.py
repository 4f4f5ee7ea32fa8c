"""Amounts of orders, whose direction the action or the price effect gives."""

from __future__ import annotations

from decimal import Decimal

from .._terms import Amount, exact
from ..errors import InvalidRequestError

__all__ = ["not_negative", "positive"]


def positive(name: str, amount: Amount) -> Decimal:
    """Return a positive amount exactly, or raise."""
    number = exact(name, amount)
    if number <= 0:
        raise InvalidRequestError(f"{name} must be greater than zero, got {amount!r}; the action says buy or sell")
    return number


def not_negative(name: str, amount: Amount) -> Decimal:
    """Return an amount of zero or more exactly, or raise."""
    number = exact(name, amount)
    if number.is_signed():
        raise InvalidRequestError(f"{name} must not be negative, got {amount!r}; a credit is an effect, not a sign")
    return number
