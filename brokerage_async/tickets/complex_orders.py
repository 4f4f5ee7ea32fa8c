"""Complex orders: a bracket, one order that cancels another, one that triggers others, a pair.

The rules of the schema are checked here already: number of components, trigger order, and the terms of each of them.
"""

from __future__ import annotations

import attrs

from .._arguments import Amount
from .._generated.models import TAKES, Comparator, ComplexOrderType, NewComplexOrder, NewOrder, OrderType
from ..errors import InvalidRequestError
from .orders import BUYING, REVERSED, STRICT, checked, positive

STOPS = [kind for kind, terms in TAKES.items() if "stop_trigger" in terms]


def bracket(entry: NewOrder, *, profit: NewOrder, loss: NewOrder) -> NewComplexOrder:
    """Build an OTOCO order: an entry and two exits that cancel each other.

    The fill of ``entry`` releases both exits, and the fill of one exit cancels the other. Each exit closes positions
    that the entry opens, at most in their quantity; `closing_legs` makes such legs. For a single leg the prices must
    be the right way round: profit above loss for a long position, below it for a short one.

    Args:
        entry: order that opens the position. Also called trigger order.
        profit: Limit order that takes the profit.
        loss: order with a stop trigger, such as a Stop order, that limits the loss.

    Raises:
        InvalidRequestError: types, legs or prices do not make a bracket, or orders break rules. All rules are listed.
    """
    _check_type(entry=entry, profit=profit, loss=loss)
    if profit.order_type != OrderType.LIMIT:
        raise InvalidRequestError(f"profit must be a Limit order, got {profit.order_type}")
    if loss.order_type not in STOPS:
        raise InvalidRequestError(f"loss must be a {' or '.join(STOPS)} order, got {loss.order_type}")
    made = _checked(NewComplexOrder(type=ComplexOrderType.OTOCO, trigger_order=entry, orders=(profit, loss)))
    closing = {(REVERSED.get(leg.action), leg.symbol): leg.quantity for leg in entry.legs}
    for name, leg in [*(("profit", leg) for leg in profit.legs), *(("loss", leg) for leg in loss.legs)]:
        said = f"{leg.action} of {leg.quantity} {leg.symbol}"
        if (leg.action, leg.symbol) not in closing:
            raise InvalidRequestError(f"{name} must close positions that the entry opens, got {said}: see closing_legs")
        opened = closing[leg.action, leg.symbol]
        if opened is not None and leg.quantity is not None and leg.quantity > opened:
            raise InvalidRequestError(f"{name} must close at most the {opened:f} that the entry opens, got {said}")
    _check_prices(entry, profit, loss)
    return made


def one_cancels_other(first: NewOrder, second: NewOrder) -> NewComplexOrder:
    """Build an OCO order: two orders, and a fill of either cancels the other.

    Both usually close a position that exists, such as a Limit order for the profit and a Stop order for the loss.

    Raises:
        InvalidRequestError: an order breaks a rule. All problems are listed.
    """
    _check_type(first=first, second=second)
    return _checked(NewComplexOrder(type=ComplexOrderType.OCO, orders=(first, second)))


def one_triggers_other(trigger: NewOrder, *orders: NewOrder) -> NewComplexOrder:
    """Build an OTO order: the fill of ``trigger`` releases one to three others.

    The others do not cancel one another. For that see `bracket`.

    Raises:
        InvalidRequestError: not one to three others, or an order breaks a rule. All problems are listed.
    """
    _check_type(trigger=trigger, **{f"orders[{number}]": order for number, order in enumerate(orders)})
    return _checked(NewComplexOrder(type=ComplexOrderType.OTO, trigger_order=trigger, orders=orders))


def pair(
    first: NewOrder,
    second: NewOrder,
    *,
    at_least: Amount | None = None,
    at_most: Amount | None = None,
    by_value: bool = False,
) -> NewComplexOrder:
    """Build a PAIRS order: two orders that wait for a ratio of their prices.

    Both are routed when the ratio meets the threshold. The service publishes no example of it, and does not say which
    price is the divisor: look at the answer of ``client.complex_orders.dry_run`` first. ``edit_pairs`` changes
    the threshold later.

    Args:
        first: order of one side. Single legs must be of different instruments, one bought and the other sold.
        second: order of the other side.
        at_least: lowest ratio that routes the orders.
        at_most: highest ratio that routes the orders. Exactly one of the two is given.
        by_value: compare amounts of money instead of prices.

    Raises:
        InvalidRequestError: not exactly one threshold above zero, the orders do not make a pair, or one of them breaks
            a rule. All problems are listed.
    """
    _check_type(first=first, second=second)
    given = [(Comparator.GTE, at_least), (Comparator.LTE, at_most)]
    bounds = [(comparator, positive("ratio", ratio)) for comparator, ratio in given if ratio is not None]
    if len(bounds) != 1:
        raise InvalidRequestError(f"exactly one of at_least and at_most must be given, got {len(bounds)}")
    [(comparator, threshold)] = bounds
    made = _checked(
        NewComplexOrder(
            type=ComplexOrderType.PAIRS,
            orders=(first, second),
            ratio_price_comparator=comparator,
            ratio_price_threshold=threshold,
            ratio_price_is_threshold_based_on_notional=True if by_value else None,
        )
    )
    _check_sides(first, second)
    return made


def _check_type(**orders: object) -> None:
    for name, order in orders.items():
        if not isinstance(order, NewOrder):
            raise InvalidRequestError(f"{name} must be a NewOrder, got {type(order).__name__}")


def _check_prices(entry: NewOrder, profit: NewOrder, loss: NewOrder) -> None:
    """Refuse prices of single-leg orders that are the wrong way round. Prices of several legs are net amounts."""
    if any(len(order.legs) != 1 for order in (entry, profit, loss)):
        return
    is_long = entry.legs[0].action in BUYING
    gain, trigger = profit.price, loss.stop_trigger
    limit = entry.price if entry.order_type == OrderType.LIMIT else None
    side, direction = ("long", "above") if is_long else ("short", "below")
    if gain is not None and trigger is not None and (gain <= trigger if is_long else gain >= trigger):
        raise InvalidRequestError(
            f"profit of a {side} position must be {direction} the trigger of loss, got {gain:f} and {trigger:f}"
        )
    if limit is not None and trigger is not None and (limit <= trigger if is_long else limit >= trigger):
        raise InvalidRequestError(
            f"entry of a {side} position must be {direction} the trigger of loss, which would be met at once, "
            f"got {limit:f} and {trigger:f}"
        )


def _check_sides(first: NewOrder, second: NewOrder) -> None:
    """Refuse two orders of one leg each that have the same instrument or the same side."""
    if len(first.legs) != 1 or len(second.legs) != 1:
        return
    one, other = first.legs[0], second.legs[0]
    if one.symbol == other.symbol:
        raise InvalidRequestError(f"orders of a pair must be of different instruments, got {one.symbol} twice")
    if (one.action in BUYING) == (other.action in BUYING):
        raise InvalidRequestError(
            f"one order of a pair must buy and the other sell, got {one.action} of {one.symbol} "
            f"and {other.action} of {other.symbol}"
        )


def _checked(order: NewComplexOrder) -> NewComplexOrder:
    """Return a complex order that keeps the rules of the service.

    Only the orders of an OCO order ask for strict validation: behind a trigger order the position does not exist yet,
    and no recording shows the outcome there.
    """
    if order.type != ComplexOrderType.OCO:
        trigger = order.trigger_order and _without_validation(order.trigger_order)
        order = attrs.evolve(order, trigger_order=trigger, orders=tuple(map(_without_validation, order.orders)))
    return checked(order)


def _without_validation(order: NewOrder) -> NewOrder:
    return attrs.evolve(order, advanced_instructions=None) if order.advanced_instructions == STRICT else order
