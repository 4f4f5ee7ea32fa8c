"""Handlers of ``search``: equities by symbol and name."""

from __future__ import annotations

from ..._generated.converters import InstrumentSearchHitWire, SymbolSearchHitWire
from ..._generated.models import InstrumentType
from ...protocol.response import Response
from ..market.catalogue import Catalogue
from .parsed_request import ParsedRequest
from .wire import dumps, items

__all__ = ["Search"]

_DEFAULT_LIMIT = 25
_EXCHANGE = "XNAS"


class Search:
    """Searches the equities of the catalogue; other instruments are not found."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def instruments(self, request: ParsedRequest) -> Response:
        """Return the equities whose symbol or description contains the words, in any case."""
        query = request.query
        words = query.get("query", "").casefold()
        if InstrumentType.EQUITY not in query.get("types", (InstrumentType.EQUITY,)) or "categories" in query:
            return items((), request.context)
        hits = (
            InstrumentSearchHitWire(
                symbol=row.symbol,
                description=row.description,
                exchange=_EXCHANGE,
                instrument_type=InstrumentType.INDEX if row.is_index else InstrumentType.EQUITY,
            )
            for row in self._catalogue.equities.definitions
            if words in row.symbol.casefold() or words in row.description.casefold()
        )
        limit = query.get("limit", _DEFAULT_LIMIT)
        return items((dumps(hit) for hit, _ in zip(hits, range(limit), strict=False)), request.context)

    def symbols(self, request: ParsedRequest) -> Response:
        """Return the equities whose symbol begins like the given one."""
        start = request.path["symbol"]
        rows = (
            SymbolSearchHitWire(
                symbol=row.symbol,
                description=row.description,
                listed_market=_EXCHANGE,
                instrument_type=InstrumentType.INDEX if row.is_index else InstrumentType.EQUITY,
            )
            for row in self._catalogue.equities.definitions
            if row.symbol.startswith(start)
        )
        return items(map(dumps, rows), request.context)
