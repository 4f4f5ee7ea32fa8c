"""Orders from the words of a command line, and JSON that is read exactly, and refused where its meaning is in doubt."""

from __future__ import annotations

import difflib
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from .command import day, values_of
from .lazy import errors, models, tickets

T = TypeVar("T")

MAX_CHARACTERS = 1_000_000  # more than any request body; a device or a data file given by mistake ends here

ACTIONS = ("buy", "sell", "buy-to-open", "buy-to-close", "sell-to-open", "sell-to-close")


def actions() -> list[str]:
    return [*ACTIONS]


Until = Annotated[datetime | None, day("good till this day")]


@dataclass(frozen=True)
class NewTerms:
    """Options that change the terms of a working order, or name a file that holds them."""

    limit: Annotated[str | None, typer.Option(help="new limit price")] = None
    stop: Annotated[str | None, typer.Option(help="new price that sets the order off")] = None
    tif: Annotated[str | None, typer.Option(help="new time in force", autocompletion=values_of("TimeInForce"))] = None
    until: Until = None
    order: Annotated[
        str | None, typer.Option(help="all terms as JSON, without legs: FILE, or - for standard input")
    ] = None


@dataclass(frozen=True)
class Words:
    """Options that describe an order, or name a file that holds one."""

    action: Annotated[
        str | None,
        typer.Argument(help="buy-to-open, sell-to-close, ...; buy and sell for futures", autocompletion=actions),
    ] = None
    symbol: Annotated[str | None, typer.Argument(help="such as AAPL, 'AAPL  260612C00110000' or /ESZ6")] = None
    quantity: Annotated[str | None, typer.Argument(help="shares or contracts; none with --value")] = None
    limit: Annotated[str | None, typer.Option(help="limit price")] = None
    stop: Annotated[str | None, typer.Option(help="price that sets the order off")] = None
    market: Annotated[bool, typer.Option("--market", help="a market order, which has no price")] = False
    tif: Annotated[
        str | None,
        typer.Option(help="time in force: Day (default), GTC, Ext, IOC, ...", autocompletion=values_of("TimeInForce")),
    ] = None
    until: Until = None
    order: Annotated[str | None, typer.Option(help="any order as JSON: FILE, or - for standard input")] = None


def read_ticket(words: Words, value: str | None = None) -> models.NewOrder:
    """Return the order that the words describe, or the one in their file. No word is ignored."""
    action, symbol, quantity, until = words.action, words.symbol, words.quantity, words.until
    prices: dict[str, object] = {"--limit": words.limit, "--stop": words.stop}
    terms = prices | {"--market": words.market or None, "--until": until}
    if words.order is not None:
        what = {"ACTION": action, "SYMBOL": symbol, "QUANTITY": quantity, "--value": value, "--tif": words.tif}
        exclude("--order", what | terms)
        return read_file(words.order, models.NewOrder)
    if value is not None:
        exclude("--value", terms)
    elif words.limit is None and words.stop is None:
        exclude("a market order", {"--until": until})
    elif words.market:
        exclude("--market", prices)
    if action not in ACTIONS or symbol is None:
        raise errors.InvalidRequestError(f"an order needs one of {', '.join(ACTIONS)}, then a symbol")
    leg = getattr(tickets, action.replace("-", "_"))(symbol, quantity)
    force = models.TimeInForce(words.tif or "Day")
    if value is not None:
        return tickets.notional(leg, value=value, time_in_force=force)
    duration: dict[str, Any] = {"time_in_force": force, "until": until.date() if until else None}
    if words.stop is None and words.limit is None:
        return tickets.market(leg, time_in_force=force)
    if words.stop is None:
        return tickets.limit(leg, price=words.limit, **duration)
    if words.limit is None:
        return tickets.stop(leg, trigger=words.stop, **duration)
    return tickets.stop_limit(leg, trigger=words.stop, price=words.limit, **duration)


def read_bracket(
    entry: models.NewOrder, *, profit: str, loss: str, loss_limit: str | None = None, tif: str = "GTC"
) -> models.NewComplexOrder:
    legs, force = tickets.closing_legs(entry), models.TimeInForce(tif)
    take = tickets.limit(*legs, price=profit, time_in_force=force)
    if loss_limit is None:
        leave = tickets.stop(*legs, trigger=loss, time_in_force=force)
    else:
        leave = tickets.stop_limit(*legs, trigger=loss, price=loss_limit, time_in_force=force)
    return tickets.bracket(entry, profit=take, loss=leave)


def read_edit(order: models.Order, terms: NewTerms) -> models.OrderEdit:
    """Return the terms of a working order with those changed that are given, or the ones in the file."""
    limit, stop, tif, until = terms.limit, terms.stop, terms.tif, terms.until
    given = {"--limit": limit, "--stop": stop, "--tif": tif, "--until": until}
    if terms.order is not None:
        exclude("--order", given)
        return read_file(terms.order, models.OrderEdit)
    if not any(value is not None for value in given.values()):
        raise errors.InvalidRequestError(f"a replacement needs new terms: {', '.join(given)}, or --order FILE")
    if until is not None:
        exclude("--until", {"--tif": tif})
    duration = tif if until is None else "GTD"
    prices = {"--limit": (limit, order.price), "--stop": (stop, order.stop_trigger)}
    for option, (new, present) in prices.items():
        if new is not None and present is None:  # it would become an order of another type, which needs all terms
            raise errors.InvalidRequestError(
                f"{option} does not go with order {order.id}, a {order.order_type} order; give all terms with --order"
            )
    return models.OrderEdit.of(
        order,
        price=None if limit is None else read_number("--limit", limit),
        stop_trigger=None if stop is None else read_number("--stop", stop),
        time_in_force=None if duration is None else models.TimeInForce(duration),
        gtc_date=None if until is None else until.date(),
    )


def read_number(option: str, given: str) -> Decimal:
    from .._decimals import read_decimal

    try:
        return read_decimal(given)
    except ValueError:
        raise errors.InvalidRequestError(f"{option} must be a plain number such as 187.50, got {given!r}") from None


def exclude(what: str, others: Mapping[str, object]) -> None:
    """Refuse words that would otherwise be ignored."""
    if given := [name for name, value in others.items() if value is not None]:
        raise errors.InvalidRequestError(f"{what} does not go together with {', '.join(given)}")


def read_file(source: str, model: type[T]) -> T:
    """Read a valid request model from JSON in a file, or on standard input for ``-``."""
    from ..protocol.validation.requests import problems_of

    try:
        document = read_exactly(read_source(source))
    except ValueError as problem:
        raise errors.InvalidRequestError(f"cannot read the order from {source}: {problem}") from None
    made = read_model(document, model)
    if problems := problems_of(made):
        raise errors.InvalidRequestError(f"the order from {source} is not a valid {model.__name__}", errors=problems)
    return made


def read_source(source: str) -> str:
    """Return the content of a file, or of standard input for ``-``. Raise ValueError if it cannot be read."""
    if source == "-":
        content = sys.stdin.read(MAX_CHARACTERS + 1)
    else:
        try:
            with Path(source).open(encoding="utf-8-sig") as file:
                content = file.read(MAX_CHARACTERS + 1)
        except UnicodeDecodeError:
            raise ValueError("not a file in UTF-8") from None
        except OSError as problem:
            raise ValueError(problem.strerror or str(problem)) from None
    if len(content) > MAX_CHARACTERS:
        raise ValueError(f"the JSON must be at most {MAX_CHARACTERS:,} characters long")
    return content


def read_exactly(content: str) -> Any:
    """Parse JSON with every digit of its numbers. Raise ValueError for a key that occurs twice in one object, too."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"a number must be finite, got {name}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"the key {twice!r} occurs twice in one object")
        return made

    try:
        return json.loads(content, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ArithmeticError:
        raise ValueError("a number is too large or too small") from None


def read_model(document: object, model: type[T], *, operation: str | None = None) -> T:
    """Build a request model. Refuse fields it does not have, and values that do not fit: ``errors`` lists them all."""
    from ..protocol.validation.requests import with_article

    logger = logging.getLogger("brokerage_async.decode")  # its warnings say "kept", but nothing is kept here
    disabled, logger.disabled = logger.disabled, True
    try:
        made: T = models.converter.structure(document, model)
    except errors.ResponseDecodeError:
        said = f"the JSON must be an object with the fields of {with_article(model.__name__)}"
        raise errors.InvalidRequestError(said, operation=operation) from None
    finally:
        logger.disabled = disabled
    if problems := tuple(_problems(made, "")):
        raise errors.InvalidRequestError(
            f"the JSON must have the form of {with_article(model.__name__)}", operation=operation, errors=problems
        )
    return made


def _problems(made: Any, prefix: str) -> Iterator[errors.ErrorDetail]:
    """Yield what a request model and the models inside it keep in ``extra``."""
    from .._generated.operations import REQUEST_MODELS

    fields = {field.wire: field for field in REQUEST_MODELS[type(made)].fields}
    for key in made.extra:
        if key in fields:
            wanted = f"a list of {fields[key].kind}s" if fields[key].array else f"of kind {fields[key].kind}"
            yield errors.ErrorDetail("invalid", f"must be {wanted}, got {str(made.extra[key])[:40]!r}", prefix + key)
            continue
        close = difflib.get_close_matches(key, fields, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        yield errors.ErrorDetail("unknown", f"unknown field{hint}", prefix + key)
    for field in fields.values():
        value = getattr(made, field.name) if field.model is not None else None
        for index, item in enumerate(value if field.array and value is not None else [value]):
            if type(item) in REQUEST_MODELS:
                place = f"{prefix}{field.wire}[{index}]" if field.array else f"{prefix}{field.wire}"
                yield from _problems(item, f"{place}.")
