"""Single orders: limit, market, stop, stop limit and notional.

One whose legs all close a position asks the service to validate that: it is refused rather than opening a position.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from .._generated.models import AdvancedInstructions, NewOrder, NewOrderLeg, OrderType, PriceEffect, TimeInForce
from .._terms import Amount
from ..errors import InvalidRequestError
from .amounts import not_negative, positive
from .legs import CLOSING, effect_of

__all__ = ["STRICT", "limit", "market", "notional", "stop", "stop_limit"]

STRICT = AdvancedInstructions(strict_position_effect_validation=True)


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
    most to pay) or ``credit`` (the least to receive), per unit; both are without sign. ``until`` makes the order good
    till that day and overrides ``time_in_force``.

    Raises:
        InvalidRequestError: not exactly one of the three prices, or ``price`` for several legs.
    """
    amount, effect = _price(legs, price, debit, credit)
    force, day = _duration(time_in_force, until)
    return _ticket(OrderType.LIMIT, legs, time_in_force=force, gtc_date=day, price=amount, price_effect=effect)


def market(*legs: NewOrderLeg, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build a market order, filled at once at the current price."""
    return _ticket(OrderType.MARKET, legs, time_in_force=time_in_force)


def stop(
    *legs: NewOrderLeg, trigger: Amount, time_in_force: TimeInForce = TimeInForce.DAY, until: date | None = None
) -> NewOrder:
    """Build a market order that waits until the price reaches ``trigger``."""
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
    """Build a limit order that waits until the price reaches ``trigger``; prices as for `limit`."""
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
    """Build an order for an amount of money; its leg has no quantity."""
    return _ticket(
        OrderType.NOTIONAL_MARKET,
        (leg,),
        time_in_force=time_in_force,
        value=positive("value", value),
        value_effect=effect_of(leg),
    )


def _ticket(order_type: OrderType, legs: tuple[NewOrderLeg, ...], **terms: Any) -> NewOrder:
    closes = bool(legs) and all(leg.action in CLOSING for leg in legs)
    return NewOrder(order_type=order_type, legs=legs, advanced_instructions=STRICT if closes else None, **terms)


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
