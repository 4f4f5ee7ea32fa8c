"""Conversion of wire names to Python names."""

from codegen import naming
from tests.tables import for_each


def test_names_take_their_python_forms() -> None:
    snakes = {
        "order-type": "order_type", "status[]": "status", "OrderLeg": "order_leg", "class": "class_", "id": "id",
        "reg-t-margin-requirement": "reg_t_margin_requirement", "expires_in": "expires_in",
    }  # fmt: skip
    assert {wire: naming.snake(wire) for wire in snakes} == snakes
    constants = {
        "Buy to Open": "BUY_TO_OPEN", "orders.dry_run": "ORDERS_DRY_RUN", "Pre-Market": "PRE_MARKET", "gte": "GTE",
        "None": "NONE", ">": "", "OTOCO": "OTOCO",
    }  # fmt: skip
    assert {wire: naming.constant(wire) for wire in constants} == constants
    assert naming.pascal("market_time") == "MarketTime"
    assert [naming.camel(name) for name in ("high52_week_price", "index")] == ["high52WeekPrice", "index"]


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
