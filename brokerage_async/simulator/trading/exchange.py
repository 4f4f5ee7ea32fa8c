"""Exchange with its order desk: accepts, routes, fills, expires, cancels and replaces orders and complex orders.

Every step is a scheduled event, and its delay is a random value that belongs to the order. A live order without a
counterparty is evaluated again whenever prices change. Some orders meet rare events by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial, reduce
from operator import add
from typing import Any

import attrs
import msgspec

from ..._generated import models
from ..._generated.converters import FillWire
from ..._generated.models import Comparator, ComplexOrderType, ContingentStatus, OrderStatus, TimeInForce
from ..api.wire import Dialect, RefusedError, money, timestamp
from ..clock import EventQueue, Signal
from ..keyed_random import KeyedRandom, key_of
from ..market.calendar import CALENDARS, local_date, local_epoch
from ..market.prices import Prices
from ..market.quotes import Quote, next_minute
from .accounts import Account, Bookkeeping, Execution, Fees, fees_of
from .orders import ComplexOrder, Leg, Order, OrderStore, terms_of
from .preflight import Preflight, PreflightResult, notice, preflight_error, reject_reason

_OUTAGE_BEGINS = (11.0, 15.5)
"""Hours of the day in New York, the first one late enough not to meet a test that has just begun."""
_OUTAGE = 25 * 60.0


@attrs.frozen
class Rate:
    """One order, or day, in ``one_in`` has the event, after a number of seconds within ``seconds``."""

    one_in: int
    seconds: tuple[float, float]


RATES: Mapping[str, Rate] = {
    "filled_with_fills_to_come": Rate(20, (2.0, 20.0)),
    "cancels_confirmed_late": Rate(50, (2.0, 20.0)),
    "fills_after_cancel_requests": Rate(100, (0.01, 0.1)),
    "live_orders_can_be_rejected": Rate(500, (0.1, 60.0)),
    "administrators_remove_orders": Rate(500, (0.1, 600.0)),
    "orders_can_be_dead": Rate(1000, (0.0, 0.0)),
    "sandbox_sessions_go_offline": Rate(50, (_OUTAGE, _OUTAGE)),
}
"""Rates by entry of the list of recorded behaviour. They are guesses: often enough to be met in a thousand days."""

_ROUTE, _LIVE, _FILL, _CONFIRM, _FILL_COUNT, _FILL_SIZE, _FLY, _LEG, _REMOVE = range(1, 10)
_DELAYS = {
    _ROUTE: (0.05, 0.25), _FLY: (0.02, 0.1), _LIVE: (0.03, 0.2), _FILL: (0.2, 1.5), _LEG: (0.05, 0.8),
    _CONFIRM: (0.1, 0.5), _REMOVE: (0.5, 5.0),
}  # fmt: skip
_MAX_FILLS = 3
_LOOK = 1.0
"""Seconds between two looks of a resting order at prices that change several times a second."""
_MIL = Decimal("0.001")

_EXCLUSIVE = frozenset({ComplexOrderType.OCO, ComplexOrderType.OTOCO})
"""Types of which a fill of one order cancels the other."""
_HOLD = 0.1
"""Seconds from acceptance until the orders that wait for nothing leave `Contingent`."""


@attrs.define(eq=False, repr=False)
class Exchange:
    """Takes the requests for orders and complex orders, and moves these from status to status as time passes."""

    _order_store: OrderStore
    _bookkeeping: Bookkeeping
    _preflight: Preflight
    _prices: Prices
    _event_queue: EventQueue
    _random: KeyedRandom
    _dialect: Dialect
    _environment: str
    _has: Callable[[str], bool]
    _complex_orders: dict[str, ComplexOrder] = attrs.field(init=False, factory=dict)
    _taken: dict[tuple[str, bool], tuple[float, Decimal]] = attrs.field(init=False, factory=dict)
    _frozen: set[tuple[str, str]] = attrs.field(init=False, factory=set)
    _waiting: list[tuple[Order, OrderStatus, Callable[[Order, float], None]]] = attrs.field(init=False, factory=list)
    _live: dict[int, Order] = attrs.field(init=False, factory=dict)
    on_fill: Signal[Order, float] = attrs.field(init=False, factory=Signal)

    def __attrs_post_init__(self) -> None:
        self._prices.on_price(self._price_was_set)
        self._order_store.on_change(self._follow)
        self.on_fill(self._executed)

    # Requests

    def dry_run(self, account: Account, requested: models.NewOrder, now: float) -> PreflightResult[Order]:
        """Check a new order. Raise RefusedError if it cannot be accepted."""
        draft = self._preflight.draft(account, requested, now)
        return self._preflight.check(draft, now).require_no_errors(self._dialect)

    def submit(self, account: Account, requested: models.NewOrder, now: float) -> PreflightResult[Order]:
        """Accept a new order. Raise RefusedError if it fails its checks. Nothing is deduplicated."""
        result = self.dry_run(account, requested, now)
        self._order_store.add(result.order, now)
        self._order_store.release(result.order, result.reserves)
        self.receive(result.order, now)
        return result

    def cancel(self, order: Order, now: float) -> None:
        """Request a cancellation. Raise RefusedError if the order cannot be cancelled any more, or not yet."""
        if not order.is_cancellable:
            raise RefusedError(422, "cannot_update_order", "This order cannot be cancelled now")
        self.stop(order, now, by_user=True)

    def check_edit(
        self, order: Order, edit: models.OrderEdit | models.OrderEditDryRun, now: float
    ) -> PreflightResult[Order]:
        """Check an edit of a working order. Raise RefusedError if it is not possible."""
        if not order.is_editable:
            raise RefusedError(422, "cannot_update_order", "This order cannot be changed now")
        # Omitted terms are kept where they still apply (a guess). The external identifier is the one that was sent:
        # nothing published says that the old one is inherited.
        sent, old = terms_of(edit), order.terms
        kept: Any = {name: getattr(sent, name) or getattr(old, name) for name in ("price_effect", "source", "rules")}
        terms = attrs.evolve(sent, **kept, advanced_instructions=old.advanced_instructions)
        legs = [Leg(leg.instrument, leg.action, leg.remaining, leg.remaining) for leg in order.legs]
        if isinstance(edit, models.OrderEditDryRun) and edit.legs:
            requested, problems = self._preflight.legs(edit.legs, terms, now)
            same = [(leg.instrument, leg.action) for leg in legs]
            if problems or [(leg.instrument, leg.action) for leg in requested] != same:
                problems.append(notice("invalid_legs", "Only price, order type and time in force can be changed"))
                raise preflight_error(problems)
        draft = Order(number=0, account=order.account, legs=legs, terms=terms)
        draft.replaces, draft.edited, draft.complex_order = order, True, order.complex_order
        return self._preflight.check(draft, now, freed=order.reserved).require_no_errors(self._dialect)

    def replace(self, order: Order, edit: models.OrderEdit, now: float) -> Order:
        result = self.check_edit(order, edit, now)
        new = result.order
        self._order_store.add(new, now)
        new.tag = order.tag
        if new.complex_order is not None:
            new.complex_order.replaced(order, new)
        order.replaced_by, order.edited = new, True
        order.set_aside = order.reserved
        self._order_store.release(order, Decimal(0))
        self._order_store.release(new, result.reserves)
        if not order.is_at_exchange:
            self._order_store.move(order, OrderStatus.CANCELLED, now)
            return new
        if self._has("replacements_wait_for_the_cancel"):
            self.hold(new, now)
        self._request_end(order, OrderStatus.REPLACE_REQUESTED, now)  # unless a fill comes first
        return new

    def complex_order(self, account: Account, identifier: str) -> ComplexOrder | None:
        found = self._complex_orders.get(identifier)
        return found if found is not None and found.account is account else None

    def complex_orders(self, account: Account) -> list[ComplexOrder]:
        return [each for each in reversed(self._complex_orders.values()) if each.account is account]

    def check_complex(
        self, account: Account, requested: models.NewComplexOrder, now: float
    ) -> PreflightResult[ComplexOrder]:
        """Check a new complex order. Raise RefusedError for an instrument that is not served."""
        kind, trigger = requested.type, requested.trigger_order
        draft = ComplexOrder(number=0, account=account, terms=requested)
        parts = list[PreflightResult[Order]]()
        asked = requested.orders if trigger is None else (trigger, *requested.orders)
        for number, one in enumerate(asked):
            order = self._preflight.draft(account, attrs.evolve(one, preflight_id=str(number)), now)
            part = "oco-1-order" if kind is ComplexOrderType.OTOCO else "order"
            order.complex_order = draft
            order.tag = f"{kind}::trigger-order" if one is trigger else f"{kind}::{part}"
            # One that waits for the trigger order is not held against the positions of today.
            parts.append(self._preflight.check(order, now, deferred=draft.trigger is not None))
            if one is trigger:
                draft.trigger = order
            else:
                draft.orders.append(order)
        # Exits that wait for a trigger order close the position that it opens, and of two exclusive orders only one is
        # executed: they take no additional buying power.
        first = parts[: 0 if draft.trigger is None else 1]
        rest = [part for part in parts[len(first) :] if not first or part.order.opens]
        if rest and kind in _EXCLUSIVE:
            rest = [min(rest, key=lambda part: part.impact.change)]
        counted = [*first, *rest]
        impact = reduce(add, (part.impact for part in counted))
        for number, result in enumerate(parts):
            for each in (*result.errors, *result.warnings):
                each.preflight_id = self._dialect.identifier(number)
        errors = [error for part in parts for error in part.errors]
        if not errors and impact.new < 0 and impact.change < 0:
            text, first_id = "Insufficient buying power for this complex order", self._dialect.identifier(0)
            errors = [notice("margin_check_failed", text, first_id)]
        return PreflightResult(
            order=draft,
            impact=impact,
            closing_fees=sum((part.closing_fees for part in counted if part.closing_fees), Fees()),
            errors=errors,
            warnings=[warning for part in parts for warning in part.warnings],
            parts=[part if part in counted else attrs.evolve(part, reserves=Decimal(0)) for part in parts],
        )

    def accept_complex(self, checked: PreflightResult[ComplexOrder], now: float) -> ComplexOrder:
        """Accept a checked complex order, whose components all begin as `Contingent`. Nothing is deduplicated."""
        new = checked.order
        new.number = self._order_store.number()
        self._complex_orders[str(new.number)] = new
        for part in checked.parts:
            self._order_store.add(part.order, now)
            self._order_store.release(part.order, part.reserves)
            self.hold(part.order, now)
        self._event_queue.at(now + _HOLD, partial(self._begin, new))
        return new

    def cancel_complex(self, found: ComplexOrder, now: float) -> None:
        """Request the cancellation of every component that works, or of none if one is on its way (a guess)."""
        working = [order for order in found.members if order.is_cancellable]
        if not working or any(order.is_on_its_way and not order.is_cancellable for order in found.members):
            raise RefusedError(422, "cannot_update_order", "This complex order cannot be cancelled now")
        for order in reversed(working):  # the trigger order last: its end would cancel the others
            if order.is_cancellable:
                self.stop(order, now, by_user=True)

    def edited(self, found: ComplexOrder, edit: models.PairsEdit) -> ComplexOrder:
        """Return a copy of a PAIRS order with another condition. Raise RefusedError unless it still waits."""
        if found.terms.type is not ComplexOrderType.PAIRS:
            raise RefusedError(422, "cannot_update_order", "Only PAIRS orders can be edited")
        if found.released or found.terminal_at is not None:
            raise RefusedError(422, "cannot_update_order", "This complex order can no longer be edited")
        if edit.ratio_price_threshold is not None and edit.ratio_price_threshold <= 0:
            raise RefusedError(422, "preflight_check_failure", "The ratio must be positive")
        given = {name: value for name, value in attrs.asdict(edit, recurse=False).items() if value}
        return attrs.evolve(found, terms=attrs.evolve(found.terms, **given))

    def edit_pairs(self, found: ComplexOrder, edit: models.PairsEdit, now: float) -> None:
        found.terms = self.edited(found, edit).terms
        for order in found.orders:
            self._order_store.changed(order, now)

    # What follows from the end or the execution of another order

    def _executed(self, order: Order, now: float) -> None:
        """Reject a replacement whose original was filled, and cancel the other exclusive order, which may not be.

        The status of the replacement, and that the original works on, are guesses.
        """
        new, parent = order.replaced_by, order.complex_order
        if order.status is OrderStatus.REPLACE_REQUESTED and new is not None:
            order.replaced_by = None
            if parent is not None:
                parent.replaced(new, order)
            self._unschedule(order, "confirm")
            self._order_store.move(order, OrderStatus.LIVE, now)
            if not new.is_terminal:
                self._order_store.release(order, order.set_aside)
                new.reject_reason = "The order was filled before it could be replaced"
                self._order_store.move(new, OrderStatus.REJECTED, now)
        if parent is not None and parent.terms.type in _EXCLUSIVE and order in parent.orders:
            self._cancel_rest(parent, order, now)

    def _follow(self, order: Order, now: float) -> None:
        """At the end of an order, let its replacement or the rest of its complex order begin or end."""
        if not order.is_terminal:
            return
        new, parent = order.replaced_by, order.complex_order
        if new is not None and not new.is_terminal:
            if order.status is not OrderStatus.CANCELLED:
                self._order_store.move(new, OrderStatus.EXPIRED, now)
            elif order.contingent_status is ContingentStatus.PENDING_ORDER:  # its replacement waits for the same
                self.hold(new, now)
            else:
                (self.unhold if new.is_held else self.receive)(new, now)
        if parent is None:
            return
        waits_for_ratio = parent.terms.type is ComplexOrderType.PAIRS and not parent.released
        if order is parent.trigger and order.status is OrderStatus.FILLED:
            if all(leg.remaining == 0 for leg in order.legs):  # the others close its position (a guess)
                self._release(parent, now)
        elif order.replaced_by is None and (order is parent.trigger or waits_for_ratio):
            self._cancel_rest(parent, order, now)
        if all(member.is_terminal for member in parent.members) and parent.terminal_at is None:
            parent.terminal_at = now

    def _begin(self, parent: ComplexOrder, now: float) -> None:
        """Release the orders that wait for nothing else."""
        if parent.terms.type is ComplexOrderType.PAIRS:
            self._watch_ratio(parent, now)
            return
        for order in parent.orders if parent.trigger is None else [parent.trigger]:
            if order.is_held:
                self.unhold(order, now)

    def _release(self, parent: ComplexOrder, now: float) -> None:
        parent.released = True
        for order in parent.orders:
            if order.is_held:
                if parent.trigger is not None:
                    self._preflight.reopen(order)
                self.unhold(order, now)

    def _cancel_rest(self, parent: ComplexOrder, except_for: Order, now: float) -> None:
        for order in parent.orders:
            if order is not except_for and not order.is_terminal:
                self.stop(order, now, by_user=False)

    def _watch_ratio(self, parent: ComplexOrder, now: float) -> None:
        terms, threshold = parent.terms, parent.terms.ratio_price_threshold
        if parent.released or parent.terminal_at is not None or threshold is None:
            return
        legs = [order.legs[0] for order in parent.orders[:2]]
        first, second = (
            self._prices.price(leg.instrument, now)
            * (leg.quantity * leg.instrument.multiplier if terms.ratio_price_is_threshold_based_on_notional else 1)
            for leg in legs
        )
        if _meets(first / second, terms.ratio_price_comparator, threshold):
            self._release(parent, now)
        else:
            self._event_queue.at(next_minute(now), partial(self._watch_ratio, parent))

    # The life of an order

    def chance(self, behaviour: str, order: Order) -> float | None:
        """Return after how many seconds a rare event happens to an order, None if it does not."""
        rate, key = RATES[behaviour], key_of(behaviour)
        if not self._has(behaviour) or self._random.below(rate.one_in, order.number, key):
            return None
        return self._random.between(*rate.seconds, order.number, key, 1)

    def is_offline(self, now: float) -> bool:
        """Return whether the session of the sandbox is offline, which it is for 25 minutes of a rare day."""
        behaviour = "sandbox_sessions_go_offline"
        day, key = local_date(now), key_of(behaviour)
        rare = self._random.below(RATES[behaviour].one_in, day.toordinal(), key) == 0
        if not (rare and self._environment == "sandbox" and self._has(behaviour)):
            return False
        begins = local_epoch(day, self._random.between(*_OUTAGE_BEGINS, day.toordinal(), key, 1))
        return begins <= now < begins + _OUTAGE

    def receive(self, order: Order, now: float) -> None:
        """Accept an order and see it through, from routing to its end."""
        self._schedule_end(order, now)
        if order.conditions:
            order.contingent_status = ContingentStatus.PENDING_CONDITION
            self._order_store.move(order, OrderStatus.CONTINGENT, now)
            self._schedule(order, "evaluate", now, self._watch_conditions)
        else:
            self._route(order, now)

    def _route(self, order: Order, now: float) -> None:
        after = order.rules.route_after
        earliest = now if after is None else max(now, after.timestamp())
        self._schedule(order, "next", self._opening(order, earliest) + self._delay(order, _ROUTE), self._routed)

    def hold(self, order: Order, now: float) -> None:
        """Hold a new order back until another event unholds it."""
        order.contingent_status = ContingentStatus.PENDING_ORDER
        self._order_store.move(order, OrderStatus.CONTINGENT, now)
        self._schedule_end(order, now)

    def unhold(self, order: Order, now: float) -> None:
        """Accept an order that was held back. Its own rules apply from now on."""
        order.contingent_status = None
        self._order_store.move(order, OrderStatus.RECEIVED, now)
        self.receive(order, now)

    def stop(self, order: Order, now: float, *, by_user: bool) -> None:
        """Cancel an order that is not too far for it.

        This happens at once if the order is not at the exchange yet, otherwise once that confirms. Until then a
        request of the user may lose to a fill. What the brokerage itself cancels is not filled any more (a guess).
        """
        if not by_user and order.replaces is not None and order.replaces.status is OrderStatus.REPLACE_REQUESTED:
            self._withdraw(order.replaces)
        if not order.is_stoppable:
            self._withdraw(order)
            return
        order.cancelled_by_user = by_user
        if not order.is_at_exchange:
            self._order_store.move(order, OrderStatus.CANCELLED, now)
            return
        may_fill = by_user and order.number in self._live and self._has("fills_after_cancel_requests")
        if not may_fill:
            self._withdraw(order)
        self._request_end(order, OrderStatus.CANCEL_REQUESTED, now)
        beaten = self.chance("fills_after_cancel_requests", order)

        def beat(order: Order, at: float) -> None:  # at its limit, before the exchange hears of the cancellation
            is_limit = order.is_limited and len(order.legs) == 1 and (order.triggered or not order.is_stop)
            if is_limit and self._opening(order, at) <= at:
                self.fill(order, order.units, at, order.terms.price)

        if may_fill and beaten is not None:
            self._schedule(order, "beaten", now + beaten, beat)

    def _withdraw(self, order: Order) -> None:
        """Take an order out of the book, so that it is not filled any more."""
        self._live.pop(order.number, None)
        self._unschedule(order, "next", "evaluate", "beaten")

    def _request_end(self, order: Order, status: OrderStatus, now: float) -> None:
        """Ask for the end of an order at the exchange, which confirms it later."""
        self._order_store.move(order, status, now)
        late = self.chance("cancels_confirmed_late", order) or self._delay(order, _CONFIRM)
        self._schedule(order, "confirm", now + late, lambda order, at: self.remove(order, OrderStatus.CANCELLED, at))

    def _opening(self, order: Order, now: float) -> float:
        return max(now, self._preflight.working_hours(order, now)[0])

    def _schedule(self, order: Order, name: str, when: float, action: Callable[[Order, float], None]) -> None:
        self._unschedule(order, name)
        order.scheduled[name] = self._event_queue.at(when, partial(self._run, order, action))

    def _run(self, order: Order, action: Callable[[Order, float], None], now: float) -> None:
        if self.is_frozen(order):
            self._waiting.append((order, order.status, action))
        else:
            action(order, now)

    def is_frozen(self, order: Order) -> bool:
        return bool({(str(order.number), order.status.value), ("*", order.status.value)} & self._frozen)

    def freeze(self, number: str, status: OrderStatus) -> None:
        """Let nothing that is scheduled happen to an order, or to any (`*`), while it is in a status."""
        self._frozen.add((number, status.value))

    def thaw(self, number: str, now: float) -> None:
        """Undo `freeze` for an order, or for all (`*`), and run at once the actions that have become due."""
        self._frozen = {each for each in self._frozen if number not in ("*", each[0])}
        due = [each for each in self._waiting if number in ("*", str(each[0].number))]
        self._waiting = [each for each in self._waiting if each not in due]
        for order, status, action in due:
            if order.status is status:
                self._run(order, action, now)

    def _unschedule(self, order: Order, *names: str) -> None:
        for name in names:
            event = order.scheduled.pop(name, None)
            if event is not None:
                event.cancel()

    def _delay(self, order: Order, step: int, turn: int = 0) -> float:
        return self._random.between(*_DELAYS[step], order.number, step, turn)

    def _schedule_end(self, order: Order, now: float) -> None:
        terms = order.terms

        def cancel(order: Order, at: float) -> None:
            if order.is_stoppable:
                order.cancelled_by_rule_at = at
                self.stop(order, at, by_user=False)

        if order.rules.cancel_at is not None:
            self._schedule(order, "cancel", max(now, order.rules.cancel_at.timestamp()), cancel)
        ends = [leg.instrument.expires_at for leg in order.legs if leg.instrument.expires_at is not None]
        if not terms.time_in_force.startswith("GTC"):
            _, end = self._preflight.working_hours(order, now)
            if terms.gtc_date is not None:
                last, collection = terms.gtc_date, order.legs[0].instrument.collection
                session = None if collection is None else CALENDARS[collection].session(last)
                end = max(end, local_epoch(last, 24) if session is None else session.close)
            ends.append(end)
        if ends:
            self._schedule(order, "expiry", max(now, min(ends)), self.expire)

    def _routed(self, order: Order, now: float) -> None:
        if order.rules.route_after is not None:
            order.routed_by_rule_at = now
        reason = reject_reason(order)
        # The tick tables of spreads are unknown.
        is_off_tick = any(price % order.legs[0].instrument.tick_at(price) for price in order.agreed.values())
        if reason is None and is_off_tick and self._has("off_tick_rejected_at_routing"):
            reason = "The price is between two ticks (text of the simulator)"
        if reason is None and self.is_offline(now):
            reason = "Session offline"
        if reason is not None:
            self.reject(order, reason, now)
            return
        if self.chance("orders_can_be_dead", order) is not None:
            self._order_store.move(order, OrderStatus.DEAD, now)
            return
        self._order_store.move(order, OrderStatus.ROUTED, now)

        def take_off(order: Order, at: float) -> None:
            self._order_store.move(order, OrderStatus.IN_FLIGHT, at)
            self._schedule(order, "next", at + self._delay(order, _LIVE), self._went_live)

        flies = self._has("orders_pass_in_flight")
        self._schedule(
            order, "next", now + self._delay(order, _FLY if flies else _LIVE), take_off if flies else self._went_live
        )

    def _went_live(self, order: Order, now: float) -> None:
        def reject(order: Order, at: float) -> None:
            if order.status is OrderStatus.LIVE and not order.is_touched:
                self.reject(order, "Rejected by the exchange", at)

        def remove(order: Order, at: float) -> None:
            if order.status is OrderStatus.LIVE:
                self.remove(order, OrderStatus.REMOVE_PENDING, at)
                end = at + self._delay(order, _REMOVE)
                self._schedule(order, "next", end, lambda order, at: self.remove(order, order.removal, at))

        self.make_live(order, now)
        self.evaluate(order, now)
        for behaviour, action in (("live_orders_can_be_rejected", reject), ("administrators_remove_orders", remove)):
            delay = self.chance(behaviour, order)
            if delay is not None:
                self._schedule(order, behaviour, now + delay, action)

    def make_live(self, order: Order, now: float) -> None:
        """Let an order work from now on, through every status before."""
        self._live[order.number] = order
        skipped = () if self._has("orders_pass_in_flight") else (OrderStatus.IN_FLIGHT,)
        for status in (OrderStatus.ROUTED, OrderStatus.IN_FLIGHT, OrderStatus.LIVE):
            if order.can_become(status) and status not in skipped:
                self._order_store.move(order, status, now)

    def reject(self, order: Order, reason: str, now: float) -> None:
        order.reject_reason = reason
        self.remove(order, OrderStatus.REJECTED, now)

    def remove(self, order: Order, status: OrderStatus, now: float) -> None:
        """Take an order out of the book and give it a status, mostly its last one."""
        self._withdraw(order)
        self._order_store.move(order, status, now)

    def evaluate(self, order: Order, now: float) -> None:
        """Schedule the next step of an order in the book: a fill if it is marketable, else another evaluation."""
        if order.number not in self._live:
            return
        self._unschedule(order, "next", "evaluate")
        if (opening := self._opening(order, now)) > now:
            self._schedule(order, "evaluate", opening, self.evaluate)
        elif self.is_marketable(order, now) and self._fillable(order, now):
            turn = len(order.legs[0].fills)
            self._schedule(order, "next", now + self._delay(order, _FILL, turn), self._traded)
        elif order.terms.time_in_force is TimeInForce.IOC:
            self.remove(order, OrderStatus.CANCELLED, now)
        else:
            change = self._prices.next_change(order.underlying, now)
            soonest = now + _LOOK if self._prices.pace else now
            self._schedule(order, "evaluate", max(change, soonest), self.evaluate)

    def _quote(self, leg: Leg, now: float) -> tuple[Quote, Decimal]:
        """Return the quote of a leg, and the quantity that was taken from it. A new quote brings a new size."""
        quote = self._prices.market(leg.instrument, now)
        since, taken = self._taken.get((leg.instrument.symbol, leg.sign > 0), (quote.since, Decimal(0)))
        return quote, taken if since == quote.since else Decimal(0)

    def _fillable(self, order: Order, now: float) -> int:
        """Return how many remaining units the market can fill now. Fractions of a share are filled as a whole."""
        units = order.units
        for leg in order.legs:
            quote, taken = self._quote(leg, now)
            size = quote.ask_size if leg.sign > 0 else quote.bid_size
            if size is not None and leg.remaining:
                left = max(Decimal(0), size - taken)
                is_whole = leg.remaining == leg.remaining.to_integral_value()
                units = min(units, int(left * order.units // leg.remaining) if is_whole else int(left > 0))
        return units

    def is_marketable(self, order: Order, now: float) -> bool:
        """Return whether an order can trade at ``now``. A stop whose price is reached is triggered on the way."""
        limit = order.signed_limit
        if order.is_stop and not order.triggered:
            price, buys = self._prices.price(order.legs[0].instrument, now), order.buys
            if len(order.legs) > 1 and limit is not None and self._has("stops_of_spreads_have_a_net_trigger"):
                buys = limit > 0
                price = self.unit_cost(order, now) * (1 if buys else -1)
            trigger = order.terms.stop_trigger or Decimal(0)
            if not (price >= trigger if buys else price <= trigger):
                return False
            order.triggered = True
        return limit is None or self.unit_cost(order, now) <= limit

    def unit_cost(self, order: Order, now: float) -> Decimal:
        """Return the cost of one unit of an order at market prices. Negative when it brings money in."""
        if len(order.legs) == 1:
            [leg] = order.legs
            return self._prices.trade_price(leg.instrument, now, buys=leg.sign > 0) * leg.sign
        units = order.units
        prices = ((leg, self._prices.trade_price(leg.instrument, now, buys=leg.sign > 0)) for leg in order.legs)
        return sum((price * leg.sign * leg.remaining / units for leg, price in prices), Decimal(0))

    def _traded(self, order: Order, now: float) -> None:
        units, turn = order.units, len(order.legs[0].fills)
        parts = 1 + self._random.below(_MAX_FILLS, order.number, _FILL_COUNT)
        is_last = units == 1 or turn + 1 >= parts
        part = units if is_last else 1 + self._random.below(units - 1, order.number, _FILL_SIZE, turn)
        if self._opening(order, now) <= now and self.is_marketable(order, now):
            part = min(part, self._fillable(order, now))
            if part:  # others may have taken the size
                self.fill(order, part, now)
        if not order.is_terminal:
            self.evaluate(order, now)

    def fill(self, order: Order, part: int, now: float, price: Decimal | None = None) -> None:
        """Execute some of the remaining units of an order, at ``price`` or at market prices."""

        def execute_later(leg: Leg, quantity: Decimal, paid: Decimal, order: Order, at: float) -> None:
            self._execute(order, leg, quantity, paid, at)
            self.on_fill.emit(order, at)
            self._order_store.changed(order, at)

        units = order.units
        is_last, later = part == units, []
        for position, leg in enumerate(order.legs):
            quantity = leg.remaining * part / units
            paid = self._prices.trade_price(leg.instrument, now, buys=leg.sign > 0) if price is None else price
            quote, taken = self._quote(leg, now)
            self._taken[leg.instrument.symbol, leg.sign > 0] = quote.since, quantity + taken
            if is_last and position and self._has("filled_with_fills_to_come"):
                later.append(partial(execute_later, leg, quantity, paid))
            else:
                self._execute(order, leg, quantity, paid, now)
        self._order_store.release(order, _left(order.reserved, part, units))
        order.set_aside = _left(order.set_aside, part, units)
        self.on_fill.emit(order, now)
        if not is_last:
            self._order_store.changed(order, now)
            return
        self.remove(order, OrderStatus.FILLED, now)
        for turn, action in enumerate(later):
            late = self.chance("filled_with_fills_to_come", order) or self._delay(order, _LEG, turn)
            self._schedule(order, f"leg {turn}", now + late, action)

    def _execute(self, order: Order, leg: Leg, quantity: Decimal, price: Decimal, now: float) -> None:
        """Fill a part of a leg."""
        turn = f"{order.number}-{len(leg.fills) + leg.busted + 1}"
        identifier = f"{turn}-{order.legs.index(leg)}"
        fees = fees_of(leg.instrument, leg.action, quantity, price)
        execution = Execution(identifier, order.number, leg.instrument, leg.action, quantity, price, fees)
        self._bookkeeping.book(order.account, execution, now)
        fill = FillWire(
            ext_group_fill_id=turn,
            ext_exec_id=identifier,
            fill_id=f"SIM_{identifier}",
            quantity=self._dialect.quantity(quantity),
            fill_price=money(price),
            filled_at=timestamp(now),
            destination_venue="SIMULATED",
        )
        leg.remaining -= quantity
        leg.fills.append(fill)

    def bust(self, order: Order, fill_id: str, now: float, price: Decimal | None = None) -> None:
        """Make a fill void, or correct its price. The remaining quantity of its leg stays. All of this is a guess."""
        for leg in order.legs:
            for number, fill in enumerate(leg.fills):
                if fill.fill_id != fill_id:
                    continue
                if price is None:
                    del leg.fills[number]
                    leg.busted += 1
                else:
                    leg.fills[number] = msgspec.structs.replace(fill, fill_price=money(price))
                self._bookkeeping.reverse(order.account, fill.ext_exec_id or "", now, price)
                self._order_store.changed(order, now)
                return
        raise LookupError(f"unknown fill {fill_id} of order {order.number}")

    def expire(self, order: Order, now: float) -> None:
        """Expire an order, unless it is about to be cancelled or removed."""
        if order.can_become(OrderStatus.EXPIRED):
            self.remove(order, OrderStatus.EXPIRED, now)

    def _price_was_set(self, symbol: str, now: float) -> None:
        for order in list(self._live.values()):
            fill = order.scheduled.get("next")
            if fill is not None and fill.action is not None:
                continue  # it is judged by the prices of its own time, and would never come if each change put it off
            if order.underlying == symbol or any(leg.instrument.symbol == symbol for leg in order.legs):
                self.evaluate(order, now)

    def _watch_conditions(self, order: Order, now: float) -> None:
        """Release or cancel an order whose conditions are met, check again later otherwise."""
        conditions = order.conditions
        for position, condition in enumerate(conditions):
            if position in order.condition_hits:
                continue
            price = self._prices.underlying_price(condition.symbol or order.underlying, now)
            if _meets(price, condition.comparator, condition.threshold or Decimal(0)):
                order.condition_hits[position] = (now, price)
        if len(order.condition_hits) < len(conditions):
            changes = [self._prices.next_change(each.symbol or order.underlying, now) for each in conditions]
            self._schedule(order, "evaluate", min(changes), self._watch_conditions)
        elif any(str(condition.action).lower() == "cancel" for condition in conditions):
            self.stop(order, now, by_user=False)
        else:
            order.contingent_status = None
            self._order_store.move(order, OrderStatus.RECEIVED, now)
            self._route(order, now)


def _left(amount: Decimal, part: int, units: int) -> Decimal:
    """Return the rest of an amount of money after a part of the units was filled, to the tenth of a cent."""
    return (amount * (units - part) / units).quantize(_MIL)


def _meets(value: Decimal, comparator: Comparator | None, threshold: Decimal) -> bool:
    return value >= threshold if comparator is Comparator.GTE else value <= threshold
