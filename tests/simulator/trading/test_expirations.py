"""Options at their expiration: positions end at their value, and orders expire."""

from decimal import Decimal
from typing import Any

from brokerage_async.models import LegAction, OptionType
from brokerage_async.simulator.market.catalogue import future_option_instrument
from brokerage_async.simulator.market.instrument import Instrument, occ_symbol
from brokerage_async.simulator.trading.accounts import Account
from tests.simulator.harness import Harness, leg, limit
from tests.tables import for_each

PLACE = "AAPL"


def call_held(harness: Harness) -> tuple[Account, Any]:
    account = harness.quiet().own(harness.accounts[1])
    (call,) = [each.instrument for each in account.positions.values() if each.instrument.is_option]
    return account, call


def opened(harness: Harness, account: Account, option: Instrument, quantity: int, price: int = 1) -> None:
    """Book a position that an account has held from the start."""
    action = LegAction.BUY_TO_OPEN if quantity > 0 else LegAction.SELL_TO_OPEN
    amounts = Decimal(abs(quantity)), Decimal(price)
    harness.state.bookkeeping.open_position(account, option, action, *amounts, harness.now)


def rows_at_end(harness: Harness, account: Account, option: Any) -> tuple[list[tuple[str, ...]], Decimal]:
    """Let an option expire, and return the transactions that this books and the cash that it moves.

    A transaction is its type, sub-type, symbol, action, quantity, price and value.
    """
    cash, count = account.cash, len(account.transactions)
    harness.wait(option.expires_at - harness.now)
    rows = harness.login().rows(f"/accounts/{account.number}/transactions?sort=Asc&per-page=200")[count:]
    names = ("transaction-type", "transaction-sub-type", "symbol", "action", "quantity", "price", "value")
    return [tuple(str(row[name]) for name in names) for row in rows], account.cash - cash


def test_option_out_of_the_money_expires_worthless(harness: Harness) -> None:
    account, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike - 1)
    harness.wait(option.expires_at - 1 - harness.now)
    assert account.held(option.symbol) == -1
    (row,), moved = rows_at_end(harness, account, option)
    assert (row[:4], moved) == (("Receive Deliver", "Expiration", option.symbol, "Buy to Close"), 0)
    assert option.symbol not in {each["symbol"] for each in harness.rows(f"/accounts/{account.number}/positions")}


@for_each("held", [1, -2])
@for_each("right", list(OptionType))
def test_option_in_the_money_is_delivered_at_its_strike(right: OptionType, held: int) -> None:
    harness = Harness().login()
    (_, call), account = call_held(harness), harness.own()
    is_long, is_call = held > 0, right is OptionType.CALL
    symbol = occ_symbol("AAPL", call.expires, right, call.strike)
    opened(harness, account, harness.instrument(symbol), held)
    harness.sim.set_price(PLACE, call.strike + (10 if is_call else -10))
    (end, delivery), moved = rows_at_end(harness, account, call)
    shares = held * 100 * (1 if is_call else -1)
    assert {each.instrument.symbol: each.quantity for each in account.positions.values()} == {PLACE: shares}
    assert (account.positions[PLACE].average_price, moved) == (call.strike, -shares * call.strike)
    way, closes = ("Exercise", "Sell to Close") if is_long else ("Assignment", "Buy to Close")
    assert (end[:4], Decimal(end[6])) == (("Receive Deliver", way, symbol, closes), 0)
    opens = "Buy to Open" if shares > 0 else "Sell to Open"
    assert delivery[:5] == ("Receive Deliver", opens, PLACE, opens, f"{abs(shares)}")
    assert (Decimal(delivery[5]), Decimal(delivery[6])) == (call.strike, abs(shares) * call.strike)


def test_delivery_closes_shares_that_are_held_and_opens_the_rest(harness: Harness) -> None:
    account, call = call_held(harness)
    opened(harness, account, harness.instrument(PLACE), -60)  # of 100
    harness.sim.set_price(PLACE, call.strike + 5)
    rows, _ = rows_at_end(harness, account, call)
    assert [(row[1], row[4]) for row in rows] == [("Assignment", "1"), ("Sell to Close", "40"), ("Sell to Open", "60")]
    assert account.held(PLACE) == -60


def test_option_on_an_index_is_settled_in_cash(harness: Harness) -> None:
    (_, call), account = call_held(harness), harness.own()
    symbol = occ_symbol("SPX", call.expires, OptionType.PUT, Decimal(6000))
    opened(harness, account, harness.instrument(symbol), 2, 9)
    harness.sim.set_price("SPX", 5990)
    (row,), moved = rows_at_end(harness, account, call)
    assert row[:4] == ("Receive Deliver", "Cash Settled Exercise", symbol, "Sell to Close")
    assert moved == 2 * 10 * 100


def test_option_on_a_future_delivers_it_unless_both_expire_together(harness: Harness) -> None:
    state, account = harness.quiet().state, harness.own()
    chain = state.catalogue.chain("ES")
    weekly = next(one for one in chain.expirations if not one.is_regular and one.day > state.catalogue.today)
    option = future_option_instrument(f"{weekly.symbol_start}C6000")
    opened(harness, account, option, 1, 9)
    harness.sim.set_price(option.underlying, 6050)
    rows_at_end(harness, account, option)
    future = account.positions[option.underlying]
    assert (future.quantity, future.average_price) == (1, 6000)
    assert future.instrument.symbol.startswith("/ES")
    harness.sim.set_price(option.underlying, 6060)
    (row,), moved = rows_at_end(harness, account, future.instrument)
    assert row[:4] == ("Receive Deliver", "Futures Settlement", option.underlying, "Sell")
    assert moved == 60 * future.instrument.multiplier
    assert not account.positions


def test_everything_is_settled_in_cash_without_the_behaviour() -> None:
    harness = Harness(without=["options_deliver"]).login()
    account, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike + Decimal("3.50"))
    (row,), moved = rows_at_end(harness, account, option)
    assert row[:4] == ("Receive Deliver", "Cash Settled Assignment", option.symbol, "Buy to Close")
    assert moved == -350


def test_order_for_an_option_expires_with_it_and_is_refused_later(harness: Harness) -> None:
    account, option = call_held(harness)
    harness.sim.set_price(PLACE, option.strike + 5)
    for_option, for_shares = (
        harness.place(limit("0.01", one, time_in_force="GTC")) for one in (leg(option.symbol, "1"), leg())
    )
    rows_at_end(harness, account, option)
    assert (harness.status(for_option), harness.status(for_shares)) == ("Expired", "Live")
    assert harness.codes(limit("0.01", leg(option.symbol, "1"))) == ["instrument_expired"]


def test_day_order_ends_with_its_option_before_the_session_does(harness: Harness) -> None:
    option: Any = future_option_instrument(harness.rows("/instruments/future-options?per-page=1")[0]["symbol"])
    harness.wait(option.expires_at - 1800 - harness.now)
    identifier = harness.login().trade(limit("0.05", leg(option.symbol, "1")), seconds=1799)
    assert harness.login().status(identifier) == "Live"
    assert harness.status(identifier, after=60) == "Expired"
