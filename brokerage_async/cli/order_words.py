"""The order that the words on a command line make, or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from .. import tickets
from ..errors import InvalidRequestError
from ..models import NewOrder, NewOrderLeg, TimeInForce
from .json_input import read_exactly, read_model, read_source

__all__ = ["read_order", "read_ticket"]

ACTIONS: Mapping[str, Callable[..., NewOrderLeg]] = {
    "buy": tickets.buy,
    "sell": tickets.sell,
    "buy-to-open": tickets.buy_to_open,
    "buy-to-close": tickets.buy_to_close,
    "sell-to-open": tickets.sell_to_open,
    "sell-to-close": tickets.sell_to_close,
}


def read_ticket(
    action: str | None,
    symbol: str | None,
    quantity: str | None,
    limit: str | None,
    stop: str | None,
    value: str | None,
    tif: str | None,
    until: datetime | None,
    source: str | None,
) -> NewOrder:
    """The order that the words on the command line make, or the file; no word is left out of it.

    Raises:
        InvalidRequestError: words are missing, or do not go together.
    """
    terms: dict[str, Any] = {"--limit": limit, "--stop": stop, "--until": until}
    if source is not None:
        exclude(
            "--order",
            {"ACTION": action, "SYMBOL": symbol, "QUANTITY": quantity, "--value": value, "--tif": tif, **terms},
        )
        return read_order(source)
    if value is not None:
        exclude("--value", terms)
    elif limit is None and stop is None:
        exclude("a market order", terms)
    if action is None or action not in ACTIONS or symbol is None:
        raise InvalidRequestError(f"say what to do and with what: one of {', '.join(ACTIONS)}, then a symbol")
    make = ACTIONS[action]
    leg, force = make(symbol, quantity), TimeInForce(tif or "Day")
    if value is not None:
        return tickets.notional(leg, value=value, time_in_force=force)
    if limit is None and stop is None:
        return tickets.market(leg, time_in_force=force)
    duration: dict[str, Any] = {"time_in_force": force, "until": until.date() if until else None}
    if limit is None:
        return tickets.stop(leg, trigger=stop or "", **duration)
    if stop is None:
        return tickets.limit(leg, price=limit, **duration)
    return tickets.stop_limit(leg, trigger=stop, price=limit, **duration)


def exclude(what: str, others: Mapping[str, object]) -> None:
    """Refuse what would otherwise be left out of an order without a word."""
    if given := [name for name, value in others.items() if value is not None]:
        raise InvalidRequestError(f"{what} does not go together with {', '.join(given)}")


def read_order(source: str) -> NewOrder:
    """Read an order from JSON in the form of the wire.

    Raises:
        InvalidRequestError: the file cannot be read, or does not hold exactly one order.
    """
    try:
        document = read_exactly(read_source(source))
    except ValueError as problem:
        raise InvalidRequestError(f"cannot read the order from {source}: {problem}") from None
    return read_model(document, NewOrder)
