"""Handlers of ``instruments``: equities, options, cryptocurrencies, warrants, and what `FutureInstruments` serves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._generated.converters import CurrencyPairWire, QuantityDecimalPrecisionWire
from ..._generated.models import InstrumentType
from ...protocol.response import Response
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.row_table import RowTable
from .futures import FutureInstruments
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, item, items

__all__ = ["Instruments"]

_FIELD_FILTERS = ("is_etf", "is_index", "lendability")
_CURRENCY_PAIRS = (
    ("EUR/USD", "Euro to US Dollar"),
    ("GBP/USD", "British Pound to US Dollar"),
    ("AUD/USD", "Australian Dollar to US Dollar"),
    ("NZD/USD", "New Zealand Dollar to US Dollar"),
    ("USD/CAD", "US Dollar to Canadian Dollar"),
    ("USD/CHF", "US Dollar to Swiss Franc"),
    ("USD/JPY", "US Dollar to Japanese Yen"),
    ("USD/MXN", "US Dollar to Mexican Peso"),
)
_PLACES = {
    InstrumentType.BOND: 0,
    InstrumentType.EQUITY: 5,
    InstrumentType.EQUITY_OFFERING: 0,
    InstrumentType.EQUITY_OPTION: 0,
    InstrumentType.FIXED_INCOME_SECURITY: 0,
    InstrumentType.FUTURE: 0,
    InstrumentType.FUTURE_OPTION: 0,
    InstrumentType.LIQUIDITY_POOL: 2,
    InstrumentType.WARRANT: 0,
}
"""Decimal places of a quantity by instrument type; those of a cryptocurrency are its own."""


class Instruments(FutureInstruments):
    """Serves rows of the catalogue, most of which are rendered once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def equities(self, request: ParsedRequest) -> Response:
        """Return a page of equities, all or by symbol, filtered."""
        table = self._catalogue.equities
        query = request.query
        symbols = query.get("symbols")
        positions: Iterable[int] = range(len(table)) if symbols is None else table.positions(symbols)
        wanted = {name: query[name] for name in _FIELD_FILTERS if name in query}
        if wanted:
            positions = table.select(positions, lambda row: all(getattr(row, n) == wanted[n] for n in wanted))
        chosen = positions if isinstance(positions, range) else list(positions)
        page = request.slice(len(chosen))
        return items(table.rows(chosen[page.start : page.stop]), request.context, page)

    def equity_options(self, request: ParsedRequest) -> Response:
        """Return equity options, all or by symbol; expired ones only on request."""
        table = self._catalogue.equity_options
        today = local_date(request.now)
        symbols = request.query.get("symbols")
        positions: Iterable[int] = range(len(table)) if symbols is None else table.positions(symbols)
        if not request.query.get("with_expired", False):
            positions = table.select(positions, lambda row: row.expires >= today)
        active = request.query.get("active")
        if active is not None:
            positions = table.select(positions, lambda row: row.active == active)
        page = None
        if "equity_options_in_pages" in request.behaviours:
            positions = list(positions)
            page = request.slice(len(positions))
            positions = positions[page.start : page.stop]
        return items(table.rows(positions), request.context, page)

    def equity(self, request: ParsedRequest) -> Response:
        """Return one equity."""
        return _only(self._catalogue.equities, request)

    def active_equities(self, request: ParsedRequest) -> Response:
        """Return a page of the equities that are traded: all but the indices."""
        table, lendability = self._catalogue.equities, request.query.get("lendability")
        chosen = table.select(
            range(len(table)), lambda row: not row.is_index and lendability in (None, row.lendability)
        )
        page = request.slice(len(chosen))
        return items(table.rows(chosen[page.start : page.stop]), request.context, page)

    def equity_option(self, request: ParsedRequest) -> Response:
        """Return one equity option; only one with standard terms if asked for active ones."""
        table = self._catalogue.equity_options
        found = table.get(request.path["symbol"])
        if found is not None and request.query.get("active", False) and not found.active:
            raise RefusedError.not_found("instrument")
        return _only(table, request)

    def cryptocurrencies(self, request: ParsedRequest) -> Response:
        """Return cryptocurrencies, all or by symbol."""
        table, symbols = self._catalogue.cryptocurrencies, request.query.get("symbols")
        positions = range(len(table)) if symbols is None else table.positions(symbols)
        return items(table.rows(positions), request.context)

    def cryptocurrency(self, request: ParsedRequest) -> Response:
        """Return one cryptocurrency."""
        return _only(self._catalogue.cryptocurrencies, request)

    def warrants(self, request: ParsedRequest) -> Response:
        """Return warrants, all or by symbol."""
        table, symbols = self._catalogue.warrants, request.query.get("symbols")
        positions = range(len(table)) if symbols is None else table.positions(symbols)
        return items(table.rows(positions), request.context)

    def warrant(self, request: ParsedRequest) -> Response:
        """Return one warrant."""
        return _only(self._catalogue.warrants, request)

    def currency_pairs(self, request: ParsedRequest) -> Response:
        """Return the currency pairs, which are quoted but not traded."""
        rows = (
            CurrencyPairWire(
                id=number,
                description=description,
                dx_symbol=symbol,
                symbol=symbol,
                instrument_type=InstrumentType.CURRENCY_PAIR,
            )
            for number, (symbol, description) in enumerate(_CURRENCY_PAIRS, start=1)
        )
        return items(map(dumps, rows), request.context)

    def quantity_decimal_precisions(self, request: ParsedRequest) -> Response:
        """Return the decimal places of quantities, by instrument type and by cryptocurrency."""
        by_type = (
            QuantityDecimalPrecisionWire(instrument_type=kind, value=places, minimum_increment_precision=places)
            for kind, places in _PLACES.items()
        )
        by_symbol = (row.precision() for row in self._catalogue.cryptocurrencies.definitions)
        return items(map(dumps, (*by_symbol, *by_type)), request.context)


def _only(table: RowTable[Any], request: ParsedRequest) -> Response:
    """Return the row of the symbol in the path."""
    positions = table.positions([request.path["symbol"]])
    if not positions:
        raise RefusedError.not_found("instrument")
    return item(table.rows(positions)[0], request.context)
