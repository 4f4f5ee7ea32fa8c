"""Trading days, and the hours of orders."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from brokerage_async.models import InstrumentType, TimeInForce
from brokerage_async.simulator.market import calendar
from brokerage_async.simulator.market.instrument import Instrument
from tests.simulator.harness import START

EQUITY = calendar.CALENDARS["Equity"]


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_holidays_and_half_days_match_the_exchange() -> None:
    closed = "01-01 01-20 02-17 04-18 05-26 06-19 07-04 09-01 11-27 12-25"
    assert sorted(calendar.holidays(2025)) == [date.fromisoformat(f"2025-{day}") for day in closed.split()]
    assert date(2026, 7, 3) in calendar.holidays(2026)
    assert date(2021, 12, 24) in calendar.holidays(2021)
    assert date(2021, 12, 31) not in calendar.holidays(2021) | calendar.holidays(2022)
    assert EQUITY.session(date(2021, 12, 31)) is not None
    assert sorted(calendar.half_days(2025)) == [date(2025, 7, 3), date(2025, 11, 28), date(2025, 12, 24)]
    assert sorted(calendar.half_days(2026)) == [date(2026, 11, 27), date(2026, 12, 24)]
    session = EQUITY.session(date(2026, 11, 27))
    assert session.close == at("2026-11-27T18:00:00+00:00")
    first, last = date(2026, 1, 1), date(2027, 12, 31)
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    expected = [day for day in days if day.weekday() < 5 and day not in calendar.holidays(day.year)]
    assert [session.day for session in EQUITY.between(first, last)] == expected
    assert len(expected) == 502


def test_offsets_agree_with_the_time_zone_database() -> None:
    try:
        zone = ZoneInfo("America/New_York")
    except ZoneInfoNotFoundError:
        pytest.skip("there is no time zone database here")
    day = date(2019, 1, 1)
    while day < date(2031, 1, 1):
        opening = datetime(day.year, day.month, day.day, 9, 30, tzinfo=zone)
        assert calendar.local_epoch(day, 9.5) == opening.timestamp()
        assert calendar.local_date(opening.timestamp()) == day
        day += timedelta(days=1)


def test_sessions_follow_daylight_saving_and_skip_days_without_one() -> None:
    before, after = EQUITY.session(date(2026, 3, 6)), EQUITY.session(date(2026, 3, 9))
    assert before.open == at("2026-03-06T14:30:00+00:00")
    assert after.open == at("2026-03-09T13:30:00+00:00")
    session = calendar.CALENDARS["CME"].current(at("2026-06-14T23:00:00+00:00"))
    assert session.day == date(2026, 6, 15)
    assert EQUITY.following(date(2026, 7, 2)).day == date(2026, 7, 6)
    assert EQUITY.preceding(date(2026, 7, 6)).day == date(2026, 7, 2)
    assert calendar.monthly_expiration(2026, 9) == date(2026, 9, 18)
    assert calendar.monthly_expiration(2026, 6) == date(2026, 6, 18)
    assert calendar.expiration_day(date(2026, 4, 3)) == date(2026, 4, 2)
    assert calendar.expiration_day(date(2026, 4, 10)) == date(2026, 4, 10)


NIGHT = START + 10 * 3600
SHARE = Instrument(symbol="AAPL", instrument_type=InstrumentType.EQUITY, underlying="AAPL")
FUTURE = Instrument(symbol="/ESZ6", instrument_type=InstrumentType.FUTURE, underlying="/ESZ6")
COIN = Instrument(symbol="BTC/USD", instrument_type=InstrumentType.CRYPTOCURRENCY, underlying="BTC/USD")


def test_closed_market_opens_later_and_coins_never_close() -> None:
    hours = [calendar.working_hours(one.collection, NIGHT, "regular") for one in (SHARE, FUTURE, COIN)]
    assert [opening <= NIGHT for opening, _ in hours] == [False, True, True]
    assert hours[-1][0] == NIGHT
    assert all(closing > NIGHT for _, closing in hours)
    night = TimeInForce.GTC_EXT_OVERNIGHT
    assert calendar.hours_of(night, lambda name: True) == "overnight"
    assert calendar.hours_of(night, lambda name: False) == "extended"
    assert calendar.hours_of(TimeInForce.DAY, lambda name: True) == "regular"


def test_is_open_by_the_hours_of_an_order_follows_the_published_table() -> None:
    # New York is an hour ahead of Chicago. 2026-07-03 is a full holiday (a Friday), 2026-11-27 a half-day.
    cases = {
        "2026-06-10T06:59-04:00": "O",
        "2026-06-10T07:00-04:00": "EO",
        "2026-06-10T09:30-04:00": "REO",
        "2026-06-10T16:00-04:00": "EO",
        "2026-06-10T19:59-04:00": "EO",
        "2026-06-10T20:00-04:00": "O",
        "2026-06-12T20:00-04:00": "",
        "2026-06-14T19:59-04:00": "",
        "2026-06-14T20:00-04:00": "O",
        "2026-07-02T20:30-04:00": "",
        "2026-07-05T20:30-04:00": "O",
        "2026-11-27T14:00-05:00": "EO",
        "2026-11-27T17:00-05:00": "",
    }
    kinds: tuple[calendar.Hours, ...] = ("regular", "extended", "overnight")
    hours = calendar.working_hours
    found = {
        moment: "".join(each[0].upper() for each in kinds if hours(SHARE.collection, now, each)[0] <= now)
        for moment, now in ((moment, at(moment)) for moment in cases)
    }
    assert found == cases
