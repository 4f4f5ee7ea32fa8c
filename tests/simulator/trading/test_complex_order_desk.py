"""Complex orders: checks, acceptance, triggers, releases, cancellations and edits."""

import json
from typing import Any

from tests.simulator.harness import COMPLEX_ORDERS, EDIT, Harness, check_effect, condition, exits, leg, limit, market
from tests.tables import for_each


def components(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the orders of a complex order, its trigger order first."""
    trigger = data.get("trigger-order")
    return [*([trigger] if trigger else []), *data["orders"]]


def statuses(data: dict[str, Any]) -> list[str]:
    return [each["status"] for each in components(data)]


def target(harness: Harness, tail: object = "") -> str:
    return f"{harness.target('complex_orders.list')}/{tail}".rstrip("/")


def submit(harness: Harness, body: dict[str, Any]) -> dict[str, Any]:
    return dict(harness.call("complex_orders.submit", body)["complex-order"])


def shown(harness: Harness, identifier: object, after: float = 0) -> dict[str, Any]:
    harness.wait(after)
    return dict(harness.call("complex_orders.get", id=identifier))


def test_filled_trigger_releases_components_and_one_cancels_the_other(harness: Harness) -> None:
    data = submit(harness, COMPLEX_ORDERS["OTOCO"])
    harness.wait(5)
    harness.sim.fill_order(str(data["trigger-order"]["id"]))
    released = shown(harness, data["id"], after=10)
    assert statuses(released) == ["Filled", "Live", "Live"]
    assert all("contingent-status" not in order for order in released["orders"])
    harness.sim.set_price("AAPL", 500)
    after = shown(harness, data["id"], after=20)
    assert statuses(after) == ["Filled", "Filled", "Cancelled"]
    assert "terminal-at" in after


def test_cancelled_component_ends_what_waits_for_it(harness: Harness) -> None:
    for kind, cancelled, found in (
        ("OTOCO", 0, ["Cancelled", "Cancelled", "Cancelled"]),
        ("OTOCO", 1, ["Live", "Cancelled", "Contingent"]),
        ("PAIRS", 0, ["Cancelled", "Cancelled"]),
    ):
        data = submit(harness, COMPLEX_ORDERS[kind])
        assert harness.cancel(components(data)[cancelled]["id"]).status == 200
        assert statuses(shown(harness, data["id"], after=5)) == found
        harness = Harness().login()


def test_trigger_filled_before_replacement_stays_the_trigger(harness: Harness) -> None:
    data = submit(harness, COMPLEX_ORDERS["OTOCO"])
    harness.wait(5)
    trigger = data["trigger-order"]["id"]
    harness.sim.hold_order(str(trigger), "Replace Requested")
    new = harness.data("PUT", f"/accounts/{harness.account}/orders/{trigger}", EDIT)["id"]
    harness.sim.fill_order(str(trigger))
    harness.sim.release_order()
    after = shown(harness, data["id"], after=5)
    assert (after["trigger-order"]["id"], statuses(after)) == (trigger, ["Filled", "Live", "Live"])
    assert [(one["id"], one["status"]) for one in after["related-orders"]] == [(str(new), "Rejected")]


@for_each(
    "kind, routed",
    [
        ("OTOCO", ["Live", "Contingent", "Contingent"]),
        ("OTO", ["Live", "Contingent"]),
        ("OCO", ["Live", "Live"]),
        ("PAIRS", ["Contingent", "Contingent"]),
    ],
)
def test_components_are_contingent_at_acceptance_and_routed_when_they_wait_for_nothing(
    kind: str, routed: list[str]
) -> None:
    harness = Harness().login()
    data = submit(harness, COMPLEX_ORDERS[kind])
    found = components(data)
    assert {(each["status"], each["contingent-status"]) for each in found} == {("Contingent", "Pending Order")}
    assert {(each["cancellable"], each["editable"]) for each in found} == {(True, True)}
    assert [each["preflight-id"] for each in found] == list(range(len(found)))
    assert len({each["global-request-id"] for each in found}) == 1
    assert {each["complex-order-id"] for each in found} == {data["id"]}
    tags = {each["complex-order-tag"] for each in data["orders"]}
    assert tags == {f"{kind}::{'oco-1-order' if kind == 'OTOCO' else 'order'}"}
    if kind.startswith("OTO"):
        assert data["trigger-order"]["complex-order-tag"] == f"{kind}::trigger-order"
    assert "terminal-at" not in data
    assert statuses(shown(harness, data["id"], after=5)) == routed


def test_orders_of_oto_are_routed_together_and_do_not_cancel_one_another(harness: Harness) -> None:
    body = {"type": "OTO", "trigger-order": market(), "orders": [*exits("150.00"), exits()[0]]}
    identifier = submit(harness, body)["id"]
    data = shown(harness, identifier, after=30)
    assert statuses(data) == ["Filled", "Filled", "Live", "Live"]
    assert "terminal-at" not in data
    harness.call("complex_orders.cancel", id=identifier)
    assert "terminal-at" in shown(harness, identifier, after=5)


def test_partial_fill_of_one_exit_cancels_the_other_and_goes_on(harness: Harness) -> None:
    harness.trade(market())
    identifier = submit(harness, COMPLEX_ORDERS["OCO"])["id"]
    first, _ = shown(harness, identifier, after=5)["orders"]
    for quantity, expected in (("4", ["Live", "Cancelled"]), ("6", ["Filled", "Cancelled"])):
        harness.sim.fill_order(str(first["id"]), quantity)
        data = shown(harness, identifier, after=1)
        assert (statuses(data), data["orders"][1]["legs"][0]["fills"]) == (expected, [])


@for_each("wait", [0.0, 5.0])
def test_cancellation_reaches_every_component_once(harness: Harness, wait: float) -> None:
    identifier = submit(harness, COMPLEX_ORDERS["OTOCO"])["id"]
    harness.wait(wait)
    data = harness.call("complex_orders.cancel", id=identifier)
    trigger, *rest = components(data)
    assert (trigger["status"], trigger["cancellable"]) == ("Cancel Requested" if wait else "Cancelled", False)
    for each in rest:
        assert each["status"] == "Cancelled"
        assert each["cancelled-at"] == each["terminal-at"]
        assert not {"contingent-status", "preflight-id"} & each.keys()
    assert ("terminal-at" in data) == (not wait)
    data = shown(harness, identifier, after=2)
    ends = {(each["status"], each["cancel-username"]) for each in components(data)}
    assert ends == {("Cancelled", "simulated-owner")}
    assert "terminal-at" in data
    assert harness.error("DELETE", target(harness, identifier))["code"] == "cannot_update_order"
    assert submit(harness, COMPLEX_ORDERS["OTOCO"])["id"] != identifier


def test_component_replaced_while_it_waits_is_held_as_well(harness: Harness) -> None:
    data = submit(harness, COMPLEX_ORDERS["OTOCO"])
    harness.wait(5)
    old = data["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "401.00"}
    harness.data("PUT", f"/accounts/{harness.account}/orders/{old}", edit)
    after = shown(harness, data["id"], after=5)
    assert statuses(after) == ["Live", "Contingent", "Contingent"]
    assert after["orders"][0]["contingent-status"] == "Pending Order"
    assert [each["id"] for each in after["related-orders"]] == [str(old)]


def test_rules_of_a_component_apply_once_it_is_released(harness: Harness) -> None:
    rules = {"conditions": [condition("AAPL", "gte", "300")]}
    child = limit("400.00", leg(action="Sell to Close"), effect="Credit", rules=rules)
    identifier = submit(harness, {"type": "OTO", "trigger-order": market(), "orders": [child]})["id"]
    (order,) = shown(harness, identifier, after=20)["orders"]
    assert (order["status"], order["contingent-status"]) == ("Contingent", "Pending Condition")
    harness.sim.set_price("AAPL", 310)
    assert statuses(shown(harness, identifier, after=70)) == ["Filled", "Live"]


def test_accepted_components_reserve_the_buying_power_of_the_trigger(harness: Harness) -> None:
    account, calculator = harness.own(), harness.state.margin_calculator
    before = calculator.buying_power(account, harness.now)
    identifier = submit(harness, COMPLEX_ORDERS["OTOCO"])["id"]
    reserved = account.reserved
    assert before - calculator.buying_power(account, harness.now) == reserved > 0
    harness.call("complex_orders.cancel", id=identifier)
    assert account.reserved == 0
    harness.place(limit())
    assert account.reserved == reserved


def test_pair_waits_for_its_ratio_and_is_edited_until_then(harness: Harness) -> None:
    pair = harness.first_complex_order("PAIRS")
    harness.wait(300)
    assert statuses(harness.call("complex_orders.get", **pair)) == ["Contingent", "Contingent"]
    for operation, is_kept in (("edit_pairs_dry_run", False), ("edit_pairs", True)):
        placed = harness.call(f"complex_orders.{operation}", {"ratio-price-threshold": "0.9"}, **pair)
        assert placed["complex-order"]["ratio-price-threshold"] == "0.9"
        assert (harness.call("complex_orders.get", **pair)["ratio-price-threshold"] == "0.9") is is_kept
    harness.wait(120)
    assert statuses(harness.call("complex_orders.get", **pair)) == ["Filled", "Filled"]
    for threshold in ("0.8", "zero"):
        harness.error("PATCH", harness.target("complex_orders.get", **pair), {"ratio-price-threshold": threshold})


def test_edit_of_other_types_is_rejected(harness: Harness) -> None:
    for kind in ("OTOCO", "OCO"):
        path = harness.target("complex_orders.get", **harness.first_complex_order(kind))
        harness.error("PATCH", path, {"ratio-price-comparator": "gte"})
        assert harness.error("POST", f"{path}/dry-run", {})["code"] == "cannot_update_order"


def test_list_live_and_single_complex_orders(harness: Harness) -> None:
    second = {"account_number": harness.accounts[1]}
    path = harness.target("complex_orders.list", **second)
    listed = harness.decoded("complex_orders.list", **second)
    assert [(each.type, len(each.orders)) for each in listed] == [("PAIRS", 2), ("OCO", 2), ("OTOCO", 2)]
    assert harness.get(path)["pagination"]["per-page"] == 10
    assert harness.decoded("complex_orders.live", **second) == listed
    assert len(harness.rows(f"{path}?per-page=2&page-offset=1")) == 1
    assert harness.rows(target(harness)) == []
    component = harness.call("complex_orders.get", **harness.first_complex_order("OCO"))["orders"][0]["id"]
    for identifier in ("1", "x", "9" * 5000, component):
        assert harness.ask("GET", f"{path}/{identifier}").status == 404
    assert harness.ask("GET", target(harness, harness.sim.complex_order_ids["OCO"])).status == 404


def test_complex_order_of_an_evening_is_of_today_until_midnight_in_new_york(harness: Harness) -> None:
    harness.wait_until("2026-06-10T20:30:00-04:00")  # the next day in UTC
    placed = submit(harness, COMPLEX_ORDERS["OTOCO"])["id"]
    harness.call("complex_orders.cancel", id=placed)
    for moment, listed in (("2026-06-10T23:59:00-04:00", [placed]), ("2026-06-11T00:01:00-04:00", [])):
        harness.wait_until(moment)
        assert [row["id"] for row in harness.rows(target(harness, "live"))] == listed


@for_each("kind", COMPLEX_ORDERS)
def test_dry_run_creates_nothing_and_its_figures_add_up(harness: Harness, kind: str) -> None:
    data = harness.call("complex_orders.dry_run", COMPLEX_ORDERS[kind])
    assert "id" not in data["complex-order"]
    check_effect(data)
    assert harness.rows(target(harness)) == harness.rows(f"/accounts/{harness.account}/orders") == []


def test_exits_take_no_buying_power_and_orders_that_open_take_it_together(harness: Harness) -> None:
    answers = [harness.call("complex_orders.dry_run", COMPLEX_ORDERS[kind]) for kind in ("OTOCO", "OTO")]
    answers.append(harness.preview(limit()))
    names = ("change-in-buying-power", "change-in-buying-power-effect")
    assert len({tuple(each["buying-power-effect"][name] for name in names) for each in answers}) == 1
    harness = Harness(cash=800).login()  # enough for one of the two
    body = {"type": "OTO", "trigger-order": limit(), "orders": [limit("99.00")]}
    assert harness.codes(body) == ["margin_check_failed"]
    assert harness.codes(COMPLEX_ORDERS["OTOCO"]) == []


def test_errors_name_their_component(harness: Harness) -> None:
    profit, loss = exits()
    body = {"type": "OCO", "orders": [profit, {**loss, "stop-trigger": "-1"}]}
    harness.error("POST", target(harness), body)
    assert harness.rows(target(harness)) == []
    answer = json.loads(harness.ask("POST", target(harness, "dry-run"), body).body)
    assert answer["context"] == target(harness, "dry-run")
    assert answer["error"]["code"] == "preflight_check_failure"
    assert [each["code"] for each in answer["error"]["errors"]] == ["invalid_price"]
    assert [(each["code"], each["preflight-id"]) for each in answer["data"]["errors"]] == [("invalid_price", 1)]
    strict = {"advanced-instructions": {"strict-position-effect-validation": True}}
    closing = [{**each, **strict} for each in exits()]
    assert harness.codes({"type": "OCO", "orders": closing})
    assert not harness.codes({"type": "OTOCO", "trigger-order": limit(), "orders": closing})
    more = [{**each, "underlying-symbol": "AAPL"} for each in exits()]
    assert not harness.codes({**COMPLEX_ORDERS["OCO"], "note": "x", "orders": more})


def test_close_in_a_complex_order_opens_when_nothing_is_held() -> None:
    """An OCO is judged at once, an order behind a trigger order when that is filled."""
    harness = Harness(without=["no_account_holds_both_sides"]).login()

    def actions(found: dict[str, Any]) -> list[str]:
        return [each["legs"][0]["action"] for each in found["orders"]]

    assert actions(submit(harness, {"type": "OCO", "orders": exits()})) == ["Sell to Open"] * 2
    for bought, later in (("AAPL", "Sell to Close"), ("MSFT", "Sell to Open")):
        found = submit(harness, {"type": "OTO", "trigger-order": market(leg(bought)), "orders": exits()[:1]})
        assert actions(found) == ["Sell to Close"]
        harness.wait(20)
        assert actions(shown(harness, found["id"])) == [later]
        if bought == "AAPL":
            harness.trade(market(leg(action="Sell to Close")), seconds=20)
