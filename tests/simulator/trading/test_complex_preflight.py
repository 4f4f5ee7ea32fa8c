"""Checks of complex orders: every component, and all of them together."""

import json
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import COMPLEX_ORDERS, Harness, check_effect, exits, leg, limit, market, signed


def dry_run(harness: Harness, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    response = harness.ask("POST", f"/accounts/{harness.account}/complex-orders/dry-run", body)
    answer: dict[str, Any] = json.loads(response.body)
    return response.status, answer


@pytest.mark.parametrize("kind", COMPLEX_ORDERS)
def test_dry_run_creates_nothing_and_its_figures_add_up(harness: Harness, kind: str) -> None:
    response = harness.ask("POST", f"/accounts/{harness.account}/complex-orders/dry-run", COMPLEX_ORDERS[kind])
    assert response.status == 201
    codec.decode(OPERATIONS["complex_orders.dry_run"], response.body, strict=True)
    data = json.loads(response.body)["data"]
    assert "id" not in data["complex-order"]
    check_effect(data)
    assert harness.rows(f"/accounts/{harness.account}/complex-orders") == []
    assert harness.rows(f"/accounts/{harness.account}/orders") == []


def test_exits_take_no_buying_power_and_orders_that_open_take_it_together(harness: Harness) -> None:
    changes = [
        signed(dry_run(harness, COMPLEX_ORDERS[kind])[1]["data"]["buying-power-effect"], "change-in-buying-power")
        for kind in ("OTOCO", "OTO")
    ]
    alone = json.loads(harness.ask("POST", f"/accounts/{harness.account}/orders/dry-run", limit()).body)["data"]
    assert set(changes) == {signed(alone["buying-power-effect"], "change-in-buying-power")}
    harness = Harness().login()
    account = harness.state.accounts.of(harness.state.owner)[0]
    account.cash = Decimal(800)  # enough for one of the two
    body = {"type": "OTO", "trigger-order": limit(), "orders": [limit("99.00")]}
    status, answer = dry_run(harness, body)
    assert (status, answer["error"]["errors"][0]["code"]) == (422, "margin_check_failed")
    assert dry_run(harness, COMPLEX_ORDERS["OTOCO"])[0] == 201


def test_errors_name_their_component(harness: Harness) -> None:
    profit, loss = exits()
    body = {"type": "OCO", "orders": [profit, {**loss, "stop-trigger": "-1"}]}
    status, answer = dry_run(harness, body)
    assert (status, answer["error"]["code"]) == (422, "preflight_check_failure")
    assert [each["code"] for each in answer["error"]["errors"]] == ["invalid_price"]
    assert [(each["code"], each["preflight-id"]) for each in answer["data"]["errors"]] == [("invalid_price", 1)]
    strict = {"advanced-instructions": {"strict-position-effect-validation": True}}
    closing = [{**each, **strict} for each in exits()]
    assert dry_run(harness, {"type": "OCO", "orders": closing})[0] == 422
    assert dry_run(harness, {"type": "OTOCO", "trigger-order": limit(), "orders": closing})[0] == 201
    body = {**COMPLEX_ORDERS["OCO"], "note": "x", "orders": [{**each, "underlying-symbol": "AAPL"} for each in exits()]}
    assert dry_run(harness, body)[0] == 201


@pytest.mark.parametrize(
    "body",
    [
        {"type": "BLAST", "orders": exits()},
        {"type": "OCO", "orders": exits()[:1]},
        {"type": "OCO", "orders": exits(), "trigger-order": limit()},
        {"type": "OTOCO", "orders": exits()},
        {"type": "OTO", "orders": exits() * 2, "trigger-order": limit()},
        {"type": "PAIRS", "orders": exits()},
        {"type": "OTO", "trigger-order": limit("1.00", leg("NO SUCH")), "orders": exits()},
        {"orders": exits()},
    ],
)
def test_other_structures_are_refused(harness: Harness, body: dict[str, Any]) -> None:
    for target in ("complex-orders", "complex-orders/dry-run"):
        assert harness.ask("POST", f"/accounts/{harness.account}/{target}", body).status == 422
    assert harness.rows(f"/accounts/{harness.account}/complex-orders") == []


def test_close_in_a_complex_order_opens_when_nothing_is_held() -> None:
    """An OCO is judged at once, an order behind a trigger order when that is filled."""
    harness = Harness(without=["no_account_holds_both_sides"]).login()
    target = f"/accounts/{harness.account}/complex-orders"

    def placed(body: dict[str, Any]) -> dict[str, Any]:
        response = harness.ask("POST", target, body)
        assert response.status == 201, response.body
        found: dict[str, Any] = json.loads(response.body)["data"]["complex-order"]
        return found

    def actions(found: dict[str, Any]) -> list[str]:
        return [each["legs"][0]["action"] for each in found["orders"]]

    assert actions(placed({"type": "OCO", "orders": exits()})) == ["Sell to Open"] * 2
    for bought, later in (("AAPL", "Sell to Close"), ("MSFT", "Sell to Open")):
        found = placed({"type": "OTO", "trigger-order": market(leg(bought)), "orders": exits()[:1]})
        assert actions(found) == ["Sell to Close"]
        harness.wait(20)
        assert actions(harness.get(f"{target}/{found['id']}")["data"]) == [later]
        if bought == "AAPL":
            harness.place(market(leg(action="Sell to Close")))
            harness.wait(20)
