"""``orders``: everything about single orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..._generated.models import OrderType, TimeInForce
from ...protocol.response import Response
from ..accounts.accounts import Account
from ..market.calendar import local_date
from ..trading.order_desk import Desk
from ..trading.order_store import Blotter
from ..trading.orders import Order
from ..trading.preflight import Message, failed_preflight
from .access import Access
from .call import Call
from .order_wires import order_json
from .request_parser import Intake, Problem
from .wire import Dialect, RefusedError, Slice, item, items

__all__ = ["Orders", "refuse_broken_rules"]

_LIST_PAGE, _SEARCH_PAGE, _LARGEST_PAGE = 100, 10, 200
_RANGE_REQUIRED_SINCE = "20261012"


def refuse_broken_rules(intake: Intake, problems: Sequence[Problem]) -> RefusedError:
    """The answer to an order whose fields do not go together; one such combination fails its preflight instead."""
    for problem in problems:
        values = set() if problem.rule is None else {value for values in problem.rule.when.values() for value in values}
        if {OrderType.MARKET, TimeInForce.GTC} <= values:
            return failed_preflight([Message("gtc_market_orders_not_supported", problem.message)])
    return intake.refusal(problems)


class Orders:
    """Answers order requests. Its ``list`` comes last: within the class the name hides the builtin."""

    def __init__(self, access: Access, desk: Desk, blotter: Blotter, dialect: Dialect) -> None:
        self._access = access
        self._desk = desk
        self._blotter = blotter
        self._dialect = dialect
        self._last_live: tuple[object, Response] | None = None

    def dry_run(self, call: Call) -> Response:
        """Check an order; nothing is created."""
        preview = self._desk.preview(self._access.account(call), call.body, call.now)
        return item(preview.wire(self._dialect), call.context, 201)

    def submit(self, call: Call) -> Response:
        """Take an order."""
        preview = self._desk.submit(self._access.account(call), call.body, call.now)
        self._note(call, preview.order)
        return item(preview.wire(self._dialect), call.context, 201)

    def edit_dry_run(self, call: Call) -> Response:
        """Check a change of an order; nothing is changed."""
        preview = self._desk.preview_edit(self._order(call), call.body, call.now)
        return item(preview.wire(self._dialect), call.context, 201)

    def replace(self, call: Call) -> Response:
        """Put a new order in the place of a working one."""
        new = self._desk.replace(self._order(call), call.body, call.now)
        self._note(call, new)
        return item(order_json(new, self._dialect), call.context)

    def edit(self, call: Call) -> Response:
        """Change a working order, which makes a new one as well."""
        return self.replace(call)

    def cancel(self, call: Call) -> Response:
        """Ask for the cancellation of an order."""
        order = self._order(call)
        self._desk.cancel(order, call.now)
        return item(order_json(order, self._dialect), call.context)

    def search(self, call: Call) -> Response:
        """Orders of several accounts, any age and status."""
        if (call.version or "") >= _RANGE_REQUIRED_SINCE and not {"start_date", "start_at"} & set(call.query):
            reason = f"{call.wire('start_date')} or {call.wire('start_at')} is missing"
            raise RefusedError.invalid([call.problem("start_date", reason)], 400)
        accounts = self._access.accounts(call, call.query["account_numbers"])
        return self._page(call, self._matching(call, self._blotter.of(accounts)), _SEARCH_PAGE)

    def live(self, call: Call) -> Response:
        """Today's orders of several accounts, any status, newest first."""
        accounts = self._access.accounts(call, call.query["account_numbers"])
        # Pollers ask again and again while nothing happens: the answer is kept as long as it is true.
        wanted = (call.version, call.context, call.query.get("page_offset"), call.query.get("per_page"))
        key = (self._blotter.version, local_date(call.now), *wanted, *(a.number for a in accounts))
        if self._last_live is None or self._last_live[0] != key:
            self._last_live = key, self._live(call, accounts)
        return self._last_live[1]

    def list_live(self, call: Call) -> Response:
        """Today's orders of one account."""
        orders = self._blotter.today([self._access.account(call)], call.now)
        return self._page(call, self._matching(call, reversed(orders)), _LIST_PAGE)

    def _live(self, call: Call, accounts: Iterable[Account]) -> Response:
        orders = self._blotter.today(accounts, call.now)
        page = None
        if (call.version or "") >= _RANGE_REQUIRED_SINCE:
            page = call.slice(len(orders), default=_LARGEST_PAGE, most=_LARGEST_PAGE)
            orders = orders[page.start : page.stop]
        return items((order_json(order, self._dialect) for order in orders), call.context, page)

    def _order(self, call: Call) -> Order:
        order = self._blotter.get(self._access.account(call), call.path["id"])
        if order is None:
            raise RefusedError.not_found("order")
        return order

    def _note(self, call: Call, order: Order) -> None:
        call.entry.order_ids += (str(order.number),)
        if order.terms.external_identifier is not None:
            call.entry.external_identifiers += (order.terms.external_identifier,)

    def _matching(self, call: Call, orders: Iterable[Order]) -> Iterator[Order]:
        """Those of ``orders`` that pass every filter of the query."""
        query = call.query
        statuses = frozenset(query.get("statuses", ()))
        first, last = query.get("start_date"), query.get("end_date")
        start, end = query.get("start_at"), query.get("end_at")
        underlying, kind = query.get("underlying_symbol"), query.get("underlying_instrument_type")
        future = query.get("futures_symbol")
        for order in orders:
            received = order.received_at or 0.0
            if (
                (not statuses or order.status.value in statuses)
                and (first is None or local_date(received) >= first)
                and (last is None or local_date(received) <= last)
                and (start is None or received >= start)
                and (end is None or received <= end)
                and underlying in (None, order.underlying)
                and kind in (None, order.legs[0].instrument.underlying_type)
                and (future is None or future in _futures_symbols(order))
            ):
                yield order

    def _page(self, call: Call, matching: Iterator[Order], default: int) -> Response:
        """One page of orders, which come oldest first, in the direction asked for."""
        chosen = [*matching]
        if not call.ascending:
            chosen.reverse()
        page: Slice = call.slice(len(chosen), default=default, most=_LARGEST_PAGE)
        rows = (order_json(order, self._dialect) for order in chosen[page.start : page.stop])
        return items(rows, call.context, page)

    def list(self, call: Call) -> Response:
        """Orders of one account, any age and status."""
        account = self._access.account(call)
        return self._page(call, self._matching(call, self._blotter.of([account])), _LIST_PAGE)


def _futures_symbols(order: Order) -> frozenset[str]:
    """What a search by futures symbol finds an order under."""
    if not order.underlying.startswith("/"):
        return frozenset()
    return frozenset({order.underlying, *(leg.instrument.symbol for leg in order.legs)})
