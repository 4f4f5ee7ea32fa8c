"""Complex orders: checks, acceptance, triggers, releases, cancellations and edits."""

import json
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import COMPLEX_ORDERS, Harness, check_effect, exits, leg, limit, market, signed


def statuses(harness: Harness, kind: str) -> list[str]:
    return [order["status"] for order in harness.complex_order(kind)["orders"]]


def test_otoco_components_wait_for_their_trigger(harness: Harness) -> None:
    harness.wait(5)
    data = harness.complex_order("OTOCO")
    trigger = data["trigger-order"]
    assert (trigger["status"], trigger["complex-order-tag"]) == ("Live", "OTOCO::trigger-order")
    assert [order["status"] for order in data["orders"]] == ["Contingent", "Contingent"]
    assert {order["contingent-status"] for order in data["orders"]} == {"Pending Order"}
    assert {order["complex-order-tag"] for order in data["orders"]} == {"OTOCO::oco-1-order"}
    assert {order["complex-order-id"] for order in data["orders"]} == {data["id"]}


def test_filled_trigger_releases_components_and_one_cancels_the_other(harness: Harness) -> None:
    harness.wait(5)
    harness.set_price("KO", 19)
    harness.wait(1)
    harness.set_price("KO", 70)
    harness.wait(10)
    if harness.complex_order("OTOCO")["trigger-order"]["status"] != "Filled":
        harness.set_price("KO", 19)
        harness.wait(10)
    data = harness.complex_order("OTOCO")
    assert data["trigger-order"]["status"] == "Filled"
    assert all("contingent-status" not in order for order in data["orders"])
    harness.set_price("KO", 500)
    harness.wait(20)
    assert sorted(statuses(harness, "OTOCO")) == ["Cancelled", "Filled"]
    assert "terminal-at" in harness.complex_order("OTOCO")


def test_cancelled_component_ends_what_waits_for_it(harness: Harness) -> None:
    harness.wait(5)
    trigger = harness.complex_order("OTOCO")["trigger-order"]["id"]
    assert harness.ask("DELETE", f"/accounts/{harness.accounts[1]}/orders/{trigger}").status == 200
    harness.wait(2)
    assert statuses(harness, "OTOCO") == ["Cancelled", "Cancelled"]
    data = submit(harness, COMPLEX_ORDERS["OTOCO"])
    assert harness.cancel(str(data["orders"][0]["id"])).status == 200
    harness.wait(5)
    found = [each["status"] for each in components(shown(harness, data["id"]))]
    assert found == ["Live", "Cancelled", "Contingent"]
    harness = Harness().login()
    data = submit(harness, COMPLEX_ORDERS["PAIRS"])
    assert harness.cancel(str(data["orders"][0]["id"])).status == 200
    assert [each["status"] for each in shown(harness, data["id"])["orders"]] == ["Cancelled", "Cancelled"]


def test_oco_fill_cancels_the_other_order(harness: Harness) -> None:
    harness.wait(5)
    assert statuses(harness, "OCO") == ["Live", "Live"]
    harness.set_price("GLD", 140)
    harness.wait(20)
    assert statuses(harness, "OCO") == ["Filled", "Cancelled"]


def test_pair_waits_for_its_ratio(harness: Harness) -> None:
    harness.wait(300)
    assert statuses(harness, "PAIRS") == ["Contingent", "Contingent"]
    response = harness.ask("PATCH", harness.complex_target("PAIRS"), {"ratio-price-threshold": "0.9"})
    placed = json.loads(response.body)["data"]
    assert response.status == 200
    assert placed["complex-order"]["ratio-price-threshold"] == "0.9"
    codec.decode(OPERATIONS["complex_orders.edit_pairs"], response.body, strict=True)
    harness.wait(120)
    assert statuses(harness, "PAIRS") == ["Filled", "Filled"]


def test_trigger_filled_before_replacement_stays_the_trigger() -> None:
    stopped = 0
    for seed in range(30):
        harness = Harness(seed=seed, equities=20).login()
        harness.wait(5)
        trigger = harness.complex_order("OTOCO")["trigger-order"]["id"]
        harness.set_price("KO", 19)
        harness.wait(0.5)
        edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "21.00"}
        response = harness.ask("PUT", f"/accounts/{harness.accounts[1]}/orders/{trigger}", edit)
        if response.status == 422:  # it has been filled already
            continue
        new = json.loads(response.body)["data"]["id"]
        harness.wait(1)
        harness.set_price("KO", 70)
        harness.wait(1)
        if harness.history(str(new))[-1] == "Rejected":
            stopped += 1
            data = harness.complex_order("OTOCO")
            assert data["trigger-order"]["id"] == trigger
            assert [(one["id"], one["status"]) for one in data["related-orders"]] == [(str(new), "Rejected")]
            assert {order["status"] for order in data["orders"]} != {"Cancelled"}
    assert stopped > 0


def components(data: dict[str, Any]) -> list[dict[str, Any]]:
    trigger = data.get("trigger-order")
    return [*([trigger] if trigger else []), *data["orders"]]


def submit(harness: Harness, body: dict[str, Any]) -> dict[str, Any]:
    """Submit a complex order in the first account and return the one of the answer."""
    response = harness.ask("POST", f"/accounts/{harness.account}/complex-orders", body)
    assert response.status == 201, response.body
    codec.decode(OPERATIONS["complex_orders.submit"], response.body, strict=True)
    data: dict[str, Any] = json.loads(response.body)["data"]["complex-order"]
    return data


def shown(harness: Harness, identifier: object) -> dict[str, Any]:
    data: dict[str, Any] = harness.get(f"/accounts/{harness.account}/complex-orders/{identifier}")["data"]
    return data


def cancel(harness: Harness, identifier: object) -> Any:
    return harness.ask("DELETE", f"/accounts/{harness.account}/complex-orders/{identifier}")


@pytest.mark.parametrize("kind", COMPLEX_ORDERS)
def test_every_component_is_contingent_at_acceptance(harness: Harness, kind: str) -> None:
    data = submit(harness, COMPLEX_ORDERS[kind])
    found = components(data)
    assert {(each["status"], each["contingent-status"]) for each in found} == {("Contingent", "Pending Order")}
    assert {(each["cancellable"], each["editable"]) for each in found} == {(True, True)}
    assert [each["preflight-id"] for each in found] == list(range(len(found)))
    assert len({each["global-request-id"] for each in found}) == 1
    assert {each["complex-order-id"] for each in found} == {data["id"]}
    assert "terminal-at" not in data


@pytest.mark.parametrize(
    ("kind", "statuses"),
    [
        ("OTOCO", ["Live", "Contingent", "Contingent"]),
        ("OTO", ["Live", "Contingent"]),
        ("OCO", ["Live", "Live"]),
        ("PAIRS", ["Contingent", "Contingent"]),
    ],
)
def test_only_what_waits_for_nothing_is_routed(harness: Harness, kind: str, statuses: list[str]) -> None:
    identifier = submit(harness, COMPLEX_ORDERS[kind])["id"]
    harness.wait(5)
    assert [each["status"] for each in components(shown(harness, identifier))] == statuses


def test_orders_of_oto_are_routed_together_and_do_not_cancel_one_another(harness: Harness) -> None:
    body = {"type": "OTO", "trigger-order": market(), "orders": [*exits("150.00"), exits()[0]]}
    identifier = submit(harness, body)["id"]
    harness.wait(30)
    data = shown(harness, identifier)
    assert [each["status"] for each in components(data)] == ["Filled", "Filled", "Live", "Live"]
    assert "terminal-at" not in data
    assert cancel(harness, identifier).status == 200
    harness.wait(5)
    assert "terminal-at" in shown(harness, identifier)


def test_partial_fill_of_one_exit_cancels_the_other_and_goes_on() -> None:
    parts = 0
    for seed in range(8):
        harness = Harness(seed=seed, equities=20).login()
        harness.trade(market(), seconds=20)
        identifier = submit(harness, {"type": "OCO", "orders": exits("150.00")})["id"]
        filled = 0
        while filled < 10:
            harness.wait(0.05)
            first, second = shown(harness, identifier)["orders"]
            filled = 10 - first["legs"][0]["remaining-quantity"]
            if 0 < filled < 10:
                parts += 1
                assert first["status"] == "Live"
            if filled:
                assert second["status"] in ("Cancel Requested", "Cancelled")
                assert not second["legs"][0]["fills"]
        assert first["status"] == "Filled"
    assert parts > 0


@pytest.mark.parametrize("wait", [0.0, 5.0])
def test_cancellation_reaches_every_component(harness: Harness, wait: float) -> None:
    identifier = submit(harness, COMPLEX_ORDERS["OTOCO"])["id"]
    harness.wait(wait)
    response = cancel(harness, identifier)
    codec.decode(OPERATIONS["complex_orders.cancel"], response.body, strict=True)
    data = json.loads(response.body)["data"]
    trigger, *rest = components(data)
    assert (trigger["status"], trigger["cancellable"]) == ("Cancel Requested" if wait else "Cancelled", False)
    for each in rest:
        assert each["status"] == "Cancelled"
        assert each["cancelled-at"] == each["terminal-at"]
        assert not {"contingent-status", "preflight-id"} & each.keys()
    assert ("terminal-at" in data) == (not wait)
    harness.wait(2)
    data = shown(harness, identifier)
    assert {each["status"] for each in components(data)} == {"Cancelled"}
    assert {each["cancel-username"] for each in components(data)} == {"simulated-owner"}
    assert "terminal-at" in data


def test_finished_complex_order_cannot_be_cancelled(harness: Harness) -> None:
    identifier = submit(harness, COMPLEX_ORDERS["OCO"])["id"]
    assert cancel(harness, identifier).status == 200
    response = cancel(harness, identifier)
    assert response.status == 422
    assert json.loads(response.body)["error"]["code"] == "cannot_update_order"
    first, second = (submit(harness, COMPLEX_ORDERS["OTOCO"])["id"] for _ in range(2))
    assert first != second


def test_component_replaced_while_it_waits_is_held_as_well(harness: Harness) -> None:
    data = submit(harness, COMPLEX_ORDERS["OTOCO"])
    harness.wait(5)
    old = data["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "401.00"}
    assert harness.ask("PUT", f"/accounts/{harness.account}/orders/{old}", edit).status == 200
    harness.wait(5)
    after = shown(harness, data["id"])
    assert [each["status"] for each in components(after)] == ["Live", "Contingent", "Contingent"]
    assert after["orders"][0]["contingent-status"] == "Pending Order"
    assert [each["id"] for each in after["related-orders"]] == [str(old)]


def test_rules_of_a_component_apply_once_it_is_released(harness: Harness) -> None:
    condition = {"action": "route", "symbol": "AAPL", "indicator": "last", "comparator": "gte", "threshold": "300"}
    condition |= {"instrument-type": "Equity"}
    child = limit("400.00", leg(action="Sell to Close"), effect="Credit", rules={"conditions": [condition]})
    identifier = submit(harness, {"type": "OTO", "trigger-order": market(), "orders": [child]})["id"]
    harness.wait(20)
    (order,) = shown(harness, identifier)["orders"]
    assert (order["status"], order["contingent-status"]) == ("Contingent", "Pending Condition")
    harness.set_price("AAPL", 310)
    harness.wait(70)
    assert shown(harness, identifier)["orders"][0]["status"] == "Live"


def test_accepted_components_reserve_the_buying_power_of_the_trigger(harness: Harness) -> None:
    account = harness.own()
    calculator = harness.state.margin_calculator
    before = calculator.buying_power(account, harness.now)
    identifier = submit(harness, COMPLEX_ORDERS["OTOCO"])["id"]
    reserved = account.reserved
    assert before - calculator.buying_power(account, harness.now) == reserved > 0
    cancel(harness, identifier)
    assert account.reserved == 0
    harness.place(limit())
    assert account.reserved == reserved


def test_dry_run_of_an_edit_shows_the_condition_and_keeps_it(harness: Harness) -> None:
    identifier = submit(harness, COMPLEX_ORDERS["PAIRS"])["id"]
    target = f"/accounts/{harness.account}/complex-orders/{identifier}"
    response = harness.ask("POST", f"{target}/dry-run", {"ratio-price-threshold": "0.4"})
    assert response.status == 201
    codec.decode(OPERATIONS["complex_orders.edit_pairs_dry_run"], response.body, strict=True)
    assert json.loads(response.body)["data"]["complex-order"]["ratio-price-threshold"] == "0.4"
    assert shown(harness, identifier)["ratio-price-threshold"] == "0.01"
    other = submit(harness, COMPLEX_ORDERS["OCO"])["id"]
    refused = harness.ask("POST", f"/accounts/{harness.account}/complex-orders/{other}/dry-run", {})
    assert json.loads(refused.body)["error"]["code"] == "cannot_update_order"


@pytest.mark.parametrize("kind", ["OTOCO", "OCO"])
def test_edit_of_other_types_is_rejected(harness: Harness, kind: str) -> None:
    assert harness.ask("PATCH", harness.complex_target(kind), {"ratio-price-comparator": "gte"}).status == 422


def test_edit_of_a_released_pair_is_rejected(harness: Harness) -> None:
    harness.ask("PATCH", harness.complex_target("PAIRS"), {"ratio-price-threshold": "0.9"})
    harness.wait(120)
    response = harness.ask("PATCH", harness.complex_target("PAIRS"), {"ratio-price-threshold": "0.8"})
    assert response.status == 422
    assert harness.ask("PATCH", harness.complex_target("PAIRS"), {"ratio-price-threshold": "zero"}).status == 422


def test_list_live_and_single_complex_orders(harness: Harness) -> None:
    account = harness.accounts[1]
    response = harness.ask("GET", f"/accounts/{account}/complex-orders")
    listed = codec.decode(OPERATIONS["complex_orders.list"], response.body, strict=True)
    assert [each.type for each in listed.value] == ["PAIRS", "OCO", "OTOCO"]
    assert listed.pagination.per_page == 10
    body = harness.ask("GET", f"/accounts/{account}/complex-orders/live").body
    assert codec.decode(OPERATIONS["complex_orders.live"], body, strict=True).value == listed.value
    assert len(harness.rows(f"/accounts/{account}/complex-orders?per-page=2&page-offset=1")) == 1
    assert harness.rows(f"/accounts/{harness.account}/complex-orders") == []
    component = harness.complex_order("OCO")["orders"][0]["id"]
    for identifier in ("1", "x", "9" * 5000, component):
        assert harness.ask("GET", f"/accounts/{harness.accounts[1]}/complex-orders/{identifier}").status == 404
    identifier = harness.sim.complex_order_ids["OCO"]
    assert harness.ask("GET", f"/accounts/{harness.account}/complex-orders/{identifier}").status == 404


def test_complex_order_of_an_evening_is_of_today_until_midnight_in_new_york(harness: Harness) -> None:
    live = f"/accounts/{harness.account}/complex-orders/live"
    harness.wait_until("2026-06-10T20:30:00-04:00")  # the next day in UTC
    response = harness.ask("POST", f"/accounts/{harness.account}/complex-orders", COMPLEX_ORDERS["OTOCO"])
    placed = json.loads(response.body)["data"]["complex-order"]["id"]
    harness.ask("DELETE", f"/accounts/{harness.account}/complex-orders/{placed}")
    for moment, listed in (("2026-06-10T23:59:00-04:00", [placed]), ("2026-06-11T00:01:00-04:00", [])):
        harness.wait_until(moment)
        assert [row["id"] for row in harness.rows(live)] == listed


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
    account = harness.own()
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
            harness.trade(market(leg(action="Sell to Close")), seconds=20)
