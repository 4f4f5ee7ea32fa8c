"""Quotes, and the sources that they come from."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Protocol

import attrs

from ..._generated.models import InstrumentCollection
from ..keyed_random import KeyedRandom

PRICE_LIMIT: int = 10**9
"""Bound of prices."""

_LEAST_PRICE = Decimal("0.0000001")


def next_minute(now: float) -> float:
    """Return the time of the next full minute."""
    return (now // 60 + 1) * 60.0


def check_price(name: str, price: Decimal) -> Decimal:
    """Return a price, or raise ValueError unless it is positive, below 10**9, and not smaller than any tick."""
    if not price.is_finite() or not 0 < price < PRICE_LIMIT:
        raise ValueError(f"{name} must be positive and below {PRICE_LIMIT}, got {price}")
    if price < _LEAST_PRICE:
        raise ValueError(f"{name} must be at least {_LEAST_PRICE:f}, got {price}")
    return price


def number_of(name: str, value: object) -> Decimal:
    """Return a number that a caller gave, or raise ValueError."""
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def amount_of(name: str, value: object) -> Decimal:
    """Return a price or quantity that a caller gave, which have the same bounds. ValueError for other values."""
    number = number_of(name, value)
    if not number.is_finite() or number <= 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return check_price(name, number)


def places_of(level: Decimal) -> int:
    """Return the decimal places of prices around a level."""
    return 2 if level >= 2 else 4 if level >= Decimal("0.1") else 7


@attrs.frozen(kw_only=True)
class Quote:
    """Market of one instrument from ``since`` (epoch seconds) until the next quote.

    Buyers trade at ``ask`` and sellers at ``bid``, up to ``ask_size`` and ``bid_size``. A size of None has no bound.
    ``last`` is the price of the latest trade, ``volume`` the quantity traded today.
    """

    since: float
    last: Decimal
    bid: Decimal
    ask: Decimal
    bid_size: Decimal | None = None
    ask_size: Decimal | None = None
    volume: Decimal | None = None


@attrs.frozen(kw_only=True, eq=False)
class Listing:
    """Underlying as a price source sees it: its price level at ``start`` (epoch seconds), and random values.

    ``collection`` is its exchange calendar, None for trading around the clock. ``pace`` is the number of its quotes a
    second, and ``liquidity`` its share, up to 1, of the volume of the most liquid ones.
    """

    symbol: str
    level: Decimal
    start: float
    random: KeyedRandom
    collection: InstrumentCollection | None = None
    pace: float = 1 / 60
    liquidity: float = 1.0


class PriceSource(Protocol):
    """Quotes of one underlying as a function of time."""

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote at ``now`` (epoch seconds)."""
        ...

    def next_change(self, listing: Listing, now: float) -> float:
        """Return when the quote of ``now`` is replaced, in epoch seconds after ``now``. Infinity for never."""
        ...
