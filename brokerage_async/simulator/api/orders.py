"""Handlers of ``orders`` and ``complex_orders``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial

import attrs

from ..._generated.converters import ErrorDetailWire, PlacedOrderResponseWire
from ..._generated.models import PairsEdit
from ...protocol.response import Response
from ..market.calendar import local_date
from ..trading.accounts import Account, Fees
from ..trading.orders import ComplexOrder, Order, order_json
from ..trading.preflight import PreflightResult
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, found


class Orders(Handlers):
    """Handles order requests."""

    _live_pages: tuple[object, dict[object, Response]] = (None, {})

    def dry_run(self, request: ParsedRequest) -> Response:
        result = self._state.exchange.dry_run(self._account_of(request), request.body, request.now)
        return request.item(result.wire(self._dialect), 201)

    def submit(self, request: ParsedRequest) -> Response:
        result = self._state.exchange.submit(self._account_of(request), request.body, request.now)
        _record(request, result.order)
        return request.item(result.wire(self._dialect), 201)

    def edit_dry_run(self, request: ParsedRequest) -> Response:
        self._check_edit(request)
        result = self._state.exchange.check_edit(self._order(request), request.body, request.now)
        return request.item(result.wire(self._dialect), 201)

    def get(self, request: ParsedRequest) -> Response:
        return request.item(order_json(self._order(request), self._dialect))

    def replace(self, request: ParsedRequest) -> Response:
        self._check_edit(request)
        new = self._state.exchange.replace(self._order(request), request.body, request.now)
        _record(request, new)
        return request.item(order_json(new, self._dialect))

    edit = replace  # which also creates a new order

    def cancel(self, request: ParsedRequest) -> Response:
        order = self._order(request)
        self._state.exchange.cancel(order, request.now)
        return request.item(order_json(order, self._dialect))

    def search(self, request: ParsedRequest) -> Response:
        _require_start(request)
        accounts = self._accounts_of(request, request.query["account_numbers"])
        return self._page(request, self._state.order_store.of(accounts))

    def live(self, request: ParsedRequest) -> Response:
        """Return the orders of several accounts that work or are of today."""
        accounts = self._accounts_of(request, request.query["account_numbers"])
        # Pollers repeat the request while nothing changes: each page is kept until something does.
        paged = "customer_live_list_in_pages" in request.behaviours
        state = (self._state.order_store.version, local_date(request.now))
        if self._live_pages[0] != state:
            self._live_pages = (state, {})
        kept, key = self._live_pages[1], (paged, request.context, str(request.query))
        if key not in kept:
            kept[key] = self._live(request, accounts, paged=paged)
        return kept[key]

    def list_live(self, request: ParsedRequest) -> Response:
        paged = "account_live_list_in_pages" in request.behaviours
        return self._live(request, [self._account_of(request)], paged=paged)

    def _live(self, request: ParsedRequest, accounts: Iterable[Account], *, paged: bool) -> Response:
        return self._page(request, self._state.order_store.live(accounts, request.now), paged=paged)

    def _order(self, request: ParsedRequest) -> Order:
        return found(self._state.order_store.get(self._account_of(request), request.path["id"]), "order")

    def _check_edit(self, request: ParsedRequest) -> None:
        """Raise a 422 error for legs in an edit, or rules in its dry-run. That they are refused is a guess."""
        misplaced = {"legs", "rules"} & request.body.extra.keys()
        if misplaced and self._has("edits_take_no_legs"):
            raise RefusedError.invalid([ErrorDetailWire(domain=name, reason="is not taken") for name in misplaced])

    def _page(self, request: ParsedRequest, orders: Iterable[Order], *, paged: bool = True) -> Response:
        """Return a page of matching orders, or all if they do not come in pages. Given oldest first."""
        query, chosen = request.query, list[Order]()
        statuses = frozenset(query.get("statuses", ()))
        underlying, kind = query.get("underlying_symbol"), query.get("underlying_instrument_type")
        future = query.get("futures_symbol")
        eastern = self._has("order_searches_count_eastern_days")
        day_of = local_date if eastern else (lambda seconds: datetime.fromtimestamp(seconds, UTC).date())
        for order in orders:
            symbols = (order.underlying, *(leg.instrument.symbol for leg in order.legs))
            received = order.received_at or 0.0
            day = day_of(received)
            if (
                (not statuses or order.status.value in statuses)
                and query.get("start_date", day) <= day <= query.get("end_date", day)
                and query.get("start_at", received) <= received <= query.get("end_at", received)
                and underlying in (None, order.underlying)
                and kind in (None, order.legs[0].instrument.underlying_type)
                and (future is None or (order.underlying.startswith("/") and future in symbols))
            ):
                chosen.append(order)
        if not request.ascending:
            chosen.reverse()
        render = partial(order_json, dialect=self._dialect)
        return request.page(chosen, render) if paged else request.items(map(render, chosen))

    def list(self, request: ParsedRequest) -> Response:
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

    def get(self, request: ParsedRequest) -> Response:
        return request.item(self._order(request).wire(self._dialect))

    def dry_run(self, request: ParsedRequest) -> Response:
        result = self._state.exchange.check_complex(self._account_of(request), request.body, request.now)
        return request.item(result.require_no_errors(self._dialect).wire(self._dialect), 201)

    def submit(self, request: ParsedRequest) -> Response:
        result = self._state.exchange.check_complex(self._account_of(request), request.body, request.now)
        result.require_no_errors(self._dialect)
        for order in self._state.exchange.accept_complex(result, request.now).members:
            _record(request, order)
        return request.item(result.wire(self._dialect), 201)

    def cancel(self, request: ParsedRequest) -> Response:
        order = self._order(request)
        self._state.exchange.cancel_complex(order, request.now)
        return request.item(order.wire(self._dialect))

    def edit_pairs_dry_run(self, request: ParsedRequest) -> Response:
        edited = self._state.exchange.edited(self._order(request), request.body or PairsEdit())
        return request.item(self._unchanged(edited, request.now), 201)

    def edit_pairs(self, request: ParsedRequest) -> Response:
        """Change the comparator or threshold of a PAIRS order. Its buying power stays the same."""
        order = self._order(request)
        self._state.exchange.edit_pairs(order, request.body or PairsEdit(), request.now)
        return request.item(self._unchanged(order, request.now))

    def _unchanged(self, shown: ComplexOrder, now: float) -> PlacedOrderResponseWire:
        """Return the response to a change that takes no buying power."""
        impact = self._calculator.impact(shown.account, (), Fees(), {}, now)
        return PreflightResult(order=shown, impact=attrs.evolve(impact, is_spread=True)).wire(self._dialect)

    def live(self, request: ParsedRequest) -> Response:
        """Return the complex orders with a component that changed today."""
        today = local_date(request.now)
        rows = (
            each.wire(self._dialect)
            for each in self._state.exchange.complex_orders(self._account_of(request))
            if any(order.updated_at is not None and local_date(order.updated_at) == today for order in each.members)
        )
        return request.items(rows)

    def _order(self, request: ParsedRequest) -> ComplexOrder:
        exchange, account = self._state.exchange, self._account_of(request)
        return found(exchange.complex_order(account, request.path["id"]), "complex order")

    def list(self, request: ParsedRequest) -> Response:
        orders = self._state.exchange.complex_orders(self._account_of(request))
        return request.page(orders, lambda each: each.wire(self._dialect))
