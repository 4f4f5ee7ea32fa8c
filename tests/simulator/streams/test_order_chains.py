"""Chains of orders, from the executions of an account."""

import json
from decimal import Decimal
from typing import Any

import msgspec

from brokerage_async import models
from brokerage_async.simulator.streams.account_views import order_chain
from tests.simulator.harness import Harness, leg, market


def chain(harness: Harness, underlying: str = "AAPL") -> dict[str, Any]:
    """Return the chain of the first account, as JSON."""
    account = harness.state.accounts.get(harness.account)
    assert account is not None
    found = order_chain(account, underlying)
    assert found is not None
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(found))
    return decoded


def trade(harness: Harness, quantity: int, action: str = "Buy to Open") -> str:
    identifier = harness.place(market(leg(quantity=str(quantity), action=action)))
    harness.wait(20)
    return identifier


def test_open_chain_ends_with_its_positions_and_every_field_is_read(harness: Harness) -> None:
    account = harness.state.accounts.get(harness.account)
    assert account is not None
    assert order_chain(account, "AAPL") is None
    identifier = trade(harness, 3)
    found = chain(harness)
    assert [node["node-type"] for node in found["lite-nodes"]] == ["order", "open-positions"]
    assert (str(found["id"]), str(found["lite-nodes"][0]["id"])) == (identifier, identifier)
    totals = found["computed-data"]
    assert (totals["open"], totals["total-opening-cost-effect"], totals["winner-realized"]) == (True, "Debit", False)
    assert Decimal(totals["realized-gain"]) == 0
    [entry] = totals["open-entries"]
    assert (entry["symbol"], entry["quantity"], entry["quantity-type"]) == ("AAPL", "3", "Long")
    assert found["created-at"].endswith("+0000")
    trade(harness, 3)
    read = models.converter.structure(chain(harness), models.OrderChain)
    assert not read.extra
    assert read.created_at.tzinfo is not None
    assert not read.computed_data.extra
    assert read.lite_nodes is not None
    assert all(not node.extra for node in read.lite_nodes)


def test_gain_is_realized_by_the_part_that_is_closed(harness: Harness) -> None:
    harness.sim.set_price("AAPL", 100)
    trade(harness, 4)
    harness.sim.set_price("AAPL", 110)
    trade(harness, 3, "Sell to Close")
    totals = chain(harness)["computed-data"]
    assert (Decimal(totals["realized-gain"]), totals["realized-gain-effect"]) == (Decimal(30), "Credit")
    fees = Decimal(totals["total-fees"]) + Decimal(totals["total-commissions"])
    assert Decimal(totals["realized-gain-with-fees"]) == 30 - fees
    assert totals["open"]
    trade(harness, 1, "Sell to Close")
    found = chain(harness)
    assert Decimal(found["computed-data"]["realized-gain"]) == 40
    assert found["computed-data"]["winner-realized-and-closed"]
    assert (found["computed-data"]["open"], found["lite-nodes-sizes"], len(found["lite-nodes"])) == (False, 3, 3)


def test_closed_chain_is_followed_by_another(harness: Harness) -> None:
    first = trade(harness, 1)
    trade(harness, 1, "Sell to Close")
    second = trade(harness, 2)
    found = chain(harness)
    assert first != second
    assert str(found["id"]) == second
    assert [node["legs"][0]["fill-quantity"] for node in found["lite-nodes"][:-1]] == ["2"]
