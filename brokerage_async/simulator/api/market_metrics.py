"""Handlers of ``market_metrics``: figures of underlyings, earnings and dividends."""

from __future__ import annotations

from datetime import date

from ..._generated.converters import DividendWire, EarningsReportWire
from ...protocol.response import Response
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.company_events import CompanyEvents
from ..market.equities import EquityDefinition
from ..market.metrics import Metrics
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, items

__all__ = ["MarketMetrics"]


class MarketMetrics:
    """Serves figures and events of equities.

    ``list`` hides the builtin within the class.
    """

    def __init__(self, catalogue: Catalogue, events: CompanyEvents, metrics: Metrics) -> None:
        self._catalogue = catalogue
        self._events = events
        self._metrics = metrics

    def earnings_reports(self, request: ParsedRequest) -> Response:
        """Return the earnings per share of a company, oldest first."""
        first, last = request.query["start_date"], min(request.query.get("end_date", date.max), local_date(request.now))
        rows = (
            EarningsReportWire(occurred_date=day, eps=amount)
            for day, amount in self._events.earnings(self._equity(request), request.now)
            if first <= day <= last
        )
        return items(map(dumps, rows), request.context)

    def dividends(self, request: ParsedRequest) -> Response:
        """Return dividends per share, oldest first."""
        paid = self._events.dividends(self._equity(request), request.now)
        return items((dumps(DividendWire(occurred_date=day, amount=amount)) for day, amount in paid), request.context)

    def _equity(self, request: ParsedRequest) -> EquityDefinition:
        equity = self._catalogue.equities.get(request.path["symbol"])
        if equity is None:
            raise RefusedError.not_found("symbol")
        return equity

    def list(self, request: ParsedRequest) -> Response:
        """Return the figures of the requested equities, without the unknown ones."""
        symbols = dict.fromkeys(request.query["symbols"])
        found = (equity for symbol in symbols if (equity := self._catalogue.equities.get(symbol)) is not None)
        return items((dumps(self._metrics.row(equity, request.now)) for equity in found), request.context)
