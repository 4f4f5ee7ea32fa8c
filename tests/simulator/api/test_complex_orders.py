"""Reading complex orders and moving the threshold of a pair."""

import pytest

from tests.simulator.house import House


@pytest.mark.parametrize("kind", ["OTOCO", "OCO"])
def test_only_pairs_can_be_edited(house: House, kind: str) -> None:
    assert house.ask("PATCH", house.complex_target(kind), {"ratio-price-comparator": "gte"}).status == 422


def test_a_pair_that_trades_cannot_be_edited(house: House) -> None:
    house.ask("PATCH", house.complex_target("PAIRS"), {"ratio-price-threshold": "0.9"})
    house.wait(120)
    response = house.ask("PATCH", house.complex_target("PAIRS"), {"ratio-price-threshold": "0.8"})
    assert response.status == 422
    assert house.ask("PATCH", house.complex_target("PAIRS"), {"ratio-price-threshold": "zero"}).status == 422


def test_unknown_complex_orders(house: House) -> None:
    component = house.complex_order("OCO")["orders"][0]["id"]
    for identifier in ("1", "x", "9" * 5000, component):
        assert house.ask("GET", f"/accounts/{house.accounts[1]}/complex-orders/{identifier}").status == 404
    identifier = house.sim.complex_order_ids["OCO"]
    assert house.ask("GET", f"/accounts/{house.account}/complex-orders/{identifier}").status == 404
