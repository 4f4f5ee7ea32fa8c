"""Quarterly earnings and dividends of companies, generated from the seed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from ..keyed_random import KeyedRandom, key_of
from .calendar import local_date
from .equities import EquityDefinition

__all__ = ["CompanyEvents", "Event"]

_YEARS_BACK = 5
_EARNINGS, _DIVIDENDS = 1, 2
_QUARTERS = (1, 4, 7, 10)

Event = tuple[date, Decimal]
"""Day of an event, and its amount per share."""


class CompanyEvents:
    """Earnings and dividends of every equity, oldest first."""

    def __init__(self, random: KeyedRandom) -> None:
        self._random = random

    def earnings(self, equity: EquityDefinition, now: float) -> list[Event]:
        """Return the earnings per share that were reported by now; funds and indices have none."""
        if equity.is_etf or equity.is_index:
            return []
        days = enumerate(self._until(equity, _EARNINGS, now))
        return [(day, self._earned(equity, number)) for number, day in days]

    def next_report(self, equity: EquityDefinition, now: float) -> Event | None:
        """Return the next day of earnings with the amount that will be reported; None for funds and indices."""
        reported = self.earnings(equity, now)
        if not reported:
            return None
        today = local_date(now)
        days = (day for year in (today.year, today.year + 1) for day in self._days(equity, _EARNINGS, year))
        return next(day for day in days if day > today), self._earned(equity, len(reported))

    def dividends(self, equity: EquityDefinition, now: float) -> list[Event]:
        """Return the dividends per share that were paid by now; one company in three pays none."""
        key = key_of(equity.symbol)
        if equity.is_index or self._random.below(3, key, _DIVIDENDS) == 0:
            return []
        amount = Decimal(5 + self._random.below(150, key, _DIVIDENDS, 1)).scaleb(-2)
        return [(day, amount) for day in self._until(equity, _DIVIDENDS, now)]

    def _earned(self, equity: EquityDefinition, number: int) -> Decimal:
        return Decimal(self._random.below(400, key_of(equity.symbol), _EARNINGS, number) - 50).scaleb(-2)

    def _until(self, equity: EquityDefinition, kind: int, now: float) -> Iterator[date]:
        """Yield one day in each quarter of the last years, up to today."""
        today = local_date(now)
        for year in range(today.year - _YEARS_BACK, today.year + 1):
            yield from (day for day in self._days(equity, kind, year) if day <= today)

    def _days(self, equity: EquityDefinition, kind: int, year: int) -> Iterator[date]:
        """Yield one day in each quarter of a year."""
        for month in _QUARTERS:
            shift = self._random.below(60, key_of(equity.symbol), kind, year, month)
            yield date(year, month, 1) + timedelta(days=shift)
