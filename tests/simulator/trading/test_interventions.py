"""Orders are filled, rejected and expired from outside, as their status allows."""

from decimal import Decimal
from typing import Any

import pytest

from tests.simulator.harness import Harness, leg, limit, market


def act(harness: Harness, name: str, identifier: str, **arguments: Any) -> None:
    harness.act(name, order_id=identifier, **arguments)


def fills(harness: Harness, identifier: str) -> list[tuple[Decimal, Decimal]]:
    found = [fill for each in harness.order(identifier)["legs"] for fill in each["fills"]]
    return [(Decimal(str(fill["quantity"])), Decimal(fill["fill-price"])) for fill in found]


def test_order_is_filled_by_hand_in_parts_at_any_status(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    act(harness, "fill_order", identifier, quantity="3")
    assert harness.history(identifier) == ["Received", "Routed", "In Flight", "Live"]
    harness.wait(60)
    assert harness.history(identifier) == ["Received", "Routed", "In Flight", "Live"]
    assert [quantity for quantity, _ in fills(harness, identifier)] == [3]
    harness = Harness().login()
    identifier = harness.trade(limit("100.00"), seconds=5)
    act(harness, "fill_order", identifier, quantity="4", price="99.50")
    assert harness.status(identifier) == "Live"
    act(harness, "fill_order", identifier)
    assert harness.status(identifier) == "Filled"
    (part, price), (rest, market_price) = fills(harness, identifier)
    assert (part, price, rest) == (4, Decimal("99.50"), 6)
    assert market_price > 100
    assert harness.own().held("AAPL") == 10


def test_busted_fill_leaves_its_leg_and_a_corrected_one_stays(harness: Harness) -> None:
    identifier = harness.trade(limit("100.00"), seconds=5)
    for quantity, price in (("3", "100"), ("3", "90"), ("4", "80")):
        act(harness, "fill_order", identifier, quantity=quantity, price=price)
    names = [fill["fill-id"] for fill in harness.order(identifier)["legs"][0]["fills"]]
    account = harness.own()
    booked, cash = list(account.transactions), account.cash
    act(harness, "bust_fill", identifier, fill_id=names[0])
    act(harness, "bust_fill", identifier, fill_id=names[1], price="95")
    shown = harness.order(identifier)
    assert (shown["status"], shown["legs"][0]["remaining-quantity"]) == ("Filled", 0)
    assert fills(harness, identifier) == [(3, Decimal(95)), (4, Decimal(80))]
    assert [fill["fill-id"] for fill in shown["legs"][0]["fills"]] == names[1:]
    undone, undone_too, again = account.transactions[len(booked) :]
    assert [each.wire.reverses_id for each in (undone, undone_too, again)] == [
        *(each.wire.id for each in booked[-3:-1]),
        None,
    ]
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
        identifier = harness.trade(limit("100.00"), seconds=5)
        if quantity:
            act(harness, "fill_order", identifier, quantity=quantity)
        act(harness, "remove_order", identifier, status=status)
        assert harness.status(identifier) == expected
        assert harness.cancel(identifier).status == 422
    on_its_way = harness.place(limit("100.00"))
    act(harness, "remove_order", on_its_way, status="Dead")
    assert harness.history(on_its_way) == ["Received", "Dead"]
    for wrong, message in (("Filled", "status must be one of Removed, "), ("Removed", "cannot become Removed")):
        with pytest.raises(ValueError, match=message):
            act(harness, "remove_order", on_its_way, status=wrong)


def test_pending_removal_ends_with_a_second_call(harness: Harness) -> None:
    identifier = harness.trade(limit("100.00"), seconds=5)
    act(harness, "remove_order", identifier, status="Remove Pending")
    harness.set_price("AAPL", 90)
    harness.wait(60)
    assert harness.status(identifier) == "Remove Pending"
    act(harness, "remove_order", identifier)
    assert harness.status(identifier) == "Removed"


def test_order_is_held_in_a_status_until_it_is_released(harness: Harness) -> None:
    for status in ("Received", "Routed", "In Flight"):
        identifier = harness.place(limit("100.00"))
        act(harness, "hold_order", identifier, status=status)
        harness.wait(60)
        assert harness.history(identifier)[-1] == status
        act(harness, "release_order", identifier)
        harness.wait(5)
        assert harness.status(identifier) == "Live"
    act(harness, "hold_order", "*", status="Routed")
    first, second = harness.place(limit("100.00")), harness.place(limit("100.00"))
    harness.wait(60)
    assert harness.status(first) == harness.status(second) == "Routed"
    act(harness, "release_order", "*")
    harness.wait(5)
    assert harness.status(first) == harness.status(second) == "Live"


def test_held_confirmation_of_a_cancellation_loses_to_a_fill(harness: Harness) -> None:
    for quantity, ends in ((None, "Filled"), ("4", "Cancelled")):
        identifier = harness.place(limit("100.00"))
        act(harness, "hold_order", identifier, status="Cancel Requested")
        harness.wait(5)
        assert harness.cancel(identifier).status == 200
        harness.wait(60)
        assert harness.status(identifier) == "Cancel Requested"
        act(harness, "fill_order", identifier, quantity=quantity, price="100")
        act(harness, "release_order", identifier)
        assert harness.status(identifier) == ends
        assert [filled for filled, _ in fills(harness, identifier)] == [Decimal(quantity or 10)]


def test_wrong_orders_and_statuses_are_refused(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    for name, status in ((identifier, "Cancelled"), ("*", None), (identifier, "lost")):
        with pytest.raises(ValueError, match="status must be one of Received, "):
            act(harness, "hold_order", name, status=status)
    with pytest.raises(LookupError, match="unknown order 1"):
        act(harness, "hold_order", "1")
    identifier = harness.trade(market())
    with pytest.raises(ValueError, match="must be on its way or live to be filled, it is Filled"):
        act(harness, "fill_order", identifier)
    with pytest.raises(LookupError, match="unknown order 7"):
        act(harness, "fill_order", "7")


def test_order_is_rejected_on_its_way_and_live(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    act(harness, "expire_order", identifier)
    assert harness.status(identifier) == "Expired"
    with pytest.raises(ValueError, match="cannot become Expired, it is Expired"):
        act(harness, "expire_order", identifier)
    identifier = harness.place(limit("100.00"))
    act(harness, "reject_order", identifier, reason="no")
    assert (harness.status(identifier), harness.order(identifier)["reject-reason"]) == ("Rejected", "no")
    with pytest.raises(ValueError, match=f"order {identifier} cannot become Rejected, it is Rejected"):
        act(harness, "reject_order", identifier)
    live = harness.trade(limit("100.00"), seconds=5)
    act(harness, "reject_order", live)
    assert harness.history(live)[-2:] == ["Live", "Rejected"]
    harness.sim.clock.speed = 0
    harness.set_price("AAPL", 90)
    harness.wait(5)
    assert harness.status(live) == "Rejected"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantity": "11"}, "quantity must be a multiple of 1 up to 10, got 11"),
        ({"quantity": "0.5"}, "quantity must be a multiple of 1 up to 10, got 0.5"),
        ({"quantity": "-1"}, "quantity must be positive, got -1"),
        ({"quantity": "x"}, "quantity must be a number, got 'x'"),
        ({"price": "0"}, "price must be positive"),
    ],
)
def test_invalid_fill_changes_nothing(harness: Harness, arguments: dict[str, str], message: str) -> None:
    identifier = harness.place(limit("100.00"))
    with pytest.raises(ValueError, match=message):
        act(harness, "fill_order", identifier, **arguments)
    assert harness.history(identifier) == ["Received"]
    assert not harness.brokerage.recording.entries[-1:] or "fill" not in str(harness.brokerage.recording.entries[-1])


def test_spread_is_filled_in_units_without_a_price(harness: Harness) -> None:
    one, two = ("AAPL  260717C00200000", "AAPL  260717C00210000")
    body = limit("0.01", leg(one, "2", kind="Equity Option"), leg(two, "4", "Sell to Open", kind="Equity Option"))
    identifier = harness.place(body)
    with pytest.raises(ValueError, match="price must be left out"):
        act(harness, "fill_order", identifier, price="1")
    act(harness, "fill_order", identifier, quantity="1")
    assert [Decimal(str(each["remaining-quantity"])) for each in harness.order(identifier)["legs"]] == [1, 2]
    legs = [
        leg("AAPL  260717C00200000", "1", "Buy to Open"),
        leg("AAPL  260717C00210000", "1", "Sell to Open"),
    ]
    identifier = harness.place(limit("50.00", *legs))
    act(harness, "hold_order", identifier, status="Filled")
    harness.wait(600)
    assert (harness.status(identifier), len(fills(harness, identifier))) == ("Filled", 1)
    act(harness, "release_order", identifier)
    assert len(fills(harness, identifier)) == 2
