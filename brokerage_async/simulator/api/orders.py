"""Handlers of ``orders`` and ``complex_orders``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import attrs

from ..._generated.converters import ErrorDetailWire, PlacedOrderResponseWire
from ..._generated.models import PairsEdit
from ...protocol.response import Response
from ..market.calendar import local_date
from ..trading.accounts import Fees
from ..trading.orders import ComplexOrder, Order, order_json
from ..trading.preflight import PreflightResult
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, found


class Orders(Handlers):
    """Handles order requests."""

    _live_pages: tuple[object, dict[object, Response]] = (None, {})

    def dry_run(self, request: ParsedRequest) -> Any:
        result = self._state.exchange.dry_run(self._account_of(request), request.body, request.now)
        return result.wire(self._dialect)

    def submit(self, request: ParsedRequest) -> Any:
        result = self._state.exchange.submit(self._account_of(request), request.body, request.now)
        _record(request, result.order)
        return result.wire(self._dialect)

    def edit_dry_run(self, request: ParsedRequest) -> Any:
        self._check_edit(request)
        result = self._state.exchange.check_edit(self._order(request), request.body, request.now)
        return result.wire(self._dialect)

    def get(self, request: ParsedRequest) -> Any:
        return order_json(self._order(request), self._dialect)

    def replace(self, request: ParsedRequest) -> Any:
        self._check_edit(request)
        new = self._state.exchange.replace(self._order(request), request.body, request.now)
        _record(request, new)
        return order_json(new, self._dialect)

    edit = replace  # which also creates a new order

    def cancel(self, request: ParsedRequest) -> Any:
        order = self._order(request)
        self._state.exchange.cancel(order, request.now)
        return order_json(order, self._dialect)

    def search(self, request: ParsedRequest) -> Any:
        _require_start(request)
        accounts = self._accounts_of(request, request.query["account_numbers"])
        return self._page(request, self._state.order_store.of(accounts))

    def live(self, request: ParsedRequest) -> Any:
        """Return the orders of several accounts that work or are of today."""
        accounts = self._accounts_of(request, request.query["account_numbers"])
        # Pollers repeat the request while nothing changes: each page is kept until something does.
        paged = "customer_live_list_in_pages" in request.behaviours
        state = (self._state.order_store.version, local_date(request.now))
        if self._live_pages[0] != state:
            self._live_pages = (state, {})
        kept, key = self._live_pages[1], (paged, request.context, str(request.query))
        if key not in kept:
            kept[key] = self._page(request, self._state.order_store.live(accounts, request.now), paged=paged)
        return kept[key]

    def list_live(self, request: ParsedRequest) -> Any:
        orders = self._state.order_store.live([self._account_of(request)], request.now)
        return self._page(request, orders, paged="account_live_list_in_pages" in request.behaviours)

    def _order(self, request: ParsedRequest) -> Order:
        return found(self._state.order_store.get(self._account_of(request), request.path["id"]), "order")

    def _check_edit(self, request: ParsedRequest) -> None:
        """Raise a 422 error for legs in an edit, or rules in its dry-run. That they are refused is a guess."""
        misplaced = {"legs", "rules"} & request.body.extra.keys()
        if misplaced and self._has("edits_take_no_legs"):
            raise RefusedError.invalid([ErrorDetailWire(domain=name, reason="is not taken") for name in misplaced])

    def _page(self, request: ParsedRequest, orders: Iterable[Order], *, paged: bool = True) -> Response:
        """Return a page of matching orders, or all if they do not come in pages. Given oldest first."""
        chosen, future = list[Order](), request.query.get("futures_symbol")
        eastern = self._has("order_searches_count_eastern_days")
        day_of = local_date if eastern else (lambda seconds: datetime.fromtimestamp(seconds, UTC).date())
        for order in orders:
            symbols = (order.underlying, *(leg.instrument.symbol for leg in order.legs))
            received, kind = order.received_at or 0.0, order.legs[0].instrument.underlying_type
            if (
                request.spans(day_of(received), received)
                and request.admits(statuses=order.status.value)
                and request.admits(underlying_symbol=order.underlying, underlying_instrument_type=kind)
                and (future is None or (order.underlying.startswith("/") and future in symbols))
            ):
                chosen.append(order)
        return request.page(request.ordered(chosen), partial(order_json, dialect=self._dialect), paged=paged)

    def list(self, request: ParsedRequest) -> Any:
        _require_start(request)
        return self._page(request, self._state.order_store.of([self._account_of(request)]))


def _record(request: ParsedRequest, order: Order) -> None:
    request.record.order_ids += (str(order.number),)
    if order.terms.external_identifier is not None:
        request.record.external_identifiers += (order.terms.external_identifier,)


def _require_start(request: ParsedRequest) -> None:
    """Raise a 400 error if the interface version demands a range and the request has none."""
    needed = "order_searches_need_a_start" in request.behaviours
    if needed and not {"start_date", "start_at"} & set(request.query):
        reason = f"{request.wire('start_date')} or {request.wire('start_at')} is missing"
        raise RefusedError.invalid([request.problem("start_date", reason)], 400)


class ComplexOrders(Handlers):
    """Handles requests about complex orders."""

    def get(self, request: ParsedRequest) -> Any:
        return self._order(request).wire(self._dialect)

    def dry_run(self, request: ParsedRequest) -> Any:
        result = self._state.exchange.check_complex(self._account_of(request), request.body, request.now)
        return result.require_no_errors(self._dialect).wire(self._dialect)

    def submit(self, request: ParsedRequest) -> Any:
        result = self._state.exchange.check_complex(self._account_of(request), request.body, request.now)
        result.require_no_errors(self._dialect)
        for order in self._state.exchange.accept_complex(result, request.now).members:
            _record(request, order)
        return result.wire(self._dialect)

    def cancel(self, request: ParsedRequest) -> Any:
        order = self._order(request)
        self._state.exchange.cancel_complex(order, request.now)
        return order.wire(self._dialect)

    def edit_pairs_dry_run(self, request: ParsedRequest) -> Any:
        edited = self._state.exchange.edited(self._order(request), request.body or PairsEdit())
        return self._unchanged(edited, request.now)

    def edit_pairs(self, request: ParsedRequest) -> Any:
        """Change the comparator or threshold of a PAIRS order. Its buying power stays the same."""
        order = self._order(request)
        self._state.exchange.edit_pairs(order, request.body or PairsEdit(), request.now)
        return self._unchanged(order, request.now)

    def _unchanged(self, shown: ComplexOrder, now: float) -> PlacedOrderResponseWire:
        """Return the response to a change that takes no buying power."""
        impact = self._calculator.impact(shown.account, (), Fees(), {}, now)
        return PreflightResult(order=shown, impact=attrs.evolve(impact, is_spread=True)).wire(self._dialect)

    def live(self, request: ParsedRequest) -> Any:
        """Return the complex orders with a component that changed today."""
        today = local_date(request.now)
        return (
            each.wire(self._dialect)
            for each in self._state.exchange.complex_orders(self._account_of(request))
            if any(order.updated_at is not None and local_date(order.updated_at) == today for order in each.members)
        )

    def _order(self, request: ParsedRequest) -> ComplexOrder:
        exchange, account = self._state.exchange, self._account_of(request)
        return found(exchange.complex_order(account, request.path["id"]), "complex order")

    def list(self, request: ParsedRequest) -> Any:
        orders = self._state.exchange.complex_orders(self._account_of(request))
        return request.page(orders, lambda each: each.wire(self._dialect))
