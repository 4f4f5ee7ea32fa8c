"""Legs of orders: an action and an instrument."""

from __future__ import annotations

from .._generated.models import InstrumentType, LegAction, NewOrder, NewOrderLeg, PriceEffect
from .._terms import Amount
from ..errors import InvalidRequestError
from ..symbols import instrument_type_of
from .amounts import positive

__all__ = [
    "CLOSING",
    "REVERSED",
    "buy",
    "buy_to_close",
    "buy_to_open",
    "closing_legs",
    "effect_of",
    "sell",
    "sell_to_close",
    "sell_to_open",
]

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
