"""Orders are filled, rejected and expired from outside, as their status allows. Controls of a simulator in use."""

from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest

from brokerage_async.simulator import PricePath
from brokerage_async.simulator.control.actions import ACTIONS
from tests.simulator.harness import Harness, limit, market, spread
from tests.tables import for_each


def act(harness: Harness, name: str, identifier: str, **arguments: Any) -> None:
    harness.act(name, order_id=identifier, **arguments)


def test_order_is_filled_by_hand_in_parts_at_any_status(harness: Harness) -> None:
    first, second = harness.place(limit()), harness.place(limit())
    act(harness, "fill_order", first, quantity="3")
    assert harness.history(first) == ["Received", "Routed", "In Flight", "Live"]
    harness.wait(60)
    assert harness.history(first) == ["Received", "Routed", "In Flight", "Live"]
    assert [quantity for quantity, _ in harness.fills(first)] == [3]
    act(harness, "fill_order", second, quantity="4", price="99.50")
    assert harness.status(second) == "Live"
    act(harness, "fill_order", second)
    assert harness.status(second) == "Filled"
    (part, price), (rest, market_price) = harness.fills(second)
    assert (part, price, rest) == (4, Decimal("99.50"), 6)
    assert market_price > 100
    assert harness.own().held("AAPL") == 3 + 10


def test_busted_fill_leaves_its_leg_and_a_corrected_one_stays(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=5)
    for quantity, price in (("3", "100"), ("3", "90"), ("4", "80")):
        act(harness, "fill_order", identifier, quantity=quantity, price=price)
    names = [fill["fill-id"] for fill in harness.order(identifier)["legs"][0]["fills"]]
    account = harness.own()
    booked, cash = list(account.transactions), account.cash
    act(harness, "bust_fill", identifier, fill_id=names[0])
    act(harness, "bust_fill", identifier, fill_id=names[1], price="95")
    shown = harness.order(identifier)
    assert (shown["status"], shown["legs"][0]["remaining-quantity"]) == ("Filled", 0)
    assert harness.fills(identifier) == [(3, Decimal(95)), (4, Decimal(80))]
    assert [fill["fill-id"] for fill in shown["legs"][0]["fills"]] == names[1:]
    *undone, again = account.transactions[len(booked) :]
    assert [each.wire.reverses_id for each in undone] == [each.wire.id for each in booked[-3:-1]]
    assert again.wire.reverses_id is None
    assert (again.wire.exec_id, again.wire.price) == (booked[-2].wire.exec_id, "95.00")
    assert account.positions["AAPL"].quantity == 7
    assert round(account.positions["AAPL"].average_price * 7) == 3 * 95 + 4 * 80
    assert account.cash - cash == 3 * 100 - 3 * 5
    with pytest.raises(LookupError, match="unknown fill x"):
        act(harness, "bust_fill", identifier, fill_id="x")


def test_order_is_removed_with_the_status_of_its_fills(harness: Harness) -> None:
    for quantity, status, expected in (
        (None, None, "Removed"),
        ("4", None, "Partially Removed"),
        (None, "Remove Pending", "Remove Pending"),
        (None, "Removed", "Removed"),
    ):
        identifier = harness.trade(limit(), seconds=5)
        if quantity:
            act(harness, "fill_order", identifier, quantity=quantity)
        act(harness, "remove_order", identifier, status=status)
        assert harness.status(identifier) == expected
        assert harness.cancel(identifier).status == 422
    on_its_way = harness.place(limit())
    act(harness, "remove_order", on_its_way, status="Dead")
    assert harness.history(on_its_way) == ["Received", "Dead"]
    for wrong, message in (("Filled", "status must be one of Removed, "), ("Removed", "cannot become Removed")):
        with pytest.raises(ValueError, match=message):
            act(harness, "remove_order", on_its_way, status=wrong)


def test_pending_removal_ends_with_a_second_call(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=5)
    act(harness, "remove_order", identifier, status="Remove Pending")
    harness.set_price("AAPL", 90)
    harness.wait(60)
    assert harness.status(identifier) == "Remove Pending"
    act(harness, "remove_order", identifier)
    assert harness.status(identifier) == "Removed"


def test_order_is_held_in_a_status_until_it_is_released(harness: Harness) -> None:
    for status in ("Received", "Routed", "In Flight"):
        identifier = harness.place(limit())
        act(harness, "hold_order", identifier, status=status)
        harness.wait(60)
        assert harness.history(identifier)[-1] == status
        act(harness, "release_order", identifier)
        harness.wait(5)
        assert harness.status(identifier) == "Live"
    act(harness, "hold_order", "*", status="Routed")
    first, second = harness.place(limit()), harness.place(limit())
    harness.wait(60)
    assert harness.status(first) == harness.status(second) == "Routed"
    act(harness, "release_order", "*")
    harness.wait(5)
    assert harness.status(first) == harness.status(second) == "Live"


def test_held_confirmation_of_a_cancellation_loses_to_a_fill(harness: Harness) -> None:
    for quantity, ends in ((None, "Filled"), ("4", "Cancelled")):
        identifier = harness.place(limit())
        act(harness, "hold_order", identifier, status="Cancel Requested")
        harness.wait(5)
        assert harness.cancel(identifier).status == 200
        harness.wait(60)
        assert harness.status(identifier) == "Cancel Requested"
        act(harness, "fill_order", identifier, quantity=quantity, price="100")
        act(harness, "release_order", identifier)
        assert harness.status(identifier) == ends
        assert [filled for filled, _ in harness.fills(identifier)] == [Decimal(quantity or 10)]


def test_wrong_orders_and_statuses_are_refused(harness: Harness) -> None:
    identifier, filled = harness.place(limit()), harness.trade(market())
    wrong_status, unknown = "status must be one of Received, ", "unknown order 7"
    cases: list[tuple[type[Exception], str, str, str, dict[str, str | None]]] = [
        (ValueError, wrong_status, "hold_order", identifier, {"status": "Cancelled"}),
        (ValueError, wrong_status, "hold_order", "*", {"status": None}),
        (ValueError, wrong_status, "hold_order", identifier, {"status": "lost"}),
        (LookupError, unknown, "hold_order", "7", {}),
        (LookupError, unknown, "fill_order", "7", {}),
        (ValueError, "must be on its way or live to be filled, it is Filled", "fill_order", filled, {}),
    ]
    for kind, message, name, order, arguments in cases:
        with pytest.raises(kind, match=message):
            act(harness, name, order, **arguments)


def test_order_is_rejected_or_expired_once_on_its_way_and_live(harness: Harness) -> None:
    for name, status in (("expire_order", "Expired"), ("reject_order", "Rejected")):
        identifier = harness.place(limit())
        act(harness, name, identifier, **({"reason": "no"} if status == "Rejected" else {}))
        order = harness.order(identifier)
        assert (order["status"], order.get("reject-reason")) == (status, "no" if status == "Rejected" else None)
        with pytest.raises(ValueError, match=f"order {identifier} cannot become {status}, it is {status}"):
            act(harness, name, identifier)
    live = harness.trade(limit(), seconds=5)
    act(harness, "reject_order", live)
    assert harness.history(live)[-2:] == ["Live", "Rejected"]
    harness.set_price("AAPL", 90)
    harness.wait(5)
    assert harness.status(live) == "Rejected"


@for_each(
    "arguments, message",
    [
        ({"quantity": "11"}, "quantity must be a multiple of 1 up to 10, got 11"),
        ({"quantity": "0.5"}, "quantity must be a multiple of 1 up to 10, got 0.5"),
        ({"quantity": "-1"}, "quantity must be positive, got -1"),
        ({"quantity": "x"}, "quantity must be a number, got 'x'"),
        ({"price": "0"}, "price must be positive"),
    ],
)
def test_invalid_fill_changes_nothing(harness: Harness, arguments: dict[str, str], message: str) -> None:
    identifier = harness.place(limit())
    recorded = len(harness.brokerage.entries)
    with pytest.raises(ValueError, match=message):
        act(harness, "fill_order", identifier, **arguments)
    assert harness.history(identifier) == ["Received"]
    assert len(harness.brokerage.entries) == recorded


def test_spread_is_filled_in_units_without_a_price(harness: Harness) -> None:
    identifier = harness.place(spread("2", "4", price="0.01"))
    with pytest.raises(ValueError, match="price must be left out"):
        act(harness, "fill_order", identifier, price="1")
    act(harness, "fill_order", identifier, quantity="1")
    assert [Decimal(str(each["remaining-quantity"])) for each in harness.order(identifier)["legs"]] == [1, 2]
    identifier = harness.place(spread())
    act(harness, "hold_order", identifier, status="Filled")
    harness.wait(600)
    assert (harness.status(identifier), len(harness.fills(identifier))) == ("Filled", 1)
    act(harness, "release_order", identifier)
    assert len(harness.fills(identifier)) == 2


@pytest.fixture
def standing(harness: Harness) -> Harness:
    """A harness whose simulator's own clock stands still as well."""
    harness.sim.clock.speed = 0
    return harness


def test_prices_are_set_while_the_simulator_is_in_use(standing: Harness) -> None:
    sim = standing.sim
    sim.set_source("MSFT", PricePath([(0, "7"), (60, "8")]))
    assert sim.price("MSFT") == 7
    sim.clock.advance(60)
    assert sim.price("MSFT") == 8
    walk = sim.price("AAPL")
    sim.set_price("AAPL", "150.25")
    assert sim.price("AAPL") == Decimal("150.25")
    sim.clock.advance(3600)
    assert sim.price("AAPL") == Decimal("150.25")
    sim.release_price("AAPL")
    assert abs(sim.price("AAPL") - walk) < 20
    assert sim.price("AAPL") != Decimal("150.25")


def test_settle_runs_what_is_due(standing: Harness) -> None:
    identifier = standing.place(market())
    standing.sim.clock.advance(30)
    assert standing.history(identifier) == ["Received"]
    standing.sim.settle()
    assert standing.history(identifier)[-1] == "Filled"


def test_consent_gives_a_code_and_expired_tokens_are_refused(standing: Harness) -> None:
    sim = standing.sim
    query = {"client_id": sim.client_id, "redirect_uri": sim.redirect_uri, "response_type": "code", "state": "s"}
    redirect = sim.authorize(f"{sim.auth_page_url}?{urlencode(query)}")
    assert redirect.startswith(f"{sim.redirect_uri}?code=")
    assert redirect.endswith("&state=s")
    sim.expire_tokens()
    assert standing.ask("GET", "/watchlists").status == 401
    assert standing.login().ask("GET", "/watchlists").status == 200


def test_orders_are_led_through_their_life_by_calls(standing: Harness) -> None:
    sim, clock = standing.sim, standing.sim.clock
    filled, rejected, expired, removed = (standing.place(limit()) for _ in range(4))
    sim.hold_order(filled, "Cancel Requested")
    clock.advance(5)
    standing.now = clock.now()
    assert standing.cancel(filled).status == 200
    clock.advance(60)
    sim.fill_order(filled, quantity=4, price=Decimal("99.5"))
    sim.fill_order(filled)
    sim.reject_order(rejected, "Session offline")
    sim.expire_order(expired)
    sim.remove_order(removed)
    sim.hold_order("*", "Routed")
    held = standing.place(limit())
    clock.advance(60)
    sim.settle()
    standing.now = clock.now()
    standing.login()
    shown = {name: standing.order(name) for name in (filled, rejected, expired, removed, held)}
    assert [each["status"] for each in shown.values()] == ["Filled", "Rejected", "Expired", "Removed", "Routed"]
    assert [fill["quantity"] for fill in shown[filled]["legs"][0]["fills"]] == [4, 6]
    assert shown[rejected]["reject-reason"] == "Session offline"
    before = sim.snapshot()
    sim.release_order()
    clock.advance(5)
    sim.settle()
    assert standing.history(held)[-1] == "Live"
    sim.restore(before)
    assert standing.history(held)[-1] == "Routed"
    with pytest.raises(LookupError, match="unknown order 1"):
        sim.fill_order("1")
    with pytest.raises(ValueError, match="quantity must be a number, got 'x'"):
        sim.fill_order(held, quantity="x")


def test_recorded_actions_give_the_same_history(harness: Harness) -> None:
    count = len(harness.brokerage.entries)
    for price in ("0", "-1", "NaN", "Infinity", "dear", "", "1e99"):
        with pytest.raises(ValueError, match="price must be"):
            harness.act("set_price", symbol="AAPL", price=price)
    assert (harness.sim.price("AAPL"), len(harness.brokerage.entries)) == (200, count)
    harness.act("set_price", symbol="AAPL", price="1")
    assert len(harness.brokerage.entries) == count + 1
    filled, rejected, expired = (harness.place(limit()) for _ in range(3))
    harness.act("fill_order", order_id=filled, quantity="4", price="99.5")
    harness.act("reject_order", order_id=rejected, reason="no")
    harness.act("expire_order", order_id=expired)
    harness.act("set_price", symbol="AAPL", price="150")
    harness.act("release_price", symbol="AAPL")
    harness.act("expire_tokens")
    harness.act("revoke")
    history = harness.brokerage.ledger.history()
    harness.sim.restore(harness.sim.snapshot())
    assert harness.sim.brokerage.ledger.history() == history
    assert {action.__code__.co_argcount for action in ACTIONS.values()} == {2}
