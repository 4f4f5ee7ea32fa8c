"""Fees and margins of the simulated brokerage, written down a second time."""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

UNCOVERED_PART = Decimal("0.2")
"""Part of the underlying's value that a short option requires when nothing covers it."""

FUTURE_MARGINS: Mapping[str, int] = {"ES": 15_000, "CL": 6_200, "6E": 2_600, "MYM": 980}
"""Dollars per contract."""

INDEX_FEES = {"SPX": Decimal("0.65"), "VIX": Decimal("0.60")}

# Dollars per share or contract: regulatory, clearing, commission to open, commission to close.
PER_UNIT = {
    "Equity Option": ("0.03", "0.10", "1.00", "0"),
    "Future": ("0.02", "1.55", "1.25", "1.25"),
    "Future Option": ("0.02", "0.85", "2.50", "0"),
}


def equity_margin_rate(kind: str) -> Decimal:
    """Return the part of a share's value that an account of a kind has to hold."""
    return {"Margin": Decimal("0.5"), "Cash": Decimal(1)}[kind]


def fees_of(kind: str, underlying: str, action: str, quantity: Decimal, price: Decimal) -> dict[str, Decimal]:
    if kind == "Equity":
        sold = quantity if action.startswith("Sell") else Decimal(0)
        fees = [mills(sold * Decimal("0.000166")), mills(quantity * Decimal("0.0008")), Decimal(0), Decimal(0)]
    elif kind == "Cryptocurrency":
        fees = [Decimal(0), Decimal(0), mills(quantity * price * Decimal("0.0035")), Decimal(0)]
    else:
        regulatory, clearing, opening, closing = (quantity * Decimal(rate) for rate in PER_UNIT[kind])
        index = quantity * INDEX_FEES.get(underlying, Decimal(0)) if kind == "Equity Option" else Decimal(0)
        fees = [regulatory, clearing, closing if action.endswith("to Close") else opening, index]
    names = ("regulatory_fees", "clearing_fees", "commission", "proprietary_index_option_fees")
    return dict(zip(names, fees, strict=True))


def mills(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.001"), ROUND_HALF_EVEN)


def cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_EVEN)
