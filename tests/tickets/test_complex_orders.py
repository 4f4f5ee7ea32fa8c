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
    pair,
    sell,
    sell_to_close,
    sell_to_open,
    stop,
    stop_limit,
    vertical,
)
from tests.tables import for_each

ENTRY = limit(buy_to_open("AAPL", 100), price="187.50")
PROFIT = limit(*closing_legs(ENTRY), price=195)
LOSS = stop(*closing_legs(ENTRY), trigger=180)
UNPRICED = attrs.evolve(ENTRY, price=None)
QUANTITY: Any = "many"
WORDY = attrs.evolve(ENTRY, legs=[attrs.evolve(ENTRY.legs[0], quantity=QUANTITY)])
SPREAD = vertical("AAPL", date(2026, 6, 12), "C", long=110, short=115, debit="1.85")
FUTURE = limit(buy("/ESZ6", 2), price=6800)
SHORT = limit(sell_to_open("AAPL", 100), price=200)
COVER = closing_legs(SHORT)


@for_each(
    "entry, profit, loss",
    [
        (ENTRY, PROFIT, LOSS),
        (ENTRY, PROFIT, stop_limit(*closing_legs(ENTRY), trigger=180, price="179.50")),
        (market(buy_to_open("AAPL", 100)), PROFIT, LOSS),
        (ENTRY, limit(sell_to_close("AAPL", 50), price=195), LOSS),
        (FUTURE, limit(sell("/ESZ6", 2), price=6900), stop(sell("/ESZ6", 2), trigger=6700)),
        (SHORT, limit(*COVER, price=190), stop(*COVER, trigger=210)),
        (market(sell_to_open("AAPL", 100)), limit(*COVER, price=190), stop(*COVER, trigger=195)),
        (limit(buy_to_open("AAPL", 100), price=200), PROFIT, LOSS),  # may fill far below its limit
        (
            SPREAD,
            limit(*closing_legs(SPREAD), credit=3),
            stop_limit(*closing_legs(SPREAD), trigger="0.90", credit="0.80"),
        ),
    ],
)
def test_bracket_is_an_otoco_order_that_keeps_the_rules(entry: NewOrder, profit: NewOrder, loss: NewOrder) -> None:
    made = bracket(entry, profit=profit, loss=loss)
    assert (made.type, made.trigger_order) == (ComplexOrderType.OTOCO, entry)
    assert made.orders == tuple(attrs.evolve(order, advanced_instructions=None) for order in (profit, loss))
    assert problems_of(made, strict=True) == ()


@for_each(
    "change, problem",
    [
        ({"profit": LOSS}, "profit must be a Limit order, got Stop"),
        ({"loss": PROFIT}, "loss must be a Stop or .* order, got Limit"),
        ({"profit": ENTRY}, "profit must close positions that the entry opens, got Buy to Open of 100 AAPL"),
        ({"loss": stop(sell_to_close("MSFT", 100), trigger=1)}, "loss must close positions .*, got .* 100 MSFT"),
        ({"loss": stop(sell_to_close("AAPL", 101), trigger=1)}, "loss must close at most the 100 .*, got .* 101 AAPL"),
        ({"entry": PROFIT}, "profit must close positions that the entry opens"),
        ({"entry": None}, "entry must be a NewOrder, got NoneType"),
        ({"profit": "limit"}, "profit must be a NewOrder, got str"),
        ({"loss": 180}, "loss must be a NewOrder, got int"),
    ],
)
def test_bracket_of_orders_that_do_not_fit_is_rejected(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        bracket(**{"entry": ENTRY, "profit": PROFIT, "loss": LOSS, **change})


@for_each(
    "entry, profit, loss, problem",
    [
        (ENTRY, 180, 180, "profit of a long position must be above the trigger of loss, got 180 and 180"),
        (ENTRY, "175.50", 180, "profit of a long position must be above the trigger of loss, got 175.50 and 180"),
        (ENTRY, 195, "187.50", "entry of a long position must be above the trigger of loss, .* got 187.50 and 187.50"),
        (ENTRY, 195, 190, "entry of a long position must be above the trigger of loss"),
        (SHORT, 195, 190, "profit of a short position must be below the trigger of loss, got 195 and 190"),
        (SHORT, 190, 195, "entry of a short position must be below the trigger of loss, .* got 200 and 195"),
        (market(buy_to_open("AAPL", 100)), 180, 195, "profit of a long position must be above"),
        (limit(buy("/ESZ6", 2), price=6800), 6700, 6750, "profit of a long position must be above"),
    ],
)
def test_bracket_of_one_leg_with_prices_the_wrong_way_round_is_rejected(
    entry: NewOrder, profit: Any, loss: Any, problem: str
) -> None:
    legs = closing_legs(entry)
    for stopped in (stop(*legs, trigger=loss), stop_limit(*legs, trigger=loss, price=loss)):
        with pytest.raises(InvalidRequestError, match=problem):
            bracket(entry, profit=limit(*legs, price=profit), loss=stopped)


COLA, PEPSI = limit(buy_to_open("KO", 100), price=70), limit(sell_to_open("PEP", 40), price=160)
COUNTERPART = limit(buy_to_open("PEP", 40), price=160)


@for_each("side, comparator", [("at_least", "gte"), ("at_most", "lte")])
def test_pair_states_the_ratio_that_releases_both_orders(side: str, comparator: str) -> None:
    made = pair(COLA, PEPSI, **{side: "0.4375"})
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.PAIRS, None, (COLA, PEPSI))
    assert (made.ratio_price_comparator, made.ratio_price_threshold) == (comparator, Decimal("0.4375"))
    assert made.ratio_price_is_threshold_based_on_notional is None
    assert problems_of(made, strict=True) == ()


def test_pair_by_value_or_of_several_legs_is_not_held_to_opposite_sides() -> None:
    assert pair(COLA, PEPSI, at_least=1, by_value=True).ratio_price_is_threshold_based_on_notional is True
    other = vertical("MSFT", date(2026, 6, 12), "C", long=410, short=415, debit="1.85")
    assert pair(SPREAD, other, at_least=1).orders == (SPREAD, other)
    entry = notional(buy_to_open("AAPL"), value=500)
    assert bracket(entry, profit=PROFIT, loss=LOSS).trigger_order == entry
    made = one_cancels_other(PROFIT, LOSS)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OCO, None, (PROFIT, LOSS))
    assert problems_of(made, strict=True) == ()


@for_each(
    "orders, ratio, problem",
    [
        ((COLA, PEPSI), {}, "exactly one of at_least and at_most must be given, got 0"),
        ((COLA, PEPSI), {"at_least": 1, "at_most": 2}, "exactly one of at_least and at_most must be given, got 2"),
        ((COLA, PEPSI), {"at_least": 0}, "ratio must be greater than zero, got 0"),
        ((COLA, PEPSI), {"at_most": 0.5}, "ratio must be a Decimal, an int or a str, got 0.5"),
        ((COLA, COUNTERPART), {"at_least": 1}, "must buy and the other sell, got Buy to Open of K"),
        ((PEPSI, PEPSI), {"at_least": 1}, "must be of different instruments, got PEP twice"),
        ((COLA, None), {"at_least": 1}, "second must be a NewOrder, got NoneType"),
        ((UNPRICED, PEPSI), {"at_least": 1}, "invalid PAIRS order"),
    ],
)
def test_pair_of_orders_that_do_not_fit_is_rejected(orders: Any, ratio: Any, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        pair(*orders, **ratio)


@for_each("count", [1, 2, 3])
def test_one_triggers_other_takes_one_to_three_orders(count: int) -> None:
    made = one_triggers_other(ENTRY, *[PROFIT] * count)
    unvalidated = attrs.evolve(PROFIT, advanced_instructions=None)
    assert (made.type, made.trigger_order, made.orders) == (ComplexOrderType.OTO, ENTRY, (unvalidated,) * count)
    assert problems_of(made, strict=True) == ()


@for_each(
    "make, domain",
    [
        (lambda: bracket(UNPRICED, profit=PROFIT, loss=LOSS), "trigger-order.price"),
        (lambda: bracket(ENTRY, profit=attrs.evolve(PROFIT, price=None), loss=LOSS), "orders[0].price"),
        (lambda: bracket(ENTRY, profit=PROFIT, loss=attrs.evolve(LOSS, stop_trigger=None)), "orders[1].stop-trigger"),
        (lambda: bracket(WORDY, profit=PROFIT, loss=LOSS), "trigger-order.legs[0].quantity"),
        *((lambda count=count: one_triggers_other(ENTRY, *[PROFIT] * count), "orders") for count in (0, 4)),
        (lambda: one_cancels_other(PROFIT, attrs.evolve(LOSS, legs=())), "orders[1].legs"),
        (lambda: one_triggers_other(ENTRY, attrs.evolve(PROFIT, price=Decimal(-1))), "orders[0].price"),
    ],
)
def test_component_that_breaks_a_rule_is_named(make: Any, domain: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make()
    assert domain in [problem.domain for problem in caught.value.errors]


@for_each("wrong", [None, "AAPL", 1])
def test_component_of_another_type_is_rejected(wrong: Any) -> None:
    for make in (
        lambda: one_cancels_other(wrong, LOSS),
        lambda: one_cancels_other(PROFIT, wrong),
        lambda: one_triggers_other(wrong, PROFIT),
        lambda: one_triggers_other(ENTRY, PROFIT, wrong),
    ):
        with pytest.raises(InvalidRequestError, match="must be a NewOrder, got"):
            make()


CALL, PUT = "AAPL  260612C00110000", "AAPL  260612P00110000"


def test_strict_validation_is_asked_for_by_closes_alone_and_in_an_oco_only() -> None:
    def strict(order: NewOrder | None) -> bool:
        return bool(
            order and order.advanced_instructions and order.advanced_instructions.strict_position_effect_validation
        )

    closing, opening = sell_to_close("AAPL", 100), buy_to_open("AAPL", 100)
    single = [
        limit(closing, price=1),
        market(closing),
        stop(closing, trigger=1),
        notional(sell_to_close("AAPL"), value=5),
        stop_limit(closing, trigger=1, price=1),
        limit(sell_to_close(CALL, 1), sell_to_close(PUT, 1), credit=1),
    ]
    assert [order for order in single if not strict(order)] == []
    others = [ENTRY, market(opening), FUTURE, SPREAD, limit(sell_to_close(CALL, 1), sell_to_open(PUT, 1), credit=1)]
    assert [order for order in others if strict(order)] == []
    exclusive = one_cancels_other(PROFIT, LOSS)
    assert [strict(order) for order in exclusive.orders] == [True, True]
    for made in (
        bracket(ENTRY, profit=PROFIT, loss=LOSS),
        one_triggers_other(LOSS, PROFIT),
        pair(PROFIT, limit(buy_to_open("KO", 1), price=1), at_least=1),
    ):
        assert [order for order in (made.trigger_order, *made.orders) if strict(order)] == [], made.type
