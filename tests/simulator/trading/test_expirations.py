"""Options at their expiration: positions end for what they are worth, and orders expire."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.simulator.market.future_options import future_option_instrument
from tests.simulator.harness import Harness, leg, limit

PLACE = "AAPL"


def call_held(harness: Harness) -> Any:
    """Return the short call of the second account."""
    state = harness.sim.brokerage.state
    account = state.accounts.of(state.owner)[1]
    (position,) = [each for each in account.positions.values() if each.instrument.is_option]
    return account, position.instrument


def wait_for_end(harness: Harness, option: Any) -> None:
    harness.wait(option.expires_at - harness.now)
    harness.login()


@pytest.mark.parametrize(
    ("above", "kind", "paid"), [("-1", "Expiration", "0"), ("3.50", "Cash Settled Assignment", "350.00")]
)
def test_short_option_ends_for_what_it_is_worth(harness: Harness, above: str, kind: str, paid: str) -> None:
    account, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike + Decimal(above))
    cash = account.cash
    harness.wait(option.expires_at - 1 - harness.now)
    assert account.held(option.symbol) == -1
    wait_for_end(harness, option)
    assert account.held(option.symbol) == 0
    assert account.cash == cash - Decimal(paid)
    row = harness.rows(f"/accounts/{account.number}/transactions?sort=Desc&per-page=1")[0]
    assert (row["transaction-type"], row["transaction-sub-type"]) == ("Receive Deliver", kind)
    assert (row["symbol"], row["action"], Decimal(row["value"])) == (option.symbol, "Buy to Close", Decimal(paid))
    assert harness.rows(f"/accounts/{account.number}/positions") != []
    assert option.symbol not in {each["symbol"] for each in harness.rows(f"/accounts/{account.number}/positions")}


def test_long_option_is_exercised_for_cash(harness: Harness) -> None:
    _, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike)
    order = limit("50.00", leg(option.symbol, "2", kind="Equity Option"))
    identifier = harness.place(order)
    harness.wait(60)
    assert harness.status(identifier) == "Filled"
    own = harness.state.accounts.of(harness.state.owner)[0]
    harness.brokerage.act("set_price", harness.now, symbol=PLACE, price=str(option.strike + 5))
    cash = own.cash
    wait_for_end(harness, option)
    assert own.cash == cash + 2 * 5 * 100
    assert own.positions == {}


def test_order_for_an_option_expires_with_it_and_is_refused_later(harness: Harness) -> None:
    _, option = call_held(harness)
    resting = limit("0.01", leg(option.symbol, "1", kind="Equity Option"), time_in_force="GTC")
    shares = limit("1.00", time_in_force="GTC")
    for_option, for_shares = harness.place(resting), harness.place(shares)
    wait_for_end(harness, option)
    assert harness.status(for_option) == "Expired"
    assert harness.status(for_shares) == "Live"
    body = limit("0.01", leg(option.symbol, "1", kind="Equity Option"))
    response = harness.ask("POST", f"/accounts/{harness.account}/orders/dry-run", body)
    assert response.status == 422
    assert b"has expired" in response.body


def test_position_is_back_after_a_restore(harness: Harness) -> None:
    account, option = call_held(harness)
    before = harness.sim.snapshot()
    wait_for_end(harness, option)
    harness.sim.restore(before)
    account, option = call_held(harness)
    assert account.held(option.symbol) == -1


def test_day_order_ends_with_its_option_before_the_session_does(harness: Harness) -> None:
    rows = harness.rows("/instruments/future-options?per-page=1")
    option: Any = future_option_instrument(rows[0]["symbol"])
    harness.wait(option.expires_at - 1800 - harness.now)
    harness.login()
    identifier = harness.place(limit("0.05", leg(option.symbol, "1", kind="Future Option")))
    harness.wait(1799)
    assert harness.login().status(identifier) == "Live"
    harness.wait(60)
    assert harness.status(identifier) == "Expired"
