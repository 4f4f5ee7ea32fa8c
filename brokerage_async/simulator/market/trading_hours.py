"""When an instrument trades: sessions, openings and closings by its exchange's calendar and the hours of an order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, TypeAlias

import attrs

from ..._generated.models import InstrumentCollection, TimeInForce
from .calendar import CALENDARS, YEARS, TradingSession, local_date, local_epoch
from .instrument import Instrument

Hours: TypeAlias = Literal["regular", "extended", "overnight"]
"""Hours in which an order works."""

_EXTENDED_START, _NIGHT_START = 7.0, -4.0
"""Hours from midnight in New York, on the day of the session: 6 and, on the evening before, 19 in Chicago."""


def hours_of(time_in_force: TimeInForce, has: Callable[[str], bool]) -> Hours:
    """Return the working hours of an order."""
    if "Overnight" in time_in_force and has("overnight_orders_work_at_night"):
        return "overnight"
    return "extended" if "Ext" in time_in_force else "regular"


def is_open(instrument: Instrument, now: float, *, hours: Hours) -> bool:
    """Return whether orders for ``instrument`` are matched at ``now``."""
    return opening(instrument, now, hours=hours) <= now


def trading_session(instrument: Instrument, now: float, *, hours: Hours) -> TradingSession | None:
    """Return the session in which an order of ``now`` works: its ``open`` and ``close`` are the ends of these hours.

    None if the instrument trades around the clock.
    """
    collection = instrument.collection
    return None if collection is None else _trading(collection, now, hours)


@lru_cache(maxsize=64)  # all orders that rest are evaluated at the same times
def _trading(collection: InstrumentCollection, now: float, hours: Hours) -> TradingSession:
    calendar = CALENDARS[collection]
    day = local_date(now)
    session = calendar.session(day) or calendar.following(day)
    if (session.close if hours == "regular" else session.close_ext) <= now:
        session = calendar.following(session.day)
    if hours == "regular":
        return session
    start = session.start
    if collection is InstrumentCollection.EQUITY:
        start = local_epoch(session.day, _EXTENDED_START if hours == "extended" else _NIGHT_START)
    return attrs.evolve(session, open=start, close=session.close_ext)


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
        session = _extended(collection, CALENDARS[collection].preceding(day))
        if session.start <= quarter * 900:
            return session
        day = session.day
    raise ValueError(f"there are no sessions before {YEARS[0]}")


@lru_cache(maxsize=4096)
def _extended(collection: InstrumentCollection, session: TradingSession) -> TradingSession:
    is_equity = collection is InstrumentCollection.EQUITY
    return attrs.evolve(session, start=local_epoch(session.day, _EXTENDED_START)) if is_equity else session


def opening(instrument: Instrument, now: float, *, hours: Hours) -> float:
    """Return the earliest time, from ``now`` on, when an order can be matched."""
    session = trading_session(instrument, now, hours=hours)
    return now if session is None else max(now, session.open)


def closing(instrument: Instrument, now: float, *, hours: Hours) -> float:
    """Return when a day order of ``now`` expires, in epoch seconds."""
    session = trading_session(instrument, now, hours=hours)
    return local_epoch(local_date(now) + timedelta(days=1), 0) if session is None else session.close
