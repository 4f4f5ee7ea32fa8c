"""What proves that a listed order is another one than that asked for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import (
    InstrumentType,
    LegAction,
    NewOrder,
    NewOrderLeg,
    Order,
    OrderEdit,
    OrderLeg,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from brokerage_async.models import converter
from brokerage_async.order_entry.matching import differs_in, successor_differs_in

ASKED = NewOrder(
    order_type=OrderType.STOP_LIMIT,
    time_in_force=TimeInForce.DAY,
    price=Decimal("1.5"),
    price_effect=PriceEffect.DEBIT,
    stop_trigger=Decimal(2),
    legs=(
        NewOrderLeg(
            action=LegAction.BUY_TO_OPEN,
            symbol="SPY   260612C00500000",
            quantity=Decimal(10),
            instrument_type=InstrumentType.EQUITY_OPTION,
        ),
        NewOrderLeg(action=LegAction.SELL, symbol="/ESM6", quantity=Decimal(1), instrument_type=InstrumentType.FUTURE),
    ),
)


def asking(**terms: Any) -> NewOrder:
    """An order that was asked for, of which only these terms are known."""
    asked = converter.structure({}, NewOrder)
    return attrs.evolve(asked, legs=(), **terms)


SHOWN = Order(
    order_type=OrderType.STOP_LIMIT,
    time_in_force=TimeInForce.DAY,
    price=Decimal("1.50"),
    price_effect=PriceEffect.DEBIT,
    stop_trigger=Decimal("2.00"),
    legs=(
        OrderLeg(action=LegAction.SELL_TO_OPEN, symbol="/ESM6", quantity=Decimal(1)),
        OrderLeg(action=LegAction.BUY_TO_OPEN, symbol="SPY 260612C00500000", quantity=Decimal("10.0")),
    ),
)
MORE = OrderLeg(action=LegAction.BUY_TO_OPEN, symbol="SPY 260612C00500000", quantity=Decimal(11))
OTHER = OrderLeg(action=LegAction.BUY_TO_OPEN, symbol="AAPL", quantity=Decimal(10))
SOLD = OrderLeg(action=LegAction.SELL_TO_CLOSE, symbol="SPY 260612C00500000", quantity=Decimal(10))


@pytest.mark.parametrize(
    ("change", "term"),
    [
        ({}, None),
        ({"order_type": OrderType.LIMIT}, "order type"),
        ({"order_type": OrderType.MARKETABLE_LIMIT}, None),
        ({"order_type": None, "time_in_force": None, "price": None, "stop_trigger": None, "legs": None}, None),
        ({"time_in_force": TimeInForce.GTC}, "time in force"),
        ({"price": Decimal("1.51")}, "price"),
        ({"price": Decimal("-1.5")}, None),
        ({"price_effect": PriceEffect.CREDIT}, "price"),
        ({"price_effect": None}, None),
        ({"stop_trigger": Decimal(3)}, "stop trigger"),
        ({"value": Decimal(3)}, None),
        ({"legs": (SHOWN.legs or ())[:1]}, "legs"),
        ({"legs": (*(SHOWN.legs or ()), OTHER)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], OTHER)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], SOLD)}, "legs"),
        ({"legs": ((SHOWN.legs or ())[0], MORE)}, "legs"),
        ({"legs": (OrderLeg(), OrderLeg())}, None),
        ({"edited": True, "price": Decimal(9), "legs": ((SHOWN.legs or ())[0], MORE)}, None),
        ({"edited": True, "replacing_order_id": "7", "price": Decimal(9)}, "price"),
        ({"replaces_order_id": "7", "order_type": OrderType.MARKET}, None),
        ({"edited": True, "legs": ((SHOWN.legs or ())[0], OTHER)}, "legs"),
    ],
)
def test_what_proves_that_an_order_is_another_one(change: dict[str, Any], term: str | None) -> None:
    assert differs_in(ASKED, attrs.evolve(SHOWN, **change)) == term
    assert differs_in(converter.structure({}, NewOrder), attrs.evolve(SHOWN, **change)) is None


@pytest.mark.parametrize("nonsense", [None, "x", [], {}, True, "NaN"])
def test_a_body_that_makes_no_sense_proves_nothing_about_amounts(nonsense: Any) -> None:
    body = {"price": nonsense, "value": nonsense, "stop-trigger": nonsense}
    assert differs_in(converter.structure(body, NewOrder), SHOWN) is None


def test_the_value_of_a_notional_order_tells_it_apart() -> None:
    order = Order(value=Decimal(100), value_effect=PriceEffect.DEBIT)
    assert differs_in(asking(value=Decimal("100.00")), order) is None
    assert differs_in(asking(value=Decimal(101)), order) == "value"
    assert differs_in(asking(value=Decimal(100), value_effect=PriceEffect.CREDIT), order) == "value"
    nothing = attrs.evolve(order, value=Decimal(0))
    assert differs_in(asking(value=Decimal(0), value_effect=PriceEffect.CREDIT), nothing) is None


@pytest.mark.parametrize("amount", ["1E+9999999", "1E-9999999", "NaN", "-Infinity", "9" * 60])
def test_amounts_of_any_size_are_compared(amount: str) -> None:
    seen = Order(price=Decimal(amount))
    assert differs_in(asking(price=Decimal(10)), seen) == ("price" if Decimal(amount).is_finite() else None)
    assert differs_in(asking(price=Decimal(amount)), seen) is None


def test_what_proves_that_an_order_was_replaced_by_another_edit() -> None:
    asked = OrderEdit(
        order_type=OrderType.LIMIT,
        time_in_force=TimeInForce.DAY,
        price=Decimal(11),
        price_effect=PriceEffect.DEBIT,
    )
    ours = Order(
        order_type=OrderType.LIMIT,
        price=Decimal("11.00"),
        price_effect=PriceEffect.DEBIT,
        replaces_order_id="1",
        edited=True,
    )
    assert successor_differs_in(asked, ours) is None
    assert successor_differs_in(asked, Order()) is None
    assert successor_differs_in(asked, attrs.evolve(ours, price=Decimal(9))) == "price"
    assert successor_differs_in(asked, attrs.evolve(ours, time_in_force=TimeInForce.GTC)) == "time in force"
