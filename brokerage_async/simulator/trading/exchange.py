"""Simulated exchange: routes, fills, expires and cancels orders, some of which meet rare events by the seed.

Every step is a scheduled event, and its delay is a random value that belongs to the order. A live order without a
counterparty is evaluated again whenever prices change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

import attrs
import msgspec

from ..._generated.models import Comparator, ContingentStatus, LegAction, OrderStatus, TimeInForce
from ..api.wire import money
from ..clock import EventQueue, Signal
from ..keyed_random import KeyedRandom, key_of
from ..market import calendar
from ..market.calendar import CALENDARS, local_date, local_epoch
from ..market.prices import Prices
from ..market.quotes import Quote
from .bookkeeping import Bookkeeping
from .orders import Leg, Order, OrderStore

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


class Chances:
    """Decides from the seed which events each order meets."""

    def __init__(self, random: KeyedRandom, environment: str, has: Callable[[str], bool]) -> None:
        self._random = random
        self._is_sandbox = environment == "sandbox"
        self._has = has

    def delay(self, behaviour: str, order: Order) -> float | None:
        """Return after how many seconds an event happens to an order, None if it does not."""
        rate, key = RATES[behaviour], key_of(behaviour)
        if not self._has(behaviour) or self._random.below(rate.one_in, order.number, key):
            return None
        return self._random.between(*rate.seconds, order.number, key, 1)

    def is_offline(self, now: float) -> bool:
        """Return whether the session of the sandbox is offline, which it is for 25 minutes of a rare day."""
        behaviour = "sandbox_sessions_go_offline"
        day, key = local_date(now), key_of(behaviour)
        rare = self._random.below(RATES[behaviour].one_in, day.toordinal(), key) == 0
        if not (rare and self._is_sandbox and self._has(behaviour)):
            return False
        begins = local_epoch(day, self._random.between(*_OUTAGE_BEGINS, day.toordinal(), key, 1))
        return begins <= now < begins + _OUTAGE


_ROUTE, _LIVE, _FILL, _CONFIRM, _FILL_COUNT, _FILL_SIZE, _FLY, _LEG, _REMOVE = range(1, 10)
_DELAYS = {
    _ROUTE: (0.05, 0.25), _FLY: (0.02, 0.1), _LIVE: (0.03, 0.2), _FILL: (0.2, 1.5), _LEG: (0.05, 0.8),
    _CONFIRM: (0.1, 0.5), _REMOVE: (0.5, 5.0),
}  # fmt: skip
_MAX_FILLS = 3
_LOOK = 1.0
"""Seconds between two looks of a resting order at prices that change several times a second."""
_MIL = Decimal("0.001")


def reject_reason(order: Order) -> str | None:
    """Return why the exchange rejects an order, None if it accepts it."""
    for leg in order.legs:
        if leg.instrument.halted:
            return "Trading in the instrument is halted"
        if leg.instrument.hard_to_borrow and leg.action is LegAction.SELL_TO_OPEN:
            return "No shares available to borrow"
    return None


@attrs.define(eq=False, repr=False)
class Exchange:
    """Moves orders from status to status as time passes."""

    _order_store: OrderStore
    _bookkeeping: Bookkeeping
    _prices: Prices
    _event_queue: EventQueue
    _random: KeyedRandom
    _chances: Chances
    _has: Callable[[str], bool]
    _taken: dict[tuple[str, bool], tuple[float, Decimal]] = attrs.field(init=False, factory=dict)
    _frozen: set[tuple[str, str]] = attrs.field(init=False, factory=set)
    _waiting: list[tuple[Order, OrderStatus, Callable[[Order, float], None]]] = attrs.field(init=False, factory=list)
    _live: dict[int, Order] = attrs.field(init=False, factory=dict)
    on_fill: Signal[Order, float] = attrs.field(init=False, factory=Signal)

    def __attrs_post_init__(self) -> None:
        self._prices.on_price(self._price_was_set)

    def receive(self, order: Order, now: float) -> None:
        """Accept an order and see it through, from routing to its end."""
        self._schedule_end(order, now)
        if order.conditions:
            order.contingent_status = ContingentStatus.PENDING_CONDITION
            self._order_store.move(order, OrderStatus.CONTINGENT, now)
            self._schedule(order, "evaluate", now, self._watch_conditions)
        else:
            self.route(order, now)

    def route(self, order: Order, now: float) -> None:
        after = order.route_after
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

    def cancel(self, order: Order, now: float, *, by_user: bool) -> None:
        """Cancel an order.

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
        terms, beaten = order.terms, self._chances.delay("fills_after_cancel_requests", order)

        def beat(order: Order, at: float) -> None:  # at its limit, before the exchange hears of the cancellation
            works = order.triggered or not terms.takes("stop_trigger")
            is_limit = works and terms.takes("price") and len(order.legs) == 1
            if is_limit and self._opening(order, at) <= at:
                self.fill(order, order.units, at, terms.price)

        if may_fill and beaten is not None:
            self._schedule(order, "beaten", now + beaten, beat)

    def _withdraw(self, order: Order) -> None:
        """Take an order out of the book, so that it is not filled any more."""
        self._live.pop(order.number, None)
        self._unschedule(order, "next", "evaluate", "beaten")

    def begin_replacement(self, order: Order, now: float) -> None:
        """Cancel an order in favor of its replacement, unless a fill comes first."""
        if order.is_at_exchange:
            self._request_end(order, OrderStatus.REPLACE_REQUESTED, now)
        else:
            self._order_store.move(order, OrderStatus.CANCELLED, now)

    def _request_end(self, order: Order, status: OrderStatus, now: float) -> None:
        """Ask for the end of an order at the exchange, which confirms it later."""
        self._order_store.move(order, status, now)
        late = self._chances.delay("cancels_confirmed_late", order) or self._delay(order, _CONFIRM)
        self._schedule(order, "confirm", now + late, lambda order, at: self.remove(order, OrderStatus.CANCELLED, at))

    def abandon_replacement(self, order: Order, now: float) -> None:
        self._unschedule(order, "confirm")
        if order.status is OrderStatus.REPLACE_REQUESTED:
            self._order_store.move(order, OrderStatus.LIVE, now)

    def _opening(self, order: Order, now: float) -> float:
        hours = calendar.hours_of(order.terms.time_in_force, self._has)
        return calendar.opening(order.legs[0].instrument.collection, now, hours=hours)

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
                self.cancel(order, at, by_user=False)

        if terms.rules is not None and terms.rules.cancel_at is not None:
            self._schedule(order, "cancel", max(now, terms.rules.cancel_at.timestamp()), cancel)
        instrument = order.legs[0].instrument
        ends = [leg.instrument.expires_at for leg in order.legs if leg.instrument.expires_at is not None]
        if not terms.time_in_force.startswith("GTC"):
            end = calendar.closing(instrument.collection, now, hours=calendar.hours_of(terms.time_in_force, self._has))
            if terms.gtc_date is not None:
                last, collection = terms.gtc_date, instrument.collection
                session = None if collection is None else CALENDARS[collection].session(last)
                end = max(end, local_epoch(last, 24) if session is None else session.close)
            ends.append(end)
        if ends:
            self._schedule(order, "expiry", max(now, min(ends)), self.expire)

    def _routed(self, order: Order, now: float) -> None:
        if order.route_after is not None:
            order.routed_by_rule_at = now
        reason = reject_reason(order)
        # The tick tables of spreads are unknown.
        is_off_tick = not all(map(order.legs[0].instrument.is_on_tick, order.agreed.values()))
        if reason is None and is_off_tick and self._has("off_tick_rejected_at_routing"):
            reason = "The price is between two ticks (text of the simulator)"
        if reason is None and self._chances.is_offline(now):
            reason = "Session offline"
        if reason is not None:
            self.reject(order, reason, now)
            return
        if self._chances.delay("orders_can_be_dead", order) is not None:
            self._order_store.move(order, OrderStatus.DEAD, now)
            return
        self._order_store.move(order, OrderStatus.ROUTED, now)

        def take_off(order: Order, at: float) -> None:
            if self._has("orders_pass_in_flight"):
                self._order_store.move(order, OrderStatus.IN_FLIGHT, at)
            self._schedule(order, "next", at + self._delay(order, _LIVE), self._went_live)

        if self._has("orders_pass_in_flight"):
            self._schedule(order, "next", now + self._delay(order, _FLY), take_off)
        else:
            take_off(order, now)

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
            delay = self._chances.delay(behaviour, order)
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
            self._live.pop(order.number, None)
            self._order_store.move(order, OrderStatus.CANCELLED, now)
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
        if order.terms.takes("stop_trigger") and not order.triggered:
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
        if self._opening(order, now) > now or not self.is_marketable(order, now):
            self.evaluate(order, now)
            return
        units, turn = order.units, len(order.legs[0].fills)
        parts = 1 + self._random.below(_MAX_FILLS, order.number, _FILL_COUNT)
        is_last = units == 1 or turn + 1 >= parts
        part = units if is_last else 1 + self._random.below(units - 1, order.number, _FILL_SIZE, turn)
        part = min(part, self._fillable(order, now))
        if part == 0:  # others took the size
            self.evaluate(order, now)
            return
        self.fill(order, part, now)
        if not order.is_terminal:
            self.evaluate(order, now)

    def fill(self, order: Order, part: int, now: float, price: Decimal | None = None) -> None:
        """Execute some of the remaining units of an order, at ``price`` or at market prices."""

        def execute_later(leg: Leg, quantity: Decimal, paid: Decimal, order: Order, at: float) -> None:
            self._bookkeeping.execute(order, leg, quantity, paid, at)
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
                self._bookkeeping.execute(order, leg, quantity, paid, now)
        self._order_store.release(order, _left(order.reserved, part, units))
        order.set_aside = _left(order.set_aside, part, units)
        self.on_fill.emit(order, now)
        if not is_last:
            self._order_store.changed(order, now)
            return
        self._live.pop(order.number, None)
        self._order_store.move(order, OrderStatus.FILLED, now)
        for turn, action in enumerate(later):
            late = self._chances.delay("filled_with_fills_to_come", order) or self._delay(order, _LEG, turn)
            self._schedule(order, f"leg {turn}", now + late, action)

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
        if not order.can_become(OrderStatus.EXPIRED):
            return
        self._live.pop(order.number, None)
        self._order_store.move(order, OrderStatus.EXPIRED, now)

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
            threshold = condition.threshold or Decimal(0)
            if price >= threshold if condition.comparator is Comparator.GTE else price <= threshold:
                order.condition_hits[position] = (now, price)
        if len(order.condition_hits) < len(conditions):
            changes = [self._prices.next_change(each.symbol or order.underlying, now) for each in conditions]
            self._schedule(order, "evaluate", min(changes), self._watch_conditions)
        elif any(str(condition.action).lower() == "cancel" for condition in conditions):
            self.cancel(order, now, by_user=False)
        else:
            order.contingent_status = None
            self._order_store.move(order, OrderStatus.RECEIVED, now)
            self.route(order, now)


def _left(amount: Decimal, part: int, units: int) -> Decimal:
    """Return the rest of an amount of money after a part of the units was filled, to the tenth of a cent."""
    return (amount * (units - part) / units).quantize(_MIL)
