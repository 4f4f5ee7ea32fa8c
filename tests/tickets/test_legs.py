from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.models import InstrumentType, LegAction, NewOrder
from brokerage_async.errors import InvalidRequestError
from brokerage_async.tickets import (
    buy,
    buy_to_close,
    buy_to_open,
    closing_legs,
    limit,
    market,
    notional,
    sell,
    sell_to_close,
    sell_to_open,
    vertical,
)
from tests.tables import for_each


@for_each(
    "opening, closing",
    [
        (buy_to_open("AAPL", 100), sell_to_close("AAPL", 100)),
        (sell_to_open("AAPL", "1.5"), buy_to_close("AAPL", "1.5")),
        (buy("/ESZ6", 2), sell("/ESZ6", 2)),
        (sell("/ESZ6", 2), buy("/ESZ6", 2)),
    ],
)
def test_closing_legs_reverse_the_action(opening: Any, closing: Any) -> None:
    assert closing_legs(market(opening)) == (closing,)


def test_closing_legs_of_a_spread_keep_symbols_quantities_and_kinds() -> None:
    order = vertical("AAPL", date(2026, 6, 12), "C", long=110, short=115, quantity=3, debit=1)
    legs = closing_legs(order)
    assert [leg.action for leg in legs] == [LegAction.SELL_TO_CLOSE, LegAction.BUY_TO_CLOSE]
    assert [leg.symbol for leg in legs] == [leg.symbol for leg in order.legs]
    assert {(leg.quantity, leg.instrument_type) for leg in legs} == {(Decimal(3), InstrumentType.EQUITY_OPTION)}


@for_each(
    "order, problem",
    [
        (limit(sell_to_close("AAPL", 1), price=1), "must open a position, got Sell to Close of AAPL"),
        (limit(buy_to_close("AAPL", 1), price=1), "must open a position, got Buy to Close of AAPL"),
        (notional(buy_to_open("AAPL"), value=500), "must have a quantity, got none for AAPL"),
        (None, "order must be a NewOrder, got NoneType"),
    ],
)
def test_closing_legs_of_an_order_that_opens_nothing_are_rejected(order: NewOrder, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        closing_legs(order)
