"""Handler of ``transactions``: bookings of an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...protocol.response import Response
from ..accounts.transactions import Transaction
from .access import Access
from .parsed_request import ParsedRequest
from .wire import items

__all__ = ["Transactions"]

_DEFAULT_PAGE = 250
_FIELD_FILTERS = ("symbol", "underlying_symbol", "instrument_type", "action")


class Transactions:
    """Serves the transactions of an account.

    ``list`` hides the builtin within the class.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    def list(self, request: ParsedRequest) -> Response:
        """Return a page of transactions, newest first by default."""
        query = request.query
        types = frozenset(query.get("types", ())) | ({query["type"]} if "type" in query else frozenset())
        booked = self._access.account(request).transactions
        chosen = [transaction for transaction in booked if _passes(transaction, query, types)]
        if not request.ascending:
            chosen.reverse()
        page = request.slice(len(chosen), default=_DEFAULT_PAGE)
        return items((transaction.row for transaction in chosen[page.start : page.stop]), request.context, page)


def _passes(transaction: Transaction, query: Mapping[str, Any], types: frozenset[str]) -> bool:
    wire, at = transaction.wire, transaction.executed_at
    day = wire.transaction_date
    return (
        query.get("start_date", day) <= day <= query.get("end_date", day)
        and query.get("start_at", at) <= at <= query.get("end_at", at)
        and (not types or wire.transaction_type in types)
        and all(query.get(name) in (None, getattr(wire, name)) for name in _FIELD_FILTERS)
    )
