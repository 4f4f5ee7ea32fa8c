"""Openings and closings by instrument."""

from datetime import datetime

from brokerage_async.models import InstrumentType, TimeInForce
from brokerage_async.simulator.market import calendar
from brokerage_async.simulator.market.instrument import Instrument
from tests.simulator.factories import START

NIGHT = START + 10 * 3600
SHARE = Instrument(symbol="AAPL", instrument_type=InstrumentType.EQUITY, underlying="AAPL")
FUTURE = Instrument(symbol="/ESZ6", instrument_type=InstrumentType.FUTURE, underlying="/ESZ6")
COIN = Instrument(symbol="BTC/USD", instrument_type=InstrumentType.CRYPTOCURRENCY, underlying="BTC/USD")


def test_closed_market_opens_later_and_coins_never_close() -> None:
    states = [calendar.is_open(one.collection, NIGHT, hours="regular") for one in (SHARE, FUTURE, COIN)]
    assert states == [False, True, True]
    assert calendar.opening(SHARE.collection, NIGHT, hours="regular") > NIGHT
    assert calendar.opening(COIN.collection, NIGHT, hours="regular") == NIGHT
    assert calendar.closing(COIN.collection, NIGHT, hours="regular") > NIGHT
    night = TimeInForce.GTC_EXT_OVERNIGHT
    assert calendar.hours_of(night, lambda name: True) == "overnight"
    assert calendar.hours_of(night, lambda name: False) == "extended"
    assert calendar.hours_of(TimeInForce.DAY, lambda name: True) == "regular"


def test_is_open_by_the_hours_of_an_order_follows_the_published_table() -> None:
    # New York is an hour ahead of Chicago. 2026-07-03 is a full holiday (a Friday), 2026-11-27 a half-day.
    cases: tuple[tuple[str, str], ...] = (
        ("2026-06-10T06:59-04:00", "O"),
        ("2026-06-10T07:00-04:00", "EO"),
        ("2026-06-10T09:30-04:00", "REO"),
        ("2026-06-10T16:00-04:00", "EO"),
        ("2026-06-10T19:59-04:00", "EO"),
        ("2026-06-10T20:00-04:00", "O"),
        ("2026-06-12T20:00-04:00", ""),
        ("2026-06-14T19:59-04:00", ""),
        ("2026-06-14T20:00-04:00", "O"),
        ("2026-07-02T20:30-04:00", ""),
        ("2026-07-05T20:30-04:00", "O"),
        ("2026-11-27T14:00-05:00", "EO"),
        ("2026-11-27T17:00-05:00", ""),
    )
    wrong = []
    for moment, expected in cases:
        now = datetime.fromisoformat(moment).timestamp()
        given: tuple[calendar.Hours, ...] = ("regular", "extended", "overnight")
        found = "".join(hours[0].upper() for hours in given if calendar.is_open(SHARE.collection, now, hours=hours))
        if found != expected:
            wrong.append((moment, expected, found))
    assert wrong == []
