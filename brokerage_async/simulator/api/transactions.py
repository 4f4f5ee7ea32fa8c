"""Handler of ``transactions``: bookings of an account."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..._generated.converters import TotalFeesWire, TransactionWire
from ..._generated.models import PriceEffect
from ...protocol.response import Response
from ..accounts.transactions import Transaction
from ..market.calendar import local_date
from ..trading.fees import amounts
from .access import Access
from .parsed_request import ParsedRequest
from .wire import RefusedError, item, items

__all__ = ["Transactions"]

_FIELD_FILTERS = ("symbol", "underlying_symbol", "instrument_type", "action", "currency")


class Transactions:
    """Serves the transactions of an account.

    ``list`` hides the builtin within the class.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, request: ParsedRequest) -> Response:
        """Return one transaction."""
        for transaction in self._access.account(request).transactions:
            if str(transaction.wire.id) == request.path["id"]:
                return item(transaction.row, request.context)
        raise RefusedError.not_found("transaction")

    def total_fees(self, request: ParsedRequest) -> Response:
        """Return the fees of one day, by default today."""
        day = request.query.get("date", local_date(request.now))
        booked = self._access.account(request).transactions
        paid = sum((_fees(each) for each in booked if each.wire.transaction_date == day), Decimal(0))
        return item(TotalFeesWire(**amounts(total_fees=-paid)), request.context)

    def list(self, request: ParsedRequest) -> Response:
        """Return a page of transactions, newest first by default."""
        query = request.query
        types = frozenset(query.get("types", ())) | ({query["type"]} if "type" in query else frozenset())
        booked = self._access.account(request).transactions
        chosen = [transaction for transaction in booked if _passes(transaction, query, types)]
        if not request.ascending:
            chosen.reverse()
        page = request.slice(len(chosen))
        return items((transaction.row for transaction in chosen[page.start : page.stop]), request.context, page)


def _fees(transaction: Transaction) -> Decimal:
    """Return the fees of a booking: the difference between its amounts before and after them."""
    wire = transaction.wire
    before, after = (
        -Decimal(amount or 0) if effect is PriceEffect.DEBIT else Decimal(amount or 0)
        for amount, effect in ((wire.value, wire.value_effect), (wire.net_value, wire.net_value_effect))
    )
    return before - after


def _passes(transaction: Transaction, query: Mapping[str, Any], types: frozenset[str]) -> bool:
    wire, at = transaction.wire, transaction.executed_at
    day = wire.transaction_date
    return (
        query.get("start_date", day) <= day <= query.get("end_date", day)
        and query.get("start_at", at) <= at <= query.get("end_at", at)
        and (not types or wire.transaction_type in types)
        and ("sub_types" not in query or wire.transaction_sub_type in query["sub_types"])
        and query.get("futures_symbol") in (None, *_futures_symbols(wire))
        and "partition_key" not in query
        and all(query.get(name) in (None, getattr(wire, name)) for name in _FIELD_FILTERS)
    )


def _futures_symbols(wire: TransactionWire) -> tuple[str, ...]:
    """Return the futures symbols by which a search finds a booking."""
    return tuple(each for each in (wire.symbol, wire.underlying_symbol) if each is not None and each.startswith("/"))
