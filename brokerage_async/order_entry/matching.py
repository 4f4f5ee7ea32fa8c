"""Compare a listed order with the one asked for: pure functions over models."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

import attrs

from .._generated.models import (
    ComplexOrder,
    Fill,
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
    "complex_effect_changes",
    "components_of",
    "differs_in",
    "effect_changes",
    "fills_of",
    "is_edited",
    "parts_of",
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
    """Return the term that provably differs between ``order`` and the order ``asked`` for, or None.

    A term missing on either side proves nothing. The service decides by its own record of positions whether a leg opens
    or closes, so only the side of an action counts: see `effect_changes`. An order created by an edit or a replacement
    keeps only the instruments and sides. An order that was replaced keeps its own terms.
    """
    if _pairs_of(asked, order) is None:
        return "legs"
    return None if is_edited(order) else successor_differs_in(asked, order)


def effect_changes(asked: NewOrder, order: Order) -> list[str]:
    """Return both actions, in words, of each leg that opens where it was to close, or closes where it was to open."""
    return [
        f"{leg.symbol} was sent as {leg.action} and the service has {seen.action}"
        for leg, seen in _pairs_of(asked, order) or ()
        if _differ(leg.action, seen.action) and " " in leg.action and " " in str(seen.action)
    ]


def is_edited(order: Order) -> bool:
    """Return True if an edit or a replacement has changed the terms of an order, or has created it."""
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


def parts_of(seen: Order | ComplexOrder | None) -> list[Order]:
    """Return the components of a complex order. A single order is its only one."""
    if seen is None:
        return []
    return components_of(seen) if isinstance(seen, ComplexOrder) else [seen]


def fills_of(seen: Order | ComplexOrder | None) -> tuple[Fill, ...]:
    """Return the fills of all legs."""
    return tuple(fill for part in parts_of(seen) for leg in part.legs or () for fill in leg.fills or ())


def complex_differs_in(asked: NewComplexOrder, seen: ComplexOrder) -> str | None:
    """Return the term that provably differs between a complex order and the one ``asked`` for, or None.

    Every component counts: two complex orders may share one. The ratio of a pair may have been edited since. A
    component that is not shown proves nothing, one too many does.
    """
    if _differ(asked.type, seen.type):
        return "type"
    return None if _component_pairs(asked_components(asked), components_of(seen)) is not None else "components"


def complex_effect_changes(asked: NewComplexOrder, seen: ComplexOrder) -> list[str]:
    """Return what `effect_changes` returns for each component that is shown."""
    pairs = _component_pairs(asked_components(asked), components_of(seen)) or ()
    return [change for component, shown in pairs for change in effect_changes(component, shown)]


def _component_pairs(asked: list[NewOrder], seen: list[Order]) -> list[tuple[NewOrder, Order]] | None:
    """Pair each component seen with a different one asked for, or return None. An edited one may fit several."""
    if not seen:
        return []
    first, *rest = seen
    for each in sorted(asked, key=lambda component: len(effect_changes(component, first))):
        if not _component_differs(each, first):
            others = _component_pairs([other for other in asked if other is not each], rest)
            if others is not None:
                return [(each, first), *others]
    return None


def _component_differs(asked: NewOrder, seen: Order) -> bool:
    """Return True if two components differ, by identifier or terms. Edits may change either."""
    if not is_edited(seen) and _differ(asked.external_identifier, seen.external_identifier or None):
        return True
    return differs_in(asked, seen) is not None


def successor_differs_in(asked: NewOrder | OrderEdit, order: Order) -> str | None:
    """Return the term that provably differs between a replacement and the edit ``asked`` for, or None."""
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


def _pairs_of(asked: NewOrder, order: Order) -> list[tuple[NewOrderLeg, OrderLeg]] | None:
    """Pair the legs, in any order, equal actions first. None if they cannot be the same."""
    legs: Sequence[NewOrderLeg] | None = asked.legs  # None in a body that makes no sense
    if legs is None or not order.legs or not all(leg.symbol for leg in order.legs):
        return []
    left, pairs, edited = list(order.legs), list[tuple[NewOrderLeg, OrderLeg]](), is_edited(order)
    for leg in legs:
        fitting = [each for each in left if not _leg_differs(leg, each, edited=edited)]
        if not fitting:
            return None
        match = next((each for each in fitting if each.action == leg.action), fitting[0])
        left.remove(match)
        pairs.append((leg, match))
    return None if left else pairs


def _leg_differs(asked: NewOrderLeg, seen: OrderLeg, *, edited: bool) -> bool:
    if _differ(_symbol(asked.symbol), _symbol(seen.symbol)):
        return True
    action, shown = str(asked.action or ""), str(seen.action or "")  # `Buy` may be reported as `Buy to Open` as well
    if action and shown and action.split()[0] != shown.split()[0]:
        return True
    return not edited and _differ(_amount(asked.quantity), _amount(seen.quantity))


def _symbol(symbol: str | None) -> str | None:
    """Return the letters and digits of a symbol: padding and separators are written in several ways."""
    return None if symbol is None else "".join(filter(str.isalnum, symbol)).upper()
