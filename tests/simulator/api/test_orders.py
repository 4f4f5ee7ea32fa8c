"""Lists of orders: filters, directions, pages, versions. Orders on the wire, in both forms."""

import pytest

from brokerage_async.simulator.api.wire import WireForm
from tests.simulator.harness import Harness, condition, leg, limit, market, switched
from tests.tables import for_each


@pytest.fixture(scope="module")
def busy() -> Harness:
    return traded(Harness().login())


def traded(harness: Harness) -> Harness:
    """Give two accounts orders of three days: filled, resting, cancelled, on shares, a future and its option."""
    harness.place(market())
    harness.place(limit("100.00", time_in_force="GTC"))
    harness.wait_until("2026-06-11T15:00:00+00:00")
    harness.place(market(leg("/ESU6", "1", "Buy")))
    harness.place(limit("1.00", leg("./ESU6 ES3U6 260918P6000", "1", "Buy to Open"), time_in_force="GTC"))
    harness.wait_until("2026-06-12T15:00:00+00:00")
    cancelled = harness.place(limit("10.00", leg("MSFT")))
    harness.ask("DELETE", f"/accounts/{harness.account}/orders/{cancelled}")
    harness.trade(limit("5.00", leg("F")), harness.accounts[2], seconds=30)
    return harness


def search(harness: Harness, condition: str = "", accounts: int = 1) -> list[tuple[str, str]]:
    numbers = (harness.account, harness.accounts[2])[:accounts]
    query = "&".join(f"account-numbers[]={number}" for number in numbers)
    rows = harness.rows(f"/customers/me/orders?per-page=100&{query}{condition}")
    return [(row["legs"][0]["symbol"], row["status"]) for row in rows]


ALL = [
    ("MSFT", "Cancelled"),
    ("./ESU6 ES3U6 260918P6000", "Live"),
    ("/ESU6", "Filled"),
    ("AAPL", "Live"),
    ("AAPL", "Filled"),
]


def test_search_filters(busy: Harness) -> None:
    rows = {
        "": ALL,
        "&sort=Asc": ALL[::-1],
        "&sort=Desc": ALL,
        "&status[]=Filled": [ALL[2], ALL[4]],
        "&status[]=Filled&status[]=Cancelled": [ALL[0], ALL[2], ALL[4]],
        "&start-date=2026-06-11": ALL[:3],
        "&end-date=2026-06-11": ALL[1:],
        "&start-date=2026-06-11&end-date=2026-06-11": ALL[1:3],
        "&start-at=2026-06-12T00:00:00Z": ALL[:1],
        "&end-at=2026-06-10T14:00:00%2B00:00": ALL[3:],
        "&underlying-symbol=AAPL": ALL[3:],
        "&underlying-instrument-type=Future": ALL[1:3],
        "&futures-symbol=%2FESU6": ALL[1:3],
        "&futures-symbol=AAPL": [],
    }
    assert {condition: search(busy, condition) for condition in rows} == rows


def test_lists_over_one_and_several_accounts(busy: Harness) -> None:
    assert search(busy, accounts=2) == [("F", "Live"), *ALL]
    target = f"/accounts/{busy.account}/orders"
    assert [row["legs"][0]["symbol"] for row in busy.rows(target)] == [symbol for symbol, _ in ALL]
    assert len(busy.rows(f"{target}?status[]=Filled&start-date=2026-06-11")) == 1
    assert busy.get(target)["pagination"]["per-page"] == 100


def test_live_lists_keep_orders_of_earlier_days_while_they_work() -> None:
    for busy, older in switched("live_lists_keep_working_orders", 2, 0):
        traded(busy)
        customers = f"/customers/me/orders/live?account-numbers[]={busy.account}&account-numbers[]={busy.accounts[2]}"
        shown = [(row["legs"][0]["symbol"], row["status"]) for row in busy.rows(customers)]
        assert shown == [("F", "Live"), ("MSFT", "Cancelled"), *[ALL[1], ALL[3]][:older]]
        own = f"/accounts/{busy.account}/orders/live"
        assert [(row["legs"][0]["symbol"], row["status"]) for row in busy.rows(own)] == shown[1:]
        busy.cancel(busy.rows(f"/accounts/{busy.account}/orders")[3]["id"])
        assert len(busy.rows(f"{own}?sort=Asc")) == 3 if older else 2
        assert busy.rows(f"{own}?underlying-symbol=F") == []
        assert [row["status"] for row in busy.rows(f"{customers}&status[]=Live&underlying-symbol=F")] == ["Live"]
        busy.wait_until("2026-06-15T15:00:00+00:00")
        assert len(busy.rows(own)) == older // 2  # the one that was cancelled is gone


def test_order_of_an_evening_belongs_to_its_eastern_day() -> None:
    for harness, days in switched("order_searches_count_eastern_days", ["2026-06-10"], ["2026-06-11"]):
        harness.wait_until("2026-06-10T20:30:00-04:00")
        harness.place(limit(time_in_force="GTC"))
        for path in (f"accounts/{harness.account}/orders?", f"customers/me/orders?account-numbers[]={harness.account}"):
            every = ("2026-06-09", "2026-06-10", "2026-06-11")
            assert [day for day in every if harness.rows(f"/{path}&start-date={day}&end-date={day}")] == days


def test_unchanged_live_list_is_not_rendered_again(harness: Harness) -> None:
    target = f"/customers/me/orders/live?account-numbers[]={harness.account}"
    harness.trade(limit(), seconds=5)
    first = harness.ask("GET", target)
    assert harness.ask("GET", target) is first
    harness.place(limit())
    assert harness.ask("GET", target) is not first
    assert len(harness.rows(target)) == 2


@for_each(
    "form, kind, rules, conditions",
    [("observed", int, "rules", "conditions"), ("documented", str, "order-rule", "order-conditions")],
)
def test_orders_and_transactions_in_both_wire_forms(form: WireForm, kind: type, rules: str, conditions: str) -> None:
    harness = Harness(wire=form).login()
    wanted = [condition("MSFT", "lte", "1"), condition("MSFT", "gte", "9")]
    body = limit(rules={"route-after": "2026-06-10T12:00:00-02:00", "conditions": wanted})
    identifier = harness.trade(body, seconds=70)
    assert harness.cancel(identifier).status == 200
    shown = harness.order(identifier)
    assert type(shown["id"]) is type(shown["legs"][0]["quantity"]) is kind
    assert shown[rules]["route-after"] == "2026-06-10T14:00:00.000+00:00"
    first, second = shown[rules][conditions]
    assert (first["symbol"], first["threshold"], "triggered-at" in first) == ("MSFT", "1", False)
    assert second["triggered-at"] == "2026-06-10T14:00:00.000+00:00"
    assert shown["user-id"] == shown["cancel-user-id"] == str(harness.state.owner.number)
    assert "replaces-order-id" not in shown
    identifier = harness.trade(market(leg(quantity="1")))
    trade, deposit = harness.rows(f"/accounts/{harness.account}/transactions")
    assert {type(row) for row in (trade["id"], trade["order-id"], trade["leg-count"], deposit["id"])} == {kind}
    assert (str(trade["order-id"]), str(trade["leg-count"])) == (identifier, "1")
    assert deposit["transaction-type"] == "Money Movement"
    assert not {"symbol", "action", "quantity", "price"} & set(deposit)
