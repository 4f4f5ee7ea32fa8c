"""Generated equities, options and warrants."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.api.wire import dumps
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import holidays
from brokerage_async.simulator.market.equities import (
    equities,
    equity_options,
    equity_row,
    known_equities,
    monthly_expirations,
    option_row,
    warrant_row,
    warrants,
)
from tests.simulator.factories import START
from tests.tables import for_each

TODAY = date(2026, 6, 10)


@for_each("count", [0, 1, 20, 500])
def test_longer_list_begins_with_the_shorter_one(count: int) -> None:
    made = equities(count, KeyedRandom(3))
    assert made == equities(600, KeyedRandom(3))[:count]
    assert [one.number for one in made] == list(range(1, count + 1))
    assert len({one.symbol for one in made}) == count
    assert all(one.price > 0 for one in made)


def test_few_equities_are_restricted_and_rows_show_it() -> None:
    traded = {symbol: definition.instrument() for symbol, definition in known_equities().items()}
    assert [symbol for symbol, one in traded.items() if one.halted] == ["HALT"]
    assert [symbol for symbol, one in traded.items() if one.closing_only] == ["GONE"]
    assert not any(one.hard_to_borrow for one in traded.values())
    assert any(one.instrument().hard_to_borrow for one in equities(200, KeyedRandom(0)))
    halted, gone, plain = (equity_row(known_equities()[symbol], START) for symbol in ("HALT", "GONE", "AAPL"))
    assert (halted.halted_at is None, gone.stops_trading_at is None) == (False, False)
    assert (plain.halted_at, plain.stops_trading_at, plain.is_closing_only) == (None, None, False)
    first, second = equities(200, KeyedRandom(1)), equities(200, KeyedRandom(2))
    known = len(known_equities())
    assert first[:known] == second[:known]
    assert first[known:] != second[known:]
    assert [one.symbol for one in first] == [one.symbol for one in second]


@given(st.dates(date(2000, 1, 1), date(2150, 12, 31)), st.integers(1, 30))
def test_expirations_are_third_fridays(today: date, count: int) -> None:
    days = monthly_expirations(today, count)
    assert len(days) == count
    assert days[0] < today
    assert all(day >= today for day in days[1:])
    for day in days:
        friday = day + timedelta(days=(4 - day.weekday()) % 7)
        assert 15 <= friday.day <= 21
        assert day == friday or friday in holidays(friday.year)


@for_each("count", [0, 1, 100, 5000, 6001])
def test_equity_options_has_the_requested_count(count: int) -> None:
    made = equity_options(count, equities(10, KeyedRandom(0)), TODAY)
    assert len(made) == len({one.symbol for one in made}) == count
    assert all(one.strike > 0 for one in made)


def test_warrants_and_options_are_rows_with_their_terms() -> None:
    definitions = equity_options(60, equities(1, KeyedRandom(0)), TODAY)
    rows = [option_row(definition, TODAY) for definition in definitions]
    assert rows[0].days_to_expiration == (definitions[0].expires - TODAY).days < 0
    assert rows[0].strike_price == format(definitions[0].strike, ".1f")
    instrument = definitions[0].instrument()
    assert (instrument.multiplier, instrument.strike) == (Decimal(100), definitions[0].strike)
    assert equity_options(10, [], TODAY) == []
    made = warrants(12, equities(20, KeyedRandom(0)))
    assert [one.symbol for one in made][9:] == ["AMDW", "IWMW", "GLDW"]
    assert b'"symbol":"AAPLW"' in dumps(warrant_row(made[0]))
    assert len(warrants(100, equities(20, KeyedRandom(0)))) == 16
