"""Handles requests for orders."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import attrs

from ..._generated.models import ContingentStatus, NewOrder, OrderEdit, OrderEditDryRun, OrderStatus
from ..accounts.accounts import Account
from ..api.wire import Dialect, RefusedError
from .exchange import Exchange
from .orders import Leg, Order, OrderStore, Terms
from .preflight import Message, Preflight, PreflightResult, preflight_error


@attrs.define(eq=False, repr=False)
class OrderDesk:
    """Accepts, cancels and replaces orders."""

    _preflight: Preflight
    _order_store: OrderStore
    _exchange: Exchange
    _dialect: Dialect
    _has: Callable[[str], bool]

    def __attrs_post_init__(self) -> None:
        self._exchange.on_fill(self._abort_replacement)
        self._order_store.on_change(self._follow_replaced)

    def dry_run(self, account: Account, requested: NewOrder, now: float) -> PreflightResult:
        """Check a new order. Raise RefusedError if it cannot be accepted."""
        terms = Terms.of(requested)
        legs, problems = self._preflight.legs(requested.legs, terms, now)
        if problems:
            raise preflight_error(problems)
        draft = Order(number=0, account=account, legs=legs, terms=terms)
        return self._require_no_errors(self._preflight.check(draft, now))

    def submit(self, account: Account, requested: NewOrder, now: float) -> PreflightResult:
        """Accept a new order.

        Raise RefusedError if it fails its checks. Nothing is deduplicated.
        """
        result = self.dry_run(account, requested, now)
        order = self._order_store.add(account, result.order.legs, result.order.terms, now)
        self._reserve(order, result)
        self._exchange.receive(order, now)
        return attrs.evolve(result, order=order)

    def cancel(self, order: Order, now: float) -> None:
        """Request a cancellation.

        Raise RefusedError if the order cannot be cancelled any more, or not yet.
        """
        if not order.is_cancellable:
            raise RefusedError(422, "cannot_update_order", "This order cannot be cancelled now")
        self._exchange.cancel(order, now, by_user=True)

    def dry_run_edit(self, order: Order, edit: OrderEdit | OrderEditDryRun, now: float) -> PreflightResult:
        """Check an edit of a working order.

        Raise RefusedError if it is not possible.
        """
        if not order.is_editable:
            raise RefusedError(422, "cannot_update_order", "This order cannot be changed now")
        # Omitted terms are kept where they still apply (a guess). The external identifier is the one that was sent:
        # nothing published says that the old one is inherited.
        sent, old = Terms.of(edit), order.terms
        terms = attrs.evolve(
            sent,
            price_effect=sent.price_effect or old.price_effect,
            source=sent.source or old.source,
            rules=sent.rules or old.rules,
            advanced_instructions=old.advanced_instructions,
        )
        legs = [Leg(leg.instrument, leg.action, leg.remaining, leg.remaining) for leg in order.legs]
        if isinstance(edit, OrderEditDryRun) and edit.legs:
            requested, problems = self._preflight.legs(edit.legs, terms, now)
            if problems or [(leg.instrument, leg.action) for leg in requested] != [
                (leg.instrument, leg.action) for leg in legs
            ]:
                problems.append(Message("invalid_legs", "Only price, order type and time in force can be changed"))
                raise preflight_error(problems)
        draft = Order(number=0, account=order.account, legs=legs, terms=terms)
        draft.replaces, draft.edited, draft.complex_order = order, True, order.complex_order
        return self._require_no_errors(self._preflight.check(draft, now, freed=order.reserved))

    def replace(self, order: Order, edit: OrderEdit, now: float) -> Order:
        """Replace a working order by one with other terms and return the new order."""
        result = self.dry_run_edit(order, edit, now)
        new = self._order_store.add(order.account, result.order.legs, result.order.terms, now, replaces=order)
        new.complex_order, new.tag = order.complex_order, order.tag
        if new.complex_order is not None:
            new.complex_order.replaced(order, new)
        order.replaced_by, order.edited = new, True
        order.set_aside = order.reserved
        self._order_store.release(order, Decimal(0))
        self._reserve(new, result)
        if order.is_at_exchange and self._has("replacements_wait_for_the_cancel"):
            self._exchange.hold(new, now)
        self._exchange.begin_replacement(order, now)
        return new

    def _follow_replaced(self, order: Order, now: float) -> None:
        """Route the replacement once its original is cancelled. Hold it back if that was held back.

        Expire it if the original has ended.
        """
        new = order.replaced_by
        if not order.is_terminal or new is None or new.is_terminal:
            return
        if order.status is OrderStatus.CANCELLED:
            held = order.contingent_status is ContingentStatus.PENDING_ORDER
            accept = self._exchange.unhold if new.is_held else self._exchange.receive
            (self._exchange.hold if held else accept)(new, now)
        else:
            self._order_store.move(new, OrderStatus.EXPIRED, now)

    def _abort_replacement(self, order: Order, now: float) -> None:
        """Reject a replacement whose original was filled.

        That the replacement ends is published. Its status, and that the original works on, are guesses.
        """
        new = order.replaced_by
        if order.status is not OrderStatus.REPLACE_REQUESTED or new is None:
            return
        order.replaced_by = None
        if order.complex_order is not None:
            order.complex_order.replaced(new, order)
        self._exchange.abandon_replacement(order, now)
        if not new.is_terminal:
            self._order_store.release(order, order.set_aside)
            new.reject_reason = "The order was filled before it could be replaced"
            self._order_store.move(new, OrderStatus.REJECTED, now)

    def _reserve(self, order: Order, result: PreflightResult) -> None:
        """Reserve the buying power that the order needs."""
        self._order_store.release(order, max(Decimal(0), -result.impact.change))

    def _require_no_errors(self, result: PreflightResult) -> PreflightResult:
        if result.errors:
            raise preflight_error(result.errors, result.wire(self._dialect))
        return result
