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
MAX_SUM = 2**62
"""Sums are stored in eight bytes, and are no larger than this: far above what a cap leaves."""


def stored(amount: Decimal) -> int:
    """Return an amount in its stored form, rounded up."""
    if not amount:
        return 0
    return int(min(amount * SCALE, Decimal(LARGEST)).to_integral_value(ROUND_CEILING))


def amount(share: int) -> Decimal:
    return Decimal(int(share)) / SCALE


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
    "max_value_per_minute": (1, MINUTE), "max_value_per_day": (3, DAY),
    "max_orders_per_minute": (0, MINUTE), "max_orders_per_day": (2, DAY),
}  # fmt: skip
"""Place of the sum that each cap bounds, and its sliding window. Sums at even places count orders, others values."""


@attrs.frozen
class Excess:
    """A cap that an order would pass, with what is used of it and what the order needs of its ``unit``."""

    cap: str
    used: Decimal
    needed: Decimal
    limit: Decimal
    unit: str


def excesses(usage: Usage, sums: Sequence[int], net: tuple[Decimal, Decimal]) -> list[Excess]:
    """Return the caps that an order would pass.

    ``sums`` are stored ones: orders and values of a minute, then of a day. ``net`` has what open entries may buy and
    sell.
    """
    found = list[Excess]()
    for cap, (place, _) in WINDOWS.items():
        limit = getattr(usage, cap)
        if limit is not None:
            is_value, limit, used = place % 2 == 1, min(Decimal(limit), MOST), Decimal(int(sums[place]))
            used, needed, unit = (used / SCALE, usage.value, "dollars") if is_value else (used, Decimal(1), "orders")
            if used + needed > limit:
                found.append(Excess(cap, used, needed, limit, unit))
    if usage.max_net_quantity is not None:
        for side, held, opened, added in (
            ("long", usage.held_long, net[0], usage.bought),
            ("short", usage.held_short, net[1], usage.sold),
        ):
            if added > 0 and opened + added > min(usage.max_net_quantity - held, MOST):
                unit = f"{usage.underlying} {side}"
                found.append(Excess("max_net_quantity", held + opened, added, usage.max_net_quantity, unit))
    return found


def objections(
    found: Sequence[Excess], earlier: Sequence[tuple[datetime, Decimal]], now: datetime
) -> tuple[tuple[ErrorDetail, ...], datetime | None]:
    """Return a detail for each cap that an order would pass, and when all windows are free again, if ever.

    ``earlier`` has times and values of the entries that count, oldest first.
    """
    details, free = list[ErrorDetail](), list[datetime | None]()
    for each in found:
        used, limit, needed = (f"{Decimal(number).normalize():f}" for number in (each.used, each.limit, each.needed))
        at = _free_at(each, earlier, now)
        free.append(at)
        if each.cap in WINDOWS:
            when = f"free again at {at.isoformat(timespec='seconds')}" if at else "it can never have as much"
            text = f"{used} of {limit} {each.unit} are used, this one needs {needed}: {when}"
        else:
            text = (
                f"{used} of {each.limit:f} {each.unit} are used at worst, this one needs {needed}: free again when "
                "orders or positions end"
            )
        details.append(ErrorDetail(each.cap, text, each.cap))
    return tuple(details), None if None in free else max((at for at in free if at), default=None)


def _free_at(excess: Excess, earlier: Sequence[tuple[datetime, Decimal]], now: datetime) -> datetime | None:
    """Return when enough of the earlier entries have left the window, or None if that is never so."""
    if excess.cap not in WINDOWS:
        return None
    place, seconds = WINDOWS[excess.cap]
    window = timedelta(seconds=seconds)
    shares = [(at, value if place % 2 else Decimal(1)) for at, value in earlier if at > now - window]
    left, free_at = sum((share for _, share in shares), Decimal(0)), now
    for at, share in shares:
        if left + excess.needed <= excess.limit:
            break
        left, free_at = left - share, at + window
    return free_at if left + excess.needed <= excess.limit else None
