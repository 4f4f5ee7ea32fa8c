"""Orders and changes of orders from the words of a command line, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import attrs

from .. import tickets
from .._decimals import read_decimal
from ..errors import InvalidRequestError
from ..models import NewOrder, NewOrderLeg, Order, OrderEdit, TimeInForce
from .json_input import read_exactly, read_model, read_source

__all__ = ["NewTerms", "Words", "read_edit", "read_order", "read_ticket"]

T = TypeVar("T")

ACTIONS: Mapping[str, Callable[..., NewOrderLeg]] = {
    "buy": tickets.buy,
    "sell": tickets.sell,
    "buy-to-open": tickets.buy_to_open,
    "buy-to-close": tickets.buy_to_close,
    "sell-to-open": tickets.sell_to_open,
    "sell-to-close": tickets.sell_to_close,
}


@attrs.frozen
class Words:
    """The words of a command line that describe an order."""

    action: str | None = None
    symbol: str | None = None
    quantity: str | None = None
    limit: str | None = None
    stop: str | None = None
    value: str | None = None
    tif: str | None = None
    until: datetime | None = None
    source: str | None = None


@attrs.frozen
class NewTerms:
    """The words of a command line that change a working order."""

    limit: str | None = None
    stop: str | None = None
    tif: str | None = None
    until: datetime | None = None
    source: str | None = None


def read_ticket(words: Words) -> NewOrder:
    """Return the order that the words describe, or the one in the file; no word is ignored.

    Raises:
        InvalidRequestError: words are missing, or do not go together.
    """
    terms: dict[str, Any] = {"--limit": words.limit, "--stop": words.stop, "--until": words.until}
    if words.source is not None:
        what = {"ACTION": words.action, "SYMBOL": words.symbol, "QUANTITY": words.quantity}
        exclude("--order", what | {"--value": words.value, "--tif": words.tif} | terms)
        return read_order(words.source)
    if words.value is not None:
        exclude("--value", terms)
    elif words.limit is None and words.stop is None:
        exclude("a market order", terms)
    if words.action is None or words.action not in ACTIONS or words.symbol is None:
        raise InvalidRequestError(f"an order needs one of {', '.join(ACTIONS)}, then a symbol")
    leg = ACTIONS[words.action](words.symbol, words.quantity)
    force = TimeInForce(words.tif or "Day")
    if words.value is not None:
        return tickets.notional(leg, value=words.value, time_in_force=force)
    duration: dict[str, Any] = {"time_in_force": force, "until": words.until.date() if words.until else None}
    if words.stop is None and words.limit is None:
        return tickets.market(leg, time_in_force=force)
    if words.stop is None:
        return tickets.limit(leg, price=words.limit, **duration)
    if words.limit is None:
        return tickets.stop(leg, trigger=words.stop, **duration)
    return tickets.stop_limit(leg, trigger=words.stop, price=words.limit, **duration)


def read_edit(terms: NewTerms, order: Order) -> OrderEdit:
    """Return the terms of a working order with those changed that are given, or the ones in the file.

    Raises:
        InvalidRequestError: no term is given, they do not go together, or the order has no such term.
    """
    given = {"--limit": terms.limit, "--stop": terms.stop, "--tif": terms.tif, "--until": terms.until}
    if terms.source is not None:
        exclude("--order", given)
        return read_file(terms.source, OrderEdit)
    if not any(value is not None for value in given.values()):
        raise InvalidRequestError(f"a replacement needs new terms: {', '.join(given)}, or --order FILE")
    if terms.until is not None:
        exclude("--until", {"--tif": terms.tif})
    duration = terms.tif if terms.until is None else "GTD"
    return OrderEdit.of(
        order,
        price=new_price("--limit", terms.limit, order.price, order),
        stop_trigger=new_price("--stop", terms.stop, order.stop_trigger, order),
        time_in_force=None if duration is None else TimeInForce(duration),
        gtc_date=None if terms.until is None else terms.until.date(),
    )


def new_price(option: str, given: str | None, present: Decimal | None, order: Order) -> Decimal | None:
    """Read a new price, if given; an order without such a price would become another type, which needs all terms."""
    if given is None:
        return None
    if present is None:
        raise InvalidRequestError(
            f"{option} does not go with order {order.id}, a {order.order_type} order; give all terms with --order"
        )
    try:
        return read_decimal(given)
    except ValueError:
        raise InvalidRequestError(f"{option} must be a plain number such as 187.50, got {given!r}") from None


def exclude(what: str, others: Mapping[str, object]) -> None:
    """Refuse words that would otherwise be ignored."""
    if given := [name for name, value in others.items() if value is not None]:
        raise InvalidRequestError(f"{what} does not go together with {', '.join(given)}")


def read_order(source: str) -> NewOrder:
    """Read an order from JSON in the form of the wire.

    Raises:
        InvalidRequestError: the file cannot be read, or does not hold exactly one order.
    """
    return read_file(source, NewOrder)


def read_file(source: str, model: type[T]) -> T:
    """Read a request model from JSON in a file, or on standard input for ``-``."""
    try:
        document = read_exactly(read_source(source))
    except ValueError as problem:
        raise InvalidRequestError(f"cannot read the order from {source}: {problem}") from None
    return read_model(document, model)
