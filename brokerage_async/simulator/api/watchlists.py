"""Handlers of ``watchlists`` and ``quote_alerts``: what users keep, and the lists that the service publishes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any

import attrs
import msgspec

from ..._generated.converters import WatchlistEntryWire, WatchlistWire
from ..._generated.models import NewWatchlist
from ..market.watchlists import pairs_watchlists
from ..state import State
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, found, like

_ORDER_INDEX = 9999


class Watchlists(Handlers):
    """Keeps watchlists by customer, and serves the public ones."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._lists: dict[int, dict[str, WatchlistWire]] = {}
        self._created: Counter[int] = Counter()

    def create(self, request: ParsedRequest) -> Any:
        customer, requested = request.customer.number, request.body
        own = self._lists.setdefault(customer, {})
        self._require_name(requested.name, own)
        self._created[customer] += 1
        own[requested.name] = self._wire(requested, f"{customer}-{self._created[customer]}")
        return own[requested.name]

    def get(self, request: ParsedRequest) -> Any:
        return self._own(request)[request.path["watchlist_name"]]

    def replace(self, request: ParsedRequest) -> Any:
        own, name, requested = self._own(request), request.path["watchlist_name"], request.body
        self._require_name(requested.name, own.keys() - {name})
        new = self._wire(requested, own[name].cms_id)
        renamed = {requested.name if key == name else key: new if key == name else one for key, one in own.items()}
        self._lists[request.customer.number] = renamed
        return new

    def _require_name(self, name: str, taken: Container[str]) -> None:
        """Raise a 422 error for a name that is taken, or that no path could name."""
        if name.strip(".") == "":
            raise RefusedError.invalid([self._dialect.problem("invalid", "name must not be empty or dots", "name")])
        if name in taken:
            raise RefusedError.invalid([self._dialect.problem("taken", "A watchlist of this name exists", "name")])

    def delete(self, request: ParsedRequest) -> Any:
        """Delete a watchlist and return it a last time."""
        deleted = request.response(self._own(request).pop(request.path["watchlist_name"]))
        return deleted if self._has("deleted_watchlists_are_returned") else attrs.evolve(deleted, body=b"")

    def list_public(self, request: ParsedRequest) -> Any:
        public = self._state.public_watchlists.by_name().values()
        if request.query.get("counts_only", False):
            return (
                WatchlistWire(name=one.name, id=one.id, watchlist_entry_count=len(one.watchlist_entries or ()))
                for one in public
            )
        if self._dialect.form == "documented":
            return public
        rows = [msgspec.structs.replace(one) for one in public]
        for row in rows:  # recordings of the full list have another key than the document
            row.watchlist_entries = [
                WatchlistEntryWire(symbol=entry.symbol, instrument_type__alias1=entry.instrument_type)
                for entry in row.watchlist_entries or ()
            ]
        return rows

    def get_public(self, request: ParsedRequest) -> Any:
        public = self._state.public_watchlists.by_name()
        return found(public.get(request.path["watchlist_name"]), "watchlist")

    def list_pairs(self, request: ParsedRequest) -> Any:
        return pairs_watchlists().values()

    def get_pairs(self, request: ParsedRequest) -> Any:
        return found(pairs_watchlists().get(request.path["pairs_watchlist_name"]), "watchlist")

    def _own(self, request: ParsedRequest) -> dict[str, WatchlistWire]:
        own = self._lists.get(request.customer.number, {})
        if request.path["watchlist_name"] not in own:
            raise RefusedError.not_found("watchlist")
        return own

    def _wire(self, requested: NewWatchlist, cms_id: str | None) -> WatchlistWire:
        return like(
            WatchlistWire,
            requested,
            order_index=_ORDER_INDEX if requested.order_index is None else requested.order_index,
            watchlist_entries=[like(WatchlistEntryWire, entry) for entry in requested.watchlist_entries],
            cms_id=cms_id,
        )

    def list(self, request: ParsedRequest) -> Any:
        return self._lists.get(request.customer.number, {}).values()


class QuoteAlerts(Handlers):
    """Handles quote alerts."""

    def create(self, request: ParsedRequest) -> Any:
        alert = self._state.alert_monitor.create(request.customer, request.body, request.now)
        return alert.wire()

    def cancel(self, request: ParsedRequest) -> None:
        """Remove an alert. Repeating this, or an unknown identifier, changes nothing."""
        self._state.alert_monitor.cancel(request.customer, request.path["alert_external_id"])

    def list(self, request: ParsedRequest) -> Any:
        return [alert.wire() for alert in self._state.alert_monitor.of(request.customer)]
