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
        own[requested.name] = dumps(self._wire(requested, request, len(own) + 1))
        return item(own[requested.name], request.context, 201)

    def get(self, request: ParsedRequest) -> Response:
        """Return one watchlist of the user."""
        return item(self._own(request)[request.path["watchlist_name"]], request.context)

    def replace(self, request: ParsedRequest) -> Response:
        """Replace the name and all entries of a watchlist."""
        own, name, requested = self._own(request), request.path["watchlist_name"], request.body
        if requested.name != name and requested.name in own:
            raise RefusedError.invalid([self._dialect.problem("taken", "A watchlist of this name exists", "name")])
        new = dumps(self._wire(requested, request, [*own].index(name) + 1))
        renamed = {requested.name if key == name else key: new if key == name else row for key, row in own.items()}
        self._rows[request.customer.number] = renamed
        return item(new, request.context)

    def delete(self, request: ParsedRequest) -> Response:
        """Delete a watchlist and return it a last time."""
        return item(self._own(request).pop(request.path["watchlist_name"]), request.context)

    def _own(self, request: ParsedRequest) -> dict[str, bytes]:
        """Return the watchlists of the user, which include the one in the path."""
        own = self._rows.get(request.customer.number, {})
        if request.path["watchlist_name"] not in own:
            raise RefusedError.not_found("watchlist")
        return own

    def _wire(self, requested: NewWatchlist, request: ParsedRequest, number: int) -> WatchlistWire:
        return WatchlistWire(
            name=requested.name,
            group_name=requested.group_name,
            order_index=_ORDER_INDEX if requested.order_index is None else requested.order_index,
            watchlist_entries=[
                WatchlistEntryWire(symbol=entry.symbol, instrument_type=entry.instrument_type)
                for entry in requested.watchlist_entries
            ],
            cms_id=f"{request.customer.number}-{number}",
        )

    def list(self, request: ParsedRequest) -> Response:
        """Return every watchlist of the user, with its entries."""
        return items(self._rows.get(request.customer.number, {}).values(), request.context)
