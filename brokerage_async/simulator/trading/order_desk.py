"""Handles requests for orders and complex orders, and what follows from fills and ends of their components."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import attrs

from ..._generated import models
from ..._generated.converters import PlacedOrderResponseWire
from ..api.wire import Dialect, RefusedError
from ..clock import EventQueue
from ..market.prices import Prices
from ..market.quotes import next_minute
from .accounts import Account, BuyingPowerImpact, Fees
from .exchange import Exchange
from .orders import ComplexOrder, Leg, Order, OrderStore, Terms
from .preflight import Message, Preflight, PreflightResult, placed_wire, preflight_error

EXCLUSIVE = frozenset({models.ComplexOrderType.OCO, models.ComplexOrderType.OTOCO})
"""Types of which a fill of one order cancels the other."""


@attrs.frozen(kw_only=True)
class ComplexPreflightResult:
    """Result of checking a complex order.

    ``components`` are the results of its members, by preflight identifier. ``counted`` are those that take additional
    buying power: exits that wait for a trigger order close the position that it opens, and of two exclusive orders only
    one is executed.
    """

    draft: ComplexOrder
    components: Sequence[PreflightResult]
    counted: Sequence[PreflightResult]

    @property
    def impact(self) -> BuyingPowerImpact:
        impacts = [result.impact for result in self.counted]
        return BuyingPowerImpact(
            current=self.components[0].impact.current,
            margin_change=sum((impact.margin_change for impact in impacts), Decimal(0)),
            isolated=sum((impact.isolated for impact in impacts), Decimal(0)),
            fees=sum((impact.fees for impact in impacts), Fees()),
            is_spread=any(impact.is_spread for impact in impacts),
        )

    @property
    def errors(self) -> list[tuple[int, Message]]:
        """Errors with the preflight identifiers of their components."""
        found = [(number, error) for number, result in enumerate(self.components) for error in result.errors]
        impact = self.impact
        if not found and impact.new < 0 and impact.change < 0:
            found.append((0, Message("margin_check_failed", "Insufficient buying power for this complex order")))
        return found

    def wire(self, dialect: Dialect) -> PlacedOrderResponseWire:
        warnings = [(number, warning) for number, result in enumerate(self.components) for warning in result.warnings]
        return placed_wire(
            self.impact,
            dialect,
            complex_order=self.draft.wire(dialect),
            warnings=[warning.wire(dialect.identifier(number)) for number, warning in warnings],
            errors=[error.wire(dialect.identifier(number)) for number, error in self.errors],
            closing_fees=sum((each.closing_fees for each in self.counted), Fees()),
        )


_HOLD = 0.1
"""Seconds from acceptance until the orders that wait for nothing leave `Contingent`."""


@attrs.define(eq=False, repr=False)
class OrderDesk:
    """Accepts, cancels and replaces orders and complex orders, and releases the components of these."""

    _preflight: Preflight
    _order_store: OrderStore
    _exchange: Exchange
    _prices: Prices
    _event_queue: EventQueue
    _dialect: Dialect
    _has: Callable[[str], bool]
    _complex_orders: dict[str, ComplexOrder] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._exchange.on_fill(self._abort_replacement)
        self._order_store.on_change(self._follow_replaced)
        self._order_store.on_change(self._changed)
        self._exchange.on_fill(self._executed)

    def dry_run(self, account: Account, requested: models.NewOrder, now: float) -> PreflightResult:
        """Check a new order. Raise RefusedError if it cannot be accepted."""
        draft = self._preflight.draft(account, requested, now)
        return self._require_no_errors(self._preflight.check(draft, now))

    def submit(self, account: Account, requested: models.NewOrder, now: float) -> PreflightResult:
        """Accept a new order. Raise RefusedError if it fails its checks. Nothing is deduplicated."""
        result = self.dry_run(account, requested, now)
        order = self._order_store.add(account, result.order.legs, result.order.terms, now)
        self._reserve(order, result)
        self._exchange.receive(order, now)
        return attrs.evolve(result, order=order)

    def cancel(self, order: Order, now: float) -> None:
        """Request a cancellation. Raise RefusedError if the order cannot be cancelled any more, or not yet."""
        if not order.is_cancellable:
            raise RefusedError(422, "cannot_update_order", "This order cannot be cancelled now")
        self._exchange.cancel(order, now, by_user=True)

    def check_edit(self, order: Order, edit: models.OrderEdit | models.OrderEditDryRun, now: float) -> PreflightResult:
        """Check an edit of a working order. Raise RefusedError if it is not possible."""
        if not order.is_editable:
            raise RefusedError(422, "cannot_update_order", "This order cannot be changed now")
        # Omitted terms are kept where they still apply (a guess). The external identifier is the one that was sent:
        # nothing published says that the old one is inherited.
        sent, old = Terms.of(edit), order.terms
        kept: Any = {name: getattr(sent, name) or getattr(old, name) for name in ("price_effect", "source", "rules")}
        terms = attrs.evolve(sent, **kept, advanced_instructions=old.advanced_instructions)
        legs = [Leg(leg.instrument, leg.action, leg.remaining, leg.remaining) for leg in order.legs]
        if isinstance(edit, models.OrderEditDryRun) and edit.legs:
            requested, problems = self._preflight.legs(edit.legs, terms, now)
            same = [(leg.instrument, leg.action) for leg in legs]
            if problems or [(leg.instrument, leg.action) for leg in requested] != same:
                problems.append(Message("invalid_legs", "Only price, order type and time in force can be changed"))
                raise preflight_error(problems)
        draft = Order(number=0, account=order.account, legs=legs, terms=terms)
        draft.replaces, draft.edited, draft.complex_order = order, True, order.complex_order
        return self._require_no_errors(self._preflight.check(draft, now, freed=order.reserved))

    def replace(self, order: Order, edit: models.OrderEdit, now: float) -> Order:
        result = self.check_edit(order, edit, now)
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
        """Route the replacement once its original is cancelled, or hold it back likewise. Expire it at another end."""
        new = order.replaced_by
        if not order.is_terminal or new is None or new.is_terminal:
            return
        if order.status is models.OrderStatus.CANCELLED:
            held = order.contingent_status is models.ContingentStatus.PENDING_ORDER
            accept = self._exchange.unhold if new.is_held else self._exchange.receive
            (self._exchange.hold if held else accept)(new, now)
        else:
            self._order_store.move(new, models.OrderStatus.EXPIRED, now)

    def _abort_replacement(self, order: Order, now: float) -> None:
        """Reject a replacement whose original was filled. Its status, and that the original works on, are guesses."""
        new = order.replaced_by
        if order.status is not models.OrderStatus.REPLACE_REQUESTED or new is None:
            return
        order.replaced_by = None
        if order.complex_order is not None:
            order.complex_order.replaced(new, order)
        self._exchange.abandon_replacement(order, now)
        if not new.is_terminal:
            self._order_store.release(order, order.set_aside)
            new.reject_reason = "The order was filled before it could be replaced"
            self._order_store.move(new, models.OrderStatus.REJECTED, now)

    def _reserve(self, order: Order, result: PreflightResult) -> None:
        self._order_store.release(order, max(Decimal(0), -result.impact.change))

    def _require_no_errors(self, result: PreflightResult) -> PreflightResult:
        if result.errors:
            raise preflight_error(result.errors, result.wire(self._dialect))
        return result

    def complex_order(self, account: Account, identifier: str) -> ComplexOrder | None:
        found = self._complex_orders.get(identifier)
        return found if found is not None and found.account is account else None

    def complex_orders(self, account: Account) -> list[ComplexOrder]:
        return [each for each in reversed(self._complex_orders.values()) if each.account is account]

    def check_complex(self, account: Account, requested: models.NewComplexOrder, now: float) -> ComplexPreflightResult:
        """Check a new complex order. Raise RefusedError for an instrument that is not served."""
        kind, trigger = requested.type, requested.trigger_order
        draft = ComplexOrder(
            number=0,
            account=account,
            type=kind,
            comparator=requested.ratio_price_comparator,
            threshold=requested.ratio_price_threshold,
            is_notional=bool(requested.ratio_price_is_threshold_based_on_notional),
        )
        components = list[PreflightResult]()
        parts: list[models.NewOrder] = [*([] if trigger is None else [trigger]), *requested.orders]
        for number, one in enumerate(parts):
            order = self._preflight.draft(account, one, now)
            order.terms = attrs.evolve(order.terms, preflight_id=str(number))
            part = "oco-1-order" if kind is models.ComplexOrderType.OTOCO else "order"
            order.complex_order = draft
            order.tag = f"{kind}::trigger-order" if one is trigger else f"{kind}::{part}"
            # One that waits for the trigger order is not held against the positions of today.
            components.append(self._preflight.check(order, now, deferred=draft.trigger is not None))
            if one is trigger:
                draft.trigger = order
            else:
                draft.orders.append(order)
        first = components[: 0 if draft.trigger is None else 1]
        rest = [result for result in components[len(first) :] if not first or result.order.opens]
        if rest and draft.type in EXCLUSIVE:
            rest = [min(rest, key=lambda result: result.impact.change)]
        return ComplexPreflightResult(draft=draft, components=components, counted=[*first, *rest])

    def dry_run_complex(self, account: Account, asked: models.NewComplexOrder, now: float) -> ComplexPreflightResult:
        """Check a new complex order. Raise RefusedError if it cannot be accepted."""
        result = self.check_complex(account, asked, now)
        if result.errors:
            raise preflight_error([error for _, error in result.errors], result.wire(self._dialect))
        return result

    def accept_complex(self, checked: ComplexPreflightResult, now: float) -> ComplexOrder:
        """Accept a checked complex order, whose components all begin as `Contingent`. Nothing is deduplicated."""
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
                self._reserve(order, result)
            self._exchange.hold(order, now)
        self._event_queue.at(now + _HOLD, functools.partial(self._begin, new))
        return new

    def cancel_complex(self, found: ComplexOrder, now: float) -> None:
        """Request the cancellation of every component that works, or of none if one is on its way (a guess)."""
        working = [order for order in found.members if order.is_cancellable]
        if not working or any(order.is_on_its_way and not order.is_cancellable for order in found.members):
            raise RefusedError(422, "cannot_update_order", "This complex order cannot be cancelled now")
        for order in reversed(working):  # the trigger order last: its end would cancel the others
            if order.is_cancellable:
                self._exchange.cancel(order, now, by_user=True)

    def edited(self, found: ComplexOrder, edit: models.PairsEdit) -> ComplexOrder:
        """Return a copy of a PAIRS order with another condition. Raise RefusedError unless it still waits."""
        if found.type is not models.ComplexOrderType.PAIRS:
            raise RefusedError(422, "cannot_update_order", "Only PAIRS orders can be edited")
        if found.released or found.terminal_at is not None:
            raise RefusedError(422, "cannot_update_order", "This complex order can no longer be edited")
        given = edit.ratio_price_threshold
        if given is not None and given <= 0:
            raise RefusedError(422, "preflight_check_failure", "The ratio must be positive")
        threshold = found.threshold if given is None else given
        return attrs.evolve(found, comparator=edit.ratio_price_comparator or found.comparator, threshold=threshold)

    def edit_pairs(self, found: ComplexOrder, edit: models.PairsEdit, now: float) -> None:
        edited = self.edited(found, edit)
        found.comparator, found.threshold = edited.comparator, edited.threshold
        for order in found.orders:
            self._order_store.changed(order, now)

    def _begin(self, parent: ComplexOrder, now: float) -> None:
        """Release the orders that wait for nothing else."""
        if parent.type is models.ComplexOrderType.PAIRS:
            self._watch_ratio(parent, now)
            return
        for order in [parent.trigger] if parent.trigger is not None else parent.orders:
            if order.is_held:
                self._exchange.unhold(order, now)

    def _executed(self, order: Order, now: float) -> None:
        """Cancel the other exclusive order at the first execution, so that both cannot be filled."""
        parent = order.complex_order
        if parent is not None and parent.type in EXCLUSIVE and order in parent.orders:
            self._cancel_rest(parent, order, now)

    def _changed(self, order: Order, now: float) -> None:
        parent = order.complex_order
        if parent is None or not order.is_terminal:
            return
        waits_for_ratio = parent.type is models.ComplexOrderType.PAIRS and not parent.released
        if order is parent.trigger and order.status is models.OrderStatus.FILLED:
            if all(leg.remaining == 0 for leg in order.legs):  # the others close its position (a guess)
                self._release(parent, now)
        elif order.replaced_by is None and (order is parent.trigger or waits_for_ratio):
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
            if order is not except_for and not order.is_terminal:
                self._exchange.cancel(order, now, by_user=False)

    def _watch_ratio(self, parent: ComplexOrder, now: float) -> None:
        if parent.released or parent.terminal_at is not None or parent.threshold is None:
            return
        legs = [order.legs[0] for order in parent.orders[:2]]
        first, second = (
            self._prices.price(leg.instrument, now)
            * (leg.quantity * leg.instrument.multiplier if parent.is_notional else 1)
            for leg in legs
        )
        ratio = first / second
        if ratio >= parent.threshold if parent.comparator is models.Comparator.GTE else ratio <= parent.threshold:
            self._release(parent, now)
        else:
            self._event_queue.at(next_minute(now), functools.partial(self._watch_ratio, parent))
