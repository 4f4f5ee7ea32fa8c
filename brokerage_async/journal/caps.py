"""Caps that a journal enforces when it opens an entry, and the reasons for its refusals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal

import attrs

from ..errors import ErrorDetail

MINUTE, DAY = 60.0, 86_400.0
SCALE = 1_000_000
LARGEST = 10**17
"""Amounts are stored as integers, in millionths: databases add decimals inexactly. No cap allows larger ones."""
MOST = Decimal(LARGEST - 1) / SCALE
"""What a cap leaves at most."""


def stored(amount: Decimal) -> int:
    """Return an amount in its stored form, rounded up."""
    if not amount:
        return 0
    return int(min(amount * SCALE, Decimal(LARGEST)).to_integral_value(ROUND_CEILING))


@attrs.frozen
class Cap:
    """A sum over a sliding window of ``seconds``: of values if ``is_value``, else of orders."""

    seconds: float
    is_value: bool


@attrs.frozen(kw_only=True)
class Usage:
    """An order's share of the caps of its guard, and these caps. None for a cap that does not bind.

    Attributes:
        value: value of the order in dollars.
        underlying: symbol whose net position is capped, or empty.
        bought, sold: quantity that it may add to either side of the net position.
        max_value_per_minute, max_value_per_day, max_orders_per_minute, max_orders_per_day: caps on the sums of all
            entries of the environment that have a value.
        max_net_quantity: cap on the net position. ``held_long`` and ``held_short`` is how much of it positions and
            working orders use, at worst. Entries of the account and underlying are added that are open, or were
            closed after ``since``, but for those that these sums ``include``, by their external identifiers.
    """

    value: Decimal = Decimal(0)
    underlying: str = ""
    bought: Decimal = Decimal(0)
    sold: Decimal = Decimal(0)
    max_value_per_minute: Decimal | None = None
    max_value_per_day: Decimal | None = None
    max_orders_per_minute: int | None = None
    max_orders_per_day: int | None = None
    max_net_quantity: Decimal | None = None
    held_long: Decimal = Decimal(0)
    held_short: Decimal = Decimal(0)
    since: datetime | None = None
    includes: Collection[str] = ()


WINDOWS = {
    "max_value_per_minute": Cap(MINUTE, is_value=True),
    "max_value_per_day": Cap(DAY, is_value=True),
    "max_orders_per_minute": Cap(MINUTE, is_value=False),
    "max_orders_per_day": Cap(DAY, is_value=False),
}


def objections(
    usage: Usage, earlier: Sequence[tuple[datetime, Decimal]], net: tuple[Decimal, Decimal], now: datetime
) -> tuple[list[ErrorDetail], datetime | None]:
    """Return a detail for each cap that an order would pass, and when all windows are free again, if ever.

    ``earlier`` has times and values of the entries that count, oldest first. ``net`` has what open entries may buy and
    sell. The statements of the journal decide in the same way, and this says why.
    """
    found, free = list[ErrorDetail](), list[datetime | None]()
    for name, cap in WINDOWS.items():
        limit = getattr(usage, name)
        if limit is None:
            continue
        limit = min(Decimal(limit), MOST)
        shares = [
            (at, value if cap.is_value else Decimal(1))
            for at, value in earlier
            if at > now - timedelta(seconds=cap.seconds)
        ]
        used, needed = sum((share for _, share in shares), Decimal(0)), usage.value if cap.is_value else Decimal(1)
        if used + needed <= limit:
            continue
        at = _free_at(shares, needed, limit, cap.seconds)
        free.append(at)
        unit = "dollars are" if cap.is_value else "orders are"
        when = f"free again at {at.isoformat(timespec='seconds')}" if at else "it can never have as much"
        taken, most, more = (f"{Decimal(each).normalize():f}" for each in (used, limit, needed))
        text = f"{taken} of {most} {unit} used, this one needs {more}: {when}"
        found.append(ErrorDetail(name, text, name))
    if usage.max_net_quantity is not None:
        for side, held, opened, added in (
            ("long", usage.held_long, net[0], usage.bought),
            ("short", usage.held_short, net[1], usage.sold),
        ):
            if added > 0 and opened + added > min(usage.max_net_quantity - held, MOST):
                text = (
                    f"{(held + opened).normalize():f} of {usage.max_net_quantity:f} {usage.underlying} {side} are used "
                    f"at worst, this one needs {added.normalize():f}: free again when orders or positions end"
                )
                found.append(ErrorDetail("max_net_quantity", text, "max_net_quantity"))
                free.append(None)
    return found, None if None in free else max((at for at in free if at), default=None)


def _free_at(
    shares: Sequence[tuple[datetime, Decimal]], needed: Decimal, limit: Decimal, seconds: float
) -> datetime | None:
    """Return when enough shares have left the window, or None if that is never so."""
    left = sum((share for _, share in shares), Decimal(0))
    for at, share in shares:
        left -= share
        if left + needed <= limit:
            return at + timedelta(seconds=seconds)
    return None
