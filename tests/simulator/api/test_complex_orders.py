"""Reading complex orders and moving the threshold of a pair."""

import json

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import COMPLEX_ORDERS, Harness


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
