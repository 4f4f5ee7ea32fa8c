"""Commission and fees of an execution, at the simulated brokerage's rates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from .instrument import Instrument
from .wire import money

__all__ = ["Fees", "fees_of"]

_ZERO = Decimal(0)
_INDEX_OPTIONS = {"SPX": Decimal("0.65"), "VIX": Decimal("0.60")}


@attrs.frozen
class Fees:
    """Amounts in dollars, all of them paid by the customer."""

    regulatory: Decimal = _ZERO
    clearing: Decimal = _ZERO
    commission: Decimal = _ZERO
    proprietary: Decimal = _ZERO

    @property
    def total(self) -> Decimal:
        """All of them together."""
        return self.regulatory + self.clearing + self.commission + self.proprietary

    def __add__(self, other: Fees) -> Fees:
        return Fees(
            self.regulatory + other.regulatory,
            self.clearing + other.clearing,
            self.commission + other.commission,
            self.proprietary + other.proprietary,
        )

    def wire(self) -> dict[str, Any]:
        """The ``fee-calculation`` of a placed-order response."""
        amounts = (
            ("regulatory-fees", self.regulatory),
            ("clearing-fees", self.clearing),
            ("commission", self.commission),
            ("proprietary-index-option-fees", self.proprietary),
            ("total-fees", self.total),
        )
        fields: dict[str, Any] = {}
        for name, amount in amounts:
            fields[name] = money(amount)
            fields[f"{name}-effect"] = effect(amount)
        fields["per-quantity"] = False
        return fields


def effect(paid: Decimal) -> str:
    """``Debit`` for an amount that is paid, ``Credit`` for one that is received, ``None`` for nothing."""
    return "None" if paid == 0 else "Debit" if paid > 0 else "Credit"


def fees_of(instrument: Instrument, action: str, quantity: Decimal, price: Decimal) -> Fees:
    """What executing ``quantity`` at ``price`` costs."""
    opening = not action.endswith("to Close")
    selling = action.startswith("Sell")
    match instrument.instrument_type:
        case "Equity":
            sale = Decimal("0.000166") * quantity if selling else _ZERO
            return Fees(regulatory=_cents(sale), clearing=_cents(Decimal("0.0008") * quantity))
        case "Equity Option":
            return Fees(
                regulatory=_cents(Decimal("0.03") * quantity),
                clearing=_cents(Decimal("0.10") * quantity),
                commission=Decimal("1.00") * quantity if opening else _ZERO,
                proprietary=_INDEX_OPTIONS.get(instrument.underlying, _ZERO) * quantity,
            )
        case "Future":
            return Fees(Decimal("0.02") * quantity, Decimal("1.55") * quantity, Decimal("1.25") * quantity)
        case "Future Option":
            commission = Decimal("2.50") * quantity if opening else _ZERO
            return Fees(Decimal("0.02") * quantity, Decimal("0.85") * quantity, commission)
        case _:
            return Fees(commission=_cents(Decimal("0.0035") * quantity * price))


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.001"))
