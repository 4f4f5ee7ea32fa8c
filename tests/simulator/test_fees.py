from decimal import Decimal

import pytest

from brokerage_async.simulator.fees import Fees, effect, fees_of
from brokerage_async.simulator.instrument import Instrument

KINDS = ("Equity", "Equity Option", "Future", "Future Option", "Cryptocurrency")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ["Buy to Open", "Sell to Close"])
def test_parts_add_up(kind: str, action: str) -> None:
    fees = fees_of(Instrument(symbol="X", instrument_type=kind, underlying="X"), action, Decimal(10), Decimal(100))
    wire = fees.wire()
    parts = ("regulatory-fees", "clearing-fees", "commission", "proprietary-index-option-fees")
    assert sum(Decimal(wire[part]) for part in parts) == Decimal(wire["total-fees"]) == fees.total > 0
    assert wire["total-fees-effect"] == "Debit"


def test_closing_an_option_costs_no_commission() -> None:
    option = Instrument(symbol="X", instrument_type="Equity Option", underlying="X")
    assert fees_of(option, "Sell to Close", Decimal(1), Decimal(1)).commission == 0
    assert fees_of(option, "Buy to Open", Decimal(1), Decimal(1)).commission == 1


def test_fees_add_part_by_part() -> None:
    one, two = Fees(commission=Decimal(1)), Fees(clearing=Decimal(2), commission=Decimal(3))
    assert one + two == Fees(clearing=Decimal(2), commission=Decimal(4))


def test_effects() -> None:
    assert [effect(Decimal(amount)) for amount in (1, -1, 0)] == ["Debit", "Credit", "None"]
