"""Operations and components outside of the service document: all of them, with their sources and sizes.

The tables are typed by hand from the recordings and the published reference. Shapes are those of
`tests.schema.test_documented_tables`.
"""

from __future__ import annotations

import pytest

from tests.schema.test_documented_tables import OPERATIONS, SCHEMAS, answer, is_documented, json_schema

UNDOCUMENTED = {
    "orders.replace": ("published", "PUT /accounts/{account_number}/orders/{id}", "Order"),
    "orders.edit": ("published", "PATCH /accounts/{account_number}/orders/{id}", "Order"),
    "quote_alerts.create": ("published", "POST /quote-alerts", "QuoteAlert"),
    "quote_alerts.cancel": ("published", "DELETE /quote-alerts/{alert_external_id}", None),
    "accounts.customer": ("recorded", "GET /customers/{customer_id}", "Customer"),
    "accounts.list": ("recorded", "GET /customers/{customer_id}/accounts", "[CustomerAccount]"),
    "accounts.get": ("recorded", "GET /customers/{customer_id}/accounts/{account_number}", "Account"),
    "accounts.trading_status": ("recorded", "GET /accounts/{account_number}/trading-status", "TradingStatus"),
    "balances.list": (
        "recorded", "GET /accounts/{account_number}/balances", "AccountBalance or [AccountBalance]",
    ),
    "balances.get": ("client", "GET /accounts/{account_number}/balances/{currency}", "AccountBalance"),
    "balances.snapshots": (
        "recorded", "GET /accounts/{account_number}/balance-snapshots", "pages of AccountBalance",
    ),
    "balances.net_liq_history": (
        "recorded", "GET /accounts/{account_number}/net-liq/history", "NetLiqOhlc or [NetLiqOhlc]",
    ),
    "positions.list": ("recorded", "GET /accounts/{account_number}/positions", "[Position]"),
    "risk.position_limit": ("recorded", "GET /accounts/{account_number}/position-limit", "PositionLimit"),
    "risk.span_rows": ("published", "GET /span/rows", "pages of SpanRow"),
    "margin.effective_requirement": (
        "recorded", "GET /accounts/{account_number}/margin-requirements/{underlying_symbol}/effective",
        "EffectiveMarginRequirement",
    ),
    "margin.public_configuration": ("recorded", "GET /margin-requirements-public-configuration", "MarginConfiguration"),
    "transactions.get": ("published", "GET /accounts/{account_number}/transactions/{id}", "Transaction"),
    "transactions.total_fees": ("recorded", "GET /accounts/{account_number}/transactions/total-fees", "TotalFees"),
}  # fmt: skip

# Fields of each component, those of other provenances included.
COUNTS = {
    "AccountBalance": 71,
    "Account": 28,
    "Address": 9,
    "Customer": 55,
    "CustomerSuitability": 16,
    "EffectiveMarginRequirement": 10,
    "Entity": 25,
    "EntityOfficer": 29,
    "EntitySuitability": 10,
    "NetLiqOhlc": 13,
    "PermittedAccountType": 6,
    "PermittedMarginType": 2,
    "Person": 18,
    "Position": 33,
    "PositionLimit": 13,
    "SpanRow": 4,
    "TotalFees": 2,
    "TradingStatus": 44,
    "Transaction": 49,
}


def test_undocumented_operations_are_those_of_the_table() -> None:
    present = {
        name: operation["x-provenance"] for name, (_, operation) in OPERATIONS.items() if not is_documented(operation)
    }
    assert present == {name: provenance for name, (provenance, _, _) in UNDOCUMENTED.items()}


@pytest.mark.parametrize("name", UNDOCUMENTED)
def test_call_and_answer(name: str) -> None:
    call, operation = OPERATIONS[name]
    _, expected_call, expected_answer = UNDOCUMENTED[name]
    [success] = [content for status, content in operation["responses"].items() if status.startswith("2")]
    assert call == expected_call
    assert (answer(json_schema(success)) if "content" in success else None) == expected_answer


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_number_of_fields(name: str, count: int) -> None:
    assert len(SCHEMAS[name]["properties"]) == count


def test_personal_data_is_marked() -> None:
    assert {name for name, schema in SCHEMAS.items() if schema.get("x-personal")} == {
        "Address", "Customer", "CustomerSuitability", "Entity", "EntityOfficer", "EntitySuitability", "Person",
    }  # fmt: skip
