"""Bookings of an account."""

from decimal import Decimal

import pytest

from brokerage_async.simulator.api.wire import WireForm
from tests.simulator.harness import Harness, leg, market


def test_fill_is_booked(harness: Harness) -> None:
    identifier = harness.place(market(leg(quantity="9")))
    harness.wait(10)
    fills = harness.order(identifier)["legs"][0]["fills"]
    rows = harness.rows(f"/accounts/{harness.account}/transactions?type=Trade")
    assert [row["ext-exec-id"] for row in reversed(rows)] == [fill["ext-exec-id"] for fill in fills]
    for row in rows:
        assert str(row["order-id"]) == identifier
        value = Decimal(row["quantity"]) * Decimal(row["price"])
        assert (Decimal(row["value"]), row["value-effect"]) == (value, "Debit")
        fees = sum(Decimal(row[name]) for name in ("commission", "clearing-fees", "regulatory-fees"))
        assert Decimal(row["net-value"]) == value + fees


@pytest.mark.parametrize(("form", "kind"), [("observed", int), ("documented", str)])
def test_identifiers_and_counts_follow_the_wire_form(form: WireForm, kind: type) -> None:
    harness = Harness(wire=form).login()
    identifier = harness.place(market(leg(quantity="1")))
    harness.wait(10)
    trade, deposit = harness.rows(f"/accounts/{harness.account}/transactions")
    assert (type(trade["id"]), type(trade["order-id"]), type(trade["leg-count"])) == (kind, kind, kind)
    assert (str(trade["order-id"]), str(trade["leg-count"])) == (identifier, "1")
    assert type(deposit["id"]) is kind


def net(row: dict[str, str]) -> Decimal:
    return Decimal(row["net-value"]) * (-1 if row["net-value-effect"] == "Debit" else 1)


def test_bookings_of_every_account_add_up(harness: Harness) -> None:
    for number in harness.accounts:
        account = harness.state.accounts.get(number)
        assert account.cash == sum(map(net, harness.rows(f"/accounts/{number}/transactions")))
    (row,) = harness.rows(f"/accounts/{harness.account}/transactions")
    assert row["transaction-type"] == "Money Movement"
    assert not {"symbol", "action", "quantity", "price"} & set(row)


def test_trade_of_a_future_is_worth_the_gain_on_what_it_closes(harness: Harness) -> None:
    price = harness.sim.brokerage.state.prices.set_price
    price("/ESU6", Decimal("6000.25"), harness.now)
    harness.place(market(leg("/ESU6", "2", kind="Future")))
    harness.wait(10)
    price("/ESU6", Decimal("6010.50"), harness.now)
    harness.place(market(leg("/ESU6", "2", "Sell to Close", "Future")))
    harness.wait(10)
    *closed, deposit = harness.rows(f"/accounts/{harness.account}/transactions")
    values = {(row["action"], row["value-effect"]): Decimal(0) for row in closed}
    for row in closed:
        values[row["action"], row["value-effect"]] += Decimal(row["value"])
    assert values == {("Buy to Open", "None"): 0, ("Sell to Close", "Credit"): 2 * 50 * Decimal("10.25")}
    account = harness.state.accounts.get(harness.account)
    assert account.cash == sum(map(net, [*closed, deposit]))
