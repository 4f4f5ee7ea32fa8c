"""Day trades of the last five trading days."""

from __future__ import annotations

from brokerage_async.simulator.accounts.accounts import day_trade_count
from tests.simulator.harness import Harness, leg, market


def count(harness: Harness) -> int:
    account = harness.state.accounts.get(harness.account)
    assert account is not None
    return day_trade_count(account, harness.now)


def trade(harness: Harness, action: str, symbol: str = "AAPL") -> None:
    harness.place(market(leg(symbol, "2", action)))
    harness.wait(10)


def test_day_trades_are_counted_per_day_and_forgotten_after_a_week(harness: Harness) -> None:
    assert count(harness) == 0
    for _ in range(2):
        trade(harness, "Buy to Open")
        trade(harness, "Sell to Close")
    assert count(harness) == 1
    trade(harness, "Buy to Open", "MSFT")
    assert count(harness) == 1
    trade(harness, "Sell to Close", "MSFT")
    assert count(harness) == 2
    harness = Harness().login()
    trade(harness, "Buy to Open")
    trade(harness, "Sell to Close")
    harness.wait_until("2026-06-16T15:00:00+00:00")
    assert count(harness) == 1
    harness.wait_until("2026-06-17T15:00:00+00:00")
    assert count(harness) == 0


def test_position_held_overnight_is_no_day_trade(harness: Harness) -> None:
    trade(harness, "Buy to Open")
    harness.wait_until("2026-06-11T15:00:00+00:00")
    trade(harness, "Sell to Close")
    assert count(harness) == 0
