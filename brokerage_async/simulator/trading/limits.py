"""Limits on the size of orders and positions, the same for every account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from ..._generated.models import InstrumentType
from .orders import Order

__all__ = ["LIMITS", "SizeLimit", "exceeded_limits"]


@attrs.frozen
class SizeLimit:
    """Maximum quantity of an instrument in one order, and held."""

    order: int
    position: int


LIMITS: Mapping[InstrumentType, SizeLimit] = {
    InstrumentType.EQUITY: SizeLimit(50_000, 200_000),
    InstrumentType.EQUITY_OPTION: SizeLimit(5_000, 20_000),
    InstrumentType.FUTURE: SizeLimit(500, 5_000),
    InstrumentType.FUTURE_OPTION: SizeLimit(500, 5_000),
}
"""Limits by instrument type; others have none."""


def exceeded_limits(order: Order) -> Iterator[str]:
    """Yield the limits that the opening legs of an order exceed. A position can always be closed."""
    for leg in order.legs:
        instrument = leg.instrument
        limit = LIMITS.get(instrument.instrument_type)
        if limit is None or leg.action.endswith("to Close"):
            continue
        if leg.quantity > limit.order:
            yield f"An order may have at most {limit.order} of {instrument.symbol}"
        held = abs(order.account.held(instrument.symbol) + leg.signed)
        if held > limit.position:
            yield f"A position in {instrument.symbol} may have at most {limit.position}"
