"""``watchlists``: the user's named lists of symbols."""

from __future__ import annotations

from ..._generated.converters import WatchlistEntryWire, WatchlistWire
from ..._generated.models import NewWatchlist
from ...protocol.response import Response
from .call import Call
from .wire import Dialect, RefusedError, dumps, item, items

__all__ = ["Watchlists"]

_ORDER_INDEX = 9999


class Watchlists:
    """Keeps watchlists per customer. Its ``list`` comes last: within the class the name hides the builtin."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._rows: dict[int, dict[str, bytes]] = {}

    def create(self, call: Call) -> Response:
        """A new watchlist; its name must be new as well."""
        own = self._rows.setdefault(call.customer.number, {})
        asked: NewWatchlist = call.body
        if asked.name in own:
            raise RefusedError.invalid([self._dialect.problem("taken", "There is a watchlist of this name", "name")])
        wire = WatchlistWire(
            name=asked.name,
            group_name=asked.group_name,
            order_index=_ORDER_INDEX if asked.order_index is None else asked.order_index,
            watchlist_entries=[
                WatchlistEntryWire(symbol=entry.symbol, instrument_type=entry.instrument_type)
                for entry in asked.watchlist_entries
            ],
            cms_id=f"{call.customer.number}-{len(own) + 1}",
        )
        own[asked.name] = dumps(wire)
        return item(own[asked.name], call.context, 201)

    def list(self, call: Call) -> Response:
        """Every watchlist of the user, with its entries."""
        return items(self._rows.get(call.customer.number, {}).values(), call.context)
