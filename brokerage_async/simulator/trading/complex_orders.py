"""Complex orders: OTOCO, OCO, and pairs that trade on a price ratio.

The interface cannot place them, so every environment starts with some.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import attrs

from ..._generated.converters import ComplexOrderWire, RelatedOrderWire
from ..._generated.models import Comparator, ComplexOrderType, NewOrder, OrderStatus
from ..accounts.accounts import Account
from ..api.order_wires import order_wire
from ..api.wire import Dialect, RefusedError, timestamp
from ..event_queue import EventQueue
from ..market.prices import PRICE_INTERVAL, Prices
from .exchange import Exchange
from .order_store import OrderStore
from .orders import Order, Terms, number_of
from .preflight import Preflight

__all__ = ["ComplexOrder", "ComplexOrderDesk"]


@attrs.define(kw_only=True, eq=False)
class ComplexOrder:
    """Orders that depend on each other.

    The ratio fields are those of a PAIRS order.
    """

    number: int
    account: Account
    type: ComplexOrderType
    orders: list[Order] = attrs.field(factory=list)
    trigger: Order | None = None
    comparator: Comparator | None = None
    threshold: Decimal | None = None
    released: bool = False
    terminal_at: float | None = None
    related: list[Order] = attrs.field(factory=list)

    @property
    def members(self) -> list[Order]:
        """Every current order of the group."""
        return [*self.orders, *([self.trigger] if self.trigger is not None else [])]

    def replaced(self, old: Order, new: Order) -> None:
        """Substitute ``new`` for ``old``: a replacement, or the original if that is abandoned."""
        self.related = [*(order for order in self.related if order is not new), old]
        if self.trigger is old:
            self.trigger = new
        self.orders = [new if order is old else order for order in self.orders]

    def wire(self, dialect: Dialect) -> ComplexOrderWire:
        """Return the complex order as a wire struct."""
        return ComplexOrderWire(
            id=dialect.identifier(self.number),
            account_number=self.account.number,
            type=self.type,
            ratio_price_comparator=self.comparator,
            ratio_price_threshold=self.threshold,
            ratio_price_is_threshold_based_on_notional=None if self.threshold is None else False,
            terminal_at=timestamp(self.terminal_at),
            orders=[order_wire(order, dialect) for order in self.orders],
            trigger_order=None if self.trigger is None else order_wire(self.trigger, dialect),
            related_orders=[self._related(order) for order in self.related],
        )

    def _related(self, order: Order) -> RelatedOrderWire:
        """Return a related order, whose identifiers are strings in either form."""
        replaces, replaced_by = number_of(order.replaces), number_of(order.replaced_by)
        return RelatedOrderWire(
            id=str(order.number),
            complex_order_id=str(self.number),
            complex_order_tag=order.tag,
            replaces_order_id=None if replaces is None else str(replaces),
            replacing_order_id=None if replaced_by is None else str(replaced_by),
            status=order.status,
        )


class ComplexOrderDesk:
    """Keeps complex orders and releases their components."""

    def __init__(
        self, order_store: OrderStore, exchange: Exchange, preflight: Preflight, prices: Prices, event_queue: EventQueue
    ) -> None:
        self._order_store = order_store
        self._exchange = exchange
        self._preflight = preflight
        self._prices = prices
        self._event_queue = event_queue
        self._complex_orders: dict[str, ComplexOrder] = {}
        order_store.on_change(self._changed)

    def get(self, account: Account, identifier: str) -> ComplexOrder | None:
        """Return a complex order of an account by its identifier, or None."""
        found = self._complex_orders.get(identifier)
        return found if found is not None and found.account is account else None

    def of(self, account: Account) -> list[ComplexOrder]:
        """Return the complex orders of an account, newest first."""
        return [each for each in reversed(self._complex_orders.values()) if each.account is account]

    def open(
        self,
        kind: ComplexOrderType,
        account: Account,
        components: Sequence[NewOrder],
        now: float,
        *,
        trigger: NewOrder | None = None,
        comparator: Comparator | None = None,
        threshold: Decimal | None = None,
    ) -> ComplexOrder:
        """Open a complex order; ``components`` and ``trigger`` are single order requests."""
        opened = ComplexOrder(
            number=self._order_store.number(), account=account, type=kind, comparator=comparator, threshold=threshold
        )
        self._complex_orders[str(opened.number)] = opened
        if trigger is not None:
            opened.trigger = self._component(opened, trigger, f"{kind}::trigger-order", now, waits=False)
        waits = trigger is not None or kind is ComplexOrderType.PAIRS
        for requested in components:
            opened.orders.append(self._component(opened, requested, f"{kind}::order", now, waits=waits))
        if kind is ComplexOrderType.PAIRS:
            self._watch_ratio(opened, now)
        return opened

    def edit_pairs(
        self, found: ComplexOrder, comparator: Comparator | None, threshold: Decimal | None, now: float
    ) -> None:
        """Change the condition of a PAIRS order.

        Raise RefusedError unless it is one that still waits.
        """
        if found.type is not ComplexOrderType.PAIRS:
            raise RefusedError(422, "not_editable", "Only PAIRS orders can be edited")
        if found.released or found.terminal_at is not None:
            raise RefusedError(422, "not_editable", "This complex order can no longer be edited")
        if threshold is not None and threshold <= 0:
            raise RefusedError(422, "preflight_check_failure", "The ratio must be positive")
        found.comparator = comparator or found.comparator
        found.threshold = found.threshold if threshold is None else threshold
        for order in found.orders:
            self._order_store.changed(order, now)

    def _component(self, parent: ComplexOrder, requested: NewOrder, tag: str, now: float, *, waits: bool) -> Order:
        terms = Terms.of(requested)
        legs, _ = self._preflight.legs(requested.legs, terms, now)
        order = self._order_store.add(parent.account, legs, terms, now)
        order.complex_order, order.tag = parent, tag
        if waits:
            self._exchange.hold(order, now)
        else:
            self._exchange.receive(order, now)
        return order

    def _changed(self, order: Order, now: float) -> None:
        """Follow up on a change of a component."""
        parent = None if order.complex_order is None else self._complex_orders.get(str(order.complex_order.number))
        if parent is None or order.status is OrderStatus.CONTINGENT:
            return
        if order is parent.trigger:
            self._trigger_changed(parent, order, now)
        elif order.status is OrderStatus.FILLED and parent.type in (ComplexOrderType.OCO, ComplexOrderType.OTOCO):
            self._cancel_rest(parent, order, now)
        if all(member.is_terminal for member in parent.members) and parent.members and parent.terminal_at is None:
            parent.terminal_at = now

    def _trigger_changed(self, parent: ComplexOrder, trigger: Order, now: float) -> None:
        if trigger.status is OrderStatus.FILLED:
            self._release(parent, now)
        elif trigger.is_terminal and trigger.replaced_by is None:
            self._cancel_rest(parent, trigger, now)

    def _release(self, parent: ComplexOrder, now: float) -> None:
        parent.released = True
        for order in parent.orders:
            if order.status is OrderStatus.CONTINGENT:
                self._exchange.release(order, now)

    def _cancel_rest(self, parent: ComplexOrder, except_for: Order, now: float) -> None:
        for order in parent.orders:
            if order is not except_for and order.is_cancellable:
                self._exchange.cancel(order, now, by_user=False)

    def _watch_ratio(self, parent: ComplexOrder, now: float) -> None:
        """Release a pair once the ratio of its prices meets the threshold."""
        if parent.released or parent.terminal_at is not None or parent.threshold is None:
            return
        first, second = (self._prices.price(order.legs[0].instrument, now) for order in parent.orders[:2])
        ratio = first / second
        if ratio >= parent.threshold if parent.comparator is Comparator.GTE else ratio <= parent.threshold:
            self._release(parent, now)
        else:
            self._event_queue.at((now // PRICE_INTERVAL + 1) * PRICE_INTERVAL, lambda at: self._watch_ratio(parent, at))
