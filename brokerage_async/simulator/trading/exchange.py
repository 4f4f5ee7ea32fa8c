"""The life of an order at the simulated exchange: routed, live, filled in parts, expired, cancelled.

Everything happens by appointment; the delays are draws that belong to the order. While an order is live and nobody
wants it, it is looked at again whenever prices change.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from ..._generated.models import Comparator, ContingentStatus, LegAction, OrderStatus, TimeInForce
from ..event_queue import Agenda
from ..keyed_random import Chance
from ..market.calendar import CALENDARS, local_epoch
from ..market.market import STEP, Market
from .bookkeeping import Books
from .order_store import Blotter
from .orders import Leg, Order

__all__ = ["Exchange", "reject_reason"]

_ROUTE, _LIVE, _FILL, _CONFIRM, _PARTS, _CUT = range(1, 7)
_DELAYS = {_ROUTE: (0.05, 0.25), _LIVE: (0.05, 0.3), _FILL: (0.2, 1.5), _CONFIRM: (0.1, 0.5)}
_MOST_PARTS = 3
_MIL = Decimal("0.001")


def reject_reason(order: Order) -> str | None:
    """Why the exchange will not take an order, None when it will."""
    for leg in order.legs:
        if leg.instrument.halted:
            return "Trading in the instrument is halted"
        if leg.instrument.hard_to_borrow and leg.action is LegAction.SELL_TO_OPEN:
            return "No shares available to borrow"
    return None


class Exchange:
    """Moves orders from status to status as time goes by."""

    def __init__(self, blotter: Blotter, books: Books, market: Market, agenda: Agenda, chance: Chance) -> None:
        self._blotter = blotter
        self._books = books
        self._market = market
        self._agenda = agenda
        self._chance = chance
        self._live: dict[int, Order] = {}
        self._fill_listeners: list[Callable[[Order, float], None]] = []
        market.on_price(self._price_was_set)

    def on_fill(self, listener: Callable[[Order, float], None]) -> None:
        """Have ``listener(order, now)`` called after every execution."""
        self._fill_listeners.append(listener)

    def receive(self, order: Order, now: float) -> None:
        """Take an order in and see it through, from routing to its end."""
        rules = order.terms.rules
        self._plan_expiry(order, now)
        if rules is not None and rules.cancel_at is not None:
            self._plan(order, "cancel", max(now, rules.cancel_at.timestamp()), self._cancel_by_rule)
        if rules is not None and rules.conditions:
            order.contingent_status = ContingentStatus.PENDING_CONDITION
            self._blotter.move(order, OrderStatus.CONTINGENT, now)
            self._plan(order, "look", now, self._watch_conditions)
            return
        self.route(order, now)

    def route(self, order: Order, now: float) -> None:
        """Send a received order on its way, as soon as its rule and the market's hours allow it."""
        after = order.route_after
        earliest = now if after is None else max(now, after.timestamp())
        opening = self._market.opening(order.legs[0].instrument, earliest, extended=order.terms.is_extended)
        self._plan(order, "next", opening + self._delay(order, _ROUTE), self._routed)

    def release(self, order: Order, now: float) -> None:
        """Let a contingent order go: what it waited for has happened."""
        order.contingent_status = None
        self._blotter.move(order, OrderStatus.RECEIVED, now)
        self.route(order, now)

    def hold(self, order: Order, now: float) -> None:
        """Keep a new order back until something else happens."""
        order.contingent_status = ContingentStatus.PENDING_ORDER
        self._blotter.move(order, OrderStatus.CONTINGENT, now)
        self._plan_expiry(order, now)

    def cancel(self, order: Order, now: float, *, by_user: bool) -> None:
        """Cancel an order: at once when the exchange does not have it yet, otherwise once it confirms."""
        order.cancelled_by_user = by_user
        if not order.is_at_exchange:
            self._blotter.move(order, OrderStatus.CANCELLED, now)
            return
        self._live.pop(order.number, None)
        self._forget(order, "next", "look")
        self._blotter.move(order, OrderStatus.CANCEL_REQUESTED, now)
        self._plan(order, "next", now + self._delay(order, _CONFIRM), self._confirmed)

    def begin_replacement(self, order: Order, now: float) -> None:
        """Have an order cancelled in favour of another one, unless a fill comes first."""
        if not order.is_at_exchange:
            self._blotter.move(order, OrderStatus.CANCELLED, now)
            return
        self._blotter.move(order, OrderStatus.REPLACE_REQUESTED, now)
        self._plan(order, "replace", now + self._delay(order, _CONFIRM), self._confirmed)

    def abandon_replacement(self, order: Order, now: float) -> None:
        """Go on as before after a replacement came to nothing."""
        self._forget(order, "replace")
        if order.status is OrderStatus.REPLACE_REQUESTED:
            self._blotter.move(order, OrderStatus.LIVE, now)

    # Appointments

    def _plan(self, order: Order, name: str, when: float, action: Callable[[Order, float], None]) -> None:
        self._forget(order, name)
        order.appointments[name] = self._agenda.at(when, lambda now: action(order, now))

    def _forget(self, order: Order, *names: str) -> None:
        for name in names:
            known = order.appointments.pop(name, None)
            if known is not None:
                known.cancel()

    def _delay(self, order: Order, step: int, turn: int = 0) -> float:
        return self._chance.between(*_DELAYS[step], order.number, step, turn)

    def _plan_expiry(self, order: Order, now: float) -> None:
        terms = order.terms
        instrument = order.legs[0].instrument
        if terms.time_in_force.startswith("GTC"):
            return
        end = self._market.closing(instrument, now, extended=terms.is_extended)
        if terms.gtc_date is not None:
            last, collection = terms.gtc_date, instrument.collection
            session = None if collection is None else CALENDARS[collection].session(last)
            end = max(end, local_epoch(last, 24) if session is None else session.close)
        self._plan(order, "expiry", end, self._expired)

    # What happens

    def _routed(self, order: Order, now: float) -> None:
        if order.route_after is not None:
            order.routed_by_rule_at = now
        reason = reject_reason(order)
        if reason is not None:
            order.reject_reason = reason
            self._blotter.move(order, OrderStatus.REJECTED, now)
            return
        self._blotter.move(order, OrderStatus.ROUTED, now)
        self._plan(order, "next", now + self._delay(order, _LIVE), self._went_live)

    def _went_live(self, order: Order, now: float) -> None:
        self._live[order.number] = order
        # One that is about to be replaced works until it is out of the way, without another status.
        if order.status is OrderStatus.ROUTED:
            self._blotter.move(order, OrderStatus.LIVE, now)
        self._attend(order, now)

    def _attend(self, order: Order, now: float) -> None:
        """Plan what comes next for a live order: a fill when somebody wants it, another look later otherwise."""
        self._forget(order, "next", "look")
        instrument = order.legs[0].instrument
        extended = order.terms.is_extended
        if not self._market.is_open(instrument, now, extended=extended):
            self._plan(order, "look", self._market.opening(instrument, now, extended=extended), self._attend)
        elif self.is_marketable(order, now):
            turn = len(order.legs[0].fills)
            self._plan(order, "next", now + self._delay(order, _FILL, turn), self._traded)
        elif order.terms.time_in_force is TimeInForce.IOC:
            self._live.pop(order.number, None)
            self._blotter.move(order, OrderStatus.CANCELLED, now)
        else:
            self._plan(order, "look", (now // STEP + 1) * STEP, self._attend)

    def is_marketable(self, order: Order, now: float) -> bool:
        """Whether somebody would take the other side of an order at ``now``; sets off stops on the way."""
        if order.terms.is_stop and not order.triggered:
            price = self._market.price(order.legs[0].instrument, now)
            trigger = order.terms.stop_trigger or Decimal(0)
            if not (price >= trigger if order.buys else price <= trigger):
                return False
            order.triggered = True
        limit = order.signed_limit
        return limit is None or self.unit_cost(order, now) <= limit

    def unit_cost(self, order: Order, now: float) -> Decimal:
        """What one unit of an order costs at market prices; negative when it brings money in."""
        units = order.units
        prices = ((leg, self._market.price(leg.instrument, now)) for leg in order.legs)
        if len(order.legs) == 1:
            leg, price = next(prices)
            return price * leg.sign
        return sum((price * leg.sign * leg.remaining / units for leg, price in prices), Decimal(0))

    def _traded(self, order: Order, now: float) -> None:
        is_open = self._market.is_open(order.legs[0].instrument, now, extended=order.terms.is_extended)
        if not is_open or not self.is_marketable(order, now):
            self._attend(order, now)
            return
        units = order.units
        part = self._part(order, units)
        for leg in order.legs:
            self._execute(order, leg, leg.remaining * part / units, now)
        self._blotter.release(order, (order.reserved * (units - part) / units).quantize(_MIL))
        for listener in self._fill_listeners:
            listener(order, now)
        if all(leg.remaining == 0 for leg in order.legs):
            self._live.pop(order.number, None)
            self._blotter.move(order, OrderStatus.FILLED, now)
            return
        self._blotter.changed(order, now)
        self._attend(order, now)

    def _part(self, order: Order, units: int) -> int:
        """How many of the remaining units are filled this time."""
        turn = len(order.legs[0].fills)
        parts = 1 + self._chance.below(_MOST_PARTS, order.number, _PARTS)
        if units == 1 or turn + 1 >= parts:
            return units
        return 1 + self._chance.below(units - 1, order.number, _CUT, turn)

    def _execute(self, order: Order, leg: Leg, quantity: Decimal, now: float) -> None:
        price = self._market.price(leg.instrument, now)
        leg.remaining -= quantity
        leg.fills.append(self._books.execute(order, leg, quantity, price, now))

    def _confirmed(self, order: Order, now: float) -> None:
        self._blotter.move(order, OrderStatus.CANCELLED, now)

    def _expired(self, order: Order, now: float) -> None:
        if order.status is OrderStatus.CANCEL_REQUESTED:
            return
        self._live.pop(order.number, None)
        self._blotter.move(order, OrderStatus.EXPIRED, now)

    def _cancel_by_rule(self, order: Order, now: float) -> None:
        if order.is_cancellable:
            order.cancelled_by_rule_at = now
            self.cancel(order, now, by_user=False)

    def _price_was_set(self, symbol: str, now: float) -> None:
        for order in [order for order in self._live.values() if order.underlying == symbol]:
            if order.status is OrderStatus.LIVE:
                self._attend(order, now)

    # Conditions

    def _watch_conditions(self, order: Order, now: float) -> None:
        """Release, or cancel, an order whose conditions have come to hold; look again otherwise."""
        conditions = order.conditions
        for position, condition in enumerate(conditions):
            if position in order.condition_hits:
                continue
            price = self._market.underlying_price(condition.symbol or order.underlying, now)
            threshold = condition.threshold or Decimal(0)
            if price >= threshold if condition.comparator is Comparator.GTE else price <= threshold:
                order.condition_hits[position] = (now, price)
        if len(order.condition_hits) < len(conditions):
            self._plan(order, "look", (now // STEP + 1) * STEP, self._watch_conditions)
        elif any(str(condition.action).lower() == "cancel" for condition in conditions):
            self.cancel(order, now, by_user=False)
        else:
            self.release(order, now)
