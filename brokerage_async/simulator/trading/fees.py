"""Commission and fees of an execution, at the rates of the simulated brokerage."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from ..._generated.converters import FeeCalculationWire
from ..._generated.models import InstrumentType, LegAction, PriceEffect
from ..api.wire import money
from ..market.instrument import Instrument

_ZERO = Decimal(0)
_INDEX_OPTIONS = {"SPX": Decimal("0.65"), "VIX": Decimal("0.60")}


@attrs.frozen
class Fees:
    """Amounts in dollars, all paid by the customer."""

    regulatory: Decimal = _ZERO
    clearing: Decimal = _ZERO
    commission: Decimal = _ZERO
    proprietary: Decimal = _ZERO

    @property
    def total(self) -> Decimal:
        return self.regulatory + self.clearing + self.commission + self.proprietary

    def __add__(self, other: Fees) -> Fees:
        return Fees(
            self.regulatory + other.regulatory,
            self.clearing + other.clearing,
            self.commission + other.commission,
            self.proprietary + other.proprietary,
        )

    def by_kind(self) -> dict[str, Any]:
        """Return each fee with its effect, as fields of a wire struct."""
        return amounts(
            regulatory_fees=-self.regulatory,
            clearing_fees=-self.clearing,
            commission=-self.commission,
            proprietary_index_option_fees=-self.proprietary,
        )

    def wire(self) -> FeeCalculationWire:
        """Return the fee calculation of a placed-order response."""
        return FeeCalculationWire(**self.by_kind(), **amounts(total_fees=-self.total), per_quantity=False)


def effect(paid: Decimal) -> PriceEffect:
    """Return ``Debit`` for an amount paid, ``Credit`` for one received, ``None`` for zero."""
    return PriceEffect.NONE if paid == 0 else PriceEffect.DEBIT if paid > 0 else PriceEffect.CREDIT


def amounts(**gained: Decimal) -> dict[str, Any]:
    """Return unsigned amounts, each with its effect, as fields of a wire struct.

    Positive amounts are held or received (a credit), negative ones required or paid (a debit).
    """
    fields: dict[str, Any] = {}
    for name, amount in gained.items():
        fields[name] = money(abs(amount))
        fields[f"{name}_effect"] = effect(-amount)
    return fields


def fees_of(instrument: Instrument, action: LegAction, quantity: Decimal, price: Decimal) -> Fees:
    opening = not action.endswith("to Close")
    selling = action.startswith("Sell")
    match instrument.instrument_type:
        case InstrumentType.EQUITY:
            sale = Decimal("0.000166") * quantity if selling else _ZERO
            return Fees(regulatory=_mills(sale), clearing=_mills(Decimal("0.0008") * quantity))
        case InstrumentType.EQUITY_OPTION:
            return Fees(
                regulatory=_mills(Decimal("0.03") * quantity),
                clearing=_mills(Decimal("0.10") * quantity),
                commission=Decimal("1.00") * quantity if opening else _ZERO,
                proprietary=_INDEX_OPTIONS.get(instrument.underlying, _ZERO) * quantity,
            )
        case InstrumentType.FUTURE:
            return Fees(Decimal("0.02") * quantity, Decimal("1.55") * quantity, Decimal("1.25") * quantity)
        case InstrumentType.FUTURE_OPTION:
            commission = Decimal("2.50") * quantity if opening else _ZERO
            return Fees(Decimal("0.02") * quantity, Decimal("0.85") * quantity, commission)
        case _:
            return Fees(commission=_mills(Decimal("0.0035") * quantity * price))


def _mills(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.001"))
