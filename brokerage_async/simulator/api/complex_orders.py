"""``complex_orders``: reading them, and moving the threshold of a pair."""

from __future__ import annotations

from decimal import Decimal

from ..._generated.converters import PlacedOrderResponseWire
from ..._generated.models import PairsEdit
from ...protocol.response import Response
from ..accounts.margin import Impact, MarginDesk
from ..trading.complex_orders import ComplexDesk, ComplexOrder
from ..trading.fees import Fees
from .access import Access
from .call import Call
from .wire import Dialect, RefusedError, item

__all__ = ["ComplexOrders"]


class ComplexOrders:
    """Answers requests about complex orders."""

    def __init__(self, access: Access, desk: ComplexDesk, margin: MarginDesk, dialect: Dialect) -> None:
        self._access = access
        self._desk = desk
        self._margin = margin
        self._dialect = dialect

    def get(self, call: Call) -> Response:
        """One complex order."""
        return item(self._found(call).wire(self._dialect), call.context)

    def edit_pairs(self, call: Call) -> Response:
        """Change comparator or threshold of a PAIRS order; it needs no more buying power than before."""
        found = self._found(call)
        edit: PairsEdit | None = call.body
        if edit is not None:
            self._desk.edit_pairs(found, edit.ratio_price_comparator, edit.ratio_price_threshold, call.now)
        nothing = Decimal(0)
        impact = Impact(
            current=self._margin.buying_power(found.account, call.now),
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
        return item(placed, call.context)

    def _found(self, call: Call) -> ComplexOrder:
        found = self._desk.get(self._access.account(call), call.path["id"])
        if found is None:
            raise RefusedError.not_found("complex order")
        return found
