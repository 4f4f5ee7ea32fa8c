"""Accounts, their history and transactions, what an execution books with its fees, day trades, and margin."""

import json
from collections.abc import Callable
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async.models import InstrumentType, LegAction, PriceEffect
from brokerage_async.simulator.api.wire import Dialect, WireForm
from brokerage_async.simulator.market.calendar import local_date
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.trading.accounts import (
    Account,
    Fees,
    amounts,
    day_trade_count,
    effect,
    fees_of,
    opened_at,
    replay,
    requirement,
)
from brokerage_async.simulator.trading.bookkeeping import Bookkeeping
from tests.simulator.factories import SHARE, START, account, order
from tests.simulator.harness import CALL, HIGHER_CALL, Harness, check_effect, leg, limit, market, signed
from tests.tables import for_each

FUTURE = Instrument(symbol="/ESZ6", instrument_type=InstrumentType.FUTURE, underlying="/ESZ6", multiplier=Decimal(50))

DAY = 86_400.0

trades = st.lists(
    st.tuples(st.integers(-9, 9).filter(bool), st.decimals("1", "99", places=2, allow_nan=False)), max_size=12
)


@given(trades)
def test_trade_exchanges_cash_and_shares_at_the_price(plan: list[tuple[int, Decimal]]) -> None:
    held = account()
    for quantity, price in plan:
        held.trade(SHARE, Decimal(quantity), price, Decimal("0.01"), START)
    assert held.held("X") == sum(quantity for quantity, _ in plan)
    spent = sum((quantity * price for quantity, price in plan), Decimal(0))
    assert held.cash == 1000 - spent - Decimal("0.01") * len(plan)
    assert ("X" in held.positions) == (held.held("X") != 0)


@given(trades, st.decimals("1", "99", places=2, allow_nan=False))
def test_closing_a_future_pays_its_gain(plan: list[tuple[int, Decimal]], last: Decimal) -> None:
    held = account()
    for quantity, price in plan:
        held.trade(FUTURE, Decimal(quantity), price, Decimal(0), START)
    if held.held("/ESZ6"):
        held.trade(FUTURE, -held.held("/ESZ6"), last, Decimal(0), START)
    gained = sum((quantity * (last - price) * 50 for quantity, price in plan), Decimal(0))
    assert abs(held.cash - 1000 - gained) < Decimal("0.0001") or not plan


def traded(instrument: Instrument, *trades: tuple[int, float | str, float]) -> tuple[Account, list[Decimal]]:
    """Return an account after trades of a quantity at a price, seconds after noon, and what each has gained."""
    held = account()
    gains = [held.trade(instrument, Decimal(n), Decimal(price), Decimal(0), START + at) for n, price, at in trades]
    return held, gains


def test_trades_average_the_price_of_what_they_open() -> None:
    steps = [(10, 10, 0), (10, 20, 0), (-5, 50, 0), (-20, 40, 0)]
    shown = [traded(SHARE, *steps[:count])[0].positions["X"] for count in range(1, 5)]
    assert [(each.quantity, each.average_price) for each in shown] == [(10, 10), (20, 15), (15, 15), (-5, 40)]


def test_gain_of_a_day_is_realized_by_what_is_closed() -> None:
    position = traded(SHARE, (10, 10, 0), (-2, 13, 60), (-1, 9, 120))[0].positions["X"]
    assert position.realized_on(local_date(START)) == 5
    assert position.realized_on(local_date(START + DAY)) == 0
    position = traded(SHARE, (10, 10, 0), (-2, 13, 60), (-1, 9, 120), (-1, 11, DAY))[0].positions["X"]
    assert (position.realized_on(local_date(START + DAY)), position.opened_at) == (1, START)
    position = traded(SHARE, (1, 10, 0), (-3, 14, 60))[0].positions["X"]
    assert (position.quantity, position.average_price, position.opened_at) == (-2, 14, START + 60)
    assert position.realized_on(local_date(START)) == 4


def test_future_books_its_gain_to_the_cent() -> None:
    bought = [(1, price, 0) for price in (10, 10, 11)]
    held, _ = traded(FUTURE, *bought)
    assert round(held.positions["/ESZ6"].average_price * 3, 20) == 31
    held, gains = traded(FUTURE, *bought, *[(-1, 11, 0)] * 3)
    assert gains[3:] == [Decimal("33.33"), Decimal("33.34"), Decimal("33.33")]
    assert held.cash == 1100
    position = traded(FUTURE, (-2, 100, 0))[0].positions["/ESZ6"]
    assert (position.worth(Decimal("99.5")), position.worth(Decimal(101))) == (50, -100)


def count(harness: Harness) -> int:
    return day_trade_count(harness.own(), harness.now)


def trade(harness: Harness, action: str, symbol: str = "AAPL") -> None:
    harness.trade(market(leg(symbol, "2", action)))


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


def test_replay_to_the_end_gives_the_present_state() -> None:
    harness = Harness(without=["cryptocurrency_orders_are_off", "no_account_holds_both_sides"]).login()
    second = harness.accounts[1]
    for body in (
        market(leg(quantity="7")),
        market(leg(quantity="40", action="Sell to Close")),
        market(leg("/ESU6", "3")),
        market(leg("/ESU6", "1", "Sell to Close")),
        market(leg("BTC/USD", "0.125")),
    ):
        harness.trade(body, second, seconds=70)
    account = harness.own(second)
    [past] = replay(account, [harness.now])
    assert (past.cash, past.positions, past.version) == (account.cash, account.positions, account.version)
    assert past.transactions == account.transactions
    assert past is not account


def test_replay_stops_at_each_time_and_reserves_nothing(harness: Harness) -> None:
    harness.trade(market(leg(quantity="1")))
    account = harness.own()
    deposit, fill = account.transactions
    assert opened_at(account) == deposit.executed_at
    times = [deposit.executed_at - 1, deposit.executed_at, fill.executed_at - 0.001, fill.executed_at]
    states = [(past.cash, past.held("AAPL")) for past in replay(account, times)]
    assert states == [(0, 0), (10_000_000, 0), (10_000_000, 0), (account.cash, 1)]
    harness.place(market(leg(quantity="5")))
    account = harness.own()
    assert account.reserved > 0
    [past] = replay(account, [harness.now])
    assert past.reserved == Decimal(0)


def test_fill_is_booked(harness: Harness) -> None:
    identifier = harness.trade(market(leg(quantity="9")))
    fills = harness.order(identifier)["legs"][0]["fills"]
    rows = harness.rows(f"/accounts/{harness.account}/transactions?type=Trade")
    booked = [(row["ext-exec-id"], row["executed-at"]) for row in reversed(rows)]
    assert booked == [(fill["ext-exec-id"], fill["filled-at"]) for fill in fills]
    assert harness.own().cash == 10_000_000 - sum(Decimal(row["net-value"]) for row in rows)
    for row in rows:
        assert str(row["order-id"]) == identifier
        value = Decimal(row["quantity"]) * Decimal(row["price"])
        assert (Decimal(row["value"]), row["value-effect"]) == (value, "Debit")
        fees = sum(Decimal(row[name]) for name in ("commission", "clearing-fees", "regulatory-fees"))
        assert Decimal(row["net-value"]) == value + fees


@for_each("form, kind", [("observed", int), ("documented", str)])
def test_identifiers_and_counts_follow_the_wire_form(form: WireForm, kind: type) -> None:
    harness = Harness(wire=form).login()
    identifier = harness.trade(market(leg(quantity="1")))
    trade, deposit = harness.rows(f"/accounts/{harness.account}/transactions")
    assert (type(trade["id"]), type(trade["order-id"]), type(trade["leg-count"])) == (kind, kind, kind)
    assert (str(trade["order-id"]), str(trade["leg-count"])) == (identifier, "1")
    assert type(deposit["id"]) is kind


def net(row: dict[str, str]) -> Decimal:
    return Decimal(row["net-value"]) * (-1 if row["net-value-effect"] == "Debit" else 1)


def test_bookings_of_every_account_add_up(harness: Harness) -> None:
    for number in harness.accounts:
        account = harness.own(number)
        assert account.cash == sum(map(net, harness.rows(f"/accounts/{number}/transactions")))
    (row,) = harness.rows(f"/accounts/{harness.account}/transactions")
    assert row["transaction-type"] == "Money Movement"
    assert not {"symbol", "action", "quantity", "price"} & set(row)


def test_trade_of_a_future_is_worth_the_gain_on_what_it_closes(harness: Harness) -> None:
    harness.set_price("/ESU6", "6000.25")
    harness.trade(market(leg("/ESU6", "2")))
    harness.set_price("/ESU6", "6010.50")
    harness.trade(market(leg("/ESU6", "2", "Sell to Close")))
    *closed, deposit = harness.rows(f"/accounts/{harness.account}/transactions")
    values = {(row["action"], row["value-effect"]): Decimal(0) for row in closed}
    for row in closed:
        values[row["action"], row["value-effect"]] += Decimal(row["value"])
    assert values == {("Buy to Open", "None"): 0, ("Sell to Close", "Credit"): 2 * 50 * Decimal("10.25")}
    account = harness.own()
    assert account.cash == sum(map(net, [*closed, deposit]))


def test_every_fill_has_a_unique_identifier() -> None:
    bookkeeping, spread = Bookkeeping(Dialect()), order("2", "4", action=LegAction.SELL_TO_OPEN)
    for _ in range(2):
        for each in spread.legs:
            each.fills.append(bookkeeping.execute(spread, each, Decimal(1), Decimal(1), START))
    assert [fill.ext_exec_id for each in spread.legs for fill in each.fills] == ["7-1-0", "7-2-0", "7-1-1", "7-2-1"]
    numbers = [booked.wire.id for booked in spread.account.transactions]
    assert numbers == sorted(set(numbers))
    assert spread.account.held("X") == -4


def test_cash_and_opening_positions_are_booked_without_an_order() -> None:
    bookkeeping, own = Bookkeeping(Dialect()), account()
    bookkeeping.move_cash(own, "Deposit", Decimal(5), START)
    bookkeeping.move_cash(own, "Withdrawal", Decimal(-7), START)
    assert own.cash == 998
    rows = [json.loads(booked.row) for booked in own.transactions]
    assert [(row["value"], row["value-effect"]) for row in rows] == [("5.00", "Credit"), ("7.00", "Debit")]
    assert own.version == 2
    own = account()
    Bookkeeping(Dialect()).open_position(own, SHARE, LegAction.BUY_TO_OPEN, Decimal(5), Decimal("2.5"), START)
    (booked,) = own.transactions
    row = json.loads(booked.row)
    assert (own.held("X"), own.cash) == (5, 1000 - Decimal(row["net-value"]))
    assert "order-id" not in row
    assert row["transaction-type"] == "Trade"


def test_fees_add_up_and_show_their_effect() -> None:
    option = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY_OPTION, underlying="X")
    assert fees_of(option, LegAction.SELL_TO_CLOSE, Decimal(1), Decimal(1)).commission == 0
    assert fees_of(option, LegAction.BUY_TO_OPEN, Decimal(1), Decimal(1)).commission == 1
    one, two = Fees(commission=Decimal(1)), Fees(clearing=Decimal(2), commission=Decimal(3))
    assert one + two == Fees(clearing=Decimal(2), commission=Decimal(4))
    fields = amounts(value=Decimal("-12.5"), net_value=Decimal(3), commission=Decimal(0))
    assert fields == {
        "value": "12.50",
        "value_effect": PriceEffect.DEBIT,
        "net_value": "3.00",
        "net_value_effect": PriceEffect.CREDIT,
        "commission": "0.00",
        "commission_effect": PriceEffect.NONE,
    }
    assert [effect(Decimal(amount)) for amount in (1, -1, 0)] == ["Debit", "Credit", "None"]


SPOT = Decimal(200)


def requirements(prices: dict[Instrument, int]) -> Callable[..., Decimal]:
    """Return what gives the requirement of positions, each an instrument and a signed quantity."""
    worth = {instrument.symbol: Decimal(price) for instrument, price in prices.items()}

    def required(*holdings: tuple[Instrument, int]) -> Decimal:
        signed = [(instrument, Decimal(quantity)) for instrument, quantity in holdings]
        return requirement(signed, lambda one: worth[one.symbol], SPOT, Decimal("0.5"))

    return required


def test_shares_require_half_of_their_value() -> None:
    share = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")
    for quantity in (Decimal(10), Decimal(-10)):
        assert requirement([(share, quantity)], lambda _: SPOT, SPOT, Decimal("0.5")) == 1000


def test_requirement_of_options_and_spreads(harness: Harness) -> None:
    low, high = harness.instrument(CALL), harness.instrument(HIGHER_CALL)
    required = requirements({low: 12, high: 7})
    assert required((low, 1)) == 1200
    assert required((low, -1)) == 4000
    assert required((low, 1), (high, -1)) == 500
    assert required((low, -1), (high, 1)) == 500
    assert required((low, 2), (high, -1)) == 1700


def test_requirement_of_covered_calls(harness: Harness) -> None:
    symbols = ("AAPL", HIGHER_CALL, "AAPL  260717P00190000", "AAPL  260717C00215000")
    share, call, put, higher = map(harness.instrument, symbols)
    required = requirements({share: 200, call: 7, put: 6, higher: 5})
    assert required((share, 100), (call, -1)) == required((call, -1), (share, 100)) == 10_000
    assert required((share, 199), (call, -2)) == 19_900 + 4_000
    assert required((share, 200), (call, -1), (higher, -1)) == 20_000
    assert required((share, 100), (call, -2), (higher, 1)) == 10_000 + 300
    assert required((share, 100), (put, -1)) == 10_000 + 4_000
    assert required((share, -100), (call, -1)) == 10_000 + 4_000


def test_covered_call_takes_no_margin(harness: Harness) -> None:
    harness.trade(market(leg(quantity="100")))
    placed = harness.preview(market(leg(HIGHER_CALL, "1", "Sell to Open")))
    check_effect(placed)
    effect = placed["buying-power-effect"]
    assert effect["change-in-margin-requirement"] == "0.00"
    assert signed(effect, "isolated-order-margin-requirement") < 0


ORDERS = [
    leg("AAPL", "{n}", "Buy to Open"),
    leg("MSFT", "{n}", "Sell to Open"),
    leg("AAPL", "{n}", "Sell to Close"),
    leg("AAPL  260717C00210000", "{n}", "Sell to Open"),
    leg("AAPL  260717P00190000", "{n}", "Buy to Open"),
    leg("/ESU6", "{n}", "Buy"),
    leg("./ESU6 ES3U6 260918P6000", "{n}", "Sell to Open"),
    leg("BTC/USD", "{n}", "Buy to Open"),
]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(ORDERS), st.integers(1, 9), st.booleans()), min_size=1, max_size=6))
def test_buying_power_adds_up(plan: list[tuple[dict[str, str], int, bool]]) -> None:
    harness = Harness(without=["cryptocurrency_orders_are_off"]).login()
    account = harness.accounts[1]
    for template, count, priced in plan:
        one = {**template, "quantity": str(count)}
        effect = "Debit" if one["action"].startswith("Buy") else "Credit"
        body = limit("150.00", one, effect=effect) if priced else market(one)
        preview = harness.ask("POST", f"/accounts/{account}/orders/dry-run", body)
        assert preview.status in (201, 422)
        placed = json.loads(preview.body)["data"]
        check_effect(placed)
        if preview.status == 201:
            harness.place(body, account)
            after = json.loads(harness.ask("POST", f"/accounts/{account}/orders/dry-run", body).body)["data"]
            change = signed(placed["buying-power-effect"], "change-in-buying-power")
            left = signed(placed["buying-power-effect"], "current-buying-power") + min(change, Decimal(0))
            assert signed(after["buying-power-effect"], "current-buying-power") == left
        harness.wait(5)
