"""Single orders: their legs and amounts, limit, market, stop, stop limit and notional orders, and spreads of options.

One whose legs all close a position asks the service to validate that: it is refused rather than opening a position."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

from .._arguments import Amount, exact
from .._generated.models import (
    AdvancedInstructions,
    InstrumentType,
    LegAction,
    NewComplexOrder,
    NewOrder,
    NewOrderLeg,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from ..errors import InvalidRequestError
from ..protocol.validation.requests import problems_of
from ..symbols import instrument_type_of, occ_symbol


def positive(name: str, amount: Amount) -> Decimal:
    number = exact(name, amount)
    if number <= 0:
        raise InvalidRequestError(f"{name} must be greater than zero, got {amount!r}; the action says buy or sell")
    return number


def not_negative(name: str, amount: Amount) -> Decimal:
    number = exact(name, amount)
    if number.is_signed():
        raise InvalidRequestError(f"{name} must not be negative, got {amount!r}; a credit is an effect, not a sign")
    return number


BUYING = frozenset({LegAction.BUY, LegAction.BUY_TO_OPEN, LegAction.BUY_TO_CLOSE})
CLOSING = frozenset({LegAction.BUY_TO_CLOSE, LegAction.SELL_TO_CLOSE})
REVERSED = {
    LegAction.BUY_TO_OPEN: LegAction.SELL_TO_CLOSE,
    LegAction.SELL_TO_OPEN: LegAction.BUY_TO_CLOSE,
    LegAction.BUY: LegAction.SELL,
    LegAction.SELL: LegAction.BUY,
}
"""Actions that open a position, and those that close it."""


def buy_to_open(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Buy shares or contracts that are not held short.

    The form of the symbol decides the kind of instrument unless ``instrument_type`` is given. ``quantity`` is in shares
    or contracts. None is for notional orders.
    """
    return _leg(LegAction.BUY_TO_OPEN, symbol, quantity, instrument_type)


def buy_to_close(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Buy back a short position. Otherwise like `buy_to_open`."""
    return _leg(LegAction.BUY_TO_CLOSE, symbol, quantity, instrument_type)


def sell_to_open(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Sell short. Otherwise like `buy_to_open`."""
    return _leg(LegAction.SELL_TO_OPEN, symbol, quantity, instrument_type)


def sell_to_close(
    symbol: str, quantity: Amount | None = None, *, instrument_type: InstrumentType | None = None
) -> NewOrderLeg:
    """Sell a long position. Otherwise like `buy_to_open`."""
    return _leg(LegAction.SELL_TO_CLOSE, symbol, quantity, instrument_type)


def buy(symbol: str, quantity: Amount) -> NewOrderLeg:
    """Buy outright futures, which have no separate actions for opening and closing."""
    return _leg(LegAction.BUY, symbol, quantity, None)


def sell(symbol: str, quantity: Amount) -> NewOrderLeg:
    """Sell futures."""
    return _leg(LegAction.SELL, symbol, quantity, None)


def closing_legs(order: NewOrder) -> tuple[NewOrderLeg, ...]:
    """Return the legs that close the position which an order opens.

    Symbols and quantities stay, the actions are reversed::

        entry = limit(buy_to_open("AAPL", 100), price="187.50")
        limit(*closing_legs(entry), price="195")  # sells to close 100 AAPL

    Raises:
        InvalidRequestError: a leg closes a position itself, or has no quantity (notional orders).
    """
    if not isinstance(order, NewOrder):
        raise InvalidRequestError(f"order must be a NewOrder, got {type(order).__name__}")
    for leg in order.legs:
        if leg.action not in REVERSED:
            raise InvalidRequestError(f"legs to be closed must open a position, got {leg.action} of {leg.symbol}")
        if leg.quantity is None:
            raise InvalidRequestError(
                f"legs to be closed must have a quantity, got none for {leg.symbol}: state the legs"
            )
    return tuple(
        NewOrderLeg(
            action=REVERSED[leg.action], instrument_type=leg.instrument_type, quantity=leg.quantity, symbol=leg.symbol
        )
        for leg in order.legs
    )


def effect_of(leg: NewOrderLeg) -> PriceEffect:
    """Return `Debit` for a leg that buys, `Credit` for one that sells."""
    if not isinstance(leg, NewOrderLeg):
        raise InvalidRequestError(
            f"legs must be made with buy_to_open or another leg function, got {type(leg).__name__}"
        )
    return PriceEffect.DEBIT if leg.action in BUYING else PriceEffect.CREDIT


def _leg(
    action: LegAction, symbol: str, quantity: Amount | None, instrument_type: InstrumentType | None
) -> NewOrderLeg:
    return NewOrderLeg(
        action=action,
        instrument_type=instrument_type or InstrumentType(instrument_type_of(symbol)),
        quantity=None if quantity is None else positive("quantity", quantity),
        symbol=symbol,
    )


STRICT = AdvancedInstructions(strict_position_effect_validation=True)

OrderT = TypeVar("OrderT", NewOrder, NewComplexOrder)

FRACTIONAL = frozenset({InstrumentType.EQUITY, InstrumentType.CRYPTOCURRENCY})
MIN_NOTIONAL = 5  # least value of an order for an amount of money, in dollars


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
    return _ticket(OrderType.LIMIT, legs, time_in_force, until, price=amount, price_effect=effect)


def market(*legs: NewOrderLeg, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build a market order of one leg, filled at once at the current price. It opens nothing in a closed market."""
    return _ticket(OrderType.MARKET, legs, time_in_force)


def stop(
    *legs: NewOrderLeg, trigger: Amount, time_in_force: TimeInForce = TimeInForce.DAY, until: date | None = None
) -> NewOrder:
    """Build a market order that waits until the price reaches ``trigger``. One that opens a position is never GTC."""
    return _ticket(OrderType.STOP, legs, time_in_force, until, stop_trigger=not_negative("trigger", trigger))


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
    terms = {"stop_trigger": not_negative("trigger", trigger), "price": amount, "price_effect": effect}
    return _ticket(OrderType.STOP_LIMIT, legs, time_in_force, until, **terms)


def notional(leg: NewOrderLeg, *, value: Amount, time_in_force: TimeInForce = TimeInForce.DAY) -> NewOrder:
    """Build an order for an amount of money: a part of one share, for at least 5 dollars. Its leg has no quantity."""
    amount, effect = positive("value", value), effect_of(leg)
    return _ticket(OrderType.NOTIONAL_MARKET, (leg,), time_in_force, value=amount, value_effect=effect)


def _ticket(
    order_type: OrderType,
    legs: tuple[NewOrderLeg, ...],
    time_in_force: TimeInForce,
    until: date | None = None,
    **terms: Any,
) -> NewOrder:
    """Build an order that keeps the rules of the service, those about amounts and sides included."""
    effects = [effect_of(leg) for leg in legs]  # refuses anything but legs
    force = time_in_force if until is None else TimeInForce.GTD
    closes = bool(legs) and all(leg.action in CLOSING for leg in legs)
    terms |= {"time_in_force": force, "gtc_date": until, "advanced_instructions": STRICT if closes else None}
    order = checked(NewOrder(order_type=order_type, legs=legs, **terms))
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
    if len(legs) == 1 and order.price_effect not in (None, *effects):
        raise InvalidRequestError(f"price_effect must be {effects[0]} for {legs[0].action}, got {order.price_effect}")
    return order


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


OPTIONS = ("Equity Option", "Future Option")


def spread(
    *,
    long: str | Sequence[str] = (),
    short: str | Sequence[str] = (),
    quantity: Amount = 1,
    debit: Amount | None = None,
    credit: Amount | None = None,
    time_in_force: TimeInForce = TimeInForce.DAY,
) -> NewOrder:
    """Open a spread: buy the options ``long``, sell the options ``short``.

    Each is a symbol or several, of equity options or of future options, such as `brokerage_async.chains` finds them::

        spread(long=june.strike(near=110).call, short=june.strike(near=115).call, debit="1.85")  # vertical
        spread(long=(june.strike(near=110).call, june.strike(near=110).put), debit="9.20")  # straddle

    Every leg has the same quantity. The net ``debit`` or ``credit`` is per unit.

    Raises:
        InvalidRequestError: fewer than two options, one that stands twice, another kind of instrument, or equity
            options together with future options.
    """
    bought, sold = _options("long", long), _options("short", short)
    symbols = bought + sold
    if len(symbols) < 2 or len(set(symbols)) < len(symbols):
        raise InvalidRequestError(
            f"long and short must be two or more different options, got {', '.join(symbols) or 'none'}"
        )
    kinds = {instrument_type_of(symbol): symbol for symbol in symbols}
    if len(kinds) > 1:
        named = " and ".join(f"{symbol!r} ({kind})" for kind, symbol in kinds.items())
        raise InvalidRequestError(f"legs of a spread must be options of one kind, got {named}: place two orders")
    legs = [buy_to_open(symbol, quantity) for symbol in bought] + [sell_to_open(symbol, quantity) for symbol in sold]
    return limit(*legs, debit=debit, credit=credit, time_in_force=time_in_force)


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
    bought, sold = (occ_symbol(root, expiration, option_type, strike) for strike in (long, short))
    return spread(long=bought, short=sold, quantity=quantity, debit=debit, credit=credit, time_in_force=time_in_force)


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
    opened = zip((buy_to_open, sell_to_open, sell_to_open, buy_to_open), "PPCC", strikes, strict=True)
    legs = (make(occ_symbol(root, expiration, kind, strike), quantity) for make, kind, strike in opened)
    return limit(*legs, credit=credit, time_in_force=time_in_force)


def _options(name: str, symbols: str | Sequence[str]) -> tuple[str, ...]:
    """Return one symbol or several as a tuple. Refuse other instruments than options."""
    if not isinstance(symbols, Sequence):
        raise InvalidRequestError(f"{name} must be a symbol or several, got {symbols!r}")
    found = (symbols,) if isinstance(symbols, str) else tuple(symbols)
    for symbol in found:
        if (kind := instrument_type_of(symbol)) not in OPTIONS:
            raise InvalidRequestError(f"legs of a spread must be options, got {symbol!r} ({kind})")
    return found
