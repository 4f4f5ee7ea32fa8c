"""Customers, their accounts and who may see them, positions, transactions, balances and those of the past."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import attrs

from brokerage_async._generated.converters import AccountBalanceWire
from brokerage_async.models import TimeOfDay
from brokerage_async.protocol.decoding.fields import wire_fields
from tests.simulator.harness import Harness, leg, market, switched


def test_customer_accounts_and_trading_status(harness: Harness) -> None:
    assert harness.decoded("accounts.customer").id == "me"
    owned = harness.decoded("accounts.list")
    assert tuple(each.account.account_number for each in owned) == harness.accounts
    assert [each.account.margin_or_cash for each in owned] == ["Margin", "Margin", "Cash"]
    assert {each.authority_level for each in owned} == {"owner"}
    assert harness.decoded("accounts.get").account_number == harness.account
    statuses = [harness.decoded("accounts.trading_status", account_number=number) for number in harness.accounts]
    assert [status.short_calls_enabled for status in statuses] == [True, True, False]


def test_day_trader_fields_can_vanish() -> None:
    for harness, arrive in switched("day_trader_fields_still_arrive", True, False):
        account = f"/accounts/{harness.account}"
        shown = harness.get(f"{account}/trading-status")["data"] | harness.get(f"{account}/balances/USD")["data"]
        shown |= harness.rows("/customers/me/accounts")[0]["account"]
        names = {"is-pattern-day-trader", "day-trade-count", "day-trader-status", "day-trading-buying-power"}
        assert names & shown.keys() == (names if arrive else set())


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


def test_short_option_is_unsigned_and_costs_a_debit(harness: Harness) -> None:
    shares, call = harness.decoded("positions.list", "include-marks=true", account_number=harness.accounts[1])
    assert (shares.quantity_direction, shares.cost_effect) == ("Long", "Credit")
    assert (call.quantity, call.quantity_direction, call.cost_effect) == (1, "Short", "Debit")
    assert call.mark == call.mark_price * call.quantity * call.multiplier
    assert call.expires_at is not None
    assert call.close_price > 0


def test_future_sold_beyond_what_is_held_is_short_at_the_price_of_the_sale(harness: Harness) -> None:
    for quantity, action, price in (("1", "Buy", "6100"), ("3", "Sell", "6000")):
        harness.sim.fill_order(harness.place(market(leg("/ESZ6", quantity, action))), price=price)
    [short] = harness.decoded("positions.list")
    assert (short.quantity, short.quantity_direction, short.average_open_price) == (2, "Short", 6000)


def test_positions_are_filtered(harness: Harness) -> None:
    account = harness.accounts[1]
    harness.trade(market(leg("/ESZ6", "1", "Buy")), account, seconds=5)
    counts = {
        "symbol=AAPL": 1,
        "underlying-symbol[]=AAPL&underlying-symbol[]=MSFT": 2,
        "underlying-symbol[]=MSFT": 0,
        "instrument-type=Equity%20Option": 1,
        "underlying-product-code=ES": 1,
        "underlying-product-code=NQ": 0,
        "partition-keys[]=other": 0,
        "net-positions=true": 3,
    }
    found = {query: len(harness.decoded("positions.list", query, account_number=account)) for query in counts}
    assert found == counts


def test_position_expires_when_its_instrument_does(harness: Harness) -> None:
    option = harness.rows("/futures-option-chains/ES")[0]
    future = harness.get("/instruments/futures/ESU6")["data"]
    harness.place(market(leg(option["symbol"], "1", kind="Future Option")))
    harness.trade(market(leg(future["symbol"], "1", kind="Future")), seconds=5)
    shown = {row["symbol"]: row["expires-at"] for row in harness.rows(f"/accounts/{harness.account}/positions")}
    assert shown == {row["symbol"]: row["expires-at"] for row in (option, future)}


def test_transactions_are_filtered_and_paged(harness: Harness) -> None:
    target = f"/accounts/{harness.accounts[1]}/transactions"
    none = harness.get(f"/accounts/{harness.account}/transactions/total-fees")["data"]
    assert none == {"total-fees": "0.00", "total-fees-effect": "None"}
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


def test_transaction_of_an_evening_belongs_to_its_eastern_day(harness: Harness) -> None:
    harness.wait_until("2026-06-10T20:30:00-04:00")  # the next day in UTC
    harness.sim.move_cash(harness.account, "25")
    target, days = f"/accounts/{harness.account}/transactions", ("2026-06-09", "2026-06-10", "2026-06-11")
    before, [row], after = (harness.rows(f"{target}?start-date={day}&end-date={day}") for day in days)
    assert before == after == []
    assert (row["transaction-date"], row["executed-at"][:10]) == ("2026-06-10", "2026-06-11")


AMOUNT = ("amount", "effect")


def balance_of(harness: Harness, **account: str) -> Any:
    [balance] = harness.decoded("balances.list", **account)
    return balance


def test_balance_is_one_object_or_a_list_and_has_all_but_a_few_fields(harness: Harness) -> None:
    balance = balance_of(harness)
    missing = {key for key, field in wire_fields(AccountBalanceWire).items() if getattr(balance, field.target) is None}
    parts = {f"intraday-{kind}-cash-{name}" for kind in ("equities", "futures") for name in (*AMOUNT, "effective-date")}
    parts |= {f"previous-day-cryptocurrency-fiat-{name}" for name in AMOUNT}
    parts |= {"apex-starting-day-margin-equity", "previous-date-cryptocurrency-fiat-effective-date", "time-of-day"}
    assert missing == parts
    target = harness.target("balances.list")
    assert "items" not in harness.get(target)["data"]
    assert len(harness.get(target, accept_version="20260629")["data"]["items"]) == 1
    assert attrs.evolve(harness.decoded("balances.get", currency="USD"), extra={}) == balance
    assert harness.ask("GET", f"{target}/EUR").status == 404


def test_snapshots_are_the_newest_and_the_current_balance_by_default(harness: Harness) -> None:
    newest, current = harness.decoded("balances.snapshots")
    assert (newest.time_of_day, str(newest.snapshot_date)) == (TimeOfDay.BOD, "2026-06-10")
    assert current.time_of_day is None
    assert attrs.evolve(current, extra={}) == balance_of(harness)
    pages = [harness.decoded("balances.snapshots", f"per-page=1&page-offset={offset}") for offset in range(3)]
    assert pages == [[newest], [current], []]


def test_snapshot_shows_the_account_of_its_time(harness: Harness) -> None:
    harness.wait_until("2026-06-10T19:59:50+00:00")
    harness.trade(market(leg(quantity="30")), seconds=5)
    harness.wait_until("2026-06-10T20:00:00+00:00")
    at_close = balance_of(harness)
    harness.wait_until("2026-06-11T14:00:00+00:00")
    harness.trade(market(leg(quantity="30", action="Sell to Close")), seconds=5)
    [bod, eod] = harness.decoded("balances.snapshots", "start-date=2026-06-10&end-date=2026-06-10")
    assert (bod.cash_balance, bod.long_equity_value) == (10_000_000, 0)
    assert attrs.evolve(eod, time_of_day=None, extra={}) == at_close
    assert at_close.long_equity_value > 0
    assert harness.decoded("balances.snapshots", "snapshot-date=2026-06-10&time-of-day=EOD") == [eod]


def test_snapshots_are_filtered_and_a_day_without_time_or_with_a_range_is_refused(harness: Harness) -> None:
    counts = {
        "time-of-day=EOD&start-date=2026-06-01": 7,
        "start-date=2026-06-01&end-date=2026-06-05": 10,
        "end-date=2025-05-10": 7,
        "snapshot-date=2026-06-07&time-of-day=EOD": 0,
        "time-of-day=Intraday": 0,
        "currency=EUR&time-of-day=EOD": 0,
        "currency=EUR": 0,
        "time-of-day=BOD": 250,
    }
    assert {query: len(harness.decoded("balances.snapshots", query)) for query in counts} == counts
    for query in ("snapshot-date=2026-06-09", "snapshot-date=2026-06-09&start-date=2026-06-08"):
        harness.error("GET", f"/accounts/{harness.account}/balance-snapshots?{query}")


HISTORY = "balances.net_liq_history"


def test_history_ends_with_the_present_and_follows_prices(production: Harness) -> None:
    production.wait(90)
    second = {"account_number": production.accounts[1]}
    rows = production.decoded(HISTORY, "time-back=1d", **second)
    assert rows[-1].close == balance_of(production, **second).net_liquidating_value
    for row in rows:
        assert row.low <= min(row.open, row.close) <= max(row.open, row.close) <= row.high
        assert (row.total_open, row.total_high) == (row.open, row.high)
        assert (row.total_low, row.total_close, row.pending_cash_close) == (row.low, row.close, 0)
    assert len({row.close for row in rows}) > 1


def test_history_before_the_first_trade_is_the_cash(production: Harness) -> None:
    production.trade(market(leg(quantity="1000")), seconds=5)
    production.sim.set_price("AAPL", 250)
    production.wait(5)
    *before, last = production.decoded(HISTORY, "time-back=1d")
    assert {row.close for row in before} == {Decimal(10_000_000)}
    assert last.open == 10_000_000
    assert last.close == balance_of(production).net_liquidating_value > 10_040_000


def test_history_has_intervals_of_its_range_from_the_opening_or_the_start_asked_for(production: Harness) -> None:
    target = production.target(HISTORY)
    assert production.ask("GET", target).status == 422
    production.wait(150)
    [row, *_] = production.rows(f"{target}?time-back=1d")
    assert row["time"] == "2026-06-10 13:30:00+00"
    day = "2026-06-09"
    rows = {
        "time-back=1d": (7, "2026-06-10T13:30", "2026-06-10T14:00"),
        f"start-time={day}T13:30:00Z": (8, f"{day}T13:30", "2026-06-10T13:30"),
        f"time-back=1y&start-time={day}T13:30:00Z&end-time={day}T13:45:00Z": (3, f"{day}T13:30", f"{day}T13:40"),
        "time-back=1w": (5 * 7, "2026-06-03T14:30", "2026-06-10T13:30"),
        "time-back=1m": (22, "2026-05-11T13:30", "2026-06-10T13:30"),
        "time-back=3m": (64, "2026-03-11T13:30", "2026-06-10T13:30"),
        "time-back=1y": (252, "2025-06-10T13:30", "2026-06-10T13:30"),
        "time-back=all": (275, "2025-05-07T13:30", "2026-06-10T13:30"),
        "start-time=2026-06-10T14:03:30Z": (0, "", ""),
    }
    found = {query: [f"{row.time:%FT%R}" for row in production.decoded(HISTORY, query)] for query in rows}
    ends = {query: (len(times), min(times, default=""), max(times, default="")) for query, times in found.items()}
    assert ends == rows
    for now in ("2026-06-10T13:00", "2026-06-09T23:00"):  # the market is closed
        closed = Harness(environment="production", start=datetime.fromisoformat(f"{now}+00:00")).login()
        times = [f"{row.time:%FT%R}" for row in closed.decoded(HISTORY, "time-back=1d")]
        assert (now, len(times), times[0], times[-1]) == (now, 78, f"{day}T13:30", f"{day}T19:55")
