"""Adapters from endpoints to batches: lists filtered by symbol, single symbols, prices by type, ranges of dates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import date, timedelta
from typing import Protocol, TypeVar

from .._arguments import check_count, check_date
from .._generated.models import InstrumentType
from .._generated.operations import MARKET_DATA_BY_TYPE
from ..errors import InvalidRequestError, NotFoundError
from ..http.concurrency import ConcurrentMap
from ..operation import Pager
from ..protocol.validation.rules import add_months
from ..symbols import instrument_type_of
from .fetch import FetchBatch

T = TypeVar("T")

Types = Mapping[str, InstrumentType | str]
"""Instrument types by symbol."""

PRICED: Mapping[str, str] = {
    parameter.name.replace("_", " ").title(): parameter.name
    for parameter in MARKET_DATA_BY_TYPE.parameters
    if parameter.array
}
"""Parameters of the prices by instrument type."""


class _Listed(Protocol):
    """Item of a list that is filtered by symbol."""

    @property
    def symbol(self) -> str | None: ...


L = TypeVar("L", bound=_Listed)


def listed(read: Callable[[tuple[str, ...]], Awaitable[Iterable[L]]]) -> FetchBatch[L]:
    """Adapt a list filtered by symbols, which leaves out the unknown ones."""

    async def fetch(batch: tuple[str, ...]) -> Mapping[str, L]:
        return by_requested(batch, await read(batch))

    return fetch


def paged(read: Callable[..., Pager[L]]) -> FetchBatch[L]:
    """Adapt a paginated list that is filtered by symbols."""
    # A page as large as the batch: a full page is the last one, with or without a pagination block.
    return listed(lambda batch: read(symbols=batch, per_page=len(batch)).collect(max_items=len(batch)))


def one_by_one(read: Callable[[str], Awaitable[T]]) -> FetchBatch[T]:
    """Adapt an endpoint for one symbol that answers 404 if unknown."""

    async def fetch(batch: tuple[str, ...]) -> Mapping[str, T]:
        (symbol,) = batch
        if symbol in (".", ".."):
            raise InvalidRequestError(f"symbol must be usable as a path segment, got {symbol!r}")
        try:
            return {symbol: await read(symbol)}
        except NotFoundError:
            return {}

    return fetch


def by_requested(requested: Sequence[str], items: Iterable[L]) -> dict[str, L]:
    """Key the items by the symbols as requested, which the service may spell with other spaces, capitals or a slash."""
    by_symbol = {item.symbol: item for item in items if item.symbol}
    found = {symbol: by_symbol[symbol] for symbol in requested if symbol in by_symbol}
    if len(found) < min(len(requested), len(by_symbol)):
        others = {_folded(symbol): item for symbol, item in by_symbol.items() if symbol not in found}
        for symbol in requested:
            if symbol not in found and (item := others.get(_folded(symbol))) is not None:
                found[symbol] = item
    return found


def by_type(symbols: Iterable[str], types: Mapping[str, str]) -> dict[str, list[str]]:
    """Group symbols by the parameter for their type: the one in ``types``, or the one that their form implies."""
    groups: dict[str, list[str]] = {}
    for symbol in symbols:
        groups.setdefault(PRICED[types.get(symbol) or instrument_type_of(symbol)], []).append(symbol)
    return groups


def checked_types(types: Types) -> dict[str, str]:
    """Return the types by their names, in the order of the symbols. Raise InvalidRequestError for any other one."""
    if not isinstance(types, Mapping):
        raise InvalidRequestError(f"types must be a mapping of symbols to instrument types, got {types!r}")
    for symbol, name in types.items():
        if name not in PRICED:
            raise InvalidRequestError(f"type of {symbol!r} must be one of {', '.join(PRICED)}, got {name!r}")
    return {symbol: str(types[symbol]) for symbol in sorted(types)}


def _folded(symbol: str) -> str:
    return "".join(symbol.split()).upper().removeprefix("/")


MAX_MONTHS = 9
"""Maximum span between the two dates of one request."""


def split_range(from_date: date, to_date: date, *, months: int = MAX_MONTHS) -> list[tuple[date, date]]:
    """Split a range into the fewest consecutive ranges shorter than ``months``.

    Both ends of every range are included.

    Raises:
        InvalidRequestError: ``to_date`` is before ``from_date``, or one of them is not a date.
        ConfigurationError: ``months`` is less than 1.
    """
    check_date("from_date", from_date)
    check_date("to_date", to_date)
    if to_date < from_date:
        raise InvalidRequestError(f"to_date must not be before from_date, got {from_date} to {to_date}")
    check_count("months", months)
    parts = []
    while from_date < (following := add_months(from_date, months)) <= to_date:
        parts.append((from_date, following - timedelta(days=1)))
        from_date = following
    return [*parts, (from_date, to_date)]


async def over_range(
    fetch: Callable[[date, date], Awaitable[Iterable[T]]],
    from_date: date,
    to_date: date,
    *,
    months: int = MAX_MONTHS,
    concurrency: int = 8,
) -> list[T]:
    """Return the joined results of ``fetch`` over a range of any length.

    ``fetch(from_date, to_date)`` is called for each part. The results keep the order of the dates.

    At most ``concurrency`` parts are in flight. When one of them fails, the others are cancelled and its error raised.
    """
    check_count("concurrency", concurrency)
    parts = split_range(from_date, to_date, months=months)
    mapped = ConcurrentMap(lambda part: fetch(*part), parts, concurrency=concurrency, in_order=True)
    async with aclosing(mapped):
        return [item async for _, part in mapped for item in part]
