"""Customers, their accounts and who may see them, positions and transactions."""

from decimal import Decimal
from typing import Any

from tests.simulator.harness import Harness, leg, market


def test_customer_accounts_and_trading_status(harness: Harness) -> None:
    assert harness.decoded("accounts.customer", "/customers/me").id == "me"
    accounts = harness.decoded("accounts.list", "/customers/me/accounts")
    assert [(each.account.account_number, each.account.margin_or_cash, each.authority_level) for each in accounts] == [
        (number, kind, "owner") for number, kind in zip(harness.accounts, ("Margin", "Margin", "Cash"), strict=True)
    ]
    account = harness.decoded("accounts.get", f"/customers/me/accounts/{harness.account}")
    assert account.account_number == harness.account
    for number, enabled in ((harness.accounts[0], True), (harness.accounts[2], False)):
        status = harness.decoded("accounts.trading_status", f"/accounts/{number}/trading-status")
        assert status.short_calls_enabled is enabled


def test_day_trader_fields_can_vanish() -> None:
    for without, arrive in (((), True), (["day_trader_fields_still_arrive"], False)):
        harness = Harness(without=without).login()
        account = f"/accounts/{harness.account}"
        rows = (
            (harness.get(f"{account}/trading-status")["data"], "is-pattern-day-trader"),
            (harness.get(f"{account}/trading-status")["data"], "day-trade-count"),
            (harness.rows("/customers/me/accounts")[0]["account"], "day-trader-status"),
            (harness.get(f"{account}/balances/USD")["data"], "day-trading-buying-power"),
        )
        assert [name for row, name in rows if (name in row) is not arrive] == []


def test_foreign_account_is_403_and_unknown_account_404(harness: Harness) -> None:
    own, foreign = f"account-numbers[]={harness.account}", harness.sim.foreign_account_number
    stranger = harness.sim.foreign_customer_id
    cases = {
        f"/accounts/{foreign}/orders": 403,
        f"/accounts/{foreign}/trading-status": 403,
        f"/customers/me/orders?account-numbers[]={foreign}": 403,
        f"/customers/{stranger}": 403,
        f"/customers/{stranger}/orders?{own}": 403,
        "/accounts/NOPE/orders": 404,
        "/customers/1": 404,
        "/customers/me/accounts/5WT99999": 404,
        **{f"/customers/{name}/orders?{own}": 404 for name in ("1", "nobody", "9" * 5000, "%D9%A1")},
        f"/customers/me/orders?{own}": 200,
        "/customers/me/orders": 422,
    }
    found = {target: harness.ask("GET", target).status for target in cases}
    assert found == cases


def test_customer_number_is_unknown_unless_switched_off() -> None:
    found = []
    for without in ([], ["customer_is_me"]):
        harness = Harness(without=without).login()
        number = harness.state.owner.number
        path = f"/customers/{number}/orders?account-numbers[]={harness.account}"
        found.append((harness.sim.customer_id, harness.ask("GET", path).status))
    assert found == [("me", 404), (str(number), 200)]


def positions(harness: Harness, account: str, query: str = "") -> list[Any]:
    found: list[Any] = harness.decoded("positions.list", f"/accounts/{account}/positions?{query}")
    return found


def test_fills_open_and_close_a_position(harness: Harness) -> None:
    assert positions(harness, harness.account) == []
    harness.trade(market(leg(quantity="30")), seconds=5)
    [held] = positions(harness, harness.account)
    booked = [row for row in harness.rows(f"/accounts/{harness.account}/transactions") if row.get("symbol")]
    assert (held.symbol, held.quantity, held.quantity_direction) == ("AAPL", 30, "Long")
    assert (held.average_open_price * 30).quantize(Decimal("0.01")) == sum(Decimal(row["value"]) for row in booked)
    assert held.updated_at is not None
    assert held.mark is None
    harness.trade(market(leg(quantity="30", action="Sell to Close")), seconds=5)
    assert positions(harness, harness.account) == []
    harness.trade(market(leg("/ESZ6", "1", "Buy")), seconds=5)
    [held] = positions(harness, harness.account, "underlying-product-code=ES")
    assert (held.symbol, held.multiplier) == ("/ESZ6", 50)
    assert positions(harness, harness.account, "underlying-product-code=NQ") == []


def test_short_option_is_unsigned_and_costs_a_debit(harness: Harness) -> None:
    shares, call = positions(harness, harness.accounts[1], "include-marks=true")
    assert (shares.quantity_direction, shares.cost_effect) == ("Long", "Credit")
    assert (call.quantity, call.quantity_direction, call.cost_effect) == (1, "Short", "Debit")
    assert call.mark == call.mark_price * call.quantity * call.multiplier
    assert call.expires_at is not None
    assert call.close_price > 0


def test_filters(harness: Harness) -> None:
    counts = {
        "symbol=AAPL": 1,
        "underlying-symbol[]=AAPL&underlying-symbol[]=MSFT": 2,
        "underlying-symbol[]=MSFT": 0,
        "instrument-type=Equity%20Option": 1,
        "underlying-product-code=ES": 0,
        "partition-keys[]=other": 0,
        "net-positions=true": 2,
    }
    assert {query: len(positions(harness, harness.accounts[1], query)) for query in counts} == counts


def test_position_expires_when_its_instrument_does(harness: Harness) -> None:
    option = harness.rows("/futures-option-chains/ES")[0]
    future = harness.get("/instruments/futures/ESU6")["data"]
    harness.place(market(leg(option["symbol"], "1", kind="Future Option")))
    harness.trade(market(leg(future["symbol"], "1", kind="Future")), seconds=5)
    shown = {row["symbol"]: row["expires-at"] for row in harness.rows(f"/accounts/{harness.account}/positions")}
    assert shown == {row["symbol"]: row["expires-at"] for row in (option, future)}


def test_filters_and_pages(harness: Harness) -> None:
    target = f"/accounts/{harness.accounts[1]}/transactions"
    every = harness.rows(target)
    assert len(every) == 15
    assert [row["id"] for row in every] == sorted((row["id"] for row in every), reverse=True)
    assert harness.get(f"{target}/{every[3]['id']}")["data"] == every[3]
    assert harness.ask("GET", f"{target}/1").status == 404
    day, interest = every[3]["transaction-date"], every[3]["transaction-sub-type"]
    cases = {
        "sort=Asc": every[::-1],
        "per-page=5&page-offset=2": every[10:],
        f"start-date={day}&end-date={day}": [every[3]],
        f"start-at={day}T00:00:00Z": every[:4],
        "types[]=Trade&types[]=Receive%20Deliver": every[:2],
        "underlying-symbol=AAPL": every[:2],
        "symbol=AAPL": every[1:2],
        "instrument-type=Equity&action=Buy%20to%20Open": every[1:2],
        "instrument-type=Equity&action=Sell%20to%20Close": [],
        "sub-type[]=Credit%20Interest&currency=USD": [e for e in every if e["transaction-sub-type"] == interest],
        "sub-type[]=Dividend": [],
        "currency=EUR": [],
        "futures-symbol=/ESZ6": [],
        "partition-key=other": [],
    }
    assert [query for query, rows in cases.items() if harness.rows(f"{target}?{query}") != rows] == []
    assert (interest, len(cases["sub-type[]=Credit%20Interest&currency=USD"])) == ("Credit Interest", 12)


def test_total_fees_are_those_of_the_day(harness: Harness) -> None:
    target = f"/accounts/{harness.account}/transactions"
    assert harness.get(f"{target}/total-fees")["data"] == {"total-fees": "0.00", "total-fees-effect": "None"}
    harness.trade(market())
    trades = [row for row in harness.rows(target) if row["transaction-type"] == "Trade"]
    kinds = ("regulatory-fees", "clearing-fees", "commission", "proprietary-index-option-fees")
    paid = sum(Decimal(row[kind]) for row in trades for kind in kinds)
    day = trades[0]["transaction-date"]
    fees = harness.decoded("transactions.total_fees", f"{target}/total-fees?date={day}")
    assert fees.total_fees == paid > 0
    assert fees.total_fees_effect == "Debit"
    assert len(harness.decoded("transactions.list", target)) == len(trades) + 1


def test_transaction_of_an_evening_belongs_to_its_eastern_day(harness: Harness) -> None:
    harness.wait_until("2026-06-10T20:30:00-04:00")  # the next day in UTC
    harness.act("move_cash", account_number=harness.account, amount="25")
    found = [
        day
        for day in ("2026-06-09", "2026-06-10", "2026-06-11")
        if harness.rows(f"/accounts/{harness.account}/transactions?start-date={day}&end-date={day}")
    ]
    assert found == ["2026-06-10"]
    (row,) = harness.rows(f"/accounts/{harness.account}/transactions?start-date=2026-06-10")
    assert (row["transaction-date"], row["executed-at"][:10]) == ("2026-06-10", "2026-06-11")
