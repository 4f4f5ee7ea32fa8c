"""Orders and the transitions between their statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from math import gcd
from typing import Any, Protocol

import attrs

from ..._generated.converters import FillWire
from ..._generated.models import (
    AdvancedInstructions,
    ContingentStatus,
    LegAction,
    MarginOrder,
    NewOrder,
    NewOrderCondition,
    NewOrderRules,
    OrderEdit,
    OrderStatus,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from ..accounts.accounts import Account
from ..event_queue import ScheduledEvent
from ..market.instrument import Instrument

__all__ = ["TERMINAL", "TRANSITIONS", "IllegalTransitionError", "Leg", "Order", "ParentOrder", "Terms", "number_of"]

S = OrderStatus

TERMINAL = frozenset({S.FILLED, S.CANCELLED, S.EXPIRED, S.REJECTED, S.REMOVED, S.PARTIALLY_REMOVED})
"""Statuses that an order never leaves."""

TRANSITIONS: Mapping[OrderStatus, frozenset[OrderStatus]] = {
    S.CONTINGENT: frozenset({S.RECEIVED, S.CANCELLED, S.EXPIRED, S.REJECTED}),
    S.RECEIVED: frozenset({S.CONTINGENT, S.ROUTED, S.CANCELLED, S.EXPIRED, S.REJECTED}),
    S.ROUTED: frozenset({S.LIVE, S.CANCEL_REQUESTED, S.REPLACE_REQUESTED, S.EXPIRED, S.REJECTED}),
    S.LIVE: frozenset({S.FILLED, S.CANCEL_REQUESTED, S.REPLACE_REQUESTED, S.CANCELLED, S.EXPIRED}),
    S.REPLACE_REQUESTED: frozenset({S.LIVE, S.FILLED, S.CANCELLED, S.EXPIRED}),
    S.CANCEL_REQUESTED: frozenset({S.CANCELLED}),
}
"""Statuses that may follow each status."""

_CANCELLABLE = frozenset({S.CONTINGENT, S.RECEIVED, S.ROUTED, S.LIVE})
_EDITABLE = frozenset({S.RECEIVED, S.ROUTED, S.LIVE})
_NOT_AT_EXCHANGE = frozenset({S.CONTINGENT, S.RECEIVED})


class IllegalTransitionError(RuntimeError):
    """Invalid transition of an order: a bug in the simulator itself."""


class ParentOrder(Protocol):
    """Complex order, as its components see it."""

    number: int

    def replaced(self, old: Order, new: Order) -> None:
        """Substitute ``new`` for the component ``old``."""


@attrs.define(eq=False)
class Leg:
    """One instrument of an order; ``quantity`` and ``remaining`` are positive."""

    instrument: Instrument
    action: LegAction
    quantity: Decimal
    remaining: Decimal
    fills: list[FillWire] = attrs.field(factory=list)

    @property
    def opens(self) -> bool:
        """Whether it opens a position."""
        return self.action.endswith("to Open")

    @property
    def sign(self) -> int:
        """1 for a purchase, -1 for a sale."""
        return 1 if self.action.startswith("Buy") else -1

    @property
    def signed(self) -> Decimal:
        """Quantity with the sign of the action."""
        return self.quantity * self.sign


@attrs.frozen(kw_only=True)
class Terms:
    """Terms of an order besides its legs; amounts are unsigned, as received."""

    order_type: OrderType
    time_in_force: TimeInForce
    price: Decimal | None = None
    price_effect: PriceEffect | None = None
    stop_trigger: Decimal | None = None
    value: Decimal | None = None
    value_effect: PriceEffect | None = None
    gtc_date: date | None = None
    external_identifier: str | None = None
    preflight_id: str | None = None
    source: str | None = None
    rules: NewOrderRules | None = None
    advanced_instructions: AdvancedInstructions | None = None

    @classmethod
    def of(cls, requested: NewOrder | OrderEdit | MarginOrder) -> Terms:
        """Return the terms of a request, as far as it has them."""
        given: dict[str, Any] = {field.name: getattr(requested, field.name, None) for field in attrs.fields(cls)}
        return cls(**given)

    @property
    def is_strict(self) -> bool:
        """Whether a leg must open or close as it says."""
        return bool(self.advanced_instructions and self.advanced_instructions.strict_position_effect_validation)

    @property
    def is_limited(self) -> bool:
        """Whether it has a limit price."""
        return self.order_type in (OrderType.LIMIT, OrderType.STOP_LIMIT)

    @property
    def is_stop(self) -> bool:
        """Whether it waits for a trigger price."""
        return self.order_type in (OrderType.STOP, OrderType.STOP_LIMIT)

    @property
    def is_multi_day(self) -> bool:
        """Whether it works for more than one day."""
        return self.time_in_force.startswith(("GTC", "GTD"))


@attrs.define(kw_only=True, eq=False)
class Order:
    """One order.

    Times are epoch seconds; ``number`` is 0 for the order of a dry-run. ``reserved`` is the buying power that it holds,
    ``set_aside`` what it held before its replacement took over.
    """

    number: int
    account: Account
    legs: Sequence[Leg]
    terms: Terms
    status: OrderStatus = S.RECEIVED
    received_at: float | None = None
    in_flight_at: float | None = None
    live_at: float | None = None
    updated_at: float | None = None
    cancelled_at: float | None = None
    terminal_at: float | None = None
    cancelled_by_user: bool = False
    reject_reason: str | None = None
    replaces: Order | None = attrs.field(default=None, repr=False)
    replaced_by: Order | None = attrs.field(default=None, repr=False)
    edited: bool = False
    triggered: bool = False
    reserved: Decimal = Decimal(0)
    set_aside: Decimal = Decimal(0)
    complex_order: ParentOrder | None = None
    tag: str | None = None
    contingent_status: ContingentStatus | None = None
    routed_by_rule_at: float | None = None
    cancelled_by_rule_at: float | None = None
    condition_hits: dict[int, tuple[float, Decimal]] = attrs.field(factory=dict)
    scheduled: dict[str, ScheduledEvent] = attrs.field(factory=dict)
    rendered: bytes | None = None

    # Rules

    @property
    def route_after(self) -> datetime | None:
        """Earliest time of routing, if a rule sets one."""
        return None if self.terms.rules is None else self.terms.rules.route_after

    @property
    def conditions(self) -> Sequence[NewOrderCondition]:
        """Conditions before it is routed, or cancelled."""
        return () if self.terms.rules is None else self.terms.rules.conditions or ()

    # Status

    @property
    def is_terminal(self) -> bool:
        """Whether its status is final."""
        return self.status in TERMINAL

    @property
    def is_cancellable(self) -> bool:
        """Whether it is working, without a requested cancellation."""
        return self.status in _CANCELLABLE

    @property
    def is_editable(self) -> bool:
        """Whether it is working or on its way, not yet replaced, and not waiting for its original."""
        waits = self.replaces is not None and not self.replaces.is_terminal
        return (self.status in _EDITABLE or self.is_held) and self.replaced_by is None and not waits

    @property
    def is_held(self) -> bool:
        """Whether it waits for another order, or for the ratio of a pair."""
        return self.status is S.CONTINGENT and self.contingent_status is ContingentStatus.PENDING_ORDER

    @property
    def is_at_exchange(self) -> bool:
        """Whether the exchange must confirm its cancellation."""
        return not self.is_terminal and self.status not in _NOT_AT_EXCHANGE

    def move(self, status: OrderStatus, now: float) -> None:
        """Change the status and the times that go with it.

        Raises:
            IllegalTransitionError: ``status`` cannot follow the current one.
        """
        if status not in TRANSITIONS.get(self.status, ()):
            raise IllegalTransitionError(f"order {self.number}: {self.status} cannot become {status}")
        self.status = status
        match status:
            case S.ROUTED:
                self.in_flight_at = now
            case S.LIVE if self.live_at is None:
                self.live_at = now
            case S.CANCELLED:
                self.cancelled_at = now
        if status in TERMINAL:
            self.terminal_at = now
        self.touch(now)

    def touch(self, now: float) -> None:
        """Record that the order changed."""
        self.updated_at = now
        self.rendered = None

    def shares_fate_with(self, other: Order) -> bool:
        """Return whether one replaces the other, or both belong to one complex order."""
        return self is other.replaces or (self.complex_order is not None and self.complex_order is other.complex_order)

    # Quantities

    @property
    def underlying(self) -> str:
        """Symbol of the underlying that all legs share."""
        return self.legs[0].instrument.underlying

    @property
    def size(self) -> Decimal:
        """Total quantity across legs."""
        return sum((leg.quantity for leg in self.legs), Decimal(0))

    @property
    def units(self) -> int:
        """Maximum number of equal parts in which it can be filled.

        1 for fractional quantities.
        """
        quantities = [leg.remaining for leg in self.legs]
        if any(quantity != quantity.to_integral_value() for quantity in quantities):
            return 1
        return gcd(*(int(quantity) for quantity in quantities)) or 1

    @property
    def signed_limit(self) -> Decimal | None:
        """Maximum cost of one unit, negative for a minimum credit.

        None without a limit.
        """
        price = self.terms.price
        if price is None or not self.terms.is_limited:
            return None
        effect = self.terms.price_effect
        paid = effect is PriceEffect.DEBIT if effect in (PriceEffect.DEBIT, PriceEffect.CREDIT) else self.buys
        return price if paid else -price

    @property
    def opens(self) -> bool:
        """Whether any leg opens a position."""
        return any(leg.opens for leg in self.legs)

    @property
    def buys(self) -> bool:
        """Whether the first leg is a purchase."""
        return self.legs[0].sign > 0


def number_of(order: Order | None) -> int | None:
    """Return the number of an order, None for None."""
    return None if order is None else order.number
