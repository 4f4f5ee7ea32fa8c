"""Effects of an execution: fill, position, cash, transaction, fees."""

import json
from decimal import Decimal

from brokerage_async.models import InstrumentType, LegAction, PriceEffect
from brokerage_async.simulator.api.wire import Dialect, WireForm, dumps
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.trading.bookkeeping import Bookkeeping
from brokerage_async.simulator.trading.fees import Fees, amounts, effect, fees_of
from tests.simulator.factories import SHARE, START, account, order
from tests.tables import for_each


@for_each("form, quantity", [("observed", 3), ("documented", "3")])
def test_execute_books_fill_position_cash_and_transaction(form: WireForm, quantity: object) -> None:
    bought = order("5")
    fill = Bookkeeping(Dialect(form)).execute(bought, bought.legs[0], Decimal(3), Decimal("2.5"), START)
    assert (fill.quantity, fill.fill_price, fill.ext_exec_id) == (quantity, "2.50", "7-1-0")
    held = bought.account
    (booked,) = held.transactions
    row = json.loads(booked.row)
    assert (row["ext-exec-id"], str(row["order-id"]), row["executed-at"]) == ("7-1-0", "7", fill.filled_at)
    assert held.held("X") == 3
    assert held.cash == 1000 - Decimal(row["net-value"])


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


@for_each("kind", ["Equity", "Equity Option", "Future", "Future Option", "Cryptocurrency"])
@for_each("action", [LegAction.BUY_TO_OPEN, LegAction.SELL_TO_CLOSE])
def test_total_is_the_sum_of_the_fees(kind: str, action: LegAction) -> None:
    fees = fees_of(
        Instrument(symbol="X", instrument_type=InstrumentType(kind), underlying="X"), action, Decimal(10), Decimal(100)
    )
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
