"""Actions on the state, by name: invalid arguments are rejected, and a recording repeats each action."""

from typing import Any

import pytest

from brokerage_async.simulator.actions import ACTIONS
from tests.simulator.harness import Harness, limit
from tests.tables import for_each


def act(harness: Harness, name: str, **arguments: Any) -> Any:
    return harness.brokerage.act(name, harness.now, **arguments)


@for_each("price", ["0", "-1", "NaN", "Infinity", "dear", "", "1e99"])
def test_price_must_be_a_positive_number(harness: Harness, price: str) -> None:
    with pytest.raises(ValueError, match="price must be"):
        act(harness, "set_price", symbol="AAPL", price=price)
    assert harness.sim.price("AAPL") == 200


@for_each("name", ["fill_order", "reject_order", "expire_order"])
def test_unknown_order_is_refused(harness: Harness, name: str) -> None:
    with pytest.raises(LookupError, match="unknown order 7"):
        act(harness, name, order_id="7")


def test_recorded_actions_give_the_same_history(harness: Harness) -> None:
    count = len(harness.brokerage.recording.entries)
    with pytest.raises(ValueError, match="price must be"):
        act(harness, "set_price", symbol="AAPL", price="-1")
    assert len(harness.brokerage.recording.entries) == count
    act(harness, "set_price", symbol="AAPL", price="1")
    assert len(harness.brokerage.recording.entries) == count + 1
    filled, rejected, expired = (harness.place(limit()) for _ in range(3))
    act(harness, "fill_order", order_id=filled, quantity="4", price="99.5")
    act(harness, "reject_order", order_id=rejected, reason="no")
    act(harness, "expire_order", order_id=expired)
    act(harness, "set_price", symbol="AAPL", price="150")
    act(harness, "release_price", symbol="AAPL")
    act(harness, "expire_tokens")
    act(harness, "revoke")
    history = harness.brokerage.ledger.history()
    harness.sim.restore(harness.sim.snapshot())
    assert harness.sim.brokerage.ledger.history() == history
    for name, action in ACTIONS.items():
        assert action.__doc__, name
        assert action.__code__.co_argcount == 2
