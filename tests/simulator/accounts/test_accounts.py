from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.models import InstrumentType
from brokerage_async.simulator.accounts.accounts import Account, Customer
from brokerage_async.simulator.market.calendar import local_date
from brokerage_async.simulator.market.instrument import Instrument

SHARE = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")
FUTURE = Instrument(symbol="/ESZ6", instrument_type=InstrumentType.FUTURE, underlying="/ESZ6", multiplier=Decimal(50))

NOON = 1_781_100_000.0
DAY = 86_400.0

trades = st.lists(
    st.tuples(st.integers(-9, 9).filter(bool), st.decimals("1", "99", places=2, allow_nan=False)), max_size=12
)


def account() -> Account:
    return Account(number="A", customer=Customer(1, "one"), kind="Margin", cash=Decimal(1000))


@given(trades)
def test_trade_exchanges_cash_and_shares_at_the_price(plan: list[tuple[int, Decimal]]) -> None:
    held = account()
    for quantity, price in plan:
        held.trade(SHARE, Decimal(quantity), price, Decimal("0.01"), NOON)
    assert held.held("X") == sum(quantity for quantity, _ in plan)
    spent = sum((quantity * price for quantity, price in plan), Decimal(0))
    assert held.cash == 1000 - spent - Decimal("0.01") * len(plan)
    assert ("X" in held.positions) == (held.held("X") != 0)


@given(trades, st.decimals("1", "99", places=2, allow_nan=False))
def test_closing_a_future_pays_its_gain(plan: list[tuple[int, Decimal]], last: Decimal) -> None:
    held = account()
    for quantity, price in plan:
        held.trade(FUTURE, Decimal(quantity), price, Decimal(0), NOON)
    if held.held("/ESZ6"):
        held.trade(FUTURE, -held.held("/ESZ6"), last, Decimal(0), NOON)
    gained = sum((quantity * (last - price) * 50 for quantity, price in plan), Decimal(0))
    assert abs(held.cash - 1000 - gained) < Decimal("0.0001") or not plan


def test_trades_move_cash_and_positions_by_their_price() -> None:
    held = account()
    held.trade(SHARE, Decimal(10), Decimal(10), Decimal(0), NOON)
    held.trade(SHARE, Decimal(10), Decimal(20), Decimal(0), NOON)
    assert held.positions["X"].average_price == 15
    held.trade(SHARE, Decimal(-5), Decimal(50), Decimal(0), NOON)
    assert held.positions["X"].average_price == 15
    held.trade(SHARE, Decimal(-20), Decimal(40), Decimal(0), NOON)
    assert (held.held("X"), held.positions["X"].average_price) == (-5, 40)
    held = account()
    held.trade(SHARE, Decimal(10), Decimal(10), Decimal(0), NOON)
    position = held.positions["X"]
    held.trade(SHARE, Decimal(-2), Decimal(13), Decimal(0), NOON + 60)
    held.trade(SHARE, Decimal(-1), Decimal(9), Decimal(0), NOON + 120)
    assert position.realized_on(local_date(NOON)) == 5
    assert position.realized_on(local_date(NOON + DAY)) == 0
    held.trade(SHARE, Decimal(-1), Decimal(11), Decimal(0), NOON + DAY)
    assert position.realized_on(local_date(NOON + DAY)) == 1
    assert position.opened_at == NOON
    held = account()
    held.trade(SHARE, Decimal(1), Decimal(10), Decimal(0), NOON)
    held.trade(SHARE, Decimal(-3), Decimal(14), Decimal(0), NOON + 60)
    position = held.positions["X"]
    assert (position.quantity, position.average_price, position.opened_at) == (-2, 14, NOON + 60)
    assert position.realized_on(local_date(NOON)) == 4


def test_future_books_its_gain_to_the_cent() -> None:
    held = account()
    for price in ("10", "10", "11"):
        held.trade(FUTURE, Decimal(1), Decimal(price), Decimal(0), NOON)
    assert round(held.positions["/ESZ6"].average_price * 3, 20) == 31
    gains = [held.trade(FUTURE, Decimal(-1), Decimal(11), Decimal(0), NOON) for _ in range(3)]
    assert gains == [Decimal("33.33"), Decimal("33.34"), Decimal("33.33")]
    assert held.cash == 1100
    held = account()
    held.trade(FUTURE, Decimal(-2), Decimal(100), Decimal(0), NOON)
    assert held.positions["/ESZ6"].worth(Decimal("99.5")) == 50
    assert held.positions["/ESZ6"].worth(Decimal(101)) == -100
