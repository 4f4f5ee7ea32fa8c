"""Simulated exchange: routes, fills, expires and cancels orders.

Every step is a scheduled event, and its delay is a random value that belongs to the order. A live order without a
counterparty is evaluated again whenever prices change.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from ..._generated.models import Comparator, ContingentStatus, LegAction, OrderStatus, TimeInForce
from ..event_queue import EventQueue
from ..keyed_random import KeyedRandom
from ..market import trading_hours
from ..market.calendar import CALENDARS, local_epoch
from ..market.prices import Prices
from .bookkeeping import Bookkeeping
from .liquidity import Liquidity
from .order_store import OrderStore
from .orders import Leg, Order

__all__ = ["Exchange", "reject_reason"]

_ROUTE, _LIVE, _FILL, _CONFIRM, _FILL_COUNT, _FILL_SIZE = range(1, 7)
_DELAYS = {_ROUTE: (0.05, 0.25), _LIVE: (0.05, 0.3), _FILL: (0.2, 1.5), _CONFIRM: (0.1, 0.5)}
_MAX_FILLS = 3
_MIL = Decimal("0.001")


def reject_reason(order: Order) -> str | None:
    """Return why the exchange rejects an order, None if it accepts it."""
    for leg in order.legs:
        if leg.instrument.halted:
            return "Trading in the instrument is halted"
        if leg.instrument.hard_to_borrow and leg.action is LegAction.SELL_TO_OPEN:
            return "No shares available to borrow"
    return None


class Exchange:
    """Moves orders from status to status as time passes."""

    def __init__(
        self,
        order_store: OrderStore,
        bookkeeping: Bookkeeping,
        prices: Prices,
        event_queue: EventQueue,
        random: KeyedRandom,
        has: Callable[[str], bool],
    ) -> None:
        self._has = has
        self._order_store = order_store
        self._bookkeeping = bookkeeping
        self._prices = prices
        self._liquidity = Liquidity(prices)
        self._event_queue = event_queue
        self._random = random
        self._live: dict[int, Order] = {}
        self._fill_listeners: list[Callable[[Order, float], None]] = []
        prices.on_price(self._price_was_set)

    def on_fill(self, listener: Callable[[Order, float], None]) -> None:
        """Call ``listener(order, now)`` after every execution."""
        self._fill_listeners.append(listener)

    def receive(self, order: Order, now: float) -> None:
        """Accept an order and see it through, from routing to its end."""
        self._schedule_end(order, now)
        if order.conditions:
            order.contingent_status = ContingentStatus.PENDING_CONDITION
            self._order_store.move(order, OrderStatus.CONTINGENT, now)
            self._schedule(order, "evaluate", now, self._watch_conditions)
            return
        self.route(order, now)

    def route(self, order: Order, now: float) -> None:
        """Route a received order as soon as its rules and the market hours allow it."""
        after = order.route_after
        earliest = now if after is None else max(now, after.timestamp())
        opening = trading_hours.opening(order.legs[0].instrument, earliest, hours=self._hours(order))
        self._schedule(order, "next", opening + self._delay(order, _ROUTE), self._routed)

    def release(self, order: Order, now: float) -> None:
        """Release a contingent order: its condition is met."""
        order.contingent_status = None
        self._order_store.move(order, OrderStatus.RECEIVED, now)
        self.route(order, now)

    def hold(self, order: Order, now: float) -> None:
        """Hold a new order back until another event unholds it."""
        order.contingent_status = ContingentStatus.PENDING_ORDER
        self._order_store.move(order, OrderStatus.CONTINGENT, now)
        self._schedule_end(order, now)

    def unhold(self, order: Order, now: float) -> None:
        """Accept an order that was held back; its own rules apply from now on."""
        order.contingent_status = None
        self._order_store.move(order, OrderStatus.RECEIVED, now)
        self.receive(order, now)

    def cancel(self, order: Order, now: float, *, by_user: bool) -> None:
        """Cancel an order.

        This happens at once if the order is not at the exchange yet, otherwise once that confirms.
        """
        order.cancelled_by_user = by_user
        if not order.is_at_exchange:
            self._order_store.move(order, OrderStatus.CANCELLED, now)
            return
        self._live.pop(order.number, None)
        self._unschedule(order, "next", "evaluate")
        self._order_store.move(order, OrderStatus.CANCEL_REQUESTED, now)
        self._schedule(order, "next", now + self._delay(order, _CONFIRM), self._confirmed)

    def begin_replacement(self, order: Order, now: float) -> None:
        """Cancel an order in favor of another one, unless a fill comes first."""
        if not order.is_at_exchange:
            self._order_store.move(order, OrderStatus.CANCELLED, now)
            return
        self._order_store.move(order, OrderStatus.REPLACE_REQUESTED, now)
        self._schedule(order, "replace", now + self._delay(order, _CONFIRM), self._confirmed)

    def abandon_replacement(self, order: Order, now: float) -> None:
        """Keep an order working after its replacement was abandoned."""
        self._unschedule(order, "replace")
        if order.status is OrderStatus.REPLACE_REQUESTED:
            self._order_store.move(order, OrderStatus.LIVE, now)

    def _hours(self, order: Order) -> trading_hours.Hours:
        return trading_hours.hours_of(order.terms.time_in_force, self._has)

    # Scheduled events

    def _schedule(self, order: Order, name: str, when: float, action: Callable[[Order, float], None]) -> None:
        self._unschedule(order, name)
        order.scheduled[name] = self._event_queue.at(when, lambda now: action(order, now))

    def _unschedule(self, order: Order, *names: str) -> None:
        for name in names:
            event = order.scheduled.pop(name, None)
            if event is not None:
                event.cancel()

    def _delay(self, order: Order, step: int, turn: int = 0) -> float:
        return self._random.between(*_DELAYS[step], order.number, step, turn)

    def _schedule_end(self, order: Order, now: float) -> None:
        """Schedule the expiry of an order, and its cancellation by a rule."""
        terms = order.terms
        if terms.rules is not None and terms.rules.cancel_at is not None:
            self._schedule(order, "cancel", max(now, terms.rules.cancel_at.timestamp()), self._cancel_by_rule)
        instrument = order.legs[0].instrument
        ends = [leg.instrument.expires_at for leg in order.legs if leg.instrument.expires_at is not None]
        if not terms.time_in_force.startswith("GTC"):
            end = trading_hours.closing(instrument, now, hours=self._hours(order))
            if terms.gtc_date is not None:
                last, collection = terms.gtc_date, instrument.collection
                session = None if collection is None else CALENDARS[collection].session(last)
                end = max(end, local_epoch(last, 24) if session is None else session.close)
            ends.append(end)
        if ends:
            self._schedule(order, "expiry", max(now, min(ends)), self.expire)

    # Steps of an order

    def _routed(self, order: Order, now: float) -> None:
        if order.route_after is not None:
            order.routed_by_rule_at = now
        reason = reject_reason(order)
        if reason is None and self._has("off_tick_rejected_at_routing") and _is_off_tick(order):
            reason = "The price is between two ticks (text of the simulator)"
        if reason is not None:
            order.reject_reason = reason
            self._order_store.move(order, OrderStatus.REJECTED, now)
            return
        self._order_store.move(order, OrderStatus.ROUTED, now)
        self._schedule(order, "next", now + self._delay(order, _LIVE), self._went_live)

    def _went_live(self, order: Order, now: float) -> None:
        self.make_live(order, now)
        self.evaluate(order, now)

    def make_live(self, order: Order, now: float) -> None:
        """Let an order that was routed work from now on."""
        self._live[order.number] = order
        # An order that is being replaced works until it is cancelled, without another status.
        if order.status is OrderStatus.ROUTED:
            self._order_store.move(order, OrderStatus.LIVE, now)

    def evaluate(self, order: Order, now: float) -> None:
        """Schedule the next step of a live order.

        That is a fill if the order is marketable, another evaluation otherwise.
        """
        self._unschedule(order, "next", "evaluate")
        instrument = order.legs[0].instrument
        hours = self._hours(order)
        if not trading_hours.is_open(instrument, now, hours=hours):
            self._schedule(order, "evaluate", trading_hours.opening(instrument, now, hours=hours), self.evaluate)
        elif self.is_marketable(order, now) and self._liquidity.units(order, now):
            turn = len(order.legs[0].fills)
            self._schedule(order, "next", now + self._delay(order, _FILL, turn), self._traded)
        elif order.terms.time_in_force is TimeInForce.IOC:
            self._live.pop(order.number, None)
            self._order_store.move(order, OrderStatus.CANCELLED, now)
        else:
            self._schedule(order, "evaluate", self._prices.next_change(order.underlying, now), self.evaluate)

    def is_marketable(self, order: Order, now: float) -> bool:
        """Return whether an order can trade at ``now``.

        A stop whose price is reached is triggered on the way.
        """
        if order.terms.is_stop and not order.triggered:
            price = self._prices.price(order.legs[0].instrument, now)
            trigger = order.terms.stop_trigger or Decimal(0)
            if not (price >= trigger if order.buys else price <= trigger):
                return False
            order.triggered = True
        limit = order.signed_limit
        return limit is None or self.unit_cost(order, now) <= limit

    def unit_cost(self, order: Order, now: float) -> Decimal:
        """Return the cost of one unit of an order at market prices.

        Negative when it brings money in.
        """
        if len(order.legs) == 1:
            [leg] = order.legs
            return self._prices.trade_price(leg.instrument, now, buys=leg.sign > 0) * leg.sign
        units = order.units
        prices = ((leg, self._prices.trade_price(leg.instrument, now, buys=leg.sign > 0)) for leg in order.legs)
        return sum((price * leg.sign * leg.remaining / units for leg, price in prices), Decimal(0))

    def _traded(self, order: Order, now: float) -> None:
        is_open = trading_hours.is_open(order.legs[0].instrument, now, hours=self._hours(order))
        if not is_open or not self.is_marketable(order, now):
            self.evaluate(order, now)
            return
        units = order.units
        part = min(self._part(order, units), self._liquidity.units(order, now))
        if part == 0:  # others took the size
            self.evaluate(order, now)
            return
        self.fill(order, part, now)
        if not order.is_terminal:
            self.evaluate(order, now)

    def fill(self, order: Order, part: int, now: float, price: Decimal | None = None) -> None:
        """Execute some of the remaining units of an order, at ``price`` or at market prices."""
        units = order.units
        for leg in order.legs:
            self._execute(order, leg, leg.remaining * part / units, now, price)
        self._order_store.release(order, _left(order.reserved, part, units))
        order.set_aside = _left(order.set_aside, part, units)
        for listener in self._fill_listeners:
            listener(order, now)
        if all(leg.remaining == 0 for leg in order.legs):
            self._live.pop(order.number, None)
            self._order_store.move(order, OrderStatus.FILLED, now)
        else:
            self._order_store.changed(order, now)

    def _part(self, order: Order, units: int) -> int:
        """Return how many of the remaining units are filled this time."""
        turn = len(order.legs[0].fills)
        parts = 1 + self._random.below(_MAX_FILLS, order.number, _FILL_COUNT)
        if units == 1 or turn + 1 >= parts:
            return units
        return 1 + self._random.below(units - 1, order.number, _FILL_SIZE, turn)

    def _execute(self, order: Order, leg: Leg, quantity: Decimal, now: float, price: Decimal | None) -> None:
        if price is None:
            price = self._prices.trade_price(leg.instrument, now, buys=leg.sign > 0)
        self._liquidity.take(leg.instrument, quantity, now, buys=leg.sign > 0)
        leg.remaining -= quantity
        leg.fills.append(self._bookkeeping.execute(order, leg, quantity, price, now))

    def _confirmed(self, order: Order, now: float) -> None:
        self._order_store.move(order, OrderStatus.CANCELLED, now)

    def expire(self, order: Order, now: float) -> None:
        """Expire an order, unless it is about to be cancelled."""
        if order.status is OrderStatus.CANCEL_REQUESTED:
            return
        self._live.pop(order.number, None)
        self._order_store.move(order, OrderStatus.EXPIRED, now)

    def _cancel_by_rule(self, order: Order, now: float) -> None:
        if order.is_cancellable:
            order.cancelled_by_rule_at = now
            self.cancel(order, now, by_user=False)

    def _price_was_set(self, symbol: str, now: float) -> None:
        for order in [order for order in self._live.values() if order.underlying == symbol]:
            if order.status is OrderStatus.LIVE:
                self.evaluate(order, now)

    # Conditions

    def _watch_conditions(self, order: Order, now: float) -> None:
        """Release or cancel an order whose conditions are met, check again later otherwise."""
        conditions = order.conditions
        for position, condition in enumerate(conditions):
            if position in order.condition_hits:
                continue
            price = self._prices.underlying_price(condition.symbol or order.underlying, now)
            threshold = condition.threshold or Decimal(0)
            if price >= threshold if condition.comparator is Comparator.GTE else price <= threshold:
                order.condition_hits[position] = (now, price)
        if len(order.condition_hits) < len(conditions):
            changes = [self._prices.next_change(each.symbol or order.underlying, now) for each in conditions]
            self._schedule(order, "evaluate", min(changes), self._watch_conditions)
        elif any(str(condition.action).lower() == "cancel" for condition in conditions):
            self.cancel(order, now, by_user=False)
        else:
            self.release(order, now)


def _is_off_tick(order: Order) -> bool:
    """Return whether the price of a single leg is between two ticks. Spreads have tables of which nothing is known."""
    price = order.terms.price if order.terms.is_limited and len(order.legs) == 1 else None
    return price is not None and not order.legs[0].instrument.is_on_tick(price)


def _left(amount: Decimal, part: int, units: int) -> Decimal:
    """Return the rest of an amount of money after a part of the units was filled, to the tenth of a cent."""
    return (amount * (units - part) / units).quantize(_MIL)
