"""Openings and closings by instrument."""

from __future__ import annotations

from brokerage_async.models import InstrumentType
from brokerage_async.simulator.market import trading_hours
from brokerage_async.simulator.market.instrument import Instrument
from tests.simulator.factories import START

NIGHT = START + 10 * 3600
SHARE = Instrument(symbol="AAPL", instrument_type=InstrumentType.EQUITY, underlying="AAPL")
FUTURE = Instrument(symbol="/ESZ6", instrument_type=InstrumentType.FUTURE, underlying="/ESZ6")
COIN = Instrument(symbol="BTC/USD", instrument_type=InstrumentType.CRYPTOCURRENCY, underlying="BTC/USD")


def test_is_open_at_night_depends_on_the_instrument() -> None:
    states = [trading_hours.is_open(one, NIGHT, extended=False) for one in (SHARE, FUTURE, COIN)]
    assert states == [False, True, True]


def test_opening_of_a_closed_market_is_in_the_future() -> None:
    assert trading_hours.opening(SHARE, NIGHT, extended=False) > NIGHT
    assert trading_hours.opening(COIN, NIGHT, extended=False) == NIGHT


def test_closing_around_the_clock_is_the_next_midnight() -> None:
    assert trading_hours.closing(COIN, NIGHT, extended=False) > NIGHT
