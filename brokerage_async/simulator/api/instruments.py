"""``instruments``: equities, options, chains and warrants."""

from __future__ import annotations

from collections.abc import Iterable

from ...protocol.response import Response
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from .call import Call
from .wire import RefusedError, item, items

__all__ = ["Instruments"]

_PAGE, _LARGEST_PAGE = 1_000, 2_000
_FIELD_FILTERS = ("is_etf", "is_index", "lendability")


class Instruments:
    """Answers from the catalogue, with rows that are written once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def equities(self, call: Call) -> Response:
        """A page of equities, all or those of given symbols, filtered."""
        table = self._catalogue.equities
        query = call.query
        symbols = query.get("symbols")
        positions: Iterable[int] = range(len(table)) if symbols is None else table.positions(symbols)
        wanted = {name: query[name] for name in _FIELD_FILTERS if name in query}
        if wanted:
            positions = table.select(positions, lambda row: all(getattr(row, n) == wanted[n] for n in wanted))
        chosen = positions if isinstance(positions, range) else list(positions)
        page = call.slice(len(chosen), default=_PAGE, most=_LARGEST_PAGE)
        return items(table.rows(chosen[page.start : page.stop]), call.context, page)

    def equity_options(self, call: Call) -> Response:
        """Equity options, all or those of given symbols; expired ones only on request."""
        table = self._catalogue.equity_options
        today = local_date(call.now)
        symbols = call.query.get("symbols")
        positions: Iterable[int] = range(len(table)) if symbols is None else table.positions(symbols)
        if not call.query.get("with_expired", False):
            positions = table.select(positions, lambda row: row.expires >= today)
        active = call.query.get("active")
        if active is not None:
            positions = table.select(positions, lambda row: row.active == active)
        return items(table.rows(positions), call.context)

    def warrant(self, call: Call) -> Response:
        """One warrant."""
        table = self._catalogue.warrants
        positions = table.positions([call.path["symbol"]])
        if not positions:
            raise RefusedError.not_found("warrant")
        return item(table.rows(positions)[0], call.context)

    def futures_option_chain(self, call: Call) -> Response:
        """The flat option chain of a futures product."""
        rows = self._catalogue.chain(call.path["symbol"])
        if rows is None:
            raise RefusedError.not_found("futures product")
        return items([rows], call.context)
