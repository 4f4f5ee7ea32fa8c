"""The life of an order: phases of statuses, what may follow each, and when nothing more comes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from .._generated.models import Order
from .._generated.order_statuses import ORDER_STATUSES

TERMINAL: frozenset[str] = frozenset(name for name, row in ORDER_STATUSES.items() if row.phase == "terminal")
"""Statuses that no other one follows. Fills of a multi-leg order may still come, see `is_complete`."""

TRANSITIONS: Mapping[str, frozenset[str]] = {name: frozenset(row.followed_by) for name, row in ORDER_STATUSES.items()}
"""Statuses that may follow each status."""


def is_terminal(order: Order) -> bool:
    """Return True if the status of ``order`` is final; `is_complete` says whether it shows all its fills.

    An unknown status counts as terminal if the order has a ``terminal_at``.
    """
    is_known = order.status is not None and order.status.is_known
    return order.status in TERMINAL if is_known else order.terminal_at is not None


def is_complete(order: Order) -> bool:
    """Return True if an order is terminal and shows every fill that its legs must have.

    A multi-leg order can be `Filled` once its first leg is done, and the fills of the others come later. All legs of a
    `Filled` order must be filled whole. The legs of other terminal orders must be filled in proportion to one another,
    which is a guess.
    """
    if order.status not in TERMINAL:
        return False
    parts = []
    for leg in order.legs or ():
        filled = sum((fill.quantity or Decimal(0) for fill in leg.fills or ()), Decimal(0))
        parts.append((filled, leg.quantity or filled))  # an order for an amount of money may show no quantity
    if order.status == "Filled":
        return all(filled > 0 and filled >= quantity for filled, quantity in parts)
    most, of = max(parts, key=lambda part: part[0] / part[1] if part[1] else 0, default=(Decimal(0), Decimal(1)))
    return all(filled * of >= most * quantity for filled, quantity in parts)
