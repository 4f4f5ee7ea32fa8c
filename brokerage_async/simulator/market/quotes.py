"""Quotes, and the sources that they come from."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

import attrs

from ..keyed_random import KeyedRandom

__all__ = ["PRICE_LIMIT", "Listing", "PriceSource", "Quote", "check_price", "next_minute", "places_of"]

PRICE_LIMIT: int = 10**9
"""Bound of prices."""

_LEAST_PRICE = Decimal("0.0000001")
_MINUTE = 60.0


def next_minute(now: float) -> float:
    """Return the time of the next full minute."""
    return (now // _MINUTE + 1) * _MINUTE


def check_price(name: str, price: Decimal) -> Decimal:
    """Return a price, or raise ValueError unless it is positive, below 10**9, and not smaller than any tick."""
    if not price.is_finite() or not 0 < price < PRICE_LIMIT:
        raise ValueError(f"{name} must be positive and below {PRICE_LIMIT}, got {price}")
    if price < _LEAST_PRICE:
        raise ValueError(f"{name} must be at least {_LEAST_PRICE:f}, got {price}")
    return price


def places_of(level: Decimal) -> int:
    """Return the decimal places of prices around a level."""
    return 2 if level >= 2 else 4 if level >= Decimal("0.1") else 7


@attrs.frozen(kw_only=True)
class Quote:
    """Market of one instrument from ``since`` (epoch seconds) until the next quote.

    Buyers trade at ``ask`` and sellers at ``bid``, up to their sizes; a size of None has no bound. ``volume`` is the
    quantity traded today.
    """

    since: float
    last: Decimal
    bid: Decimal
    ask: Decimal
    bid_size: Decimal | None = None
    ask_size: Decimal | None = None
    volume: Decimal | None = None


@attrs.frozen(kw_only=True)
class Listing:
    """Underlying as a price source sees it: its price level at ``start`` (epoch seconds), and random values."""

    symbol: str
    level: Decimal
    start: float
    random: KeyedRandom


class PriceSource(Protocol):
    """Quotes of one underlying as a function of time."""

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote at ``now`` (epoch seconds)."""
        ...

    def next_change(self, listing: Listing, now: float) -> float:
        """Return when the quote of ``now`` is replaced, in epoch seconds after ``now``; infinity for never."""
        ...
