"""Compare a listed order with the one asked for: pure functions over models."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

import attrs

from .._generated.models import (
    ComplexOrder,
    NewComplexOrder,
    NewOrder,
    NewOrderLeg,
    Order,
    OrderEdit,
    OrderLeg,
    PriceEffect,
)
from ..errors import ResponseDecodeError
from ..protocol.decoding.issues import Issues
from ..protocol.decoding.lenient import parse, structure_one

__all__ = [
    "asked_components",
    "complex_differs_in",
    "components_of",
    "differs_in",
    "successor_differs_in",
    "terms_of",
]

T = TypeVar("T")

REPORTED_TYPES = frozenset({"Marketable Limit", "Liquidity Allocation"})
"""Order types that the service may report in place of the requested one."""


def terms_of(body: bytes, model: type[T]) -> T | None:
    """Return the order or edit encoded in ``body``, or None when it cannot be decoded, which proves nothing."""
    try:
        terms: T = structure_one(model, parse(body), "$", Issues("journal", strict=True))
    except (ValueError, ResponseDecodeError):
        return None
    return terms


def differs_in(asked: NewOrder, order: Order) -> str | None:
    """Return the term in which ``order`` provably differs from the order ``asked`` for, or None.

    A term missing on either side proves nothing. An order created by an edit or a replacement keeps only the
    instruments and actions; an order that was replaced keeps its own terms.
    """
    edited = _is_edited(order)
    if _legs_differ(asked.legs, order.legs or (), edited=edited):
        return "legs"
    return None if edited else successor_differs_in(asked, order)


def _is_edited(order: Order) -> bool:
    return bool(order.replaces_order_id or (order.edited and not order.replacing_order_id))


def asked_components(asked: NewComplexOrder) -> list[NewOrder]:
    """Return the components asked for, the trigger order first."""
    return [*([asked.trigger_order] if asked.trigger_order is not None else []), *asked.orders]


def components_of(seen: ComplexOrder) -> list[Order]:
    """Return the components of a complex order, the trigger order first, each with the id of the complex order."""
    trigger, orders = seen.trigger_order, seen.orders or ()
    found = list(orders)
    if trigger is not None:
        found = [trigger, *(order for order in orders if order.id is None or order.id != trigger.id)]
    return [attrs.evolve(order, complex_order_id=seen.id or order.complex_order_id) for order in found]


def complex_differs_in(asked: NewComplexOrder, seen: ComplexOrder) -> str | None:
    """Return the term in which a complex order provably differs from the one ``asked`` for, or None.

    Every component counts: two complex orders may share one. The ratio of a pair may have been edited since. A
    component that is not shown proves nothing, one too many does.
    """
    if _differ(asked.type, seen.type):
        return "type"
    return None if _can_be_shown(asked_components(asked), components_of(seen)) else "components"


def _can_be_shown(asked: list[NewOrder], seen: list[Order]) -> bool:
    """Return True if each component seen can be another one of those asked for; an edited one may fit several."""
    if not seen:
        return True
    first, *rest = seen
    return any(
        not _component_differs(each, first) and _can_be_shown([other for other in asked if other is not each], rest)
        for each in asked
    )


def _component_differs(asked: NewOrder, seen: Order) -> bool:
    """Return True if a component is another one, by its identifier or terms; edits may change either."""
    if not _is_edited(seen) and _differ(asked.external_identifier, seen.external_identifier or None):
        return True
    return differs_in(asked, seen) is not None


def successor_differs_in(asked: NewOrder | OrderEdit, order: Order) -> str | None:
    """Return the term in which a replacement provably differs from the edit ``asked`` for, or None."""
    if order.order_type not in REPORTED_TYPES and _differ(asked.order_type, order.order_type):
        return "order type"
    if _differ(asked.time_in_force, order.time_in_force):
        return "time in force"
    if _differ(_amount(asked.stop_trigger), _amount(order.stop_trigger)):
        return "stop trigger"
    if _money_differs((asked.price, asked.price_effect), (order.price, order.price_effect)):
        return "price"
    if _money_differs((asked.value, asked.value_effect), (order.value, order.value_effect)):
        return "value"
    return None


def _differ(asked: object, seen: object) -> bool:
    return asked is not None and seen is not None and asked != seen


_Money = tuple[Decimal | None, PriceEffect | None]


def _amount(amount: Decimal | None) -> Decimal | None:
    if amount is None or not amount.is_finite():
        return None
    return amount.copy_abs()  # abs() would round, and fail on the largest ones


def _money_differs(asked: _Money, seen: _Money) -> bool:
    """Return True if two amounts differ, or carry opposite effects."""
    ours, theirs = _amount(asked[0]), _amount(seen[0])
    if ours is None or theirs is None:
        return False
    opposite = {asked[1], seen[1]} == {PriceEffect.DEBIT, PriceEffect.CREDIT}
    return ours != theirs or (opposite and ours != 0)


def _legs_differ(asked: Sequence[NewOrderLeg] | None, seen: Sequence[OrderLeg], *, edited: bool) -> bool:
    """Return True if the legs cannot be the same in any order."""
    if asked is None or not seen or not all(leg.symbol for leg in seen):
        return False
    left = list(seen)
    for leg in asked:
        match = next((each for each in left if not _leg_differs(leg, each, edited=edited)), None)
        if match is None:
            return True
        left.remove(match)
    return bool(left)


def _leg_differs(asked: NewOrderLeg, seen: OrderLeg, *, edited: bool) -> bool:
    if _differ(_symbol(asked.symbol), _symbol(seen.symbol)):
        return True
    action, shown = str(asked.action or ""), str(seen.action or "")
    plain = " " not in action or " " not in shown  # `Buy` may be reported as `Buy to Open`
    if action and shown and (action.split()[0] != shown.split()[0] if plain else action != shown):
        return True
    return not edited and _differ(_amount(asked.quantity), _amount(seen.quantity))


def _symbol(symbol: str | None) -> str | None:
    """Return the letters and digits of a symbol: padding and separators are written in several ways."""
    return None if symbol is None else "".join(filter(str.isalnum, symbol)).upper()
