"""Interventions in the life of an order from outside: a test or the control API fills, rejects or expires it."""

from __future__ import annotations

from decimal import Decimal

from ..._generated.models import OrderStatus
from .exchange import Exchange
from .order_store import OrderStore
from .orders import TRANSITIONS, Order

__all__ = ["Interventions"]

_FILLABLE = (OrderStatus.RECEIVED, OrderStatus.ROUTED, OrderStatus.LIVE, OrderStatus.REPLACE_REQUESTED)


class Interventions:
    """Moves orders whatever the market does. Each method raises ValueError where the status does not allow it."""

    def __init__(self, order_store: OrderStore, exchange: Exchange) -> None:
        self._order_store = order_store
        self._exchange = exchange

    def can_fill(self, order: Order) -> bool:
        """Return whether an order can be filled now."""
        return order.status in _FILLABLE

    def can_become(self, order: Order, status: OrderStatus) -> bool:
        """Return whether an order can be rejected or expire now."""
        return status in TRANSITIONS.get(order.status, ())

    def find(self, order_id: str) -> Order:
        """Return an order by its identifier, or raise LookupError."""
        order = self._order_store.find(order_id)
        if order is None:
            raise LookupError(f"unknown order {order_id}")
        return order

    def fill(self, order: Order, quantity: Decimal | None, price: Decimal | None, now: float) -> None:
        """Fill an order now, up to ``quantity`` of its first leg, at ``price`` or at market prices."""
        if not self.can_fill(order):
            raise ValueError(f"order {order.number} must be on its way or live to be filled, it is {order.status}")
        if price is not None and len(order.legs) > 1:
            raise ValueError(f"price must be left out for order {order.number}, which has {len(order.legs)} legs")
        units = _units_of(order, quantity)
        if order.status is OrderStatus.RECEIVED:
            self._order_store.move(order, OrderStatus.ROUTED, now)
        if order.status is OrderStatus.ROUTED:
            self._exchange.make_live(order, now)
        self._exchange.fill(order, units, now, price)
        if not order.is_terminal:
            self._exchange.evaluate(order, now)

    def reject(self, order: Order, reason: str, now: float) -> None:
        """Reject an order that is not live yet."""
        self._require(order, OrderStatus.REJECTED)
        order.reject_reason = reason
        self._order_store.move(order, OrderStatus.REJECTED, now)

    def expire(self, order: Order, now: float) -> None:
        """Expire a working order."""
        self._require(order, OrderStatus.EXPIRED)
        self._exchange.expire(order, now)

    def _require(self, order: Order, status: OrderStatus) -> None:
        if not self.can_become(order, status):
            raise ValueError(f"order {order.number} cannot become {status}, it is {order.status}")


def _units_of(order: Order, quantity: Decimal | None) -> int:
    """Return the units that a quantity of the first leg makes, all that remain for None."""
    remaining, units = order.legs[0].remaining, order.units
    part = units if quantity is None else quantity * units / remaining
    if not 0 < part <= units or part != int(part):
        raise ValueError(f"quantity must be a multiple of {remaining / units:f} up to {remaining:f}, got {quantity}")
    return int(part)
