"""Strikes of one expiration, and the selection of one by price or moneyness."""

from __future__ import annotations

import operator
from datetime import date
from decimal import Decimal

import attrs

from .._generated.models import FuturesOptionChain, FuturesOptionExpiration, NestedOptionChain, OptionExpiration
from .._generated.models import OptionStrike as StrikeRow
from .._terms import Amount, exact
from ..errors import InvalidRequestError

HUNDRED = Decimal(100)


@attrs.frozen
class Strike:
    """Strike price with the symbols of its call and put.

    Attributes:
        price: strike price, in dollars per share or points of the future.
        row: row of the service, with the streamer symbols.
    """

    price: Decimal
    row: StrikeRow = attrs.field(repr=False)

    @property
    def call(self) -> str:
        """Symbol of the call. Raises `InvalidRequestError` if only the put is listed."""
        return self.option("C")

    @property
    def put(self) -> str:
        """Symbol of the put. Raises `InvalidRequestError` if only the call is listed."""
        return self.option("P")

    def lists(self, option_type: str) -> bool:
        """Return whether the call (``C``) or the put (``P``) is listed."""
        return bool(self.row.call if _is_call(option_type) else self.row.put)

    def option(self, option_type: str) -> str:
        """Return the symbol of the call (``C``) or of the put (``P``).

        Raises:
            InvalidRequestError: that one is not listed at this strike.
        """
        symbol = self.row.call if _is_call(option_type) else self.row.put
        if not symbol:
            kind = "call" if _is_call(option_type) else "put"
            raise InvalidRequestError(f"strike must be one with a {kind}, got {self.price:f}: choose another strike")
        return symbol


@attrs.frozen
class Expiration:
    """Options of one root that expire together.

    Attributes:
        day: day of expiration.
        days: calendar days to expiration when the service answered, 0 on the last day. None if it gave none.
        root: root of the option symbols, such as ``SPXW`` or ``EW3``.
        underlying: underlying, such as ``SPX``, or the future, such as ``/ESZ6``.
        settlement: time of settlement, ``AM`` or ``PM``.
        cycle: expiration cycle, such as ``Regular`` (monthly), ``Weekly``, ``Quarterly``, ``End-Of-Month``.
        strikes: strikes, the lowest first. Each price once.
        row: row of the service, with tick sizes and times of futures options.
        chain: chain of the row, with shares per contract, deliverables or the exercise style.
    """

    day: date
    days: int | None
    root: str
    underlying: str
    settlement: str
    cycle: str
    strikes: tuple[Strike, ...] = attrs.field(repr=lambda strikes: f"<{len(strikes)} strikes>")
    row: OptionExpiration | FuturesOptionExpiration = attrs.field(repr=False)
    chain: NestedOptionChain | FuturesOptionChain = attrs.field(repr=False)

    def __str__(self) -> str:
        return f"{self.root} {self.day} {self.settlement}".rstrip()

    def strike(self, *, near: Amount | None = None, at: Amount | None = None) -> Strike:
        """Return one strike.

        Args:
            near: price whose nearest strike is returned. The lower one if two are equally near.
            at: exact strike price.

        Raises:
            InvalidRequestError: not exactly one of the two is given, or the expiration does not list the strike.
        """
        if (near is None) == (at is None):
            raise InvalidRequestError("exactly one of near and at must be given to choose a strike")
        if near is not None:
            return self.nearest(near, 1)[0]
        price = exact("at", at if at is not None else 0)
        for strike in self.strikes:
            if strike.price == price:
                return strike
        close = ", ".join(f"{strike.price:f}" for strike in self.nearest(price, 2))
        raise InvalidRequestError(f"strike must be one that {self} lists, got {price:f}: the nearest are {close}")

    def nearest(self, around: Amount, count: int) -> tuple[Strike, ...]:
        """Return the ``count`` strikes nearest to a price, the lowest first. All of them if there are fewer.

        Of two strikes equally near the lower one counts as nearer.

        Raises:
            InvalidRequestError: the count is below 1, or the price is not a number.
        """
        price = exact("around", around)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InvalidRequestError(f"count must be an int of at least 1, got {count!r}")
        by_distance = sorted(self.strikes, key=lambda strike: (abs(strike.price - price), strike.price))
        return tuple(sorted(by_distance[:count], key=operator.attrgetter("price")))

    def out_of_the_money(
        self, option_type: str, price: Amount, *, strikes: int | None = None, percent: Amount | None = None
    ) -> Strike:
        """Return a strike out of the money by a number of strikes, or by a percentage of the price.

        Calls are out of the money above the price, puts below it. Strikes that do not list the type are skipped.

        Args:
            option_type: ``C`` for a call, ``P`` for a put.
            price: price of the underlying.
            strikes: position beyond the price: 1 for the first strike strictly out of the money.
            percent: least distance in percent: the first strike at least that far away, never a nearer one.

        Raises:
            InvalidRequestError: invalid arguments, or the expiration lists no strike that far away.
        """
        if (strikes is None) == (percent is None):
            raise InvalidRequestError("exactly one of strikes and percent must be given")
        spot, sign = exact("price", price), 1 if _is_call(option_type) else -1
        away = [(sign * (strike.price - spot), strike) for strike in self.strikes if strike.lists(option_type)]
        away.sort(key=operator.itemgetter(0))
        if percent is not None:
            share, position = exact("percent", percent), 1
            if share < 0:
                raise InvalidRequestError(
                    f"percent must not be negative, got {percent!r}; the option type is the direction"
                )
            least = abs(spot) * share
            found = [strike for distance, strike in away if distance * HUNDRED >= least]
        else:
            if not isinstance(strikes, int) or isinstance(strikes, bool) or strikes < 1:
                raise InvalidRequestError(f"strikes must be an int of at least 1, got {strikes!r}")
            position = strikes
            found = [strike for distance, strike in away if distance > 0]
        if len(found) < position:
            wanted = f"{percent} percent" if percent is not None else f"number {position}"
            raise InvalidRequestError(
                f"strike must be one that {self} lists for {option_type} out of the money, got {wanted} from {spot:f}: "
                f"choose a nearer one"
            )
        return found[position - 1]


def _is_call(option_type: str) -> bool:
    if option_type not in ("C", "P"):
        raise InvalidRequestError(f"option_type must be C or P, got {option_type!r}")
    return option_type == "C"
