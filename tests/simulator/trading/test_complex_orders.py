"""Complex orders: triggers, releases and cancellations of their components."""

import json
from decimal import Decimal

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness


def statuses(harness: Harness, kind: str) -> list[str]:
    return [order["status"] for order in harness.complex_order(kind)["orders"]]


def test_otoco_components_wait_for_their_trigger(harness: Harness) -> None:
    harness.wait(5)
    data = harness.complex_order("OTOCO")
    trigger = data["trigger-order"]
    assert (trigger["status"], trigger["complex-order-tag"]) == ("Live", "OTOCO::trigger-order")
    assert [order["status"] for order in data["orders"]] == ["Contingent", "Contingent"]
    assert {order["contingent-status"] for order in data["orders"]} == {"Pending Order"}
    assert {order["complex-order-tag"] for order in data["orders"]} == {"OTOCO::order"}
    assert {order["complex-order-id"] for order in data["orders"]} == {data["id"]}


def test_filled_trigger_releases_components_and_one_cancels_the_other(harness: Harness) -> None:
    harness.wait(5)
    harness.state.prices.set_price("AAPL", Decimal(99), harness.now)
    harness.wait(1)
    harness.state.prices.set_price("AAPL", Decimal(200), harness.now)
    harness.wait(10)
    if harness.complex_order("OTOCO")["trigger-order"]["status"] != "Filled":
        harness.state.prices.set_price("AAPL", Decimal(99), harness.now)
        harness.wait(10)
    data = harness.complex_order("OTOCO")
    assert data["trigger-order"]["status"] == "Filled"
    assert all("contingent-status" not in order for order in data["orders"])
    harness.state.prices.set_price("AAPL", Decimal(500), harness.now)
    harness.wait(20)
    assert sorted(statuses(harness, "OTOCO")) == ["Cancelled", "Filled"]
    assert "terminal-at" in harness.complex_order("OTOCO")


def test_cancelled_trigger_cancels_its_components(harness: Harness) -> None:
    harness.wait(5)
    trigger = harness.complex_order("OTOCO")["trigger-order"]["id"]
    assert harness.ask("DELETE", f"/accounts/{harness.accounts[1]}/orders/{trigger}").status == 200
    harness.wait(2)
    assert statuses(harness, "OTOCO") == ["Cancelled", "Cancelled"]


def test_oco_fill_cancels_the_other_order(harness: Harness) -> None:
    harness.wait(5)
    assert statuses(harness, "OCO") == ["Live", "Live"]
    harness.state.prices.set_price("AAPL", Decimal(500), harness.now)
    harness.wait(20)
    assert statuses(harness, "OCO") == ["Filled", "Cancelled"]


def test_replaced_component_is_a_related_order(harness: Harness) -> None:
    harness.wait(5)
    first = harness.complex_order("OCO")["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "401.00"}
    assert harness.ask("PATCH", f"/accounts/{harness.accounts[1]}/orders/{first}", edit).status == 200
    harness.wait(3)
    data = harness.complex_order("OCO")
    (related,) = data["related-orders"]
    assert (related["id"], related["status"]) == (str(first), "Cancelled")
    assert {type(value) for value in related.values()} == {str}
    assert data["orders"][0]["replaces-order-id"] == first


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
        harness.state.prices.set_price("AAPL", Decimal(99), harness.now)
        harness.wait(0.5)
        edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "101.00"}
        response = harness.ask("PUT", f"/accounts/{harness.accounts[1]}/orders/{trigger}", edit)
        if response.status == 422:  # it has been filled already
            continue
        new = json.loads(response.body)["data"]["id"]
        harness.wait(1)
        harness.state.prices.set_price("AAPL", Decimal(200), harness.now)
        harness.wait(1)
        if harness.history(str(new))[-1] == "Rejected":
            stopped += 1
            data = harness.complex_order("OTOCO")
            assert data["trigger-order"]["id"] == trigger
            assert [(one["id"], one["status"]) for one in data["related-orders"]] == [(str(new), "Rejected")]
            assert {order["status"] for order in data["orders"]} != {"Cancelled"}
    assert stopped > 0
