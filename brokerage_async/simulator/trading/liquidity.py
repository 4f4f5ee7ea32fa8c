"""Quantities that orders can still take from the current quotes."""

from __future__ import annotations

from decimal import Decimal

from ..market.instrument import Instrument
from ..market.prices import Prices
from .orders import Order

__all__ = ["Liquidity"]


class Liquidity:
    """Sizes of the current quotes, less the quantities that were taken from them.

    A new quote brings a new size.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._taken: dict[tuple[str, bool], tuple[float, Decimal]] = {}

    def left(self, instrument: Instrument, now: float, *, buys: bool) -> Decimal | None:
        """Return the quantity that an order can take, None for any."""
        quote = self._prices.market(instrument, now)
        size = quote.ask_size if buys else quote.bid_size
        if size is None:
            return None
        since, taken = self._taken.get((instrument.symbol, buys), (quote.since, Decimal(0)))
        return max(Decimal(0), size - taken) if since == quote.since else size

    def take(self, instrument: Instrument, quantity: Decimal, now: float, *, buys: bool) -> None:
        """Record that an order took a quantity."""
        since = self._prices.market(instrument, now).since
        before, taken = self._taken.get((instrument.symbol, buys), (since, Decimal(0)))
        self._taken[instrument.symbol, buys] = since, quantity + (taken if before == since else Decimal(0))

    def units(self, order: Order, now: float) -> int:
        """Return how many of the remaining units of an order the market can fill now.

        An order for fractions of a share is filled as a whole, if there is any size.
        """
        units = order.units
        for leg in order.legs:
            left = self.left(leg.instrument, now, buys=leg.sign > 0)
            if left is not None and leg.remaining:
                is_whole = leg.remaining == leg.remaining.to_integral_value()
                units = min(units, int(left * order.units // leg.remaining) if is_whole else int(left > 0))
        return units
