"""Past states of an account."""

from __future__ import annotations

from decimal import Decimal

from brokerage_async.simulator.accounts.accounts import Account, opened_at, replay
from tests.simulator.harness import Harness, leg, market


def account_of(harness: Harness, number: str) -> Account:
    found = harness.state.accounts.get(number)
    assert found is not None
    return found


def test_replay_to_the_end_gives_the_present_state() -> None:
    harness = Harness(without=["cryptocurrency_orders_are_off", "no_account_holds_both_sides"]).login()
    second = harness.accounts[1]
    for body in (
        market(leg(quantity="7")),
        market(leg(quantity="40", action="Sell to Close")),
        market(leg("/ESU6", "3", kind="Future")),
        market(leg("/ESU6", "1", "Sell to Close", "Future")),
        market(leg("BTC/USD", "0.125", kind="Cryptocurrency")),
    ):
        harness.place(body, second)
        harness.wait(70)
    account = account_of(harness, second)
    [past] = replay(account, [harness.now])
    assert (past.cash, past.positions, past.version) == (account.cash, account.positions, account.version)
    assert past.transactions == account.transactions
    assert past is not account


def test_replay_stops_at_each_time_and_reserves_nothing(harness: Harness) -> None:
    harness.place(market(leg(quantity="1")))
    harness.wait(10)
    account = account_of(harness, harness.account)
    deposit, fill = account.transactions
    assert opened_at(account) == deposit.executed_at
    times = [deposit.executed_at - 1, deposit.executed_at, fill.executed_at - 0.001, fill.executed_at]
    states = [(past.cash, past.held("AAPL")) for past in replay(account, times)]
    assert states == [(0, 0), (10_000_000, 0), (10_000_000, 0), (account.cash, 1)]
    harness.place(market(leg(quantity="5")))
    account = account_of(harness, harness.account)
    assert account.reserved > 0
    [past] = replay(account, [harness.now])
    assert past.reserved == Decimal(0)
