"""Conversion of wire names to Python names."""

from __future__ import annotations

from codegen import naming
from tests.tables import for_each


@for_each(
    "wire, python",
    [
        ("order-type", "order_type"),
        ("status[]", "status"),
        ("OrderLeg", "order_leg"),
        ("class", "class_"),
        ("id", "id"),
        ("reg-t-margin-requirement", "reg_t_margin_requirement"),
        ("expires_in", "expires_in"),
    ],
)
def test_snake_wire_name_becomes_a_python_name(wire: str, python: str) -> None:
    assert naming.snake(wire) == python


@for_each(
    "wire, name",
    [
        ("Buy to Open", "BUY_TO_OPEN"),
        ("orders.dry_run", "ORDERS_DRY_RUN"),
        ("Pre-Market", "PRE_MARKET"),
        ("gte", "GTE"),
        ("None", "NONE"),
        (">", ""),
        ("OTOCO", "OTOCO"),
    ],
)
def test_constant_name_or_value_becomes_upper_case(wire: str, name: str) -> None:
    assert naming.constant(wire) == name


def test_names_take_their_python_forms() -> None:
    assert naming.pascal("market_time") == "MarketTime"
    assert naming.camel("high52_week_price") == "high52WeekPrice"
    assert naming.camel("index") == "index"
    assert naming.is_dasherized("close-at-ext")
    assert not any(map(naming.is_dasherized, ("closeAt", "close_at", "-close", "close--at", "Close", "")))
    assert naming.is_underscored("access_token")
    assert [each for each in ("startDate", "ETA", "start-date", "_eta") if naming.is_camel_case(each)] == [
        "startDate",
        "ETA",
    ]
    assert naming.is_operation_id("orders.dry_run")
    assert not any(map(naming.is_operation_id, ("orders", "orders.", "orders.dryRun", "a.b.c", "orders.import")))
    assert naming.is_component("OrderLeg")
    assert not any(map(naming.is_component, ("orderLeg", "Order-Leg", "None")))
