"""Single orders: limit, market, stop, stop limit and notional.

One whose legs all close a position asks the service to validate that: it is refused rather than opening a position.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

from .._generated.models import (
    AdvancedInstructions,
    InstrumentType,
    NewComplexOrder,
    NewOrder,
    NewOrderLeg,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from .._terms import Amount
from ..errors import InvalidRequestError
from ..protocol.validation.requests import problems_of
from .amounts import not_negative, positive
from .legs import CLOSING, effect_of

__all__ = ["STRICT", "checked", "limit", "market", "notional", "stop", "stop_limit"]

STRICT = AdvancedInstructions(strict_position_effect_validation=True)

OrderT = TypeVar("OrderT", NewOrder, NewComplexOrder)

FRACTIONAL = frozenset({InstrumentType.EQUITY, InstrumentType.CRYPTOCURRENCY})
MIN_NOTIONAL = 5
"""Least value of an order for an amount of money, in dollars."""


def checked(order: OrderT) -> OrderT:
    """Return an order that keeps the documented and the published rules of the service, or raise."""
    if problems := problems_of(order, service=True):
        kind = order.order_type if isinstance(order, NewOrder) else order.type
        raise InvalidRequestError(f"invalid {kind} order", errors=problems)
    return order


def limit(
    *legs: NewOrderLeg,
    price: Amount | None = None,
    debit: Amount | None = None,
    credit: Amount | None = None,
    time_in_force: TimeInForce = TimeInForce.DAY,
    until: date | None = None,
) -> NewOrder:
    """Build a limit order.

    ``price`` is for a single leg, whose action decides whether it is paid or received. Several legs need ``debit`` (the
    most to pay) or ``credit`` (the least to receive), per unit. Both are without sign. ``until`` makes the order good
    till that day and overrides ``time_in_force``.

    Raises:
        InvalidRequestError: not exactly one of the three prices, ``price`` for several legs, a purchase for a credit, a
            sale for a debit, or the order breaks another rule of the service (all are listed).
    """
    amount, effect = _price(legs, price, debit, credit)
    force, day = _duration(time_in_force, until)
    return _ticket(OrderType.LIMIT, legs, time_in_force=force, gtc_date=day, price=amount, price_effect=effect)


def market(*legs: NewOrderLeg, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build a market order of one leg, filled at once at the current price. It opens nothing in a closed market."""
    return _ticket(OrderType.MARKET, legs, time_in_force=time_in_force)


def stop(
    *legs: NewOrderLeg, trigger: Amount, time_in_force: TimeInForce = TimeInForce.DAY, until: date | None = None
) -> NewOrder:
    """Build a market order that waits until the price reaches ``trigger``. One that opens a position is never GTC."""
    force, day = _duration(time_in_force, until)
    amount = not_negative("trigger", trigger)
    return _ticket(OrderType.STOP, legs, time_in_force=force, gtc_date=day, stop_trigger=amount)


def stop_limit(
    *legs: NewOrderLeg,
    trigger: Amount,
    price: Amount | None = None,
    debit: Amount | None = None,
    credit: Amount | None = None,
    time_in_force: TimeInForce = TimeInForce.DAY,
    until: date | None = None,
) -> NewOrder:
    """Build a limit order that waits until the price reaches ``trigger``. Prices as for `limit`."""
    amount, effect = _price(legs, price, debit, credit)
    force, day = _duration(time_in_force, until)
    return _ticket(
        OrderType.STOP_LIMIT,
        legs,
        time_in_force=force,
        gtc_date=day,
        stop_trigger=not_negative("trigger", trigger),
        price=amount,
        price_effect=effect,
    )


def notional(leg: NewOrderLeg, *, value: Amount, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build an order for an amount of money: a part of one share, for at least 5 dollars. Its leg has no quantity."""
    return _ticket(
        OrderType.NOTIONAL_MARKET,
        (leg,),
        time_in_force=time_in_force,
        value=positive("value", value),
        value_effect=effect_of(leg),
    )


def _ticket(order_type: OrderType, legs: tuple[NewOrderLeg, ...], **terms: Any) -> NewOrder:
    closes = bool(legs) and all(leg.action in CLOSING for leg in legs)
    order = NewOrder(order_type=order_type, legs=legs, advanced_instructions=STRICT if closes else None, **terms)
    return _checked(order)


def _price(
    legs: tuple[NewOrderLeg, ...], price: Amount | None, debit: Amount | None, credit: Amount | None
) -> tuple[Decimal, PriceEffect]:
    given = [amount for amount in (price, debit, credit) if amount is not None]
    if len(given) != 1:
        raise InvalidRequestError(f"exactly one of price, debit and credit must be given, got {len(given)}")
    amount = not_negative("price", given[0])
    if price is None:
        return amount, PriceEffect.DEBIT if credit is None else PriceEffect.CREDIT
    if len(legs) != 1:
        raise InvalidRequestError(
            f"price must be given for a single leg only, got {len(legs)} legs: give a net debit or credit"
        )
    return amount, effect_of(legs[0])


def _duration(time_in_force: TimeInForce, until: date | None) -> tuple[TimeInForce, date | None]:
    return (time_in_force, None) if until is None else (TimeInForce.GTD, until)


def _checked(order: NewOrder) -> NewOrder:
    """Return an order that keeps the rules of the service, those about amounts and sides included."""
    checked(order)
    if order.value is not None and order.value < MIN_NOTIONAL:
        raise InvalidRequestError(f"value must be at least {MIN_NOTIONAL} dollars, got {order.value:f}")
    for leg in order.legs:
        if leg.quantity is None or leg.quantity == leg.quantity.to_integral_value():
            continue
        if leg.instrument_type not in FRACTIONAL:
            raise InvalidRequestError(f"quantity of {leg.symbol} must be a whole number, got {leg.quantity:f}")
        is_plain = (order.order_type, order.time_in_force) == (OrderType.MARKET, TimeInForce.DAY)
        if leg.instrument_type == InstrumentType.EQUITY and not is_plain:
            raise InvalidRequestError(
                f"quantity must be whole but in Market orders of the day, got {leg.quantity:f} {leg.symbol}"
            )
    if len(order.legs) == 1 and order.price_effect not in (None, effect_of(order.legs[0])):
        raise InvalidRequestError(
            f"price_effect must be {effect_of(order.legs[0])} for {order.legs[0].action}, got {order.price_effect}"
        )
    return order
