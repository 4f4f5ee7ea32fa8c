"""Simulated market prices.

The price of an underlying changes once a minute and stays within 0.2 % of its level, unless ``set_price`` fixes it.
Options are priced from their underlying by a simple rule. All prices are a function of seed and time.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from ..._generated.models import OptionType
from ..keyed_random import KeyedRandom, key_of
from .calendar import local_date
from .catalogue import Catalogue
from .instrument import Instrument

__all__ = ["IMPLIED_VOLATILITY", "PRICE_INTERVAL", "Prices"]

PRICE_INTERVAL = 60.0
"""Seconds between two price changes."""

_MONTH_VALUE = 0.02
"""Time value of an option at the money with 30 days left, as a part of the spot price."""

IMPLIED_VOLATILITY: float = _MONTH_VALUE / 0.4 * (365 / 30) ** 0.5
"""Annual volatility that all option prices imply, as a fraction: 0.4 * volatility * spot * sqrt(years) at the money."""

_SWING = 0.002
_PRICE_LIMIT = 10**9
_SPREAD = Decimal("0.0002")


class Prices:
    """Market prices of underlyings and options."""

    def __init__(self, catalogue: Catalogue, random: KeyedRandom) -> None:
        self._catalogue = catalogue
        self._random = random
        self._levels: dict[str, Decimal] = {}
        self._fixed: dict[str, list[tuple[float, Decimal]]] = {}
        self._listeners: list[Callable[[str, float], None]] = []
        self.version: int = 0
        """Number of times a price was set."""

    def set_price(self, symbol: str, price: Decimal, now: float) -> None:
        """Set and hold the price of an equity, future or cryptocurrency.

        Raises:
            ValueError: ``price`` is not positive, or not below 10**9.
        """
        if not price.is_finite() or not 0 < price < _PRICE_LIMIT:
            raise ValueError(f"price must be positive and below {_PRICE_LIMIT}, got {price}")
        self._fixed.setdefault(symbol, []).append((now, price))
        self.version += 1
        for listener in self._listeners:
            listener(symbol, now)

    def on_price(self, listener: Callable[[str, float], None]) -> None:
        """Call ``listener(symbol, now)`` whenever a price is set."""
        self._listeners.append(listener)

    def is_known(self, symbol: str) -> bool:
        """Return whether an underlying is listed, rather than priced by its name alone."""
        return self._catalogue.is_underlying(symbol)

    def underlying_price(self, symbol: str, now: float) -> Decimal:
        """Return the price of an underlying at any time: to the cent, with more places below 2 dollars."""
        for since, price in reversed(self._fixed.get(symbol, ())):
            if since <= now:
                return price
        level = self._levels.get(symbol)
        if level is None:
            level = self._levels[symbol] = self._catalogue.base_price(symbol)
        swing = self._random.between(-_SWING, _SWING, key_of(symbol), int(now // PRICE_INTERVAL))
        places = _places(level)
        return Decimal(round(float(level) * (1 + swing), places)).quantize(Decimal(1).scaleb(-places))

    def price(self, instrument: Instrument, now: float) -> Decimal:
        """Return the price of an instrument, per share or per unit of the underlying."""
        spot = self.underlying_price(instrument.underlying, now)
        if instrument.strike is None or instrument.expires is None:
            return spot
        inside = spot - instrument.strike if instrument.option_type is OptionType.CALL else instrument.strike - spot
        days = max(0, (instrument.expires - local_date(now)).days)
        distance = float(abs(inside)) / float(spot)
        time_value = float(spot) * _MONTH_VALUE * (days / 30) ** 0.5 * max(0.0, 1 - 5 * distance)
        worth = float(max(inside, Decimal(0))) + time_value
        places = _places(spot)
        least = Decimal(1).scaleb(-places)
        return max(least, Decimal(round(worth, places)).quantize(least))

    def quote(self, symbol: str, field: str, now: float) -> Decimal | None:
        """Return a quote field of an underlying (Last, Mark, Bid or Ask), None for other fields."""
        last = self.underlying_price(symbol, now)
        match field:
            case "Last" | "Mark":
                return last
            case "Bid":
                return (last * (1 - _SPREAD)).quantize(last)
            case "Ask":
                return (last * (1 + _SPREAD)).quantize(last)
            case _:
                return None


def _places(level: Decimal) -> int:
    """Return the decimal places of prices around a level."""
    return 2 if level >= 2 else 4 if level >= Decimal("0.1") else 7
