"""Checks before an order is accepted."""

import json
from typing import Any

import pytest

from tests.simulator.harness import Harness, check_effect, leg, limit, market


def test_order_beyond_buying_power_gets_data_and_error(harness: Harness) -> None:
    order = limit("100000.00", leg(quantity="50000"))
    response = harness.ask("POST", f"/accounts/{harness.account}/orders", order)
    body = json.loads(response.body)
    assert response.status == 422
    assert body["error"]["code"] == "preflight_check_failure"
    assert [entry["code"] for entry in body["error"]["errors"]] == ["margin_check_failed"]
    assert body["data"]["errors"] == body["error"]["errors"]
    check_effect(body["data"])
    assert "id" not in body["data"]["order"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (limit(effect="Credit"), "cant_buy_for_credit"),
        (limit("100.00", leg(action="Sell to Open")), "cant_sell_for_debit"),
        (limit("100.00", leg("NOTTHERE")), "invalid_symbol"),
        (limit("100.00", leg(quantity="-1")), "invalid_quantity"),
        (market(leg("/ESU6", "0.5", "Buy", "Future")), "invalid_quantity"),
        (market(leg("GONE")), "instrument_closing_only"),
        (market(leg("AAPL  260116C00200000", "1", "Buy to Open", "Equity Option")), "instrument_expired"),
        (limit("-1.00"), "invalid_price"),
        (limit(time_in_force="GTD", gtc_date="2026-06-09"), "invalid_gtc_date"),
        (
            market(
                leg(action="Sell to Close"), **{"advanced-instructions": {"strict-position-effect-validation": True}}
            ),
            "invalid_position_effect",
        ),
        (
            market(
                leg("AAPL  260717C00200000", "1", "Buy to Open", "Equity Option"),
                leg("MSFT  260717C00470000", "1", "Buy to Open", "Equity Option"),
            ),
            "legs_underlying_mismatch",
        ),
    ],
)
def test_invalid_order_fails_its_preflight(harness: Harness, body: dict[str, Any], code: str) -> None:
    for target in ("orders", "orders/dry-run"):
        response = harness.ask("POST", f"/accounts/{harness.account}/{target}", body)
        error = json.loads(response.body)["error"]
        assert (response.status, error["code"]) == (422, "preflight_check_failure")
        assert code in [entry["code"] for entry in error["errors"]]


def test_position_effects_are_checked_only_on_request(harness: Harness) -> None:
    assert harness.place(market(leg(action="Sell to Close")))


def test_close_without_position_becomes_opening_order() -> None:
    cases: list[tuple[list[str], str, list[str]]] = [
        ([], "Sell to Open", ["closing_with_no_position"]),
        (["closing_with_no_position"], "Sell to Open", []),
        (["close_becomes_open"], "Sell to Close", []),
    ]
    for without, action, codes in cases:
        harness = Harness(without=without).login()
        for body, shown in (
            (limit("900.00", leg(action="Sell to Close"), effect="Credit"), action),
            (limit(), "Buy to Open"),
        ):
            response = harness.ask("POST", f"/accounts/{harness.account}/orders", body)
            data = json.loads(response.body)["data"]
            assert response.status == 201
            assert [each["action"] for each in data["order"]["legs"]] == [shown]
            assert [each["code"] for each in data["warnings"]] == (codes if shown != "Buy to Open" else [])
            assert harness.order(str(data["order"]["id"]))["legs"][0]["action"] == shown


def test_close_of_a_position_stays_a_close(harness: Harness) -> None:
    harness.place(market())
    harness.wait(10)
    closing = limit("900.00", leg(action="Sell to Close"), effect="Credit")
    assert harness.order(harness.place(closing))["legs"][0]["action"] == "Sell to Close"
    harness.place(market(leg(action="Sell to Close")))
    harness.wait(10)
    assert harness.order(harness.place(closing))["legs"][0]["action"] == "Sell to Open"


def test_dry_run_creates_nothing(harness: Harness) -> None:
    before = len(harness.sim.ledger.events)
    response = harness.ask("POST", f"/accounts/{harness.account}/orders/dry-run", limit(external_identifier="x"))
    order = json.loads(response.body)["data"]["order"]
    assert response.status == 201
    assert not {"id", "received-at"} & set(order)
    assert order["updated-at"] == 0
    assert len(harness.sim.ledger.events) == before
    assert harness.sim.ledger.orders(external_identifier="x") == []
