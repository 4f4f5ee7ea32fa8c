"""Trading days and hours of the simulated exchanges, computed by rule for any year, and the hours of orders.

Times of day are New York's. The offset follows the United States rule in force since 2007 (second Sunday of March to
first Sunday of November), so that the simulator needs no time zone database.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal, TypeAlias

import attrs

from ..._generated.models import InstrumentCollection, MarketState, TimeInForce

_HOUR = 3600.0
_DAY = timedelta(days=1)
YEARS = range(1971, 2200)
"""Years with sessions."""


def _nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))


def _easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar (anonymous algorithm)."""
    century, rest = divmod(year, 100)
    epact = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    shift = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    correction = (year % 19 + 11 * epact + 22 * shift) // 451
    month, day = divmod(epact + shift - 7 * correction + 114, 31)
    return date(year, month, day + 1)


def _observed(day: date) -> date:
    """Return the weekday when a fixed-date holiday is observed."""
    return day + {5: -_DAY, 6: _DAY}.get(day.weekday(), timedelta())


@lru_cache(maxsize=64)
def holidays(year: int) -> frozenset[date]:
    new_year = date(year, 1, 1)
    days = {
        _nth_weekday(year, 1, 0, 3),
        _nth_weekday(year, 2, 0, 3),
        _easter(year) - 2 * _DAY,
        _nth_weekday(year, 6, 0, 1) - 7 * _DAY,
        _observed(date(year, 6, 19)),
        _observed(date(year, 7, 4)),
        _nth_weekday(year, 9, 0, 1),
        _nth_weekday(year, 11, 3, 4),
        _observed(date(year, 12, 25)),
    }
    # New Year's Day on a Saturday is not observed: the last day of the year is a trading day.
    if new_year.weekday() != 5:
        days.add(_observed(new_year))
    return frozenset(days)


@lru_cache(maxsize=64)
def half_days(year: int) -> frozenset[date]:
    thanksgiving_friday = _nth_weekday(year, 11, 3, 4) + _DAY
    eves = {day for day in (date(year, 7, 3), date(year, 12, 24)) if day.weekday() < 4}
    return frozenset({thanksgiving_friday, *eves} - holidays(year))


def expiration_day(friday: date) -> date:
    """Return the day when instruments of a week expire: its Friday, or the day before if that is a holiday."""
    return friday - _DAY if friday in holidays(friday.year) else friday


def monthly_expiration(year: int, month: int) -> date:
    """Return the day when instruments of a month expire, in the week of the third Friday."""
    return expiration_day(_nth_weekday(year, month, 4, 3))


@lru_cache(maxsize=64)
def _daylight_saving(year: int) -> tuple[float, float]:
    """Return the epoch seconds between which New York is at UTC-4 rather than UTC-5."""
    start = _nth_weekday(year, 3, 6, 2)
    end = _nth_weekday(year, 11, 6, 1)
    return _midnight_utc(start) + 7 * _HOUR, _midnight_utc(end) + 6 * _HOUR


def _midnight_utc(day: date) -> float:
    return (day.toordinal() - 719163) * 86400.0


def _offset(seconds: float) -> float:
    start, end = _daylight_saving(datetime.fromtimestamp(seconds, UTC).year)
    return -4 * _HOUR if start <= seconds < end else -5 * _HOUR


def local_date(seconds: float) -> date:
    return datetime.fromtimestamp(seconds + _offset(seconds), UTC).date()


def local_epoch(day: date, hours: float) -> float:
    """Return epoch seconds of ``hours`` (may be negative) after midnight in New York on ``day``."""
    naive = _midnight_utc(day) + hours * _HOUR
    return naive - _offset(naive + 5 * _HOUR)


@attrs.frozen(cache_hash=True)
class TradingSession:
    """One trading day: ``start`` of pre-market, ``open``, ``close`` and ``close_ext`` in epoch seconds."""

    day: date
    start: float
    open: float
    close: float
    close_ext: float

    def state(self, now: float) -> MarketState:
        if not self.start <= now < self.close_ext:
            return MarketState.CLOSED
        if now < self.open:
            return MarketState.PRE_MARKET
        return MarketState.OPEN if now < self.close else MarketState.AFTER_HOURS


@attrs.frozen
class Calendar:
    """Sessions of one instrument collection. Hours are New York's, from midnight of the session date."""

    collection: InstrumentCollection
    hours: tuple[float, float, float, float]
    half_day_hours: tuple[float, float, float, float]

    @lru_cache(maxsize=8192)  # noqa: B019 - there are only CALENDARS
    def session(self, day: date) -> TradingSession | None:
        if day.weekday() >= 5 or day.year not in YEARS or day in holidays(day.year):
            return None
        hours = self.half_day_hours if day in half_days(day.year) else self.hours
        return TradingSession(day, *(local_epoch(day, hour) for hour in hours))

    def following(self, day: date, step: timedelta = _DAY) -> TradingSession:
        while True:
            day += step
            if (session := self.session(day)) is not None:
                return session

    def preceding(self, day: date) -> TradingSession:
        return self.following(day, -_DAY)

    def between(self, first: date, last: date) -> list[TradingSession]:
        days = (first + timedelta(days=n) for n in range((last - first).days + 1))
        return [session for day in days if (session := self.session(day)) is not None]

    def current(self, now: float) -> TradingSession | None:
        """Return the session under way at ``now``, else today's. None on a day without a session."""
        today = local_date(now)
        session = self.session(today)
        if session is not None and now < session.close_ext:
            return session
        tomorrow = self.session(today + _DAY)
        return tomorrow if tomorrow is not None and tomorrow.start <= now else session


CALENDARS = {
    calendar.collection: calendar
    for calendar in (
        Calendar(InstrumentCollection.EQUITY, (8.0, 9.5, 16.0, 20.0), (8.0, 9.5, 13.0, 17.0)),
        Calendar(InstrumentCollection.EQUITY_INDEX, (8.0, 9.5, 16.0, 20.0), (8.0, 9.5, 13.0, 17.0)),
        Calendar(InstrumentCollection.CME, (-6.0, -6.0, 17.0, 17.0), (-6.0, -6.0, 13.25, 13.25)),
        Calendar(InstrumentCollection.CFE, (-6.0, 9.5, 16.25, 17.0), (-6.0, 9.5, 13.25, 13.25)),
    )
}
"""Calendars of every instrument collection, by name."""

Hours: TypeAlias = Literal["regular", "extended", "overnight"]
"""Hours in which an order works."""

_EXTENDED_START, _NIGHT_START = 7.0, -4.0
"""Hours from midnight in New York, on the day of the session: 6 and, on the evening before, 19 in Chicago."""


def hours_of(time_in_force: TimeInForce, has: Callable[[str], bool]) -> Hours:
    if "Overnight" in time_in_force and has("overnight_orders_work_at_night"):
        return "overnight"
    return "extended" if "Ext" in time_in_force else "regular"


@lru_cache(maxsize=64)  # all orders that rest are evaluated at the same times
def working_hours(collection: InstrumentCollection | None, now: float, hours: Hours) -> tuple[float, float]:
    """Return when an order of ``now`` begins to work, which may be past, and when it ends if it is for the day."""
    day = local_date(now)
    if collection is None:  # it trades around the clock
        return now, local_epoch(day + _DAY, 0)
    calendar = CALENDARS[collection]
    session = calendar.session(day) or calendar.following(day)
    if (session.close if hours == "regular" else session.close_ext) <= now:
        session = calendar.following(session.day)
    if hours == "regular":
        return session.open, session.close
    start = session.start
    if collection is InstrumentCollection.EQUITY:
        start = local_epoch(session.day, _EXTENDED_START if hours == "extended" else _NIGHT_START)
    return start, session.close_ext


def latest_session(collection: InstrumentCollection | None, now: float) -> TradingSession:
    """Return the session under way, extended hours included, else the one before; of no calendar, the day's."""
    return _latest(collection, now // 900)  # they begin and end at quarters of an hour


@lru_cache(maxsize=4096)
def _latest(collection: InstrumentCollection | None, quarter: float) -> TradingSession:
    day = local_date(quarter * 900)
    if collection is None:
        start, end = local_epoch(day, 0), local_epoch(day, 24)
        return TradingSession(day, start, start, end, end)
    day += timedelta(days=2)  # a session of futures begins in the evening before
    while day > date(YEARS[0], 1, 8):
        session = CALENDARS[collection].preceding(day)
        if collection is InstrumentCollection.EQUITY:
            session = attrs.evolve(session, start=local_epoch(session.day, _EXTENDED_START))
        if session.start <= quarter * 900:
            return session
        day = session.day
    raise ValueError(f"there are no sessions before {YEARS[0]}")
