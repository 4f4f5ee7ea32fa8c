from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import ComplexOrderType, NewOrder
from brokerage_async.errors import InvalidRequestError
from brokerage_async.protocol.validation.requests import problems_of
from brokerage_async.tickets import (
    bracket,
    buy,
    buy_to_open,
    closing_legs,
    limit,
    market,
    notional,
    one_cancels_other,
    one_triggers_other,
    sell,
    sell_to_close,
    stop,
    stop_limit,
    vertical,
)

ENTRY = limit(buy_to_open("AAPL", 100), price="187.50")
PROFIT = limit(*closing_legs(ENTRY), price=195)
LOSS = stop(*closing_legs(ENTRY), trigger=180)
UNPRICED = attrs.evolve(ENTRY, price=None)
QUANTITY: Any = "many"
WORDY = attrs.evolve(ENTRY, legs=[attrs.evolve(ENTRY.legs[0], quantity=QUANTITY)])
SPREAD = vertical("AAPL", date(2026, 6, 12), "C", long=110, short=115, debit="1.85")
FUTURE = limit(buy("/ESZ6", 2), price=6800)


@pytest.mark.parametrize(
    ("entry", "profit", "loss"),
    [
        (ENTRY, PROFIT, LOSS),
        (ENTRY, PROFIT, stop_limit(*closing_legs(ENTRY), trigger=180, price="179.50")),
        (market(buy_to_open("AAPL", 100)), PROFIT, LOSS),
        (ENTRY, limit(sell_to_close("AAPL", 50), price=195), LOSS),
        (FUTURE, limit(sell("/ESZ6", 2), price=6900), stop(sell("/ESZ6", 2), trigger=6700)),
        (
            SPREAD,
            limit(*closing_legs(SPREAD), credit=3),
            stop_limit(*closing_legs(SPREAD), trigger="0.90", credit="0.80"),
        ),
    ],
    ids=["stop", "stop limit", "market", "half", "future", "spread"],
)
def test_bracket_is_an_otoco_order_that_keeps_the_rules(entry: NewOrder, profit: NewOrder, loss: NewOrder) -> None:
    made = bracket(entry, profit=profit, loss=loss)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OTOCO, entry, (profit, loss))
    assert problems_of(made, strict=True) == ()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"profit": LOSS}, "profit must be a Limit order, got Stop"),
        ({"loss": PROFIT}, "loss must be a Stop or Stop Limit order, got Limit"),
        ({"profit": ENTRY}, "profit must close positions that the entry opens, got Buy to Open of 100 AAPL"),
        ({"loss": stop(sell_to_close("MSFT", 100), trigger=1)}, "loss must close positions .*, got .* 100 MSFT"),
        ({"loss": stop(sell_to_close("AAPL", 101), trigger=1)}, "loss must close at most the 100 .*, got .* 101 AAPL"),
        ({"entry": PROFIT}, "profit must close positions that the entry opens"),
        ({"entry": None}, "entry must be a NewOrder, got NoneType"),
        ({"profit": "limit"}, "profit must be a NewOrder, got str"),
        ({"loss": 180}, "loss must be a NewOrder, got int"),
    ],
    ids=str,
)
def test_bracket_of_orders_that_do_not_fit_is_rejected(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        bracket(**{"entry": ENTRY, "profit": PROFIT, "loss": LOSS, **change})


def test_bracket_of_a_notional_entry_is_not_held_to_a_quantity() -> None:
    entry = notional(buy_to_open("AAPL"), value=500)
    assert bracket(entry, profit=PROFIT, loss=LOSS).trigger_order == entry


def test_one_cancels_other_is_an_oco_order_without_a_trigger() -> None:
    made = one_cancels_other(PROFIT, LOSS)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OCO, None, (PROFIT, LOSS))
    assert problems_of(made, strict=True) == ()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_triggers_other_takes_one_to_three_orders(count: int) -> None:
    made = one_triggers_other(ENTRY, *[PROFIT] * count)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OTO, ENTRY, (PROFIT,) * count)
    assert problems_of(made, strict=True) == ()


@pytest.mark.parametrize("count", [0, 4])
def test_one_triggers_other_of_another_number_is_rejected(count: int) -> None:
    with pytest.raises(InvalidRequestError, match="invalid OTO order") as caught:
        one_triggers_other(ENTRY, *[PROFIT] * count)
    assert [problem.domain for problem in caught.value.errors] == ["orders"]


@pytest.mark.parametrize(
    ("make", "domain"),
    [
        (lambda: bracket(UNPRICED, profit=PROFIT, loss=LOSS), "trigger-order.price"),
        (lambda: bracket(ENTRY, profit=attrs.evolve(PROFIT, price=None), loss=LOSS), "orders[0].price"),
        (lambda: bracket(ENTRY, profit=PROFIT, loss=attrs.evolve(LOSS, stop_trigger=None)), "orders[1].stop-trigger"),
        (lambda: bracket(WORDY, profit=PROFIT, loss=LOSS), "trigger-order.legs[0].quantity"),
        (lambda: one_cancels_other(PROFIT, attrs.evolve(LOSS, legs=())), "orders[1].legs"),
        (lambda: one_triggers_other(ENTRY, attrs.evolve(PROFIT, price=Decimal(-1))), "orders[0].price"),
    ],
)
def test_component_that_breaks_a_rule_is_named(make: Any, domain: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make()
    assert domain in [problem.domain for problem in caught.value.errors]


@pytest.mark.parametrize("wrong", [None, "AAPL", 1], ids=str)
def test_component_of_another_type_is_rejected(wrong: Any) -> None:
    for make in (
        lambda: one_cancels_other(wrong, LOSS),
        lambda: one_cancels_other(PROFIT, wrong),
        lambda: one_triggers_other(wrong, PROFIT),
        lambda: one_triggers_other(ENTRY, PROFIT, wrong),
    ):
        with pytest.raises(InvalidRequestError, match="must be a NewOrder, got"):
            make()
