"""Handlers of ``market_metrics``: quarterly earnings and dividends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from ..._generated.converters import DividendWire, EarningsReportWire
from ...protocol.response import Response
from ..keyed_random import KeyedRandom, key_of
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.equities import EquityDefinition
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, items

__all__ = ["MarketMetrics"]

_YEARS_BACK = 5
_EARNINGS, _DIVIDENDS = 1, 2


class MarketMetrics:
    """Serves events generated from the seed."""

    def __init__(self, catalogue: Catalogue, random: KeyedRandom) -> None:
        self._catalogue = catalogue
        self._random = random

    def earnings_reports(self, request: ParsedRequest) -> Response:
        """Return the earnings per share of a company, oldest first.

        Funds and indices have none.
        """
        equity = self._equity(request)
        last = min(request.query.get("end_date", date.max), local_date(request.now))
        rows = []
        if not (equity.is_etf or equity.is_index):
            for number, day in enumerate(self._quarters(equity, _EARNINGS, request.now)):
                if request.query["start_date"] <= day <= last:
                    cents = self._random.below(400, key_of(equity.symbol), _EARNINGS, number) - 50
                    rows.append(dumps(EarningsReportWire(occurred_date=day, eps=Decimal(cents).scaleb(-2))))
        return items(rows, request.context)

    def dividends(self, request: ParsedRequest) -> Response:
        """Return dividends per share, oldest first; one company in three pays none."""
        equity = self._equity(request)
        pays = not equity.is_index and self._random.below(3, key_of(equity.symbol), _DIVIDENDS) > 0
        cents = 5 + self._random.below(150, key_of(equity.symbol), _DIVIDENDS, 1)
        days = self._quarters(equity, _DIVIDENDS, request.now) if pays else iter(())
        amount = Decimal(cents).scaleb(-2)
        return items((dumps(DividendWire(occurred_date=day, amount=amount)) for day in days), request.context)

    def _equity(self, request: ParsedRequest) -> EquityDefinition:
        equity = self._catalogue.equities.get(request.path["symbol"])
        if equity is None:
            raise RefusedError.not_found("symbol")
        return equity

    def _quarters(self, equity: EquityDefinition, kind: int, now: float) -> Iterator[date]:
        """Yield one day in each quarter of the last years, up to today."""
        today = local_date(now)
        for year in range(today.year - _YEARS_BACK, today.year + 1):
            for month in (1, 4, 7, 10):
                shift = self._random.below(60, key_of(equity.symbol), kind, year, month)
                day = date(year, month, 1) + timedelta(days=shift)
                if day <= today:
                    yield day
