"""The brokerage's side of an order: previewed, taken, cancelled, replaced."""

from __future__ import annotations

from decimal import Decimal

import attrs

from ..._generated.models import NewOrder, OrderEdit, OrderStatus
from ..accounts.accounts import Account
from ..api.wire import Dialect, RefusedError
from .exchange import Exchange
from .order_store import Blotter
from .orders import Leg, Order, Terms
from .preflight import Message, Preflight, Preview, failed_preflight

__all__ = ["Desk"]


class Desk:
    """Takes orders."""

    def __init__(self, preflight: Preflight, blotter: Blotter, exchange: Exchange, dialect: Dialect) -> None:
        self._preflight = preflight
        self._blotter = blotter
        self._exchange = exchange
        self._dialect = dialect
        exchange.on_fill(self._abort_replacement)
        blotter.on_change(self._follow_replaced)

    def preview(self, account: Account, asked: NewOrder, now: float) -> Preview:
        """Check a new order; RefusedError when it cannot be taken."""
        terms = Terms.of(asked)
        legs, problems = self._preflight.legs(asked.legs, terms, now)
        if problems:
            raise failed_preflight(problems)
        draft = Order(number=0, account=account, legs=legs, terms=terms)
        advanced = asked.advanced_instructions
        strict = advanced is not None and bool(advanced.strict_position_effect_validation)
        return self._sound(self._preflight.preview(draft, now, strict_effects=strict))

    def submit(self, account: Account, asked: NewOrder, now: float) -> Preview:
        """Take a new order; RefusedError when it fails its checks. Nothing is deduplicated."""
        preview = self.preview(account, asked, now)
        order = self._blotter.add(account, preview.order.legs, preview.order.terms, now)
        self._reserve(order, preview)
        self._exchange.receive(order, now)
        return attrs.evolve(preview, order=order)

    def cancel(self, order: Order, now: float) -> None:
        """Ask for a cancellation; RefusedError when there is nothing left to cancel."""
        if not order.is_cancellable:
            raise RefusedError(422, "cannot_update_order", "This order can no longer be cancelled")
        self._exchange.cancel(order, now, by_user=True)

    def preview_edit(self, order: Order, edit: OrderEdit, now: float) -> Preview:
        """Check a change of a working order; RefusedError when it cannot be made."""
        if not order.is_editable:
            raise RefusedError(422, "cannot_update_order", "This order can no longer be changed")
        terms = self._edited_terms(order, edit)
        legs = [Leg(leg.instrument, leg.action, leg.remaining, leg.remaining) for leg in order.legs]
        if edit.legs:
            asked, problems = self._preflight.legs(edit.legs, terms, now)
            if problems or [(leg.instrument, leg.action) for leg in asked] != [
                (leg.instrument, leg.action) for leg in legs
            ]:
                problems.append(Message("invalid_legs", "Only price, order type and time in force can be changed"))
                raise failed_preflight(problems)
        draft = Order(number=0, account=order.account, legs=legs, terms=terms)
        draft.replaces, draft.edited = order, True
        return self._sound(self._preflight.preview(draft, now, freed=order.reserved))

    def replace(self, order: Order, edit: OrderEdit, now: float) -> Order:
        """Replace a working order by one with other terms; return the new order."""
        preview = self.preview_edit(order, edit, now)
        new = self._blotter.add(order.account, preview.order.legs, preview.order.terms, now, replaces=order)
        new.complex_order, new.tag = order.complex_order, order.tag
        if new.complex_order is not None:
            new.complex_order.replaced(order, new)
        order.replaced_by, order.edited = new, True
        self._blotter.release(order, Decimal(0))
        self._reserve(new, preview)
        self._exchange.begin_replacement(order, now)
        return new

    def _edited_terms(self, order: Order, edit: OrderEdit) -> Terms:
        """The terms after an edit: what it leaves out stays where it still makes sense."""
        terms = Terms.of(edit)
        old = order.terms
        return attrs.evolve(
            terms,
            price_effect=terms.price_effect or old.price_effect,
            external_identifier=terms.external_identifier or old.external_identifier,
            source=terms.source or old.source,
            rules=old.rules,
        )

    def _follow_replaced(self, order: Order, now: float) -> None:
        """Once an order is out of the way, its replacement takes its place; when its day is over, nothing does."""
        new = order.replaced_by
        if not order.is_terminal or new is None or new.is_terminal:
            return
        if order.status is OrderStatus.CANCELLED:
            self._exchange.receive(new, now)
        else:
            self._blotter.move(new, OrderStatus.EXPIRED, now)

    def _abort_replacement(self, order: Order, now: float) -> None:
        """A fill of the original makes its replacement come to nothing."""
        new = order.replaced_by
        if order.status is not OrderStatus.REPLACE_REQUESTED or new is None:
            return
        order.replaced_by = None
        if order.complex_order is not None:
            order.complex_order.replaced(new, order)
        self._exchange.abandon_replacement(order, now)
        if not new.is_terminal:
            self._blotter.release(order, new.reserved)
            new.reject_reason = "The order was filled before it could be replaced"
            self._blotter.move(new, OrderStatus.REJECTED, now)

    def _reserve(self, order: Order, preview: Preview) -> None:
        """Hold back the buying power that the order needs."""
        self._blotter.release(order, max(Decimal(0), -preview.impact.change))

    def _sound(self, preview: Preview) -> Preview:
        if preview.errors:
            raise failed_preflight(preview.errors, preview.wire(self._dialect))
        return preview
