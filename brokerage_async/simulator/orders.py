"""Orders: what they hold, which status may follow which, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import gcd
from typing import Any, Protocol

import attrs

from .._generated.models import OrderStatus
from .accounts import Account
from .agenda import Appointment
from .instrument import Instrument
from .wire import Dialect, dumps, money, timestamp

__all__ = ["TERMINAL", "TRANSITIONS", "IllegalTransitionError", "Leg", "Order", "Terms", "Whole"]

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
"""What may follow a status."""

_CANCELLABLE = frozenset({S.CONTINGENT, S.RECEIVED, S.ROUTED, S.LIVE})
_NOT_AT_EXCHANGE = frozenset({S.CONTINGENT, S.RECEIVED})


class IllegalTransitionError(RuntimeError):
    """A status that cannot follow the present one: a mistake in the simulator itself."""


class Whole(Protocol):
    """What a component knows of the complex order that it belongs to."""

    number: int

    def replaced(self, old: Order, new: Order) -> None:
        """Put a replacement in the place of the component that it replaces."""


@attrs.define(eq=False)
class Leg:
    """One instrument of an order; ``quantity`` and ``remaining`` are positive."""

    instrument: Instrument
    action: str
    quantity: Decimal
    remaining: Decimal
    fills: list[dict[str, Any]] = attrs.field(factory=list)

    @property
    def sign(self) -> int:
        """1 for a purchase, -1 for a sale."""
        return 1 if self.action.startswith("Buy") else -1

    @property
    def signed(self) -> Decimal:
        """Quantity with the sign of the action."""
        return self.quantity * self.sign

    def wire(self, dialect: Dialect) -> dict[str, Any]:
        """The leg as it is sent."""
        return {
            "instrument-type": self.instrument.instrument_type,
            "symbol": self.instrument.symbol,
            "quantity": dialect.quantity(self.quantity),
            "remaining-quantity": dialect.quantity(self.remaining),
            "action": self.action,
            "fills": [fill | {"quantity": dialect.quantity(fill["quantity"])} for fill in self.fills],
        }


@attrs.frozen(kw_only=True)
class Terms:
    """What an order asks for besides its legs; amounts without sign, as they came."""

    order_type: str
    time_in_force: str
    price: Decimal | None = None
    price_effect: str | None = None
    stop_trigger: Decimal | None = None
    value: Decimal | None = None
    value_effect: str | None = None
    gtc_date: str | None = None
    external_identifier: str | None = None
    preflight_id: str | None = None
    source: str | None = None
    rules: Mapping[str, Any] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether it has a limit price."""
        return self.order_type in ("Limit", "Stop Limit")

    @property
    def is_stop(self) -> bool:
        """Whether it waits for a trigger price."""
        return self.order_type in ("Stop", "Stop Limit")

    @property
    def is_extended(self) -> bool:
        """Whether it works in the extended hours as well."""
        return "Ext" in self.time_in_force

    @property
    def lasts(self) -> bool:
        """Whether it works for more than one day."""
        return self.time_in_force.startswith(("GTC", "GTD"))


@attrs.define(kw_only=True, eq=False)
class Order:
    """One order. Times are epoch seconds; ``number`` is 0 for the order of a dry-run, which exists nowhere."""

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
    replaces: int | None = None
    replaced_by: int | None = None
    edited: bool = False
    triggered: bool = False
    reserved: Decimal = Decimal(0)
    complex_order: Whole | None = None
    tag: str | None = None
    contingent_status: str | None = None
    rule_times: dict[str, float] = attrs.field(factory=dict)
    condition_hits: dict[int, tuple[float, Decimal]] = attrs.field(factory=dict)
    appointments: dict[str, Appointment] = attrs.field(factory=dict)
    _written: bytes | None = None

    # Status

    @property
    def is_terminal(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.status in TERMINAL

    @property
    def is_cancellable(self) -> bool:
        """Whether it is working, and no cancellation was asked for."""
        return self.status in _CANCELLABLE

    @property
    def is_editable(self) -> bool:
        """Whether it can be replaced: working at the exchange or on its way there, and not replaced already."""
        return self.status in (S.RECEIVED, S.ROUTED, S.LIVE) and self.replaced_by is None

    @property
    def is_at_exchange(self) -> bool:
        """Whether the exchange has to be asked to let go of it."""
        return not self.is_terminal and self.status not in _NOT_AT_EXCHANGE

    def move(self, status: OrderStatus, now: float) -> None:
        """Change the status; times that go with it are set.

        Raises:
            IllegalTransitionError: ``status`` cannot follow the present one.
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
        """Note that something about it changed."""
        self.updated_at = now
        self._written = None

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
        """In how many equal parts it can be filled at most; 1 for fractional quantities."""
        quantities = [leg.remaining for leg in self.legs]
        if any(quantity != quantity.to_integral_value() for quantity in quantities):
            return 1
        return gcd(*(int(quantity) for quantity in quantities)) or 1

    @property
    def signed_limit(self) -> Decimal | None:
        """Most that one unit may cost; negative when it has to bring that much in. None without a limit."""
        price = self.terms.price
        if price is None or not self.terms.is_limited:
            return None
        paid = self.terms.price_effect == "Debit" if self.terms.price_effect in ("Debit", "Credit") else self.buys
        return price if paid else -price

    @property
    def buys(self) -> bool:
        """Whether the first leg is a purchase."""
        return self.legs[0].sign > 0

    # Writing

    def encoded(self, dialect: Dialect) -> bytes:
        """The order as JSON, written once per change."""
        written = self._written
        if written is None:
            written = self._written = dumps(self.wire(dialect))
        return written

    def wire(self, dialect: Dialect) -> dict[str, Any]:
        """The order as it is sent; what does not apply is left out."""
        fields: dict[str, Any] = {
            "id": dialect.identifier(self.number or None),
            "account-number": self.account.number,
            "time-in-force": self.terms.time_in_force,
            "order-type": self.terms.order_type,
            "size": dialect.quantity(self.size),
            "underlying-symbol": self.underlying,
            "underlying-instrument-type": self.legs[0].instrument.underlying_type,
            "status": self.status.value,
            "contingent-status": self.contingent_status,
            "cancellable": self.is_cancellable,
            "editable": self.is_editable,
            "edited": self.edited,
            "leg-count": dialect.quantity(Decimal(len(self.legs))),
            "reject-reason": self.reject_reason,
            "replaces-order-id": dialect.identifier(self.replaces),
            "replacing-order-id": dialect.identifier(self.replaced_by),
            "updated-at": dialect.moment(self.updated_at),
            "user-id": dialect.identifier(self.account.customer.number),
            "username": self.account.customer.username,
        }
        fields |= self._asked() | self._history() | self._part(dialect)
        fields["legs"] = [leg.wire(dialect) for leg in self.legs]
        if self.terms.rules is not None:
            fields["order-rule" if dialect.form == "documented" else "rules"] = self._rules(dialect)
        return {key: value for key, value in fields.items() if value is not None}

    def _asked(self) -> dict[str, Any]:
        terms = self.terms
        return {
            "price": None if terms.price is None else money(terms.price),
            "price-effect": terms.price_effect,
            "stop-trigger": None if terms.stop_trigger is None else money(terms.stop_trigger),
            "value": None if terms.value is None else money(terms.value),
            "value-effect": terms.value_effect,
            "gtc-date": terms.gtc_date,
            "external-identifier": terms.external_identifier,
            "preflight-id": terms.preflight_id,
            "source": terms.source,
        }

    def _history(self) -> dict[str, Any]:
        times = {
            "received-at": self.received_at,
            "in-flight-at": self.in_flight_at,
            "live-at": self.live_at,
            "cancelled-at": self.cancelled_at,
            "terminal-at": self.terminal_at,
        }
        fields: dict[str, Any] = {name: timestamp(at) for name, at in times.items() if at is not None}
        if self.number:
            fields["global-request-id"] = f"{self.number:032x}"
            fields["ext-client-order-id"] = f"{self.number:x}"
        if self.in_flight_at is not None:
            fields["destination-venue"] = "SIMULATED"
            fields["ext-exchange-order-number"] = f"{self.number}"
        if self.status is S.CANCELLED:
            fields["cancelled-size"] = format(sum((leg.remaining for leg in self.legs), Decimal(0)).normalize(), "f")
        return fields

    def _part(self, dialect: Dialect) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if self.complex_order is not None:
            fields["complex-order-id"] = dialect.identifier(self.complex_order.number)
            fields["complex-order-tag"] = self.tag
        if self.cancelled_by_user:
            fields["cancel-user-id"] = dialect.identifier(self.account.customer.number)
            fields["cancel-username"] = self.account.customer.username
        return fields

    def _rules(self, dialect: Dialect) -> dict[str, Any]:
        given = dict(self.terms.rules or {})
        conditions = []
        for position, condition in enumerate(given.pop("conditions", None) or ()):
            fields = {"id": dialect.identifier(position + 1), **condition}
            if position in self.condition_hits:
                at, value = self.condition_hits[position]
                fields |= {"triggered-at": timestamp(at), "triggered-value": money(value)}
            conditions.append(fields)
        given |= {name: timestamp(at) for name, at in self.rule_times.items()}
        given["order-conditions" if dialect.form == "documented" else "conditions"] = conditions
        return given
