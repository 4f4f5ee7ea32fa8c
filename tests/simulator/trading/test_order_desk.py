"""Orders taken, cancelled and replaced."""

import json
from typing import Any

import pytest

from tests.simulator.house import EDIT, House, leg, limit, market


def test_submissions_are_not_deduplicated(house: House) -> None:
    body = limit(external_identifier="twice")
    assert house.place(body) != house.place(body)
    assert len(house.sim.ledger.orders(external_identifier="twice")) == 2


def test_a_live_order_is_cancelled_once_the_exchange_confirms(house: House) -> None:
    identifier = house.place(limit())
    house.wait(2)
    answer = json.loads(house.cancel(identifier).body)["data"]
    assert (answer["status"], answer["cancellable"]) == ("Cancel Requested", False)
    assert "cancelled-at" not in answer
    house.wait(1)
    order = house.order(identifier)
    assert order["status"] == "Cancelled"
    assert order["cancelled-at"] == order["terminal-at"]
    assert order["cancel-username"] == "simulated-owner"


def test_an_order_that_was_not_sent_yet_is_cancelled_at_once(house: House) -> None:
    answer = json.loads(house.cancel(house.place(limit())).body)["data"]
    assert answer["status"] == "Cancelled"


@pytest.mark.parametrize("wait", [0.0, 10.0])
def test_what_is_over_or_about_to_be_cannot_be_cancelled(house: House, wait: float) -> None:
    identifier = house.place(market() if wait else limit())
    house.wait(wait or 2)
    if not wait:
        assert house.cancel(identifier).status == 200
    response = house.cancel(identifier)
    assert response.status == 422
    assert json.loads(response.body)["error"]["code"] == "cannot_update_order"


def test_unknown_orders(house: House) -> None:
    assert house.cancel("1").status == 404
    assert house.cancel("abc").status == 404
    assert house.cancel("9" * 5000).status == 404
    other = house.place(limit(), house.accounts[2])
    assert house.cancel(other).status == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_replacement_is_a_new_order_that_points_back(house: House, method: str) -> None:
    old = house.place(limit("100.00", external_identifier="mine"))
    house.wait(2)
    response = house.ask(method, f"/accounts/{house.account}/orders/{old}", EDIT)
    new = json.loads(response.body)["data"]
    assert response.status == 200
    assert (str(new["replaces-order-id"]), new["edited"], new["price"]) == (old, True, "101.00")
    assert house.status(old) == "Replace Requested"
    house.wait(3)
    before = house.order(old)
    assert (before["status"], before["edited"], before["replacing-order-id"]) == ("Cancelled", True, new["id"])
    assert house.status(str(new["id"])) == "Live"
    assert len(house.sim.ledger.orders(external_identifier="mine")) == 2


def test_an_edit_dry_run_changes_nothing(house: House) -> None:
    identifier = house.place(limit())
    house.wait(2)
    response = house.ask("POST", f"/accounts/{house.account}/orders/{identifier}/dry-run", EDIT)
    assert response.status == 201
    assert "id" not in json.loads(response.body)["data"]["order"]
    assert (house.status(identifier), house.order(identifier)["edited"]) == ("Live", False)


def test_what_is_over_cannot_be_replaced(house: House) -> None:
    identifier = house.place(market())
    house.wait(10)
    for method, suffix in (("PUT", ""), ("PATCH", ""), ("POST", "/dry-run")):
        response = house.ask(method, f"/accounts/{house.account}/orders/{identifier}{suffix}", EDIT)
        assert response.status == 422
    assert house.ask("PUT", f"/accounts/{house.account}/orders/1", EDIT).status == 404


def test_a_replacement_keeps_its_instrument(house: House) -> None:
    identifier = house.place(limit())
    body = {**EDIT, "legs": [leg("MSFT")]}
    assert house.ask("PUT", f"/accounts/{house.account}/orders/{identifier}", body).status == 422
    assert house.ask("PUT", f"/accounts/{house.account}/orders/{identifier}", {**EDIT, "legs": [leg()]}).status == 200


def test_a_fill_of_the_original_stops_its_replacement(house: House) -> None:
    stopped = 0
    for _ in range(20):
        old = house.place(limit("250.00", leg(quantity="7")))
        house.wait(0.6)
        response = house.ask("PUT", f"/accounts/{house.account}/orders/{old}", EDIT)
        if response.status == 422:
            continue
        new = str(json.loads(response.body)["data"]["id"])
        house.wait(10)
        if "Rejected" in house.history(new):
            stopped += 1
            assert house.status(old) == "Filled"
            assert "replacing-order-id" not in house.order(old)
    assert stopped > 0


def working(house: House, identifier: str) -> Any:
    account = house.world.accounts.get(house.account)
    assert account is not None
    return house.world.blotter.get(account, identifier)


def replaced(house: House, identifier: str, **change: str) -> str:
    response = house.ask("PUT", f"/accounts/{house.account}/orders/{identifier}", EDIT | change)
    assert response.status == 200
    return str(json.loads(response.body)["data"]["id"])


def test_a_replacement_never_trades_beside_its_original() -> None:
    for seed in range(60):
        house = House(seed=seed, equities=20).login()
        old = house.place(limit("250.00", leg(quantity="7")))
        while house.status(old) == "Received":
            house.wait(0.01)
        replaced(house, old, price="260.00")
        house.wait(30)
        account = house.world.accounts.get(house.account)
        assert account is not None
        assert account.held("AAPL") == 7


def test_an_order_that_is_being_replaced_shows_no_other_status(house: House) -> None:
    old = house.place(limit())
    while house.status(old) == "Received":
        house.wait(0.01)
    replaced(house, old)
    house.wait(3)
    assert house.history(old) == ["Received", "Routed", "Replace Requested", "Cancelled"]


def test_a_replacement_that_still_waits_cannot_be_replaced(house: House) -> None:
    old = house.place(limit())
    house.wait(2)
    new = replaced(house, old)
    assert not house.order(new)["editable"]
    assert house.ask("PUT", f"/accounts/{house.account}/orders/{new}", EDIT).status == 422
    house.wait(3)
    assert house.order(new)["editable"]
    assert working(house, replaced(house, new)).replaces is working(house, new)


def test_a_replacement_ends_with_the_day_of_its_original(house: House) -> None:
    house.wait_until("2026-06-10T19:59:30+00:00")
    old = house.place(limit())
    house.wait(29.98)
    new = str(json.loads(house.ask("PUT", f"/accounts/{house.account}/orders/{old}", EDIT).body)["data"]["id"])
    house.wait(2)
    assert (house.status(old), house.status(new)) == ("Expired", "Expired")
