"""Handles requests for complex orders, and what follows from the fills and ends of their components."""

from __future__ import annotations

import functools
from decimal import Decimal

import attrs

from ..._generated.models import Comparator, ComplexOrderType, NewComplexOrder, OrderStatus
from ..accounts.accounts import Account
from ..api.wire import Dialect, RefusedError
from ..event_queue import EventQueue
from ..market.prices import PRICE_INTERVAL, Prices
from .complex_orders import EXCLUSIVE, ComplexOrder
from .complex_preflight import ComplexPreflightResult, check_complex
from .exchange import Exchange
from .order_store import OrderStore
from .orders import Order
from .preflight import Preflight, preflight_error

__all__ = ["ComplexOrderDesk"]

_HOLD = 0.1
"""Seconds from acceptance until the orders that wait for nothing leave `Contingent`."""


class ComplexOrderDesk:
    """Accepts, cancels and edits complex orders, and releases their components."""

    def __init__(
        self,
        order_store: OrderStore,
        exchange: Exchange,
        preflight: Preflight,
        prices: Prices,
        event_queue: EventQueue,
        dialect: Dialect,
    ) -> None:
        self._order_store = order_store
        self._exchange = exchange
        self._preflight = preflight
        self._prices = prices
        self._event_queue = event_queue
        self._dialect = dialect
        self._complex_orders: dict[str, ComplexOrder] = {}
        order_store.on_change(self._changed)
        exchange.on_fill(self._executed)

    def get(self, account: Account, identifier: str) -> ComplexOrder | None:
        """Return a complex order of an account by its identifier, or None."""
        found = self._complex_orders.get(identifier)
        return found if found is not None and found.account is account else None

    def of(self, account: Account) -> list[ComplexOrder]:
        """Return the complex orders of an account, newest first."""
        return [each for each in reversed(self._complex_orders.values()) if each.account is account]

    # Requests

    def check(self, account: Account, requested: NewComplexOrder, now: float) -> ComplexPreflightResult:
        """Check a new complex order."""
        return check_complex(self._preflight, account, requested, now)

    def dry_run(self, account: Account, requested: NewComplexOrder, now: float) -> ComplexPreflightResult:
        """Check a new complex order. Raise RefusedError if it cannot be accepted."""
        result = self.check(account, requested, now)
        if result.errors:
            raise preflight_error([error for _, error in result.errors], result.wire(self._dialect))
        return result

    def accept(self, checked: ComplexPreflightResult, now: float) -> ComplexOrder:
        """Accept a checked complex order. Nothing is deduplicated.

        Every component is `Contingent` at first, the trigger order included.
        """
        draft = checked.draft
        new = attrs.evolve(draft, number=self._order_store.number(), orders=[], trigger=None, related=[])
        self._complex_orders[str(new.number)] = new
        for result in checked.components:
            asked = result.order
            order = self._order_store.add(new.account, asked.legs, asked.terms, now)
            order.complex_order, order.tag = new, asked.tag
            if asked is draft.trigger:
                new.trigger = order
            else:
                new.orders.append(order)
            if result in checked.counted:
                self._order_store.release(order, max(Decimal(0), -result.impact.change))
            self._exchange.hold(order, now)
        self._event_queue.at(now + _HOLD, functools.partial(self._begin, new))
        return new

    def cancel(self, found: ComplexOrder, now: float) -> None:
        """Request the cancellation of every component that works.

        Raise RefusedError if none of them can be cancelled any more.
        """
        working = [order for order in found.members if order.is_cancellable]
        if not working:
            raise RefusedError(422, "cannot_update_order", "This complex order can no longer be cancelled")
        for order in reversed(working):  # the trigger order last: its end would cancel the others by itself
            if order.is_cancellable:
                self._exchange.cancel(order, now, by_user=True)

    def edited(self, found: ComplexOrder, comparator: Comparator | None, threshold: Decimal | None) -> ComplexOrder:
        """Return a copy of a PAIRS order with another condition.

        Raise RefusedError unless it is one that still waits.
        """
        if found.type is not ComplexOrderType.PAIRS:
            raise RefusedError(422, "cannot_update_order", "Only PAIRS orders can be edited")
        if found.released or found.terminal_at is not None:
            raise RefusedError(422, "cannot_update_order", "This complex order can no longer be edited")
        if threshold is not None and threshold <= 0:
            raise RefusedError(422, "preflight_check_failure", "The ratio must be positive")
        return attrs.evolve(
            found,
            comparator=comparator or found.comparator,
            threshold=found.threshold if threshold is None else threshold,
        )

    def edit_pairs(
        self, found: ComplexOrder, comparator: Comparator | None, threshold: Decimal | None, now: float
    ) -> None:
        """Change the condition of a PAIRS order. Raise RefusedError unless it is one that still waits."""
        edited = self.edited(found, comparator, threshold)
        found.comparator, found.threshold = edited.comparator, edited.threshold
        for order in found.orders:
            self._order_store.changed(order, now)

    # Follow-ups

    def parent_of(self, order: Order) -> ComplexOrder | None:
        """Return the complex order that an order is part of, or None."""
        return None if order.complex_order is None else self._complex_orders.get(str(order.complex_order.number))

    def _begin(self, parent: ComplexOrder, now: float) -> None:
        """Release the orders that wait for nothing else."""
        if parent.type is ComplexOrderType.PAIRS:
            self._watch_ratio(parent, now)
            return
        for order in [parent.trigger] if parent.trigger is not None else parent.orders:
            if order.is_held:
                self._exchange.unhold(order, now)

    def _executed(self, order: Order, now: float) -> None:
        """Cancel the other exclusive order at the first execution, so that both cannot be filled."""
        parent = self.parent_of(order)
        if parent is not None and parent.type in EXCLUSIVE and order in parent.orders:
            self._cancel_rest(parent, order, now)

    def _changed(self, order: Order, now: float) -> None:
        """Follow up on a change of a component."""
        parent = self.parent_of(order)
        if parent is None or not order.is_terminal:
            return
        if order is parent.trigger and order.status is OrderStatus.FILLED:
            self._release(parent, now)
        elif order.replaced_by is None and (order is parent.trigger or parent.waits_for_ratio):
            self._cancel_rest(parent, order, now)
        if all(member.is_terminal for member in parent.members) and parent.terminal_at is None:
            parent.terminal_at = now

    def _release(self, parent: ComplexOrder, now: float) -> None:
        parent.released = True
        for order in parent.orders:
            if order.is_held:
                if parent.trigger is not None:
                    self._preflight.reopen(order)
                self._exchange.unhold(order, now)

    def _cancel_rest(self, parent: ComplexOrder, except_for: Order, now: float) -> None:
        for order in parent.orders:
            if order is not except_for and order.is_cancellable:
                self._exchange.cancel(order, now, by_user=False)

    def _watch_ratio(self, parent: ComplexOrder, now: float) -> None:
        """Release a pair once the ratio of its prices meets the threshold."""
        if parent.released or parent.terminal_at is not None or parent.threshold is None:
            return
        first, second = (self._value(order, parent, now) for order in parent.orders[:2])
        ratio = first / second
        if ratio >= parent.threshold if parent.comparator is Comparator.GTE else ratio <= parent.threshold:
            self._release(parent, now)
        else:
            self._event_queue.at(
                (now // PRICE_INTERVAL + 1) * PRICE_INTERVAL, functools.partial(self._watch_ratio, parent)
            )

    def _value(self, order: Order, parent: ComplexOrder, now: float) -> Decimal:
        """Return the price of the first leg, or its amount in a ratio of amounts."""
        leg = order.legs[0]
        price = self._prices.price(leg.instrument, now)
        return price * leg.quantity * leg.instrument.multiplier if parent.is_notional else price
