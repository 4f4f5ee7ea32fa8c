"""Quotes, the sources that they come from, and the random walk, a pure function of seed, symbol and minute.

The walk is a sum of random values on grids of 1, 2, 4 ... minutes, each interpolated, with amplitudes that grow with
the root of the distance, as in a random walk. So the price of any minute is known without those before it.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Protocol

import attrs

from ..keyed_random import KeyedRandom, key_of
from .calendar import local_date, local_epoch

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


def amount_of(name: str, value: object) -> Decimal:
    """Return a price or quantity that a caller gave, which have the same bounds. ValueError for other values."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if not number.is_finite() or number <= 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return check_price(name, number)


def places_of(level: Decimal) -> int:
    """Return the decimal places of prices around a level."""
    return 2 if level >= 2 else 4 if level >= Decimal("0.1") else 7


@attrs.frozen(kw_only=True)
class Quote:
    """Market of one instrument from ``since`` (epoch seconds) until the next quote.

    Buyers trade at ``ask`` and sellers at ``bid``, up to their sizes. A size of None has no bound. ``volume`` is the
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
        """Return when the quote of ``now`` is replaced, in epoch seconds after ``now``. Infinity for never."""
        ...


_LEVELS = 14
"""Grids, the last one of about 11 days."""
_WALK, _SIZE, _VOLUME = range(101, 104)
_MAX_SWING = 0.9


def _positive(walk: RandomWalk, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{attribute.name} must be at least 0 and below 1, got {value}")


@attrs.frozen(kw_only=True)
class RandomWalk:
    """Source of prices that change once a minute.

    Attributes:
        volatility: typical change within a minute, as a fraction of the price. A day has about 20 times as much.
        spread: distance between bid and ask, as a fraction of the price. At least 2 ticks.
        size: mean number of shares offered and wanted at a time.
        price: price at the start, by default the instrument's.
    """

    volatility: float = attrs.field(default=0.0003, validator=_positive)
    spread: float = attrs.field(default=0.0002, validator=_positive)
    size: int = 5_000
    price: Decimal | None = None

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote of the minute."""
        level = listing.level if self.price is None else self.price
        minute = int(now // 60)
        key = key_of(listing.symbol)
        moved = _height(listing.random, key, minute) - _height(listing.random, key, int(listing.start // 60))
        places = places_of(level)
        tick = Decimal(1).scaleb(-places)
        swing = max(-_MAX_SWING, self.volatility * moved)
        last = max(tick * 2, Decimal(round(float(level) * (1 + swing), places)).quantize(tick))
        half = max(tick, (last * Decimal(str(self.spread)) / 2).quantize(tick))
        day = local_date(now)  # the volume grows with each minute since midnight in New York
        pace = listing.random.between(0.5, 1.5, key, _VOLUME, day.toordinal())
        return Quote(
            since=minute * 60.0,
            last=last,
            bid=last - half,
            ask=last + half,
            bid_size=self._size(listing, minute, 0),
            ask_size=self._size(listing, minute, 1),
            volume=Decimal(int(max(0.0, now - local_epoch(day, 0)) // 60 * self.size * pace)),
        )

    def next_change(self, listing: Listing, now: float) -> float:
        """Return the next full minute."""
        return next_minute(now)

    def _size(self, listing: Listing, minute: int, side: int) -> Decimal:
        """Return the size at a side of the market, from a fifth to nine fifths of the mean, in lots of 100."""
        part = listing.random.between(0.2, 1.8, key_of(listing.symbol), _SIZE, minute, side)
        return Decimal(max(1, round(self.size * part / 100)) * 100)


@lru_cache(maxsize=4096)  # every quote asks for the height at the start, every order for a minute's height
def _height(random: KeyedRandom, key: int, minute: int) -> float:
    """Return the height of a walk in units of the volatility."""
    height = 0.0
    for level in range(_LEVELS):
        cell, within = divmod(minute, 1 << level)
        left = _grid_value(random, key, level, cell)
        part = within / (1 << level)
        value = left + (_grid_value(random, key, level, cell + 1) - left) * part if within else left
        height += (2 * value - 1) * 2 ** (level / 2)
    return height


@lru_cache(maxsize=65536)  # the minutes of a cell share its ends
def _grid_value(random: KeyedRandom, key: int, level: int, cell: int) -> float:
    return random.unit(key, _WALK, level, cell)
