"""Renders orders as the generated wire structs that are sent."""

from __future__ import annotations

from decimal import Decimal

import attrs
import msgspec

from ..._generated.converters import NewOrderConditionWire, OrderConditionWire, OrderLegWire, OrderRuleWire, OrderWire
from ..._generated.models import OrderStatus
from ..trading.orders import Order, number_of
from .wire import Dialect, dumps, money, timestamp


def order_json(order: Order, dialect: Dialect) -> bytes:
    """Return the order as JSON, rendered once per change."""
    if order.rendered is None:
        order.rendered = dumps(order_wire(order, dialect))
    return order.rendered


def order_wire(order: Order, dialect: Dialect) -> OrderWire:
    """Return the order as a wire struct, without the fields that do not apply."""
    customer, terms = order.account.customer, order.terms
    wire = OrderWire(
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
        replaces_order_id=dialect.identifier(number_of(order.replaces)),
        replacing_order_id=dialect.identifier(number_of(order.replaced_by)),
        updated_at=dialect.moment(order.updated_at),
        user_id=str(customer.number),
        username=customer.username,
        legs=[
            OrderLegWire(
                instrument_type=leg.instrument.instrument_type,
                symbol=leg.instrument.symbol,
                quantity=dialect.quantity(leg.quantity),
                remaining_quantity=dialect.quantity(leg.remaining),
                action=leg.action,
                fills=leg.fills,
            )
            for leg in order.legs
        ],
        order_type=terms.order_type,
        time_in_force=terms.time_in_force,
        price=money(terms.price),
        price_effect=terms.price_effect,
        stop_trigger=money(terms.stop_trigger),
        value=money(terms.value),
        value_effect=terms.value_effect,
        gtc_date=terms.gtc_date,
        external_identifier=terms.external_identifier if dialect.echoes_identifiers else None,
        preflight_id=terms.preflight_id,
        source=terms.source,
        received_at=timestamp(order.received_at),
        in_flight_at=timestamp(order.in_flight_at),
        live_at=timestamp(order.live_at),
        cancelled_at=timestamp(order.cancelled_at),
        terminal_at=timestamp(order.terminal_at),
    )
    if order.number:
        wire.global_request_id = f"{order.number:032x}"
        wire.ext_client_order_id = f"{order.number:x}"
    if order.in_flight_at is not None:
        wire.destination_venue = "SIMULATED"
        wire.ext_exchange_order_number = f"{order.number}"
    if order.status is OrderStatus.CANCELLED:
        wire.cancelled_size = format(sum((leg.remaining for leg in order.legs), Decimal(0)).normalize(), "f")
    if terms.rules is not None:
        # Under the keys of recordings or of the document. The schema declares these as aliases.
        rules = OrderRuleWire(
            cancel_at=None if terms.rules.cancel_at is None else timestamp(terms.rules.cancel_at.timestamp()),
            route_after=None if terms.rules.route_after is None else timestamp(terms.rules.route_after.timestamp()),
            routed_at=timestamp(order.routed_by_rule_at),
            cancelled_at=timestamp(order.cancelled_by_rule_at),
        )
        conditions = []
        for position, one in enumerate(order.conditions):
            known = NewOrderConditionWire.of(attrs.evolve(one, extra={}))  # unknown keys are ignored
            condition = msgspec.convert(known, OrderConditionWire, from_attributes=True)
            condition.id = dialect.identifier(position + 1)
            if position in order.condition_hits:
                at, value = order.condition_hits[position]
                condition.triggered_at, condition.triggered_value = timestamp(at), money(value)
            conditions.append(condition)
        if dialect.form == "documented":
            wire.order_rule, rules.order_conditions = rules, conditions
        else:
            wire.order_rule__alias1, rules.order_conditions__alias1 = rules, conditions
    if order.complex_order is not None:
        number, transient = order.complex_order.number, terms.preflight_id
        wire.complex_order_id = dialect.identifier(number or None)
        wire.complex_order_tag = order.tag
        wire.preflight_id = None
        if transient is not None and transient.isdecimal() and order.status is not OrderStatus.CANCELLED:
            wire.preflight_id = dialect.identifier(int(transient))
        if number:
            wire.global_request_id = f"{number:032x}"
    if order.cancelled_by_user:
        wire.cancel_user_id = str(customer.number)
        wire.cancel_username = customer.username
    return wire
