import json
from decimal import Decimal

import pytest

from brokerage_async.models import InstrumentType, LegAction, PriceEffect
from brokerage_async.simulator.api.wire import dumps
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.trading.fees import Fees, amounts, effect, fees_of

KINDS = (
    InstrumentType.EQUITY,
    InstrumentType.EQUITY_OPTION,
    InstrumentType.FUTURE,
    InstrumentType.FUTURE_OPTION,
    InstrumentType.CRYPTOCURRENCY,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", [LegAction.BUY_TO_OPEN, LegAction.SELL_TO_CLOSE])
def test_total_is_the_sum_of_the_fees(kind: InstrumentType, action: LegAction) -> None:
    fees = fees_of(Instrument(symbol="X", instrument_type=kind, underlying="X"), action, Decimal(10), Decimal(100))
    wire = json.loads(dumps(fees.wire()))
    parts = ("regulatory-fees", "clearing-fees", "commission", "proprietary-index-option-fees")
    assert sum(Decimal(wire[part]) for part in parts) == Decimal(wire["total-fees"]) == fees.total > 0
    assert wire["total-fees-effect"] == "Debit"


def test_fees_add_up_and_show_their_effect() -> None:
    option = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY_OPTION, underlying="X")
    assert fees_of(option, LegAction.SELL_TO_CLOSE, Decimal(1), Decimal(1)).commission == 0
    assert fees_of(option, LegAction.BUY_TO_OPEN, Decimal(1), Decimal(1)).commission == 1
    one, two = Fees(commission=Decimal(1)), Fees(clearing=Decimal(2), commission=Decimal(3))
    assert one + two == Fees(clearing=Decimal(2), commission=Decimal(4))
    fields = amounts(value=Decimal("-12.5"), net_value=Decimal(3), commission=Decimal(0))
    assert fields == {
        "value": "12.50",
        "value_effect": PriceEffect.DEBIT,
        "net_value": "3.00",
        "net_value_effect": PriceEffect.CREDIT,
        "commission": "0.00",
        "commission_effect": PriceEffect.NONE,
    }
    assert [effect(Decimal(amount)) for amount in (1, -1, 0)] == ["Debit", "Credit", "None"]
