"""Objects on the account stream: as the REST API has them, chains of orders, and gains of a year."""

import json
from decimal import Decimal
from typing import Any

import msgspec

from brokerage_async import models
from brokerage_async.simulator.api.accounts import Positions
from brokerage_async.simulator.streams.account_views import (
    external_transaction,
    order_chain,
    position_row,
    year_gains,
)
from tests.simulator.harness import Harness, leg, market
from tests.tables import for_each

YEAR = 366 * 86400


def trade(harness: Harness, quantity: int, action: str = "Buy to Open") -> str:
    return harness.trade(market(leg(quantity=str(quantity), action=action)), seconds=20)


def as_sent(wire: Any) -> dict[str, Any]:
    """Return a wire struct as a client gets it."""
    assert wire is not None
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(wire))
    return decoded


def test_position_is_that_of_the_list_and_ends_with_direction_zero(harness: Harness) -> None:
    def position(identifier: str) -> dict[str, Any]:
        execution: Any = harness.own().transactions[-1].booked
        assert str(execution.order_number) == identifier
        return as_sent(position_row(Positions(harness.state), harness.own(), execution, harness.now))

    identifier = trade(harness, 3)
    found = position(identifier)
    [listed] = harness.rows(f"/accounts/{harness.account}/positions")
    assert str(found.pop("order-id")) == identifier
    assert {**found, "updated-at": None} == {**listed, "updated-at": None}
    found = position(trade(harness, 3, "Sell to Close"))
    assert (float(found["quantity"]), found["quantity-direction"]) == (0, "Zero")


def test_transfer_of_cash_has_every_key(harness: Harness) -> None:
    [deposit] = harness.own().transactions
    transfer = as_sent(external_transaction(harness.own(), deposit))
    assert transfer["direction"] == "Deposit"
    read = models.converter.structure(transfer, models.ExternalTransaction)
    assert not read.extra
    fields = {name for name in dir(read) if not name.startswith("_") and name != "extra"}
    assert [name for name in fields if getattr(read, name) is None] == []


def chain(harness: Harness, underlying: str = "AAPL") -> dict[str, Any]:
    """Return the chain of the first account, as JSON."""
    return as_sent(order_chain(harness.own(), underlying))


def test_open_chain_ends_with_its_positions_and_every_field_is_read(harness: Harness) -> None:
    assert order_chain(harness.own(), "AAPL") is None
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


def test_chain_realizes_the_gain_of_the_part_that_is_closed(harness: Harness) -> None:
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


def gains(harness: Harness, underlying: str = "AAPL", later: float = 0) -> models.UnderlyingYearGainSummary | None:
    """Return the summary as a client reads it."""
    sent = year_gains(harness.own(), underlying, harness.now + later)
    return None if sent is None else models.converter.structure(as_sent(sent), models.UnderlyingYearGainSummary)


def test_opening_costs_fees_and_gains_nothing(harness: Harness) -> None:
    assert gains(harness) is None
    harness.sim.set_price("AAPL", 100)
    trade(harness, 1)
    assert gains(harness, "SPY") is None
    assert gains(harness, later=YEAR) is None
    trade(harness, 4000)
    found = gains(harness)
    assert (found.account_number, found.symbol, found.instrument_type) == (harness.account, "AAPL", "Equity")
    assert (found.yearly_realized_gain, found.realized_lot_gain) == (0, 0)
    assert found.fees is not None
    assert found.fees > 0
    assert found.fees_effect == "Debit"
    assert found.extra == {}


@for_each("price, gain", [(110, 30), (95, -15)])
def test_gain_of_the_year_is_realized_by_the_part_that_is_closed(price: int, gain: int) -> None:
    harness = Harness().login()
    harness.sim.set_price("AAPL", 100)
    trade(harness, 4)
    harness.sim.set_price("AAPL", price)
    trade(harness, 3, "Sell to Close")
    found = gains(harness)
    assert found.yearly_realized_gain == found.realized_lot_gain == Decimal(abs(gain))
    assert found.yearly_realized_gain_effect == ("Credit" if gain > 0 else "Debit")
