"""``transactions``: what was booked to an account."""

from __future__ import annotations

from ...protocol.response import Response
from ..calendar import local_date
from ..call import Call
from ..transactions import Transaction
from ..wire import items
from .access import Access

__all__ = ["Transactions"]

_PAGE, _LARGEST_PAGE = 250, 2_000
_FIELD_FILTERS = ("symbol", "underlying_symbol", "instrument_type", "action")


class Transactions:
    """Answers from the accounts' books. Within the class ``list`` hides the builtin."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def list(self, call: Call) -> Response:
        """A page of transactions, newest first unless asked otherwise."""
        booked = self._access.account(call).transactions
        chosen = [transaction for transaction in booked if _passes(call, transaction)]
        if not call.ascending:
            chosen.reverse()
        page = call.slice(len(chosen), default=_PAGE, most=_LARGEST_PAGE)
        return items((transaction.row for transaction in chosen[page.start : page.stop]), call.context, page)


def _passes(call: Call, transaction: Transaction) -> bool:
    query, wire = call.query, transaction.wire
    at, day = transaction.executed_at, local_date(transaction.executed_at)
    first, last = call.day("start_date"), call.day("end_date")
    types = frozenset(query.get("types", ())) | ({query["type"]} if "type" in query else frozenset())
    return (
        (first is None or day >= first)
        and (last is None or day <= last)
        and query.get("start_at", at) <= at <= query.get("end_at", at)
        and (not types or wire.transaction_type in types)
        and all(query.get(name) in (None, getattr(wire, name)) for name in _FIELD_FILTERS)
    )
