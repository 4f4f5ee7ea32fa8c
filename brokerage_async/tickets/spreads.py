"""Spreads of options, by strikes or by symbols."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from .._generated.models import NewOrder, TimeInForce
from .._terms import Amount, exact
from ..errors import InvalidRequestError
from ..symbols import instrument_type_of, occ_symbol
from .legs import buy_to_open, sell_to_open
from .orders import limit

__all__ = ["iron_condor", "spread", "vertical"]

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


def _options(name: str, symbols: str | Sequence[str]) -> tuple[str, ...]:
    """Return one symbol or several as a tuple. Refuse other instruments than options."""
    if not isinstance(symbols, Sequence):
        raise InvalidRequestError(f"{name} must be a symbol or several, got {symbols!r}")
    found = (symbols,) if isinstance(symbols, str) else tuple(symbols)
    for symbol in found:
        if (kind := instrument_type_of(symbol)) not in OPTIONS:
            raise InvalidRequestError(f"legs of a spread must be options, got {symbol!r} ({kind})")
    return found
