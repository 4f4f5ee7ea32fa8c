"""Orders fill as prices cross, and in parts where the size is short."""

from decimal import Decimal
from typing import Any

from brokerage_async.simulator import PricePath
from tests.simulator.harness import Harness, leg, limit, market, spread
from tests.tables import for_each


def scripted(*rows: tuple[float, str, str, int]) -> Harness:
    """Return a brokerage where each row sets AAPL's bid, ask and size from a time in seconds."""
    path = [
        {"time": at, "price": bid, "bid": bid, "ask": ask, "bid_size": size, "ask_size": size}
        for at, bid, ask, size in rows
    ]
    return Harness(prices={"AAPL": PricePath(path)}).login()


def filled(harness: Harness, identifier: str) -> Decimal:
    return sum((quantity for quantity, _ in harness.fills(identifier)), Decimal(0))


def test_order_fills_at_bid_or_ask_once_they_cross_it() -> None:
    harness = scripted((0, "99.90", "100.10", 1000), (100, "99.80", "100.00", 1000))
    identifier = harness.trade(limit("100.00"), seconds=95)
    assert harness.status(identifier) == "Live"
    harness.wait(10)
    assert (harness.status(identifier), {price for _, price in harness.fills(identifier)}) == ("Filled", {100})
    harness = scripted((0, "99.90", "100.10", 1000))
    identifier = harness.trade(market(leg(action="Sell to Open")))
    assert {price for _, price in harness.fills(identifier)} == {Decimal("99.90")}


IOC = limit("101.00", leg(quantity="100"), time_in_force="IOC")
NOTIONAL = market(leg(quantity=None), order_type="Notional Market", value="50", value_effect="Debit")


@for_each(
    "quotes, body, steps",
    [
        (
            [(0, "199.90", "200.10", 30), (60, "199.90", "200.10", 50), (120, "199.90", "200.10", 500)],
            market(leg(quantity="100")),
            [(59, "Live", 30), (60, "Live", 80), (30, "Filled", 100)],
        ),
        ([(0, "99.90", "100.10", 30)], IOC, [(30, "Cancelled", 30)]),
        # 3 contracts are wanted of the second option: enough for one unit of one and two
        (
            [(0, "199.90", "200.10", 60), (60, "199.90", "200.10", 2000)],
            spread("2", "4"),
            [(59, "Live", 1 + 2), (60, "Filled", 2 + 4)],
        ),
        (
            [(0, "99.90", "100.10", 0), (60, "99.90", "100.10", 1)],
            NOTIONAL,
            [(59, "Live", 0), (10, "Filled", Decimal("0.5005"))],
        ),
    ],
)
def test_order_larger_than_the_size_fills_quote_by_quote(quotes: Any, body: dict[str, Any], steps: Any) -> None:
    harness = scripted(*quotes)
    identifier = harness.place(body)
    for seconds, status, quantity in steps:
        harness.wait(seconds)
        assert (harness.status(identifier), filled(harness, identifier)) == (status, quantity)


def test_orders_of_one_side_share_the_size_of_a_quote() -> None:
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


@for_each("seconds", [20, 90])
def test_buying_power_follows_the_path_within_a_minute(seconds: int) -> None:
    harness = Harness(prices={"AAPL": PricePath([(0, "200"), (10, "260")])}).login()
    target = f"/accounts/{harness.accounts[1]}/balances/USD"
    before = harness.get(target)["data"]["derivative-buying-power"]
    harness.wait(seconds)
    assert harness.get(target)["data"]["derivative-buying-power"] != before
