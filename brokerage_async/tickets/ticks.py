"""Prices on ticks: the smallest price steps that a venue accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Context, Decimal, localcontext
from typing import Literal

from .._decimals import MAX_DIGITS, Amount
from .._generated.models import NewOrder, TickSize
from ..errors import InvalidRequestError
from .orders import not_negative

Band = tuple[Decimal, Decimal | None, Decimal]
"""Lowest price, first price above (None: without end), and the step between the prices of a range."""

MOST_PRICES = 1000

EXACT = Context(prec=4 * MAX_DIGITS)


def round_to_tick(
    price: Amount, tick_sizes: Iterable[TickSize], toward: Literal["nearest", "buyer", "seller"] = "nearest"
) -> Decimal:
    """Round a price to a multiple of its tick.

    A row of the table with a threshold applies below it, the row without one applies above all others::

        equity = await client.instruments.equity("AAPL")
        round_to_tick("2.337", equity.option_tick_sizes)  # Decimal("2.34"), with a tick of a cent below 3 dollars

    Args:
        price: the price, without sign.
        tick_sizes: the table of the instrument: ``tick_sizes`` of an equity or a future, ``option_tick_sizes`` of the
            underlying of an option.
        toward: ``"nearest"``, and up from halfway; ``"buyer"`` rounds down, ``"seller"`` rounds up.

    Raises:
        InvalidRequestError: the table does not cover the price, or an argument is not one of the above.
    """
    if toward not in ("nearest", "buyer", "seller"):
        raise InvalidRequestError(f"toward must be 'nearest', 'buyer' or 'seller', got {toward!r}")
    number = not_negative("price", price)
    below, above = neighbours(number, tick_sizes)
    with localcontext(EXACT):
        up = toward == "seller" or (toward == "nearest" and above - number <= number - below)
    return above if up else below


def prices_toward(
    start: Amount, goal: Amount, tick_sizes: Iterable[TickSize], *, ticks: int = 1
) -> tuple[Decimal, ...]:
    """Return the prices from ``start`` to ``goal``, every ``ticks`` ticks, for `OrderEntry.work`.

    A buyer works an order from the bid up toward the middle, a seller from the ask down::

        [quote] = await client.market_data.by_type(equity=["AAPL"])
        prices_toward(quote.bid, (quote.bid + quote.ask) / 2, equity.tick_sizes)

    None is beyond ``goal``, and the first one is the tick at ``start``, or the next one behind it.

    Raises:
        InvalidRequestError: the table does not cover a price, ``ticks`` is not a number from 1, or there would be more
            than 1000 prices.
    """
    rows = tuple(tick_sizes)
    first, last = not_negative("start", start), not_negative("goal", goal)
    if isinstance(ticks, bool) or not isinstance(ticks, int) or ticks < 1:
        raise InvalidRequestError(f"ticks must be a whole number of at least 1, got {ticks!r}")
    rises = first <= last
    price = round_to_tick(first, rows, "buyer" if rises else "seller")
    half = min(row.value or price for row in rows) / 2
    found = list[Decimal]()
    while price <= last if rises else price >= last:
        found.append(price)
        if len(found) > MOST_PRICES:
            raise InvalidRequestError(f"goal must be at most {MOST_PRICES} steps from start, got more: raise ticks")
        if price == last:
            break
        for _ in range(ticks):
            price = neighbours(price + half, rows)[1] if rises else neighbours(price - half, rows)[0]
    return tuple(found)


def check_ticks(order: NewOrder, tick_sizes: Iterable[TickSize]) -> None:
    """Raise InvalidRequestError for a price or trigger between two ticks, and name both."""
    rows = tuple(tick_sizes)
    for name in ("price", "stop_trigger"):
        amount = getattr(order, name)
        if amount is None:
            continue
        below, above = neighbours(amount, rows)
        if amount not in (below, above):
            raise InvalidRequestError(
                f"{name} must be on a tick, got {amount:f}: the nearest are {below:f} and {above:f}", code="off_tick"
            )


def neighbours(price: Decimal, tick_sizes: Iterable[TickSize]) -> tuple[Decimal, Decimal]:
    """Return the highest price on a tick up to ``price``, and the lowest from it on: twice the same on a tick."""
    below, above = list[Decimal](), list[Decimal]()
    with localcontext(EXACT):
        for start, end, tick in _bands(tick_sizes):
            last = price if end is None else min(price, end)
            number = last // tick * tick
            below += [number - tick if number == end else number]
            first = max(price, start)
            number = first // tick * tick
            above += [number if number == first else number + tick]
            if below[-1] < start:
                below.pop()
            if end is not None and above[-1] >= end:
                above.pop()
    if not above:
        raise InvalidRequestError(f"tick_sizes must cover the price, got none for {price:f}")
    return max(below), min(above)


def _bands(tick_sizes: Iterable[TickSize]) -> Iterator[Band]:
    """Yield the ranges of a table, lowest first."""
    rows = tuple(tick_sizes)
    if any(not isinstance(row, TickSize) for row in rows):
        raise InvalidRequestError("tick_sizes must be the TickSize rows of an instrument")
    if any(row.value is None or row.value <= 0 for row in rows) or not rows:
        raise InvalidRequestError(f"tick_sizes must be rows with a value above zero, got {list(rows)}")
    if len({row.threshold for row in rows}) < len(rows):
        raise InvalidRequestError("tick_sizes must have one row for each threshold: choose the rows of one instrument")
    start = Decimal(0)
    for row in sorted(rows, key=lambda row: (row.threshold is None, row.threshold or 0)):
        yield start, row.threshold, row.value or Decimal(0)
        start = row.threshold or start
