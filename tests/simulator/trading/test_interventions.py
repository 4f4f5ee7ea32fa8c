"""Orders are filled, rejected and expired from outside, as their status allows. Controls of a simulator in use."""

from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.simulator import PricePath
from brokerage_async.simulator.control.actions import ACTIONS
from tests.simulator.harness import Harness, limit, market, spread


def test_order_is_filled_by_hand_in_parts_at_any_status(harness: Harness) -> None:
    first, second = harness.place(limit()), harness.place(limit())
    harness.sim.fill_order(first, quantity="3")
    assert harness.history(first) == ["Received", "Routed", "In Flight", "Live"]
    harness.wait(60)
    assert harness.history(first) == ["Received", "Routed", "In Flight", "Live"]
    assert [quantity for quantity, _ in harness.fills(first)] == [3]
    harness.sim.fill_order(second, quantity="4", price="99.50")
    assert harness.status(second) == "Live"
    harness.sim.fill_order(second)
    assert harness.status(second) == "Filled"
    (part, price), (rest, market_price) = harness.fills(second)
    assert (part, price, rest) == (4, Decimal("99.50"), 6)
    assert market_price > 100
    assert harness.own().held("AAPL") == 3 + 10


def test_busted_fill_leaves_its_leg_and_a_corrected_one_stays(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=5)
    for quantity, price in (("3", "100"), ("3", "90"), ("4", "80")):
        harness.sim.fill_order(identifier, quantity=quantity, price=price)
    names = [fill["fill-id"] for fill in harness.order(identifier)["legs"][0]["fills"]]
    account = harness.own()
    booked, cash = list(account.transactions), account.cash
    harness.sim.bust_fill(identifier, fill_id=names[0])
    harness.sim.bust_fill(identifier, fill_id=names[1], price="95")
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


def test_order_is_removed_with_the_status_of_its_fills(harness: Harness) -> None:
    for quantity, status, expected in (
        (None, None, "Removed"),
        ("4", None, "Partially Removed"),
        (None, "Remove Pending", "Remove Pending"),
        (None, "Removed", "Removed"),
    ):
        identifier = harness.trade(limit(), seconds=5)
        if quantity:
            harness.sim.fill_order(identifier, quantity=quantity)
        harness.sim.remove_order(identifier, status=status)
        assert harness.status(identifier) == expected
        assert harness.cancel(identifier).status == 422
        if expected == "Remove Pending":  # until a second call
            pending = identifier
    on_its_way = harness.place(limit())
    harness.sim.remove_order(on_its_way, status="Dead")
    assert harness.history(on_its_way) == ["Received", "Dead"]
    for wrong, message in (("Filled", "status must be one of Removed, "), ("Removed", "cannot become Removed")):
        with pytest.raises(ValueError, match=message):
            harness.sim.remove_order(on_its_way, status=wrong)
    harness.sim.set_price("AAPL", 90)
    assert harness.status(pending, after=60) == "Remove Pending"
    harness.sim.remove_order(pending)
    assert harness.status(pending) == "Removed"


def test_order_is_held_in_a_status_until_it_is_released(harness: Harness) -> None:
    for status in ("Received", "Routed", "In Flight"):
        identifier = harness.place(limit())
        harness.sim.hold_order(identifier, status=status)
        harness.wait(60)
        assert harness.history(identifier)[-1] == status
        harness.sim.release_order(identifier)
        assert harness.status(identifier, after=5) == "Live"
    harness.sim.hold_order("*", status="Routed")
    first, second = harness.place(limit()), harness.place(limit())
    assert harness.status(first, after=60) == harness.status(second) == "Routed"
    held = harness.sim.snapshot()
    harness.sim.release_order()
    assert harness.status(first, after=5) == harness.status(second) == "Live"
    harness.sim.restore(held)
    assert harness.status(first) == harness.status(second) == "Routed"


def test_held_confirmation_of_a_cancellation_loses_to_a_fill(harness: Harness) -> None:
    for quantity, ends in ((None, "Filled"), ("4", "Cancelled")):
        identifier = harness.place(limit())
        harness.sim.hold_order(identifier, status="Cancel Requested")
        harness.wait(5)
        assert harness.cancel(identifier).status == 200
        assert harness.status(identifier, after=60) == "Cancel Requested"
        harness.sim.fill_order(identifier, quantity=quantity, price="100")
        harness.sim.release_order(identifier)
        assert harness.status(identifier) == ends
        assert [filled for filled, _ in harness.fills(identifier)] == [Decimal(quantity or 10)]


def test_wrong_orders_statuses_amounts_and_symbols_are_refused_and_change_nothing(harness: Harness) -> None:
    sim, filled, order = harness.sim, harness.trade(market()), harness.place(limit())
    pair, recorded = harness.place(spread("2", "4", price="0.01")), len(harness.brokerage.entries)
    cases: dict[str, list[tuple[Any, ...]]] = {
        "status must be one of Received, ": [
            *((sim.hold_order, order, status) for status in ("Cancelled", "lost")),
            (sim.hold_order, "*", None),
        ],
        "^unknown order aapl$": [(sim.hold_order, "aapl"), (sim.fill_order, "aapl")],
        "^unknown underlying aapl$": [(sim.price, "aapl"), (sim.set_price, "aapl", 5)],
        "unknown customer 7": [(sim.client, 7)],
        "unknown fill x": [(sim.bust_fill, filled, "x")],
        "must be a Decimal, an int or a str": [(sim.set_price, "AAPL", 5.5), (sim.fill_order, order, 0.5)],
        "must be on its way or live to be filled, it is Filled": [(sim.fill_order, filled)],
        "quantity must be a multiple of 1 up to 10, got 11": [(sim.fill_order, order, each) for each in ("11", 11)],
        "quantity must be a multiple of 1 up to 10, got 0.5": [(sim.fill_order, order, "0.5")],
        "quantity must be positive, got -1": [(sim.fill_order, order, "-1")],
        "quantity must be a number, got 'x'": [(sim.fill_order, order, "x")],
        "price must be positive": [(sim.fill_order, order, None, "0")],
        "price must be left out": [(sim.fill_order, pair, None, "1")],
        "price must be": [(sim.set_price, "AAPL", each) for each in ("0", "-1", "NaN", "Infinity", "dear", "", "1e99")],
    }
    for message, (call, *values) in ((message, call) for message, calls in cases.items() for call in calls):
        with pytest.raises(LookupError if "unknown" in message else ValueError, match=message):
            call(*values)
    assert (harness.history(order), sim.price("AAPL")) == (["Received"], 200)
    assert len(harness.brokerage.entries) == recorded


def test_order_is_rejected_or_expired_once_on_its_way_and_live(harness: Harness) -> None:
    for name, status, reason in (("expire_order", "Expired", []), ("reject_order", "Rejected", ["no"])):
        identifier, end = harness.place(limit()), getattr(harness.sim, name)
        end(identifier, *reason)
        order = harness.order(identifier)
        assert (order["status"], [order[key] for key in order if key == "reject-reason"]) == (status, reason)
        with pytest.raises(ValueError, match=f"order {identifier} cannot become {status}, it is {status}"):
            end(identifier)
    live = harness.trade(limit(), seconds=5)
    harness.sim.reject_order(live)
    assert harness.history(live)[-2:] == ["Live", "Rejected"]
    harness.sim.set_price("AAPL", 90)
    assert harness.status(live, after=5) == "Rejected"


def test_spread_is_filled_in_units_without_a_price(harness: Harness) -> None:
    identifier = harness.place(spread("2", "4", price="0.01"))
    harness.sim.fill_order(identifier, quantity="1")
    assert [Decimal(str(each["remaining-quantity"])) for each in harness.order(identifier)["legs"]] == [1, 2]
    identifier = harness.place(spread())
    harness.sim.hold_order(identifier, status="Filled")
    assert (harness.status(identifier, after=600), len(harness.fills(identifier))) == ("Filled", 1)
    harness.sim.release_order(identifier)
    assert len(harness.fills(identifier)) == 2


def test_prices_are_set_while_the_simulator_is_in_use(harness: Harness) -> None:
    sim, heard = harness.sim, []
    harness.state.prices.on_price(lambda symbol, now: heard.append(symbol))
    sim.set_source("MSFT", PricePath([(0, "7"), (60, "8")]))
    assert sim.price("MSFT") == 7
    sim.clock.advance(60)
    assert sim.price("MSFT") == 8
    walk = sim.price("AAPL")
    for symbol, follows in (("AAPL", walk), ("MSFT", 8)):
        sim.set_price(symbol, "150.25")
        assert sim.price(symbol) == Decimal("150.25")
        sim.clock.advance(3600)
        assert sim.price(symbol) == Decimal("150.25")
        sim.release_price(symbol)
        sim.release_price(symbol)  # without effect
        assert abs(sim.price(symbol) - follows) < 20
    assert heard == ["MSFT", *["AAPL"] * 2, *["MSFT"] * 2]
    sim.set_price("MSFT", 9)
    sim.set_source("MSFT", PricePath([(0, "7")]))
    assert sim.price("MSFT") == 7


def test_recorded_actions_give_the_same_history(harness: Harness) -> None:
    sim, count = harness.sim, len(harness.brokerage.entries)
    sim.set_price("AAPL", 1)
    assert len(harness.brokerage.entries) == count + 1
    filled, rejected, expired = (harness.place(limit()) for _ in range(3))
    sim.fill_order(filled, quantity=4, price=Decimal("99.5"))
    sim.reject_order(rejected, "no")
    sim.expire_order(expired)
    sim.set_price("AAPL", "150")
    sim.release_price("AAPL")
    sim.expire_tokens()
    sim.revoke()
    history = sim.ledger.history()
    sim.restore(sim.snapshot())
    assert sim.ledger.history() == history
    assert {action.__code__.co_argcount for action in ACTIONS.values()} == {2}
