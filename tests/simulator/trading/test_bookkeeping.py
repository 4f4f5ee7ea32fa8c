"""Effects of an execution: fill, position, cash, transaction, fees."""

import json
from decimal import Decimal

from brokerage_async.models import InstrumentType, LegAction, PriceEffect
from brokerage_async.simulator.api.wire import Dialect
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.trading.bookkeeping import Bookkeeping
from brokerage_async.simulator.trading.fees import Fees, amounts, effect, fees_of
from tests.simulator.factories import SHARE, START, account, order


def test_every_fill_has_a_unique_identifier() -> None:
    bookkeeping, spread = Bookkeeping(Dialect()), order("2", "4", action=LegAction.SELL_TO_OPEN)
    for _ in range(2):
        for leg in spread.legs:
            leg.fills.append(bookkeeping.execute(spread, leg, Decimal(1), Decimal(1), START))
    assert [fill.ext_exec_id for leg in spread.legs for fill in leg.fills] == ["7-1-0", "7-2-0", "7-1-1", "7-2-1"]
    numbers = [booked.wire.id for booked in spread.account.transactions]
    assert numbers == sorted(set(numbers))
    assert spread.account.held("X") == -4


def test_cash_and_opening_positions_are_booked_without_an_order() -> None:
    bookkeeping, own = Bookkeeping(Dialect()), account()
    bookkeeping.move_cash(own, "Deposit", Decimal(5), START)
    bookkeeping.move_cash(own, "Withdrawal", Decimal(-7), START)
    assert own.cash == 998
    rows = [json.loads(booked.row) for booked in own.transactions]
    assert [(row["value"], row["value-effect"]) for row in rows] == [("5.00", "Credit"), ("7.00", "Debit")]
    assert own.version == 2
    own = account()
    Bookkeeping(Dialect()).open_position(own, SHARE, LegAction.BUY_TO_OPEN, Decimal(5), Decimal("2.5"), START)
    (booked,) = own.transactions
    row = json.loads(booked.row)
    assert (own.held("X"), own.cash) == (5, 1000 - Decimal(row["net-value"]))
    assert "order-id" not in row
    assert row["transaction-type"] == "Trade"


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
