"""Short constructors for common orders. Every result is a plain ``NewOrder``.

Legs name action and instrument; the order adds price and duration::

    limit(buy_to_open("AAPL", 100), price="187.50")
    stop(sell_to_close("AAPL", 100), trigger="180")
    notional(buy_to_open("AAPL"), value=500)
    vertical("AAPL", date(2026, 6, 12), "C", long=110, short=115, debit="1.85")
    limit(buy("/ESZ6", 1), price=6800, time_in_force=TimeInForce.GTC)

Money and quantities are ``Decimal``, ``int`` or plain digits in a ``str``; a float is rejected, because it is rarely
the intended number. The documented rules are checked when the order is placed, not here. Set other fields with
``attrs.evolve(order, ...)``.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from ._generated.models import InstrumentType, LegAction, NewOrder, NewOrderLeg, OrderType, PriceEffect, TimeInForce
from ._terms import Amount, exact
from .errors import InvalidRequestError
from .symbols import instrument_type_of, occ_symbol

__all__ = [
    "buy",
    "buy_to_close",
    "buy_to_open",
    "iron_condor",
    "limit",
    "market",
    "notional",
    "sell",
    "sell_to_close",
    "sell_to_open",
    "stop",
    "stop_limit",
    "vertical",
]

BUYING = frozenset({LegAction.BUY, LegAction.BUY_TO_OPEN, LegAction.BUY_TO_CLOSE})


def buy_to_open(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Buy shares or contracts that are not held short.

    The form of the symbol decides the kind of instrument unless ``instrument_type`` is given. ``quantity`` is in shares
    or contracts; None is for notional orders.
    """
    return _leg(LegAction.BUY_TO_OPEN, symbol, quantity, instrument_type)


def buy_to_close(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Buy back a short position; otherwise like `buy_to_open`."""
    return _leg(LegAction.BUY_TO_CLOSE, symbol, quantity, instrument_type)


def sell_to_open(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Sell short; otherwise like `buy_to_open`."""
    return _leg(LegAction.SELL_TO_OPEN, symbol, quantity, instrument_type)


def sell_to_close(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Sell a long position; otherwise like `buy_to_open`."""
    return _leg(LegAction.SELL_TO_CLOSE, symbol, quantity, instrument_type)


def buy(symbol: str, quantity: Amount) -> NewOrderLeg:
    """Buy futures, which have no separate actions for opening and closing."""
    return _leg(LegAction.BUY, symbol, quantity, None)


def sell(symbol: str, quantity: Amount) -> NewOrderLeg:
    """Sell futures."""
    return _leg(LegAction.SELL, symbol, quantity, None)


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
    return NewOrder(
        order_type=OrderType.LIMIT, time_in_force=force, gtc_date=day, price=amount, price_effect=effect, legs=legs
    )


def market(*legs: NewOrderLeg, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build a market order, filled at once at the current price."""
    return NewOrder(order_type=OrderType.MARKET, time_in_force=time_in_force, legs=legs)


def stop(
    *legs: NewOrderLeg, trigger: Amount, time_in_force: TimeInForce = TimeInForce.DAY, until: date | None = None
) -> NewOrder:
    """Build a market order that waits until the price reaches ``trigger``."""
    force, day = _duration(time_in_force, until)
    return NewOrder(
        order_type=OrderType.STOP,
        time_in_force=force,
        gtc_date=day,
        stop_trigger=_not_negative("trigger", trigger),
        legs=legs,
    )


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
    return NewOrder(
        order_type=OrderType.STOP_LIMIT,
        time_in_force=force,
        gtc_date=day,
        stop_trigger=_not_negative("trigger", trigger),
        price=amount,
        price_effect=effect,
        legs=legs,
    )


def notional(leg: NewOrderLeg, *, value: Amount, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build an order for an amount of money; its leg has no quantity."""
    return NewOrder(
        order_type=OrderType.NOTIONAL_MARKET,
        time_in_force=time_in_force,
        value=_positive("value", value),
        value_effect=_effect(leg),
        legs=(leg,),
    )


def vertical(
    root: str,
    expiration: date,
    option_type: str,
    *,
    long: Amount,
    short: Amount,
    quantity: Amount = 1,
    debit: Amount | None = None,
    credit: Amount | None = None,
    time_in_force: TimeInForce = TimeInForce.DAY,
) -> NewOrder:
    """Open a vertical spread: buy the strike ``long``, sell the strike ``short``.

    Both legs have the same expiration and type (``C`` or ``P``). The net ``debit`` or ``credit`` is per share.
    """
    legs = (
        buy_to_open(occ_symbol(root, expiration, option_type, long), quantity),
        sell_to_open(occ_symbol(root, expiration, option_type, short), quantity),
    )
    return limit(*legs, debit=debit, credit=credit, time_in_force=time_in_force)


def iron_condor(
    root: str,
    expiration: date,
    *,
    puts: tuple[Amount, Amount],
    calls: tuple[Amount, Amount],
    credit: Amount,
    quantity: Amount = 1,
    time_in_force: TimeInForce = TimeInForce.DAY,
) -> NewOrder:
    """Open a short iron condor: sell the inner strikes, buy the outer ones.

    ``puts`` and ``calls`` are pairs of strikes, lower first. The net ``credit`` is per share.

    Raises:
        InvalidRequestError: the four strikes are not in ascending order.
    """
    pairs = [pair if isinstance(pair, tuple | list) else () for pair in (puts, calls)]
    if [len(pair) for pair in pairs] != [2, 2]:
        raise InvalidRequestError("puts and calls must be pairs of strikes")
    strikes = [exact("strike", strike) for pair in pairs for strike in pair]
    if strikes != sorted(set(strikes)):
        raise InvalidRequestError(f"strikes must ascend (put, put, call, call), got {', '.join(map(str, strikes))}")
    legs = (
        buy_to_open(occ_symbol(root, expiration, "P", strikes[0]), quantity),
        sell_to_open(occ_symbol(root, expiration, "P", strikes[1]), quantity),
        sell_to_open(occ_symbol(root, expiration, "C", strikes[2]), quantity),
        buy_to_open(occ_symbol(root, expiration, "C", strikes[3]), quantity),
    )
    return limit(*legs, credit=credit, time_in_force=time_in_force)


def _leg(
    action: LegAction, symbol: str, quantity: Amount | None, instrument_type: InstrumentType | None
) -> NewOrderLeg:
    return NewOrderLeg(
        action=action,
        instrument_type=instrument_type or InstrumentType(instrument_type_of(symbol)),
        quantity=None if quantity is None else _positive("quantity", quantity),
        symbol=symbol,
    )


def _effect(leg: NewOrderLeg) -> PriceEffect:
    if not isinstance(leg, NewOrderLeg):
        raise InvalidRequestError(
            f"legs must be made with buy_to_open or another leg function, got {type(leg).__name__}"
        )
    return PriceEffect.DEBIT if leg.action in BUYING else PriceEffect.CREDIT


def _price(
    legs: tuple[NewOrderLeg, ...], price: Amount | None, debit: Amount | None, credit: Amount | None
) -> tuple[Decimal, PriceEffect]:
    given = [amount for amount in (price, debit, credit) if amount is not None]
    if len(given) != 1:
        raise InvalidRequestError(f"exactly one of price, debit and credit must be given, got {len(given)}")
    amount = _not_negative("price", given[0])
    if price is None:
        return amount, PriceEffect.DEBIT if credit is None else PriceEffect.CREDIT
    if len(legs) != 1:
        raise InvalidRequestError(
            f"price must be given for a single leg only, got {len(legs)} legs: give a net debit or credit"
        )
    return amount, _effect(legs[0])


def _duration(time_in_force: TimeInForce, until: date | None) -> tuple[TimeInForce, date | None]:
    return (time_in_force, None) if until is None else (TimeInForce.GTD, until)


def _positive(name: str, amount: Amount) -> Decimal:
    number = exact(name, amount)
    if number <= 0:
        raise InvalidRequestError(f"{name} must be greater than zero, got {amount!r}; the action says buy or sell")
    return number


def _not_negative(name: str, amount: Amount) -> Decimal:
    number = exact(name, amount)
    if number.is_signed():
        raise InvalidRequestError(f"{name} must not be negative, got {amount!r}; a credit is an effect, not a sign")
    return number
