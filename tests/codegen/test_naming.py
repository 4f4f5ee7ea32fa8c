"""Conversion of wire names to Python names."""

from codegen import naming
from tests.tables import for_each


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
