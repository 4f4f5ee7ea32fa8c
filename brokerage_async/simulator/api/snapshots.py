"""Times of the balance snapshots and intervals of the net liquidating value, by the sessions of the stock market."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import attrs

from ..._generated.models import InstrumentCollection, NetLiqRange, TimeOfDay
from ..market.calendar import CALENDARS, TradingSession, local_date
from ..market.prices import PRICE_INTERVAL

__all__ = ["Interval", "Snapshot", "intervals", "snapshots"]

_CALENDAR = CALENDARS[InstrumentCollection.EQUITY]
_HOUR = 3600.0
_DAY = 86400.0
_BACK: Mapping[NetLiqRange, float] = {
    NetLiqRange.WEEK: 7 * _DAY,
    NetLiqRange.MONTH: 31 * _DAY,
    NetLiqRange.THREE_MONTHS: 92 * _DAY,
    NetLiqRange.SIX_MONTHS: 183 * _DAY,
    NetLiqRange.YEAR: 366 * _DAY,
}


@attrs.frozen
class Snapshot:
    """One snapshot: in the morning of a session, or after its close."""

    at: float
    day: date
    time_of_day: TimeOfDay


def snapshots(first: date, last: date, opened: float, now: float) -> Iterator[Snapshot]:
    """Yield the snapshots of the sessions in a range of days that were taken while an account was open."""
    for session in _sessions(first, last, opened, now):
        for at, time_of_day in ((session.start, TimeOfDay.BOD), (session.close, TimeOfDay.EOD)):
            if opened <= at <= now:
                yield Snapshot(at, session.day, time_of_day)


def _sessions(first: date, last: date, opened: float, now: float) -> list[TradingSession]:
    return _CALENDAR.between(max(first, local_date(opened)), min(last, local_date(now)))


@attrs.frozen
class Interval:
    """Part of a session, with the time between two looks at the prices within it."""

    start: float
    end: float
    step: float

    def times(self) -> Iterator[float]:
        """Yield the times of the looks, from the start to the end."""
        for number in range(int((self.end - self.start) // self.step) + 1):
            yield self.start + number * self.step
        if (self.end - self.start) % self.step:
            yield self.end


def intervals(query: Mapping[str, Any], opened: float, now: float) -> Iterator[Interval]:
    """Yield the intervals of a history.

    They last five minutes within a day, an hour within a week, otherwise a whole session. A start time takes precedence
    over a range.
    """
    end = min(query.get("end_time", now), now)
    start = query.get("start_time")
    if start is None:
        start = _start_of(query["time_back"], opened, end)
    length, step = _length_of(end - start)
    start = max(start, opened)
    for session in _sessions(local_date(start), local_date(end), opened, now):
        at = session.open
        while at < min(session.close, end):
            if at >= start:
                yield Interval(at, min(at + length, session.close, end), step)
            at += length


def _start_of(time_back: NetLiqRange, opened: float, end: float) -> float:
    if time_back == NetLiqRange.ALL:
        return opened
    if time_back in _BACK:
        return end - _BACK[time_back]
    session = _CALENDAR.session(local_date(end))
    if session is None or end < session.open:
        session = _CALENDAR.preceding(local_date(end))
    return session.open


def _length_of(span: float) -> tuple[float, float]:
    """Return the length of the intervals of a history, and the time between two looks."""
    if span <= _DAY:
        return 5 * PRICE_INTERVAL, PRICE_INTERVAL
    return (_HOUR, 10 * PRICE_INTERVAL) if span <= 8 * _DAY else (_DAY, _HOUR)
