"""Orders, the transitions between their statuses, their form on the wire, and the store of all of an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from math import gcd
from typing import Any

import attrs

from ..._generated import converters as wires
from ..._generated import models
from ...protocol.order_status import TERMINAL, TRANSITIONS
from ..api.wire import Dialect, dumps, like, money, timestamp
from ..clock import ScheduledEvent, Signal
from ..keyed_random import KeyedRandom
from ..ledger import Ledger
from ..market.calendar import local_date, local_epoch
from ..market.instrument import Instrument
from .accounts import Account

S = models.OrderStatus

_NOT_AT_EXCHANGE = frozenset({S.CONTINGENT, S.RECEIVED})
_TIMES = ("received_at", "in_flight_at", "live_at", "terminal_at")
_NO_RULES = models.NewOrderRules()
FILLABLE = (S.RECEIVED, S.ROUTED, S.IN_FLIGHT, S.LIVE, S.CANCEL_REQUESTED, S.REPLACE_REQUESTED)
"""Statuses in which an intervention can fill an order."""


class IllegalTransitionError(RuntimeError):
    """Invalid transition of an order: a bug in the simulator itself."""


@attrs.define(eq=False)
class Leg:
    """One instrument of an order; ``quantity`` and ``remaining`` are positive, ``busted`` counts fills that left it."""

    instrument: Instrument
    action: models.LegAction
    quantity: Decimal
    remaining: Decimal
    fills: list[wires.FillWire] = attrs.field(factory=list)
    busted: int = 0

    @property
    def opens(self) -> bool:
        return self.action.endswith("to Open")

    @property
    def sign(self) -> int:
        return 1 if self.action.startswith("Buy") else -1

    @property
    def signed(self) -> Decimal:
        return self.quantity * self.sign


_TERMS = tuple(field.name for field in attrs.fields(models.NewOrder) if field.name not in ("legs", "extra"))


def terms_of(requested: models.OrderEdit | models.OrderEditDryRun | models.MarginOrder) -> models.NewOrder:
    """Return the terms of a request in the form of a new order, None where it has none."""
    given: dict[str, Any] = {name: getattr(requested, name, None) for name in _TERMS}
    return models.NewOrder(legs=(), **given)


@attrs.define(kw_only=True, eq=False)
class Order:
    """One order.

    Of its ``terms``, those of its legs are not used. Amounts are unsigned, as received. Times are epoch seconds;
    ``number`` is 0 for the order of a dry-run. ``reserved`` is the buying power that it holds,
    ``set_aside`` the buying power that it held before its replacement took over. While it is on its way to the
    exchange, it is ``locked`` against requests.
    """

    number: int
    account: Account
    legs: Sequence[Leg]
    terms: models.NewOrder
    locked: bool = True
    status: models.OrderStatus = S.RECEIVED
    received_at: float | None = None
    in_flight_at: float | None = None
    live_at: float | None = None
    updated_at: float | None = None
    terminal_at: float | None = None
    cancelled_by_user: bool = False
    reject_reason: str | None = None
    replaces: Order | None = attrs.field(default=None, repr=False)
    replaced_by: Order | None = attrs.field(default=None, repr=False)
    edited: bool = False
    triggered: bool = False
    reserved: Decimal = Decimal(0)
    set_aside: Decimal = Decimal(0)
    complex_order: ComplexOrder | None = attrs.field(default=None, repr=False)
    tag: str | None = None
    contingent_status: models.ContingentStatus | None = None
    routed_by_rule_at: float | None = None
    cancelled_by_rule_at: float | None = None
    condition_hits: dict[int, tuple[float, Decimal]] = attrs.field(factory=dict)
    scheduled: dict[str, ScheduledEvent] = attrs.field(factory=dict)
    rendered: bytes | None = None

    @property
    def rules(self) -> models.NewOrderRules:
        return self.terms.rules or _NO_RULES

    @property
    def conditions(self) -> Sequence[models.NewOrderCondition]:
        """Conditions before it is routed, or cancelled."""
        return self.rules.conditions or ()

    @property
    def is_strict(self) -> bool:
        """Whether a leg must open or close as it says."""
        advanced = self.terms.advanced_instructions
        return advanced is not None and bool(advanced.strict_position_effect_validation)

    @property
    def is_limited(self) -> bool:
        return "price" in models.TAKES.get(self.terms.order_type, ())

    @property
    def is_stop(self) -> bool:
        return "stop_trigger" in models.TAKES.get(self.terms.order_type, ())

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL

    @property
    def is_stoppable(self) -> bool:
        """Whether the brokerage itself can cancel it."""
        return self.status in _NOT_AT_EXCHANGE or self.can_become(S.CANCEL_REQUESTED)

    @property
    def is_on_its_way(self) -> bool:
        return self.status in (S.ROUTED, S.IN_FLIGHT)

    @property
    def is_cancellable(self) -> bool:
        """Whether a request can cancel it now."""
        return self.is_stoppable and not (self.locked and self.is_on_its_way)

    @property
    def is_editable(self) -> bool:
        """Whether it is live or not routed yet, not yet replaced, and not waiting for its original."""
        waits = self.replaces is not None and not self.replaces.is_terminal
        return (self.status in (S.RECEIVED, S.LIVE) or self.is_held) and self.replaced_by is None and not waits

    @property
    def is_held(self) -> bool:
        """Whether it waits for another order, or for the ratio of a pair."""
        return self.status is S.CONTINGENT and self.contingent_status is models.ContingentStatus.PENDING_ORDER

    @property
    def is_at_exchange(self) -> bool:
        """Whether the exchange must confirm its cancellation."""
        return not self.is_terminal and self.status not in _NOT_AT_EXCHANGE

    @property
    def removal(self) -> models.OrderStatus:
        return S.PARTIALLY_REMOVED if self.is_touched else S.REMOVED

    def can_become(self, status: models.OrderStatus) -> bool:
        return status in TRANSITIONS[self.status]

    def move(self, status: models.OrderStatus, now: float) -> None:
        if not self.can_become(status):
            raise IllegalTransitionError(f"order {self.number}: {self.status} cannot become {status}")
        self.status = status
        match status:
            case S.ROUTED | S.IN_FLIGHT:
                self.in_flight_at = now
            case S.LIVE if self.live_at is None:
                self.live_at = now
        if status in TERMINAL:
            self.terminal_at = now
        self.touch(now)

    def touch(self, now: float) -> None:
        self.updated_at = now
        self.rendered = None

    @property
    def underlying(self) -> str:
        return self.legs[0].instrument.underlying

    @property
    def size(self) -> Decimal:
        return sum((leg.quantity for leg in self.legs), Decimal(0))

    @property
    def units(self) -> int:
        """Maximum number of equal partial fills. 1 for fractional quantities."""
        quantities = [leg.remaining for leg in self.legs]
        if any(quantity != quantity.to_integral_value() for quantity in quantities):
            return 1
        return gcd(*(int(quantity) for quantity in quantities)) or 1

    @property
    def signed_limit(self) -> Decimal | None:
        """Maximum cost of one unit, negative for a minimum credit. None without a limit."""
        price = self.terms.price
        if price is None or not self.is_limited:
            return None
        effect, kinds = self.terms.price_effect, models.PriceEffect
        paid = effect is kinds.DEBIT or (effect is not kinds.CREDIT and self.buys)
        return price if paid else -price

    @property
    def agreed(self) -> dict[str, Decimal]:
        """Limit of the only leg, by its symbol. Nothing is agreed on the single prices of a spread."""
        price = self.terms.price if self.is_limited and len(self.legs) == 1 else None
        return {} if price is None else {self.legs[0].instrument.symbol: price}

    @property
    def is_touched(self) -> bool:
        return any(leg.fills for leg in self.legs)

    @property
    def opens(self) -> bool:
        return any(leg.opens for leg in self.legs)

    @property
    def buys(self) -> bool:
        """Whether the first leg is a purchase."""
        return self.legs[0].sign > 0


@attrs.define(kw_only=True, eq=False)
class ComplexOrder:
    """Orders that depend on each other.

    ``number`` is 0 in a dry-run. Its ``terms`` are its type and, of a PAIRS order, the ratio. It is ``released`` once
    its ratio is met, other types when their trigger order is filled.
    """

    number: int
    account: Account
    terms: models.NewComplexOrder
    orders: list[Order] = attrs.field(factory=list)
    trigger: Order | None = None
    released: bool = False
    terminal_at: float | None = None
    related: list[Order] = attrs.field(factory=list)

    @property
    def members(self) -> list[Order]:
        """Every current order of the group, the trigger order first."""
        return self.orders if self.trigger is None else [self.trigger, *self.orders]

    def replaced(self, old: Order, new: Order) -> None:
        """Substitute ``new`` for ``old``: a replacement, or the original if that is abandoned."""
        self.related = [*(order for order in self.related if order is not new), old]
        if self.trigger is old:
            self.trigger = new
        self.orders = [new if order is old else order for order in self.orders]

    def wire(self, dialect: Dialect) -> wires.ComplexOrderWire:
        """Return the complex order as a wire struct. The identifiers of related orders are strings in either form."""
        related = [
            wires.RelatedOrderWire(
                id=str(order.number),
                complex_order_id=str(self.number),
                complex_order_tag=order.tag,
                replaces_order_id=None if order.replaces is None else str(order.replaces.number),
                replacing_order_id=None if order.replaced_by is None else str(order.replaced_by.number),
                status=order.status,
            )
            for order in self.related
        ]
        terms, wanted = self.terms, "ratio_price_is_threshold_based_on_notional"
        return like(
            wires.ComplexOrderWire,
            terms,
            id=dialect.identifier(self.number or None),
            account_number=self.account.number,
            **{wanted: None if terms.ratio_price_threshold is None else bool(getattr(terms, wanted))},
            terminal_at=timestamp(self.terminal_at),
            orders=[order_wire(order, dialect) for order in self.orders],
            trigger_order=None if self.trigger is None else order_wire(self.trigger, dialect),
            related_orders=related,
        )


_FIRST_NUMBER = 400_000_000


class OrderStore:
    """Stores orders, finds them, and notifies the ledger and listeners of every change."""

    def __init__(self, ledger: Ledger, random: KeyedRandom, has: Callable[[str], bool]) -> None:
        self._ledger = ledger
        self._orders: dict[str, Order] = {}
        self._by_account: dict[str, list[Order]] = {}
        self._lists_working = has("live_lists_keep_working_orders")
        self._locks = has("no_change_before_live")
        self._last_number = _FIRST_NUMBER + random.below(1_000_000, 1)
        self.on_change: Signal[Order, float] = Signal()
        self.version: int = 0

    def number(self) -> int:
        self._last_number += 1
        return self._last_number

    def add(self, order: Order, now: float) -> None:
        """Give a draft its number, and keep it."""
        order.number, order.locked, order.received_at = self.number(), self._locks, now
        self._orders[str(order.number)] = order
        self._by_account.setdefault(order.account.number, []).append(order)
        order.touch(now)
        parent, order.complex_order = order.complex_order, None  # the event of its creation does not show it
        self._record(order, None, now)
        order.complex_order = parent

    def move(self, order: Order, status: models.OrderStatus, now: float) -> None:
        """Change the status of an order. A final one releases its reserved buying power."""
        before = order.status
        order.move(status, now)
        if order.is_terminal:
            self.release(order, Decimal(0))
            for event in order.scheduled.values():
                event.cancel()
            order.scheduled.clear()
        self._record(order, before, now)

    def changed(self, order: Order, now: float) -> None:
        """Record a change without a new status, such as a partial fill."""
        order.touch(now)
        self._notify(order, now)

    def release(self, order: Order, keep: Decimal) -> None:
        """Reduce the reserved buying power of an order to ``keep`` dollars."""
        order.account.reserved += keep - order.reserved
        order.reserved = keep

    @property
    def has_working(self) -> bool:
        return any(not order.is_terminal for order in reversed(self._orders.values()))

    def get(self, account: Account, identifier: str) -> Order | None:
        order = self._orders.get(identifier)
        return order if order is not None and order.account is account else None

    def find(self, identifier: str) -> Order | None:
        return self._orders.get(identifier)

    def of(self, accounts: Iterable[Account]) -> list[Order]:
        lists = [self._by_account.get(account.number, []) for account in accounts]
        if len(lists) == 1:
            return lists[0]
        return sorted((order for orders in lists for order in orders), key=lambda order: order.number)

    def live(self, accounts: Iterable[Account], now: float) -> list[Order]:
        """Return orders of accounts that work, or were created or updated today, oldest first."""
        midnight = local_epoch(local_date(now), 0)
        return [
            order
            for order in self.of(accounts)
            if (order.updated_at or 0.0) >= midnight or (self._lists_working and not order.is_terminal)
        ]

    def _record(self, order: Order, before: models.OrderStatus | None, now: float) -> None:
        self._ledger.transition(
            now=now,
            order_id=str(order.number),
            account_number=order.account.number,
            external_identifier=order.terms.external_identifier,
            before=None if before is None else before.value,
            after=order.status.value,
            terminal=order.is_terminal,
            replaces_order_id=None if order.replaces is None else str(order.replaces.number),
        )
        self._notify(order, now)

    def _notify(self, order: Order, now: float) -> None:
        self.version += 1
        self.on_change.emit(order, now)


def order_json(order: Order, dialect: Dialect) -> bytes:
    """Return the order as JSON, rendered once per change."""
    if order.rendered is None:
        order.rendered = dumps(order_wire(order, dialect))
    return order.rendered


def order_wire(order: Order, dialect: Dialect) -> wires.OrderWire:
    customer, terms = order.account.customer, order.terms
    wire = like(
        wires.OrderWire,
        terms,
        id=dialect.identifier(order.number or None),
        account_number=order.account.number,
        size=dialect.quantity(order.size),
        underlying_symbol=order.underlying,
        underlying_instrument_type=order.legs[0].instrument.underlying_type,
        status=order.status,
        contingent_status=None if order.is_terminal else order.contingent_status,
        cancellable=order.is_cancellable,
        editable=order.is_editable,
        edited=order.edited,
        leg_count=dialect.quantity(Decimal(len(order.legs))),
        reject_reason=order.reject_reason,
        replaces_order_id=dialect.identifier(order.replaces.number if order.replaces else None),
        replacing_order_id=dialect.identifier(order.replaced_by.number if order.replaced_by else None),
        updated_at=dialect.moment(order.updated_at),
        user_id=str(customer.number),
        username=customer.username,
        legs=[
            like(
                wires.OrderLegWire,
                leg.instrument,
                quantity=dialect.quantity(leg.quantity),
                remaining_quantity=dialect.quantity(leg.remaining),
                action=leg.action,
                fills=leg.fills,
            )
            for leg in order.legs
        ],
        price=money(terms.price),
        stop_trigger=money(terms.stop_trigger),
        value=money(terms.value),
        external_identifier=terms.external_identifier if dialect.echoes_identifiers else None,
        **{name: timestamp(getattr(order, name)) for name in _TIMES},
    )
    if order.number:
        wire.global_request_id = f"{order.number:032x}"
        wire.ext_client_order_id = f"{order.number:x}"
    if order.in_flight_at is not None:
        wire.destination_venue = "SIMULATED"
        wire.ext_exchange_order_number = f"{order.number}"
    if order.status is S.CANCELLED:
        wire.cancelled_at = wire.terminal_at
        wire.cancelled_size = format(sum((leg.remaining for leg in order.legs), Decimal(0)).normalize(), "f")
    if terms.rules is not None:
        # Under the keys of recordings or of the document. The schema declares these as aliases.
        rules = wires.OrderRuleWire(
            cancel_at=None if terms.rules.cancel_at is None else timestamp(terms.rules.cancel_at.timestamp()),
            route_after=None if terms.rules.route_after is None else timestamp(terms.rules.route_after.timestamp()),
            routed_at=timestamp(order.routed_by_rule_at),
            cancelled_at=timestamp(order.cancelled_by_rule_at),
        )
        conditions = []
        for position, one in enumerate(order.conditions):
            known = wires.NewOrderConditionWire.of(attrs.evolve(one, extra={}))  # unknown keys are ignored
            at, value = order.condition_hits.get(position, (None, None))
            hit = {"triggered_at": timestamp(at), "triggered_value": money(value)}
            conditions.append(like(wires.OrderConditionWire, known, id=dialect.identifier(position + 1), **hit))
        if dialect.form == "documented":
            wire.order_rule, rules.order_conditions = rules, conditions
        else:
            wire.order_rule__alias1, rules.order_conditions__alias1 = rules, conditions
    if order.complex_order is not None:
        number, transient = order.complex_order.number, terms.preflight_id
        wire.complex_order_id = dialect.identifier(number or None)
        wire.complex_order_tag = order.tag
        wire.preflight_id = None
        if transient is not None and transient.isdecimal() and order.status is not S.CANCELLED:
            wire.preflight_id = dialect.identifier(int(transient))
        if number:
            wire.global_request_id = f"{number:032x}"
    if order.cancelled_by_user:
        wire.cancel_user_id = str(customer.number)
        wire.cancel_username = customer.username
    return wire
