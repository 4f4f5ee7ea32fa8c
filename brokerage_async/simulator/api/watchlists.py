"""Handlers of ``watchlists``: named lists of symbols."""

from __future__ import annotations

from ..._generated.converters import WatchlistEntryWire, WatchlistWire
from ..._generated.models import NewWatchlist
from ...protocol.response import Response
from .parsed_request import ParsedRequest
from .wire import Dialect, RefusedError, dumps, item, items

__all__ = ["Watchlists"]

_ORDER_INDEX = 9999


class Watchlists:
    """Keeps watchlists by customer.

    ``list`` comes last because it hides the builtin within the class.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._rows: dict[int, dict[str, bytes]] = {}

    def create(self, request: ParsedRequest) -> Response:
        """Create a watchlist with an unused name."""
        own = self._rows.setdefault(request.customer.number, {})
        requested: NewWatchlist = request.body
        if requested.name in own:
            raise RefusedError.invalid([self._dialect.problem("taken", "A watchlist of this name exists", "name")])
        wire = WatchlistWire(
            name=requested.name,
            group_name=requested.group_name,
            order_index=_ORDER_INDEX if requested.order_index is None else requested.order_index,
            watchlist_entries=[
                WatchlistEntryWire(symbol=entry.symbol, instrument_type=entry.instrument_type)
                for entry in requested.watchlist_entries
            ],
            cms_id=f"{request.customer.number}-{len(own) + 1}",
        )
        own[requested.name] = dumps(wire)
        return item(own[requested.name], request.context, 201)

    def list(self, request: ParsedRequest) -> Response:
        """Return every watchlist of the user, with its entries."""
        return items(self._rows.get(request.customer.number, {}).values(), request.context)
