"""Complex orders: what their components wait for, and what becomes of them."""

import json
from decimal import Decimal

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.house import House


def statuses(house: House, kind: str) -> list[str]:
    return [order["status"] for order in house.complex_order(kind)["orders"]]


def test_components_wait_for_their_trigger(house: House) -> None:
    house.wait(5)
    data = house.complex_order("OTOCO")
    trigger = data["trigger-order"]
    assert (trigger["status"], trigger["complex-order-tag"]) == ("Live", "OTOCO::trigger-order")
    assert [order["status"] for order in data["orders"]] == ["Contingent", "Contingent"]
    assert {order["contingent-status"] for order in data["orders"]} == {"Pending Order"}
    assert {order["complex-order-tag"] for order in data["orders"]} == {"OTOCO::order"}
    assert {order["complex-order-id"] for order in data["orders"]} == {data["id"]}


def test_a_filled_trigger_releases_them_and_one_cancels_the_other(house: House) -> None:
    house.wait(5)
    house.world.market.set_price("AAPL", Decimal(99), house.now)
    house.wait(1)
    house.world.market.set_price("AAPL", Decimal(200), house.now)
    house.wait(10)
    if house.complex_order("OTOCO")["trigger-order"]["status"] != "Filled":
        house.world.market.set_price("AAPL", Decimal(99), house.now)
        house.wait(10)
    data = house.complex_order("OTOCO")
    assert data["trigger-order"]["status"] == "Filled"
    assert all("contingent-status" not in order for order in data["orders"])
    house.world.market.set_price("AAPL", Decimal(500), house.now)
    house.wait(20)
    assert sorted(statuses(house, "OTOCO")) == ["Cancelled", "Filled"]
    assert "terminal-at" in house.complex_order("OTOCO")


def test_a_cancelled_trigger_takes_its_components_along(house: House) -> None:
    house.wait(5)
    trigger = house.complex_order("OTOCO")["trigger-order"]["id"]
    assert house.ask("DELETE", f"/accounts/{house.accounts[1]}/orders/{trigger}").status == 200
    house.wait(2)
    assert statuses(house, "OTOCO") == ["Cancelled", "Cancelled"]


def test_one_of_two_cancels_the_other(house: House) -> None:
    house.wait(5)
    assert statuses(house, "OCO") == ["Live", "Live"]
    house.world.market.set_price("AAPL", Decimal(500), house.now)
    house.wait(20)
    assert statuses(house, "OCO") == ["Filled", "Cancelled"]


def test_a_replaced_component_is_related(house: House) -> None:
    house.wait(5)
    first = house.complex_order("OCO")["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "401.00"}
    assert house.ask("PATCH", f"/accounts/{house.accounts[1]}/orders/{first}", edit).status == 200
    house.wait(3)
    data = house.complex_order("OCO")
    (related,) = data["related-orders"]
    assert (related["id"], related["status"]) == (first, "Cancelled")
    assert data["orders"][0]["replaces-order-id"] == first


def test_a_pair_waits_for_its_ratio(house: House) -> None:
    house.wait(300)
    assert statuses(house, "PAIRS") == ["Contingent", "Contingent"]
    response = house.ask("PATCH", house.complex_target("PAIRS"), {"ratio-price-threshold": "0.9"})
    placed = json.loads(response.body)["data"]
    assert response.status == 200
    assert placed["complex-order"]["ratio-price-threshold"] == "0.90"
    codec.decode(OPERATIONS["complex_orders.edit_pairs"], response.body, strict=True)
    house.wait(120)
    assert statuses(house, "PAIRS") == ["Filled", "Filled"]


def test_a_trigger_that_fills_before_it_is_replaced_stays_the_trigger() -> None:
    stopped = 0
    for seed in range(30):
        house = House(seed=seed, equities=20).login()
        house.wait(5)
        trigger = house.complex_order("OTOCO")["trigger-order"]["id"]
        house.world.market.set_price("AAPL", Decimal(99), house.now)
        house.wait(0.5)
        edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "101.00"}
        response = house.ask("PUT", f"/accounts/{house.accounts[1]}/orders/{trigger}", edit)
        if response.status == 422:  # it has been filled already
            continue
        new = json.loads(response.body)["data"]["id"]
        house.wait(1)
        house.world.market.set_price("AAPL", Decimal(200), house.now)
        house.wait(1)
        if house.history(str(new))[-1] == "Rejected":
            stopped += 1
            data = house.complex_order("OTOCO")
            assert data["trigger-order"]["id"] == trigger
            assert [(one["id"], one["status"]) for one in data["related-orders"]] == [(new, "Rejected")]
            assert {order["status"] for order in data["orders"]} != {"Cancelled"}
    assert stopped > 0
