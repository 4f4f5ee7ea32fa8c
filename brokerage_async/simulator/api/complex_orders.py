"""Handlers of ``complex_orders``: reading them, and editing the ratio of a pair."""

from __future__ import annotations

from decimal import Decimal

from ..._generated.converters import PlacedOrderResponseWire
from ..._generated.models import PairsEdit
from ...protocol.response import Response
from ..accounts.margin_calculator import BuyingPowerImpact, MarginCalculator
from ..trading.complex_orders import ComplexOrder, ComplexOrderDesk
from ..trading.fees import Fees
from .access import Access
from .parsed_request import ParsedRequest
from .wire import Dialect, RefusedError, item

__all__ = ["ComplexOrders"]


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

    def _found(self, request: ParsedRequest) -> ComplexOrder:
        found = self._desk.get(self._access.account(request), request.path["id"])
        if found is None:
            raise RefusedError.not_found("complex order")
        return found
