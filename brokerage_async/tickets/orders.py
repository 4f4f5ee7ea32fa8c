"""Orders: their legs and amounts, single orders, spreads of options, and complex orders made of single ones.

An order whose legs all close a position asks the service to validate that: it is refused rather than opening one. The
rules of the schema are checked here already, those of complex orders as well: number of components, trigger order, and
the terms of each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

import attrs

from .._decimals import Amount, exact
from .._generated.models import (
    TAKES,
    AdvancedInstructions,
    Comparator,
    ComplexOrderType,
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
    _check_type(order=order)
    for leg in order.legs:
        if leg.action not in REVERSED:
            raise InvalidRequestError(f"legs to be closed must open a position, got {leg.action} of {leg.symbol}")
        if leg.quantity is None:
            raise InvalidRequestError(
                f"legs to be closed must have a quantity, got none for {leg.symbol}: state the legs"
            )
    return tuple(attrs.evolve(leg, action=REVERSED[leg.action], extra={}) for leg in order.legs)


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


# Complex orders.

STOPS = [kind for kind, terms in TAKES.items() if "stop_trigger" in terms]


def bracket(entry: NewOrder, *, profit: NewOrder, loss: NewOrder) -> NewComplexOrder:
    """Build an OTOCO order: an entry and two exits that cancel each other.

    The fill of ``entry`` releases both exits, and the fill of one exit cancels the other. Each exit closes positions
    that the entry opens, at most in their quantity; `closing_legs` makes such legs. For a single leg the prices must
    be the right way round: profit above loss for a long position, below it for a short one.

    Args:
        entry: order that opens the position. Also called trigger order.
        profit: Limit order that takes the profit.
        loss: order with a stop trigger, such as a Stop order, that limits the loss.

    Raises:
        InvalidRequestError: types, legs or prices do not make a bracket, or orders break rules. All rules are listed.
    """
    _check_type(entry=entry, profit=profit, loss=loss)
    if profit.order_type != OrderType.LIMIT:
        raise InvalidRequestError(f"profit must be a Limit order, got {profit.order_type}")
    if loss.order_type not in STOPS:
        raise InvalidRequestError(f"loss must be a {' or '.join(STOPS)} order, got {loss.order_type}")
    made = _checked(NewComplexOrder(type=ComplexOrderType.OTOCO, trigger_order=entry, orders=(profit, loss)))
    closing = {(REVERSED.get(leg.action), leg.symbol): leg.quantity for leg in entry.legs}
    for name, leg in [*(("profit", leg) for leg in profit.legs), *(("loss", leg) for leg in loss.legs)]:
        said = f"{leg.action} of {leg.quantity} {leg.symbol}"
        if (leg.action, leg.symbol) not in closing:
            raise InvalidRequestError(f"{name} must close positions that the entry opens, got {said}: see closing_legs")
        opened = closing[leg.action, leg.symbol]
        if opened is not None and leg.quantity is not None and leg.quantity > opened:
            raise InvalidRequestError(f"{name} must close at most the {opened:f} that the entry opens, got {said}")
    _check_prices(entry, profit, loss)
    return made


def one_cancels_other(first: NewOrder, second: NewOrder) -> NewComplexOrder:
    """Build an OCO order: two orders, and a fill of either cancels the other.

    Both usually close a position that exists, such as a Limit order for the profit and a Stop order for the loss.

    Raises:
        InvalidRequestError: an order breaks a rule. All problems are listed.
    """
    _check_type(first=first, second=second)
    return _checked(NewComplexOrder(type=ComplexOrderType.OCO, orders=(first, second)))


def one_triggers_other(trigger: NewOrder, *orders: NewOrder) -> NewComplexOrder:
    """Build an OTO order: the fill of ``trigger`` releases one to three others.

    The others do not cancel one another. For that see `bracket`.

    Raises:
        InvalidRequestError: not one to three others, or an order breaks a rule. All problems are listed.
    """
    _check_type(trigger=trigger, **{f"orders[{number}]": order for number, order in enumerate(orders)})
    return _checked(NewComplexOrder(type=ComplexOrderType.OTO, trigger_order=trigger, orders=orders))


def pair(
    first: NewOrder,
    second: NewOrder,
    *,
    at_least: Amount | None = None,
    at_most: Amount | None = None,
    by_value: bool = False,
) -> NewComplexOrder:
    """Build a PAIRS order: two orders that wait for a ratio of their prices.

    Both are routed when the ratio meets the threshold. The service publishes no example of it, and does not say which
    price is the divisor: look at the answer of ``client.complex_orders.dry_run`` first. ``edit_pairs`` changes
    the threshold later.

    Args:
        first: order of one side. Single legs must be of different instruments, one bought and the other sold.
        second: order of the other side.
        at_least: lowest ratio that routes the orders.
        at_most: highest ratio that routes the orders. Exactly one of the two is given.
        by_value: compare amounts of money instead of prices.

    Raises:
        InvalidRequestError: not exactly one threshold above zero, the orders do not make a pair, or one of them breaks
            a rule. All problems are listed.
    """
    _check_type(first=first, second=second)
    given = [(Comparator.GTE, at_least), (Comparator.LTE, at_most)]
    bounds = [(comparator, positive("ratio", ratio)) for comparator, ratio in given if ratio is not None]
    if len(bounds) != 1:
        raise InvalidRequestError(f"exactly one of at_least and at_most must be given, got {len(bounds)}")
    [(comparator, threshold)] = bounds
    made = _checked(
        NewComplexOrder(
            type=ComplexOrderType.PAIRS,
            orders=(first, second),
            ratio_price_comparator=comparator,
            ratio_price_threshold=threshold,
            ratio_price_is_threshold_based_on_notional=True if by_value else None,
        )
    )
    if len(first.legs) == len(second.legs) == 1:
        one, other = first.legs[0], second.legs[0]
        if one.symbol == other.symbol:
            raise InvalidRequestError(f"orders of a pair must be of different instruments, got {one.symbol} twice")
        if (one.action in BUYING) == (other.action in BUYING):
            raise InvalidRequestError(
                f"one order of a pair must buy and the other sell, got {one.action} of {one.symbol} "
                f"and {other.action} of {other.symbol}"
            )
    return made


def _check_type(**orders: object) -> None:
    for name, order in orders.items():
        if not isinstance(order, NewOrder):
            raise InvalidRequestError(f"{name} must be a NewOrder, got {type(order).__name__}")


def _check_prices(entry: NewOrder, profit: NewOrder, loss: NewOrder) -> None:
    """Refuse prices of single-leg orders that are the wrong way round. Prices of several legs are net amounts."""
    if any(len(order.legs) != 1 for order in (entry, profit, loss)):
        return
    is_long = entry.legs[0].action in BUYING
    side, direction = ("long", "above") if is_long else ("short", "below")
    trigger, limit_price = loss.stop_trigger, entry.price if entry.order_type == OrderType.LIMIT else None
    prices = (("profit", profit.price, ""), ("entry", limit_price, " which would be met at once,"))
    for name, price, remark in prices:
        if price is not None and trigger is not None and (price <= trigger if is_long else price >= trigger):
            rule = f"must be {direction} the trigger of loss,{remark}"
            raise InvalidRequestError(f"{name} of a {side} position {rule} got {price:f} and {trigger:f}")


def _checked(order: NewComplexOrder) -> NewComplexOrder:
    """Return a complex order that keeps the rules of the service.

    Only the orders of an OCO order ask for strict validation: behind a trigger order the position does not exist yet,
    and no recording shows the outcome there.
    """
    if order.type != ComplexOrderType.OCO:
        trigger = order.trigger_order and _without_validation(order.trigger_order)
        order = attrs.evolve(order, trigger_order=trigger, orders=tuple(map(_without_validation, order.orders)))
    return checked(order)


def _without_validation(order: NewOrder) -> NewOrder:
    return attrs.evolve(order, advanced_instructions=None) if order.advanced_instructions == STRICT else order
