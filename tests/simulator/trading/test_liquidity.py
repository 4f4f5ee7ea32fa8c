"""Orders fill as prices cross, and in parts where the size is short."""

from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.simulator import PricePath
from tests.simulator.harness import Harness, leg, limit, market


def scripted(*rows: tuple[float, str, str, int]) -> Harness:
    """Return a brokerage where each row sets AAPL's bid, ask and size from a time in seconds."""
    path = [
        {"time": at, "price": bid, "bid": bid, "ask": ask, "bid_size": size, "ask_size": size}
        for at, bid, ask, size in rows
    ]
    return Harness(prices={"AAPL": PricePath(path)}).login()


def fills(harness: Harness, identifier: str) -> list[tuple[Decimal, Decimal]]:
    order = harness.order(identifier)
    return [
        (Decimal(str(fill["quantity"])), Decimal(fill["fill-price"]))
        for each in order["legs"]
        for fill in each["fills"]
    ]


def filled(harness: Harness, identifier: str) -> Decimal:
    return sum((quantity for quantity, _ in fills(harness, identifier)), Decimal(0))


def test_order_fills_at_bid_or_ask_once_they_cross_it() -> None:
    harness = scripted((0, "99.90", "100.10", 1000), (100, "99.80", "100.00", 1000))
    identifier = harness.trade(limit("100.00"), seconds=95)
    assert harness.status(identifier) == "Live"
    harness.wait(10)
    assert harness.status(identifier) == "Filled"
    assert {price for _, price in fills(harness, identifier)} == {Decimal("100.00")}
    harness = scripted((0, "99.90", "100.10", 1000))
    identifier = harness.trade(market(leg(action="Sell to Open")))
    assert {price for _, price in fills(harness, identifier)} == {Decimal("99.90")}


def test_order_larger_than_the_size_fills_quote_by_quote() -> None:
    harness = scripted((0, "199.90", "200.10", 30), (60, "199.90", "200.10", 50), (120, "199.90", "200.10", 500))
    identifier = harness.trade(market(leg(quantity="100")), seconds=59)
    assert (harness.status(identifier), filled(harness, identifier)) == ("Live", 30)
    harness.wait(60)
    assert (harness.status(identifier), filled(harness, identifier)) == ("Live", 80)
    harness.wait(30)
    assert (harness.status(identifier), filled(harness, identifier)) == ("Filled", 100)
    harness = scripted((0, "99.90", "100.10", 30))
    identifier = harness.trade({**limit("101.00", leg(quantity="100")), "time-in-force": "IOC"}, seconds=30)
    assert (harness.status(identifier), filled(harness, identifier)) == ("Cancelled", 30)
    harness = scripted((0, "199.90", "200.10", 60), (60, "199.90", "200.10", 2000))
    one, two = ("AAPL  260717C00200000", "AAPL  260717C00210000")
    option: dict[str, Any] = {"kind": "Equity Option"}
    body = limit("50.00", leg(one, "2", **option), leg(two, "4", "Sell to Open", **option))
    identifier = harness.trade(body, seconds=59)
    # 3 contracts are wanted of the second option: enough for one unit of one and two
    assert [Decimal(str(each["remaining-quantity"])) for each in harness.order(identifier)["legs"]] == [1, 2]
    harness.wait(60)
    assert harness.status(identifier) == "Filled"
    harness = scripted((0, "99.90", "100.10", 0), (60, "99.90", "100.10", 1))
    body = {
        "order-type": "Notional Market", "time-in-force": "Day", "value": "50", "value-effect": "Debit",
        "legs": [leg(quantity=None)],
    }  # fmt: skip
    identifier = harness.trade(body, seconds=59)
    assert harness.status(identifier) == "Live"
    harness.wait(10)
    assert harness.status(identifier) == "Filled"
    harness = scripted((0, "199.90", "200.10", 50))
    first, second = (harness.place(market(leg(quantity="40"))) for _ in range(2))
    sale = harness.trade(market(leg(quantity="50", action="Sell to Close")), harness.accounts[1], seconds=30)
    assert filled(harness, first) + filled(harness, second) == 50
    assert harness.status(sale, harness.accounts[1]) == "Filled"


def test_alert_triggers_and_balance_moves_as_the_path_does() -> None:
    harness = Harness(prices={"AAPL": PricePath([(0, "200"), (30, "260"), (45.5, "180")])}).login()
    account = harness.accounts[1]  # holds shares
    alert = harness.alert(">", "250.00")
    equity = [harness.get(f"/accounts/{account}/balances/USD")["data"]["margin-equity"]]
    for seconds in (31, 15):
        harness.wait(seconds)
        equity.append(harness.get(f"/accounts/{account}/balances/USD")["data"]["margin-equity"])
    assert Decimal(equity[1]) > Decimal(equity[0]) > Decimal(equity[2])
    (row,) = [row for row in harness.rows("/quote-alerts") if row["alert-external-id"] == alert]
    assert row["triggered-at"].startswith("2026-06-10T14:00:30")


@pytest.mark.parametrize("seconds", [20, 90])
def test_buying_power_follows_the_path_within_a_minute(seconds: int) -> None:
    harness = Harness(prices={"AAPL": PricePath([(0, "200"), (10, "260")])}).login()
    target = f"/accounts/{harness.accounts[1]}/balances/USD"
    before = harness.get(target)["data"]["derivative-buying-power"]
    harness.wait(seconds)
    assert harness.get(target)["data"]["derivative-buying-power"] != before
