"""``watchlists``: the user's named lists of symbols."""

from __future__ import annotations

from ...protocol.response import Response
from ..call import Call
from ..wire import Dialect, RefusedError, dumps, item, items

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
        name, order_index = call.body["name"], call.body.get("order-index")
        if name in own:
            raise RefusedError.invalid([self._dialect.problem("taken", "There is a watchlist of this name", "name")])
        fields = {
            "name": name,
            "group-name": call.body.get("group-name"),
            "order-index": _ORDER_INDEX if order_index is None else order_index,
            "watchlist-entries": [
                {key: value for key, value in entry.items() if value is not None}
                for entry in call.body["watchlist-entries"]
            ],
            "cms-id": f"{call.customer.number}-{len(own) + 1}",
        }
        own[name] = dumps({key: value for key, value in fields.items() if value is not None})
        return item(own[name], call.context, 201)

    def list(self, call: Call) -> Response:
        """Every watchlist of the user, with its entries."""
        return items(self._rows.get(call.customer.number, {}).values(), call.context)
