"""Handlers of ``complex_orders``: reading and listing them, and editing the ratio of a pair."""

from __future__ import annotations

from decimal import Decimal

from ..._generated.converters import PlacedOrderResponseWire
from ..._generated.models import PairsEdit
from ...protocol.response import Response
from ..accounts.margin_calculator import BuyingPowerImpact, MarginCalculator
from ..market.calendar import local_date
from ..trading.complex_orders import ComplexOrder, ComplexOrderDesk
from ..trading.fees import Fees
from .access import Access
from .parsed_request import ParsedRequest
from .wire import Dialect, RefusedError, dumps, item, items

__all__ = ["ComplexOrders"]

_DEFAULT_PAGE = 10


class ComplexOrders:
    """Handles requests about complex orders."""

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

    def edit_pairs(self, request: ParsedRequest) -> Response:
        """Change the comparator or threshold of a PAIRS order.

        Its buying power stays the same.
        """
        found = self._found(request)
        edit: PairsEdit | None = request.body
        if edit is not None:
            self._desk.edit_pairs(found, edit.ratio_price_comparator, edit.ratio_price_threshold, request.now)
        nothing = Decimal(0)
        impact = BuyingPowerImpact(
            current=self._calculator.buying_power(found.account, request.now),
            margin_change=nothing,
            isolated=nothing,
            fees=Fees(),
            is_spread=True,
        )
        placed = PlacedOrderResponseWire(
            complex_order=found.wire(self._dialect),
            warnings=[],
            errors=[],
            notes=[],
            buying_power_effect=impact.wire(),
            fee_calculation=impact.fees.wire(),
        )
        return item(placed, request.context)

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
        page = request.slice(len(found), default=_DEFAULT_PAGE)
        rows = (dumps(each.wire(self._dialect)) for each in found[page.start : page.stop])
        return items(rows, request.context, page)
