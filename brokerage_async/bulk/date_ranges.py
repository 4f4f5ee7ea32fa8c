"""Long ranges of dates for endpoints that allow only so many months at once: split, asked in parts, joined.

::

    def sessions(start: date, end: date) -> Awaitable[list[MarketSession]]:
        return client.market_time.sessions(end, from_date=start)

    decade = await over_range(sessions, date(2016, 1, 1), date(2025, 12, 31))
"""

from __future__ import annotations

import asyncio
import calendar
from collections.abc import Awaitable, Callable, Iterable
from datetime import date, datetime, timedelta
from typing import TypeVar

from .._arguments import check_count
from ..errors import InvalidRequestError

__all__ = ["add_months", "check_date", "over_range", "split_range"]

T = TypeVar("T")

MONTHS = 9
"""The longest span between two dates of one request."""


def check_date(name: str, value: object) -> None:
    """Refuse what is no date, and points in time, whose day depends on the time zone."""
    if not isinstance(value, date) or isinstance(value, datetime):
        raise InvalidRequestError(f"{name} must be a datetime.date, not {value!r}")


def add_months(day: date, months: int) -> date:
    """The same day so many months later, or the last day of that month where it is shorter; at most ``date.max``."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if year > date.max.year:
        return date.max
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def split_range(from_date: date, to_date: date, *, months: int = MONTHS) -> list[tuple[date, date]]:
    """The range, both ends included, as the fewest ranges in order that share no day and span less than ``months``.

    Raises:
        InvalidRequestError: the range ends before it begins, or one of its ends is no date.
        ConfigurationError: ``months`` is less than 1.
    """
    check_date("from_date", from_date)
    check_date("to_date", to_date)
    if to_date < from_date:
        raise InvalidRequestError(f"the range ends before it begins: {from_date} to {to_date}")
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
    months: int = MONTHS,
    concurrency: int = 8,
) -> list[T]:
    """The results of ``fetch(from_date, to_date)`` over a range of any length, joined in the order of the dates.

    ``concurrency`` parts are asked at a time. When one of them fails, the others are cancelled and its error raised.
    """
    lanes = asyncio.Semaphore(check_count("concurrency", concurrency))
    parts = split_range(from_date, to_date, months=months)

    async def ask(start: date, end: date) -> Iterable[T]:
        async with lanes:
            return await fetch(start, end)

    tasks = [asyncio.create_task(ask(*part)) for part in parts]
    try:
        return [item for part in await asyncio.gather(*tasks) for item in part]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
