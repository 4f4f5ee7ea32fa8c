"""Handlers of ``complex_orders``: everything about orders that depend on each other."""

from __future__ import annotations

from decimal import Decimal

from ..._generated.converters import PlacedOrderResponseWire
from ..._generated.models import PairsEdit
from ...protocol.response import Response
from ..accounts.margin_calculator import BuyingPowerImpact, MarginCalculator
from ..market.calendar import local_date
from ..trading.complex_order_desk import ComplexOrderDesk
from ..trading.complex_orders import ComplexOrder
from ..trading.complex_preflight import placed_wire
from ..trading.fees import Fees
from .access import Access
from .parsed_request import ParsedRequest
from .wire import Dialect, RefusedError, dumps, item, items

__all__ = ["ComplexOrders"]


class ComplexOrders:
    """Handles requests about complex orders.

    ``list`` comes last because it hides the builtin within the class.
    """

    def __init__(
        self,
        access: Access,
        desk: ComplexOrderDesk,
        margin_calculator: MarginCalculator,
        dialect: Dialect,
    ) -> None:
        self._access = access
        self._desk = desk
        self._calculator = margin_calculator
        self._dialect = dialect

    def get(self, request: ParsedRequest) -> Response:
        """Return one complex order."""
        return item(self._found(request).wire(self._dialect), request.context)

    def dry_run(self, request: ParsedRequest) -> Response:
        """Check a complex order; nothing is created."""
        result = self._desk.dry_run(self._access.account(request), request.body, request.now)
        return item(result.wire(self._dialect), request.context, 201)

    def submit(self, request: ParsedRequest) -> Response:
        """Accept a complex order."""
        result = self._desk.dry_run(self._access.account(request), request.body, request.now)
        wire = result.wire(self._dialect)
        accepted = self._desk.accept(result, request.now)
        wire.complex_order = accepted.wire(self._dialect)
        for order in accepted.members:
            request.record.order_ids += (str(order.number),)
            if order.terms.external_identifier is not None:
                request.record.external_identifiers += (order.terms.external_identifier,)
        return item(wire, request.context, 201)

    def cancel(self, request: ParsedRequest) -> Response:
        """Request the cancellation of every component that works."""
        found = self._found(request)
        self._desk.cancel(found, request.now)
        return item(found.wire(self._dialect), request.context)

    def edit_pairs_dry_run(self, request: ParsedRequest) -> Response:
        """Check a change of the comparator or threshold of a PAIRS order; nothing is changed."""
        found, edit = self._found(request), request.body or PairsEdit()
        edited = self._desk.edited(found, edit.ratio_price_comparator, edit.ratio_price_threshold)
        return item(self._unchanged(edited, request.now), request.context, 201)

    def edit_pairs(self, request: ParsedRequest) -> Response:
        """Change the comparator or threshold of a PAIRS order.

        Its buying power stays the same.
        """
        found, edit = self._found(request), request.body or PairsEdit()
        self._desk.edit_pairs(found, edit.ratio_price_comparator, edit.ratio_price_threshold, request.now)
        return item(self._unchanged(found, request.now), request.context)

    def _unchanged(self, shown: ComplexOrder, now: float) -> PlacedOrderResponseWire:
        """Return the response to a change that takes no buying power."""
        nothing = Decimal(0)
        impact = BuyingPowerImpact(
            current=self._calculator.buying_power(shown.account, now),
            margin_change=nothing,
            isolated=nothing,
            fees=Fees(),
            is_spread=True,
        )
        return placed_wire(shown, impact, self._dialect)

    def live(self, request: ParsedRequest) -> Response:
        """Return the complex orders with a component that changed today."""
        today = local_date(request.now)
        found = [
            each
            for each in self._desk.of(self._access.account(request))
            if any(order.updated_at is not None and local_date(order.updated_at) == today for order in each.members)
        ]
        return items((dumps(each.wire(self._dialect)) for each in found), request.context)

    def _found(self, request: ParsedRequest) -> ComplexOrder:
        found = self._desk.get(self._access.account(request), request.path["id"])
        if found is None:
            raise RefusedError.not_found("complex order")
        return found

    def list(self, request: ParsedRequest) -> Response:
        """Return a page of the complex orders of an account, newest first."""
        found = self._desk.of(self._access.account(request))
        page = request.slice(len(found))
        rows = (dumps(each.wire(self._dialect)) for each in found[page.start : page.stop])
        return items(rows, request.context, page)
