"""Orders as they were asked for and as the service shows them, and whether both are the same.

A single order is found by its external identifier. A complex order has none: its name is the identifier of its first
component, the trigger order if there is one, and it is found by the identifiers of all its components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import attrs

from .._generated import models, operations
from .._generated.models import ComplexOrder, NewComplexOrder, NewOrder, Order
from ..errors import ResponseDecodeError
from ..journal.base import JournalEntry
from ..operation import Executor, Operation
from ..protocol.decoding.issues import Issues
from ..protocol.decoding.lenient import parse, structure_one

PlacedOrder: TypeAlias = Order | ComplexOrder

T = TypeVar("T")

REPORTED_TYPES = frozenset({"Marketable Limit", "Liquidity Allocation"})
"""Order types that the service may report in place of the requested one."""


class AskedOrder:
    """An order to submit: its name, the exact bytes of its body, and its kind, which the body shows.

    Attributes:
        was_named: whether the caller has named it.
        dry_run, submit: its operations.
    """

    def __init__(self, name: str, body: bytes, *, is_complex: bool | None = None, was_named: bool = True) -> None:
        self.name: str = name
        self.body: bytes = body
        self.is_complex: bool = _is_complex(body) if is_complex is None else is_complex
        self.was_named: bool = was_named
        self.dry_run: Operation[models.PlacedOrderResponse] = operations.ORDERS_DRY_RUN
        self.submit: Operation[models.PlacedOrderResponse] = operations.ORDERS_SUBMIT
        if self.is_complex:
            self.dry_run, self.submit = operations.COMPLEX_ORDERS_DRY_RUN, operations.COMPLEX_ORDERS_SUBMIT

    @cached_property
    def terms(self) -> NewOrder | NewComplexOrder | None:
        """Its terms, None where the body cannot be decoded."""
        return terms_of(self.body, NewComplexOrder) if self.is_complex else terms_of(self.body, NewOrder)

    @cached_property
    def components(self) -> Mapping[str, NewOrder | None]:
        """Its terms by external identifier, None where the body cannot be decoded."""
        if not isinstance(self.terms, NewComplexOrder):
            return {self.name: self.terms}
        return {each.external_identifier: each for each in asked_components(self.terms) if each.external_identifier}

    def is_named_by(self, seen: PlacedOrder) -> bool:
        """Return True if a whole order carries an identifier of this one."""
        return any(order.external_identifier in self.components for order in parts_of(seen))

    def is_another(self, seen: PlacedOrder) -> bool:
        """Return True if the answer to a submit shows another order, by its identifiers or terms."""
        if self.is_complex:
            return bool(self._difference(seen))
        return not isinstance(seen, Order) or seen.external_identifier != self.name

    def effect_changes(self, seen: PlacedOrder) -> list[str]:
        """Return, in words, which legs the service opens instead of closing, or the other way round."""
        pairs: Sequence[tuple[NewOrder, Order]] = ()
        if isinstance(self.terms, NewOrder) and isinstance(seen, Order):
            pairs = [(self.terms, seen)]
        elif isinstance(self.terms, NewComplexOrder) and isinstance(seen, ComplexOrder):
            pairs = _component_pairs(asked_components(self.terms), components_of(seen)) or ()
        return [change for component, shown in pairs for change in effect_changes(component, shown)]

    def id_of(self, listed: Order) -> str | None:
        return listed.complex_order_id if self.is_complex else listed.id

    def misfit(self, listed: Order) -> str:
        """Return why a listed order cannot be of this kind. Empty if it can."""
        if self.is_complex:
            return "" if listed.complex_order_id else "belongs to no complex order"
        return f"belongs to the complex order {listed.complex_order_id}" if listed.complex_order_id else ""

    async def read(self, executor: Executor, account_number: str, order_id: str) -> PlacedOrder:
        """Read a whole order by its id. Raise BrokerageError if it could not be read."""
        operation: Operation[Any] = operations.COMPLEX_ORDERS_GET if self.is_complex else operations.ORDERS_GET
        seen: PlacedOrder = await executor.execute(operation.bind(account_number=account_number, id=order_id))
        if seen.id != order_id:
            reason = f"id must be {order_id}, got {seen.id}: read the order again"
            raise ResponseDecodeError(reason, operation=operation.name)
        return seen

    async def whole_of(self, executor: Executor, account_number: str, listed: Order) -> tuple[PlacedOrder, str]:
        """Return the whole order that ``listed`` is a component of, and how it provably differs. See `read`."""
        if not self.is_complex:
            return listed, ""
        seen = await self.read(executor, account_number, str(listed.complex_order_id))
        return seen, self._difference(seen)

    def _difference(self, seen: PlacedOrder) -> str:
        if not isinstance(seen, ComplexOrder):
            return "is not a complex order"
        term = complex_differs_in(self.terms, seen) if isinstance(self.terms, NewComplexOrder) else None
        return "" if term is None else f"belongs to a complex order that differs in its {term}"


def _is_complex(body: bytes) -> bool:
    try:
        raw = parse(body)
    except ValueError:
        return False
    return isinstance(raw, dict) and "orders" in raw and "legs" not in raw


def asked_in(entry: JournalEntry) -> AskedOrder:
    return AskedOrder(entry.key.external_identifier, entry.body)


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


def asked_components(asked: NewOrder | NewComplexOrder) -> list[NewOrder]:
    """Return the components asked for, the trigger order first. A single order is its only one."""
    if isinstance(asked, NewOrder):
        return [asked]
    return [*([asked.trigger_order] if asked.trigger_order is not None else []), *asked.orders]


def components_of(seen: ComplexOrder) -> list[Order]:
    """Return the components of a complex order, the trigger order first, each with the id of the complex order."""
    trigger, found = seen.trigger_order, list(seen.orders or ())
    if trigger is not None:
        found = [trigger, *(order for order in found if order.id is None or order.id != trigger.id)]
    return [attrs.evolve(order, complex_order_id=seen.id or order.complex_order_id) for order in found]


def parts_of(seen: Order | ComplexOrder | None) -> list[Order]:
    """Return the components of a complex order. A single order is its only one."""
    if seen is None:
        return []
    return components_of(seen) if isinstance(seen, ComplexOrder) else [seen]


def fills_of(seen: Order | ComplexOrder | None) -> tuple[models.Fill, ...]:
    return tuple(fill for part in parts_of(seen) for leg in part.legs or () for fill in leg.fills or ())


def open_quantity(leg: models.OrderLeg) -> Decimal:
    """Return how much of a leg can still be filled while its order works."""
    return (leg.quantity if leg.remaining_quantity is None else leg.remaining_quantity) or Decimal(0)


def complex_differs_in(asked: NewComplexOrder, seen: ComplexOrder) -> str | None:
    """Return the term that provably differs between a complex order and the one ``asked`` for, or None.

    Every component counts: two complex orders may share one. The ratio of a pair may have been edited since. A
    component that is not shown proves nothing, one too many does.
    """
    if _differ(asked.type, seen.type):
        return "type"
    return None if _component_pairs(asked_components(asked), components_of(seen)) is not None else "components"


def _component_pairs(asked: list[NewOrder], seen: list[Order]) -> list[tuple[NewOrder, Order]] | None:
    """Pair each component seen with a different one asked for, or return None. An edited one may fit several."""
    if not seen:
        return []
    first, *rest = seen
    name = None if is_edited(first) else first.external_identifier or None  # an edit may change that as well
    for each in sorted(asked, key=lambda component: len(effect_changes(component, first))):
        if not _differ(each.external_identifier, name) and differs_in(each, first) is None:
            others = _component_pairs([other for other in asked if other is not each], rest)
            if others is not None:
                return [(each, first), *others]
    return None


def successor_differs_in(asked: NewOrder | models.OrderEdit, order: Order) -> str | None:
    """Return the term that provably differs between a replacement and the edit ``asked`` for, or None."""
    differences = {
        "order type": order.order_type not in REPORTED_TYPES and _differ(asked.order_type, order.order_type),
        "time in force": _differ(asked.time_in_force, order.time_in_force),
        "stop trigger": _differ(_amount(asked.stop_trigger), _amount(order.stop_trigger)),
        "price": _money_differs((asked.price, asked.price_effect), (order.price, order.price_effect)),
        "value": _money_differs((asked.value, asked.value_effect), (order.value, order.value_effect)),
    }
    return next((term for term, differs in differences.items() if differs), None)


def _differ(asked: object, seen: object) -> bool:
    return asked is not None and seen is not None and asked != seen


_Money = tuple[Decimal | None, models.PriceEffect | None]


def _amount(amount: Decimal | None) -> Decimal | None:
    if amount is None or not amount.is_finite():
        return None
    return amount.copy_abs()  # abs() would round, and fail on the largest ones


def _money_differs(asked: _Money, seen: _Money) -> bool:
    """Return True if two amounts differ, or carry opposite effects."""
    ours, theirs = _amount(asked[0]), _amount(seen[0])
    if ours is None or theirs is None:
        return False
    opposite = {asked[1], seen[1]} == {models.PriceEffect.DEBIT, models.PriceEffect.CREDIT}
    return ours != theirs or (opposite and ours != 0)


def _pairs_of(asked: NewOrder, order: Order) -> list[tuple[models.NewOrderLeg, models.OrderLeg]] | None:
    """Pair the legs, in any order, equal actions first. None if they cannot be the same."""
    legs: Sequence[models.NewOrderLeg] | None = asked.legs  # None in a body that makes no sense
    if legs is None or not order.legs or not all(leg.symbol for leg in order.legs):
        return []
    left, pairs, edited = list(order.legs), list[tuple[models.NewOrderLeg, models.OrderLeg]](), is_edited(order)
    for leg in legs:
        fitting = [each for each in left if not _leg_differs(leg, each, edited=edited)]
        if not fitting:
            return None
        match = next((each for each in fitting if each.action == leg.action), fitting[0])
        left.remove(match)
        pairs.append((leg, match))
    return None if left else pairs


def _leg_differs(asked: models.NewOrderLeg, seen: models.OrderLeg, *, edited: bool) -> bool:
    if _differ(_symbol(asked.symbol), _symbol(seen.symbol)):
        return True
    action, shown = str(asked.action or ""), str(seen.action or "")  # `Buy` may be reported as `Buy to Open` as well
    if action and shown and action.split()[0] != shown.split()[0]:
        return True
    return not edited and _differ(_amount(asked.quantity), _amount(seen.quantity))


def _symbol(symbol: str | None) -> str | None:
    """Return the letters and digits of a symbol: padding and separators are written in several ways."""
    return None if symbol is None else "".join(filter(str.isalnum, symbol)).upper()
