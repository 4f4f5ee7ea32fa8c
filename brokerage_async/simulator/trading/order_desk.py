"""Handles order requests: checks, accepts, cancels and replaces orders."""

from __future__ import annotations

from decimal import Decimal

import attrs

from ..._generated.models import ContingentStatus, NewOrder, OrderEdit, OrderStatus
from ..accounts.accounts import Account
from ..api.wire import Dialect, RefusedError
from .exchange import Exchange
from .order_store import OrderStore
from .orders import Leg, Order, Terms
from .preflight import Message, Preflight, PreflightResult, preflight_error

__all__ = ["OrderDesk"]


class OrderDesk:
    """Accepts, cancels and replaces orders."""

    def __init__(self, preflight: Preflight, order_store: OrderStore, exchange: Exchange, dialect: Dialect) -> None:
        self._preflight = preflight
        self._order_store = order_store
        self._exchange = exchange
        self._dialect = dialect
        exchange.on_fill(self._abort_replacement)
        order_store.on_change(self._follow_replaced)

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

        Raise RefusedError if the order cannot be cancelled any more.
        """
        if not order.is_cancellable:
            raise RefusedError(422, "cannot_update_order", "This order can no longer be cancelled")
        self._exchange.cancel(order, now, by_user=True)

    def dry_run_edit(self, order: Order, edit: OrderEdit, now: float) -> PreflightResult:
        """Check an edit of a working order.

        Raise RefusedError if it is not possible.
        """
        if not order.is_editable:
            raise RefusedError(422, "cannot_update_order", "This order can no longer be changed")
        terms = self._edited_terms(order, edit)
        legs = [Leg(leg.instrument, leg.action, leg.remaining, leg.remaining) for leg in order.legs]
        if edit.legs:
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
        self._exchange.begin_replacement(order, now)
        return new

    def _edited_terms(self, order: Order, edit: OrderEdit) -> Terms:
        """Return the terms after an edit, with omitted fields kept where they still apply."""
        terms = Terms.of(edit)
        old = order.terms
        return attrs.evolve(
            terms,
            price_effect=terms.price_effect or old.price_effect,
            external_identifier=terms.external_identifier or old.external_identifier,
            source=terms.source or old.source,
            rules=old.rules,
            advanced_instructions=old.advanced_instructions,
        )

    def _follow_replaced(self, order: Order, now: float) -> None:
        """Route the replacement once its original is cancelled; hold it back if that was held back.

        Expire it if the original has ended.
        """
        new = order.replaced_by
        if not order.is_terminal or new is None or new.is_terminal:
            return
        if order.status is OrderStatus.CANCELLED:
            held = order.contingent_status is ContingentStatus.PENDING_ORDER
            (self._exchange.hold if held else self._exchange.receive)(new, now)
        else:
            self._order_store.move(new, OrderStatus.EXPIRED, now)

    def _abort_replacement(self, order: Order, now: float) -> None:
        """Reject a replacement whose original was filled."""
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
