"""Long date ranges for endpoints that accept a limited number of months: split, fetched in parts, joined.

::

    def sessions(start: date, end: date) -> Awaitable[list[MarketSession]]:
        return client.market_time.sessions(end, from_date=start)

    decade = await over_range(sessions, date(2016, 1, 1), date(2025, 12, 31))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import date, timedelta
from typing import TypeVar

from .._arguments import check_count, check_date
from ..errors import InvalidRequestError
from ..http.concurrency import map_in_order
from ..protocol.validation.rules import add_months

__all__ = ["over_range", "split_range"]

T = TypeVar("T")

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

    ``fetch(from_date, to_date)`` is called for each part; the results keep the order of the dates.

    At most ``concurrency`` parts are in flight. When one of them fails, the others are cancelled and its error raised.
    """
    check_count("concurrency", concurrency)
    parts = split_range(from_date, to_date, months=months)
    found = await map_in_order(lambda part: fetch(*part), parts, concurrency=concurrency)
    return [item for part in found for item in part]
