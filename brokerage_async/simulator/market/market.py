"""Prices and trading hours.

The price of an underlying changes once a minute and stays within 0.2 % of its level, unless ``set_price`` puts it
somewhere else. Options are priced from their underlying by a plain rule. All of it is a function of seed and time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from ..._generated.models import OptionType
from ..keyed_random import Chance, key_of
from .calendar import CALENDARS, Session, local_date, local_epoch
from .catalogue import Catalogue
from .instrument import Instrument

__all__ = ["STEP", "Market"]

STEP = 60.0
"""Seconds between two changes of a price."""

_SWING = 0.002
_BEYOND_PRICES = 10**9
_SPREAD = Decimal("0.0002")


class Market:
    """What things cost, and when they trade."""

    def __init__(self, catalogue: Catalogue, chance: Chance) -> None:
        self._catalogue = catalogue
        self._chance = chance
        self._levels: dict[str, Decimal] = {}
        self._fixed: set[str] = set()
        self._listeners: list[Callable[[str, float], None]] = []
        self.version: int = 0
        """Counts how often somebody set a price."""

    def set_price(self, symbol: str, price: Decimal, now: float) -> None:
        """Put the price of an equity, future or cryptocurrency somewhere and keep it there.

        Raises:
            ValueError: ``price`` is not positive, or not below a thousand million.
        """
        if not price.is_finite() or not 0 < price < _BEYOND_PRICES:
            raise ValueError(f"a price is positive and below {_BEYOND_PRICES}, unlike {price}")
        self._levels[symbol] = price
        self._fixed.add(symbol)
        self.version += 1
        for listener in self._listeners:
            listener(symbol, now)

    def on_price(self, listener: Callable[[str, float], None]) -> None:
        """Have ``listener(symbol, now)`` called whenever a price is set."""
        self._listeners.append(listener)

    def underlying_price(self, symbol: str, now: float) -> Decimal:
        """The price of an underlying, to the cent (futures: to a thousandth)."""
        level = self._levels.get(symbol)
        if level is None:
            level = self._levels[symbol] = self._catalogue.base_price(symbol)
        if symbol in self._fixed:
            return level
        swing = self._chance.between(-_SWING, _SWING, key_of(symbol), int(now // STEP))
        places = 4 if level < 2 else 2
        return Decimal(round(float(level) * (1 + swing), places)).quantize(Decimal(1).scaleb(-places))

    def price(self, instrument: Instrument, now: float) -> Decimal:
        """The price of anything that is traded, per share or per unit of the underlying."""
        spot = self.underlying_price(instrument.underlying, now)
        if instrument.strike is None or instrument.expires is None:
            return spot
        inside = spot - instrument.strike if instrument.option_type is OptionType.CALL else instrument.strike - spot
        days = max(0, (instrument.expires - local_date(now)).days)
        distance = float(abs(inside)) / float(spot)
        time_value = float(spot) * 0.02 * (days / 30) ** 0.5 * max(0.0, 1 - 5 * distance)
        worth = float(max(inside, Decimal(0))) + time_value
        return max(Decimal("0.01"), Decimal(round(worth, 2)).quantize(Decimal("0.01")))

    def quote(self, symbol: str, field: str, now: float) -> Decimal | None:
        """A watched quote field of an underlying: Last, Bid or Ask; None for the fields that are not simulated."""
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

    def is_open(self, instrument: Instrument, now: float, *, extended: bool) -> bool:
        """Whether orders for it are matched at ``now``."""
        session = self.session(instrument, now, extended=extended)
        return session is None or session.spans(now, extended=extended)

    def session(self, instrument: Instrument, now: float, *, extended: bool) -> Session | None:
        """The session in which an order of ``now`` works; None for what trades around the clock."""
        if instrument.collection is None:
            return None
        return CALENDARS[instrument.collection].trading(now, extended=extended)

    def opening(self, instrument: Instrument, now: float, *, extended: bool) -> float:
        """When an order of ``now`` can be matched first: now, or the next opening (epoch seconds)."""
        session = self.session(instrument, now, extended=extended)
        if session is None:
            return now
        return max(now, session.start if extended else session.open)

    def closing(self, instrument: Instrument, now: float, *, extended: bool) -> float:
        """When a day order of ``now`` ends (epoch seconds)."""
        session = self.session(instrument, now, extended=extended)
        if session is None:
            return local_epoch(local_date(now) + timedelta(days=1), 0)
        return session.close_ext if extended else session.close
