"""Complex orders: a bracket, one order that cancels another, one that triggers others.

The rules of the schema are checked here already: number of components, trigger order, and the terms of each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from .._generated.models import ComplexOrderType, LegAction, NewComplexOrder, NewOrder, NewOrderLeg, OrderType
from ..errors import InvalidRequestError
from ..protocol.validation.requests import problems_of
from .legs import REVERSED

__all__ = ["bracket", "one_cancels_other", "one_triggers_other"]

STOPS = frozenset({OrderType.STOP, OrderType.STOP_LIMIT})


def bracket(entry: NewOrder, *, profit: NewOrder, loss: NewOrder) -> NewComplexOrder:
    """Build an OTOCO order: an entry and two exits that cancel each other.

    The fill of ``entry`` releases both exits, and the fill of one exit cancels the other. Each exit closes positions
    that the entry opens, at most in their quantity; `closing_legs` makes such legs.

    Args:
        entry: order that opens the position; also called trigger order.
        profit: Limit order that takes the profit.
        loss: Stop or Stop Limit order that limits the loss.

    Raises:
        InvalidRequestError: types or legs do not make a bracket, or an order breaks a rule; all problems are listed.
    """
    _check_type(entry=entry, profit=profit, loss=loss)
    if profit.order_type != OrderType.LIMIT:
        raise InvalidRequestError(f"profit must be a Limit order, got {profit.order_type}")
    if loss.order_type not in STOPS:
        raise InvalidRequestError(f"loss must be a Stop or Stop Limit order, got {loss.order_type}")
    made = _checked(NewComplexOrder(type=ComplexOrderType.OTOCO, trigger_order=entry, orders=(profit, loss)))
    closing = {(REVERSED.get(leg.action), leg.symbol): leg.quantity for leg in entry.legs}
    for name, order in (("profit", profit), ("loss", loss)):
        for leg in order.legs:
            _check_exit(name, leg, closing)
    return made


def one_cancels_other(first: NewOrder, second: NewOrder) -> NewComplexOrder:
    """Build an OCO order: two orders, of which the fill of one cancels the other.

    Both usually close a position that exists, such as a Limit order for the profit and a Stop order for the loss.

    Raises:
        InvalidRequestError: an order breaks a rule; all problems are listed.
    """
    _check_type(first=first, second=second)
    return _checked(NewComplexOrder(type=ComplexOrderType.OCO, orders=(first, second)))


def one_triggers_other(trigger: NewOrder, *orders: NewOrder) -> NewComplexOrder:
    """Build an OTO order: the fill of ``trigger`` releases one to three others.

    The others do not cancel one another; for that see `bracket`.

    Raises:
        InvalidRequestError: not one to three others, or an order breaks a rule; all problems are listed.
    """
    _check_type(trigger=trigger, **{f"orders[{number}]": order for number, order in enumerate(orders)})
    return _checked(NewComplexOrder(type=ComplexOrderType.OTO, trigger_order=trigger, orders=orders))


def _check_type(**orders: object) -> None:
    for name, order in orders.items():
        if not isinstance(order, NewOrder):
            raise InvalidRequestError(f"{name} must be a NewOrder, got {type(order).__name__}")


def _check_exit(name: str, leg: NewOrderLeg, closing: Mapping[tuple[LegAction | None, str], Decimal | None]) -> None:
    """Refuse a leg of an exit that closes something else, or more, than the entry opens."""
    key, said = (leg.action, leg.symbol), f"{leg.action} of {leg.quantity} {leg.symbol}"
    if key not in closing:
        raise InvalidRequestError(f"{name} must close positions that the entry opens, got {said}: see closing_legs")
    opened = closing[key]
    if opened is not None and leg.quantity is not None and leg.quantity > opened:
        raise InvalidRequestError(f"{name} must close at most the {opened:f} that the entry opens, got {said}")


def _checked(order: NewComplexOrder) -> NewComplexOrder:
    """Return a complex order that keeps the rules of the schema."""
    if problems := problems_of(order):
        raise InvalidRequestError(f"invalid {order.type} order", errors=problems)
    return order
