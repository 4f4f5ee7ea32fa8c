import json
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol import codec
from tests.simulator.house import House


def target(house: House, kind: str) -> str:
    return f"/accounts/{house.accounts[1]}/complex-orders/{house.sim.complex_order_ids[kind]}"


def read(house: House, kind: str) -> dict[str, Any]:
    response = house.ask("GET", target(house, kind))
    codec.decode(OPERATIONS["complex_orders.get"], response.body, strict=True)
    data: dict[str, Any] = json.loads(response.body)["data"]
    return data


def statuses(house: House, kind: str) -> list[str]:
    return [order["status"] for order in read(house, kind)["orders"]]


def test_components_wait_for_their_trigger(house: House) -> None:
    house.wait(5)
    data = read(house, "OTOCO")
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
    if read(house, "OTOCO")["trigger-order"]["status"] != "Filled":
        house.world.market.set_price("AAPL", Decimal(99), house.now)
        house.wait(10)
    data = read(house, "OTOCO")
    assert data["trigger-order"]["status"] == "Filled"
    assert all("contingent-status" not in order for order in data["orders"])
    house.world.market.set_price("AAPL", Decimal(500), house.now)
    house.wait(20)
    assert sorted(statuses(house, "OTOCO")) == ["Cancelled", "Filled"]
    assert "terminal-at" in read(house, "OTOCO")


def test_a_cancelled_trigger_takes_its_components_along(house: House) -> None:
    house.wait(5)
    trigger = read(house, "OTOCO")["trigger-order"]["id"]
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
    first = read(house, "OCO")["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "401.00"}
    assert house.ask("PATCH", f"/accounts/{house.accounts[1]}/orders/{first}", edit).status == 200
    house.wait(3)
    data = read(house, "OCO")
    (related,) = data["related-orders"]
    assert (related["id"], related["status"]) == (first, "Cancelled")
    assert data["orders"][0]["replaces-order-id"] == first


def test_a_pair_waits_for_its_ratio(house: House) -> None:
    house.wait(300)
    assert statuses(house, "PAIRS") == ["Contingent", "Contingent"]
    response = house.ask("PATCH", target(house, "PAIRS"), {"ratio-price-threshold": "0.9"})
    placed = json.loads(response.body)["data"]
    assert response.status == 200
    assert placed["complex-order"]["ratio-price-threshold"] == "0.90"
    codec.decode(OPERATIONS["complex_orders.edit_pairs"], response.body, strict=True)
    house.wait(120)
    assert statuses(house, "PAIRS") == ["Filled", "Filled"]


@pytest.mark.parametrize("kind", ["OTOCO", "OCO"])
def test_only_pairs_can_be_edited(house: House, kind: str) -> None:
    assert house.ask("PATCH", target(house, kind), {"ratio-price-comparator": "gte"}).status == 422


def test_a_pair_that_trades_cannot_be_edited(house: House) -> None:
    house.ask("PATCH", target(house, "PAIRS"), {"ratio-price-threshold": "0.9"})
    house.wait(120)
    response = house.ask("PATCH", target(house, "PAIRS"), {"ratio-price-threshold": "0.8"})
    assert response.status == 422
    assert house.ask("PATCH", target(house, "PAIRS"), {"ratio-price-threshold": "zero"}).status == 422


def test_unknown_complex_orders(house: House) -> None:
    component = read(house, "OCO")["orders"][0]["id"]
    for identifier in ("1", "x", "9" * 5000, component):
        assert house.ask("GET", f"/accounts/{house.accounts[1]}/complex-orders/{identifier}").status == 404
    identifier = house.sim.complex_order_ids["OCO"]
    assert house.ask("GET", f"/accounts/{house.account}/complex-orders/{identifier}").status == 404
