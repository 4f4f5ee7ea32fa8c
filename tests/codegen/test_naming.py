"""Conversion of wire names to Python names."""

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


@for_each(
    "form, fitting, others",
    [
        ("dashes", ["close-at-ext", "class"], ["closeAt", "close_at", "-close", "close--at", "Close", ""]),
        ("underscores", ["access_token"], ["access-token", "_token", ""]),
        ("camel-case", ["startDate", "ETA"], ["start-date", "_eta"]),
        ("operation", ["orders.dry_run"], ["orders", "orders.", "orders.dryRun", "a.b.c", "orders.import"]),
        ("component", ["OrderLeg"], ["orderLeg", "Order-Leg", "None"]),
    ],
)
def test_forms_are_recognised(form: str, fitting: list[str], others: list[str]) -> None:
    assert [name for name in (*fitting, *others) if naming.has_form(form, name)] == fitting
