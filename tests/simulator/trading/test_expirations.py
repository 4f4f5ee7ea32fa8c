"""Options at their expiration: positions end at their value, and orders expire."""

from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.models import InstrumentType, LegAction, OptionType
from brokerage_async.simulator.market.future_options import future_option_instrument
from brokerage_async.simulator.market.instrument import occ_symbol
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


def rows_since(harness: Harness, account: Any, count: int) -> list[tuple[str, ...]]:
    """Return type, sub-type, symbol, action, quantity, price and value of the transactions after the first ones."""
    rows = harness.rows(f"/accounts/{account.number}/transactions?sort=Asc&per-page=200")[count:]
    names = ("transaction-type", "transaction-sub-type", "symbol", "action", "quantity", "price", "value")
    return [tuple(str(row[name]) for name in names) for row in rows]


def test_option_out_of_the_money_expires_worthless(harness: Harness) -> None:
    account, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike - 1)
    cash, count = account.cash, len(account.transactions)
    harness.wait(option.expires_at - 1 - harness.now)
    assert account.held(option.symbol) == -1
    wait_for_end(harness, option)
    (row,) = rows_since(harness, account, count)
    assert row[:4] == ("Receive Deliver", "Expiration", option.symbol, "Buy to Close")
    assert account.cash == cash
    assert option.symbol not in {each["symbol"] for each in harness.rows(f"/accounts/{account.number}/positions")}


@pytest.mark.parametrize("held", ["1", "-2"])
@pytest.mark.parametrize("right", list(OptionType))
def test_option_in_the_money_is_delivered_at_its_strike(harness: Harness, right: OptionType, held: str) -> None:
    _, call = call_held(harness)
    account = harness.own()
    symbol = occ_symbol("AAPL", call.expires, right, call.strike)
    option, quantity = harness.state.catalogue.instrument(InstrumentType.EQUITY_OPTION, symbol), Decimal(held)
    assert option is not None
    is_long, is_call = quantity > 0, right is OptionType.CALL
    action = LegAction.BUY_TO_OPEN if is_long else LegAction.SELL_TO_OPEN
    harness.state.bookkeeping.open_position(account, option, action, abs(quantity), Decimal(1), harness.now)
    harness.sim.set_price(PLACE, call.strike + (10 if is_call else -10))
    cash, count = account.cash, len(account.transactions)
    wait_for_end(harness, call)
    shares = quantity * 100 * (1 if is_call else -1)
    assert {each.instrument.symbol: each.quantity for each in account.positions.values()} == {PLACE: shares}
    assert account.positions[PLACE].average_price == call.strike
    assert account.cash == cash - shares * call.strike
    end, delivery = rows_since(harness, account, count)
    way, closes = ("Exercise", "Sell to Close") if is_long else ("Assignment", "Buy to Close")
    assert end[:4] == ("Receive Deliver", way, symbol, closes)
    assert Decimal(end[6]) == 0
    opens = "Buy to Open" if shares > 0 else "Sell to Open"
    assert delivery[:5] == ("Receive Deliver", opens, PLACE, opens, f"{abs(shares):f}")
    assert (Decimal(delivery[5]), Decimal(delivery[6])) == (call.strike, abs(shares) * call.strike)


def test_delivery_closes_shares_that_are_held_and_opens_the_rest(harness: Harness) -> None:
    account, call = call_held(harness)
    before = account.held(PLACE)
    shares = harness.state.catalogue.instrument(InstrumentType.EQUITY, PLACE)
    assert shares is not None
    wanted = 40 - before
    action = LegAction.BUY_TO_OPEN if wanted > 0 else LegAction.SELL_TO_CLOSE
    harness.state.bookkeeping.open_position(account, shares, action, abs(wanted), Decimal(100), harness.now)
    harness.sim.set_price(PLACE, call.strike + 5)
    count = len(account.transactions)
    wait_for_end(harness, call)
    assert [(row[1], row[4]) for row in rows_since(harness, account, count)] == [
        ("Assignment", "1"), ("Sell to Close", "40"), ("Sell to Open", "60"),
    ]  # fmt: skip
    assert account.held(PLACE) == -60


def test_option_on_an_index_is_settled_in_cash(harness: Harness) -> None:
    _, call = call_held(harness)
    account = harness.own()
    symbol = occ_symbol("SPX", call.expires, OptionType.PUT, Decimal(6000))
    option = harness.state.catalogue.instrument(InstrumentType.EQUITY_OPTION, symbol)
    assert option is not None
    harness.state.bookkeeping.open_position(account, option, LegAction.BUY_TO_OPEN, Decimal(2), Decimal(9), harness.now)
    harness.sim.set_price("SPX", 5990)
    cash, count = account.cash, len(account.transactions)
    wait_for_end(harness, call)
    (row,) = rows_since(harness, account, count)
    assert row[:4] == ("Receive Deliver", "Cash Settled Exercise", symbol, "Sell to Close")
    assert account.cash == cash + 2 * 10 * 100


def test_option_on_a_future_delivers_it_unless_both_expire_together(harness: Harness) -> None:
    state = harness.state
    account, product = state.accounts.of(state.owner)[0], "/ES"
    chain = state.catalogue.chain("ES")
    assert chain is not None
    weekly = next(one for one in chain.expirations if not one.is_regular and one.day > state.catalogue.today)
    option = future_option_instrument(f"{weekly.symbol_start}C6000")
    state.bookkeeping.open_position(account, option, LegAction.BUY_TO_OPEN, Decimal(1), Decimal(9), harness.now)
    harness.sim.set_price(option.underlying, 6050)
    wait_for_end(harness, option)
    future = account.positions[option.underlying]
    assert (future.quantity, future.average_price) == (1, 6000)
    harness.sim.set_price(option.underlying, 6060)
    cash, count = account.cash, len(account.transactions)
    wait_for_end(harness, future.instrument)
    (row,) = rows_since(harness, account, count)
    assert row[:4] == ("Receive Deliver", "Futures Settlement", option.underlying, "Sell")
    assert account.cash == cash + 60 * future.instrument.multiplier
    assert not account.positions
    assert product in option.underlying


def test_everything_is_settled_in_cash_without_the_behaviour() -> None:
    harness = Harness(without=["options_deliver"])
    account, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike + Decimal("3.50"))
    cash, count = account.cash, len(account.transactions)
    wait_for_end(harness, option)
    (row,) = rows_since(harness, account, count)
    assert row[:4] == ("Receive Deliver", "Cash Settled Assignment", option.symbol, "Buy to Close")
    assert account.cash == cash - 350


def test_order_for_an_option_expires_with_it_and_is_refused_later(harness: Harness) -> None:
    _, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike + 5)
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
    identifier = harness.trade(limit("0.05", leg(option.symbol, "1", kind="Future Option")), seconds=1799)
    assert harness.login().status(identifier) == "Live"
    harness.wait(60)
    assert harness.status(identifier) == "Expired"
