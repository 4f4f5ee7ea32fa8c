"""Orders are filled, rejected and expired from outside, as their status allows."""

from decimal import Decimal
from typing import Any

import pytest

from tests.simulator.harness import Harness, leg, limit, market


def act(harness: Harness, name: str, identifier: str, **arguments: Any) -> None:
    harness.brokerage.act(name, harness.now, order_id=identifier, **arguments)


def fills(harness: Harness, identifier: str) -> list[tuple[Decimal, Decimal]]:
    found = [fill for each in harness.order(identifier)["legs"] for fill in each["fills"]]
    return [(Decimal(str(fill["quantity"])), Decimal(fill["fill-price"])) for fill in found]


def test_resting_order_is_filled_in_parts_at_a_price(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    harness.wait(5)
    act(harness, "fill_order", identifier, quantity="4", price="99.50")
    assert harness.status(identifier) == "Live"
    act(harness, "fill_order", identifier)
    assert harness.status(identifier) == "Filled"
    (part, price), (rest, market_price) = fills(harness, identifier)
    assert (part, price, rest) == (4, Decimal("99.50"), 6)
    assert market_price > 100
    assert harness.state.accounts.get(harness.account).held("AAPL") == 10


def test_order_on_its_way_is_filled_through_every_status(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    act(harness, "fill_order", identifier, quantity="3")
    assert harness.history(identifier) == ["Received", "Routed", "Live"]
    harness.wait(60)
    assert harness.history(identifier) == ["Received", "Routed", "Live"]
    assert [quantity for quantity, _ in fills(harness, identifier)] == [3]


def test_order_is_rejected_before_it_is_live_only(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    act(harness, "reject_order", identifier, reason="no")
    assert (harness.status(identifier), harness.order(identifier)["reject-reason"]) == ("Rejected", "no")
    live = harness.place(limit("100.00"))
    harness.wait(5)
    with pytest.raises(ValueError, match=f"order {live} cannot become Rejected, it is Live"):
        act(harness, "reject_order", live)


def test_order_expires(harness: Harness) -> None:
    identifier = harness.place(limit("100.00"))
    act(harness, "expire_order", identifier)
    assert harness.status(identifier) == "Expired"
    with pytest.raises(ValueError, match="cannot become Expired, it is Expired"):
        act(harness, "expire_order", identifier)


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


def test_filled_and_unknown_orders_are_refused(harness: Harness) -> None:
    identifier = harness.place(market())
    harness.wait(10)
    with pytest.raises(ValueError, match="must be on its way or live to be filled, it is Filled"):
        act(harness, "fill_order", identifier)
    with pytest.raises(LookupError, match="unknown order 7"):
        act(harness, "fill_order", "7")
