"""Conversion of wire names to Python names."""

from codegen import naming
from tests.tables import for_each


def test_names_take_their_python_forms() -> None:
    wires = ["order-type", "status[]", "OrderLeg", "class", "id", "reg-t-margin-requirement", "expires_in"]
    names = ["order_type", "status", "order_leg", "class_", "id", "reg_t_margin_requirement", "expires_in"]
    assert list(map(naming.snake, wires)) == names
    values = ["Buy to Open", "orders.dry_run", "Pre-Market", "gte", "None", ">", "OTOCO"]
    constants = ["BUY_TO_OPEN", "ORDERS_DRY_RUN", "PRE_MARKET", "GTE", "NONE", "", "OTOCO"]
    assert list(map(naming.constant, values)) == constants
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
