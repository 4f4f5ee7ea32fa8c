"""When an instrument trades: sessions, openings and closings by its exchange's calendar."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache

from ..._generated.models import InstrumentCollection
from .calendar import CALENDARS, TradingSession, local_date, local_epoch
from .instrument import Instrument

__all__ = ["closing", "is_open", "opening", "trading_session"]


def is_open(instrument: Instrument, now: float, *, extended: bool) -> bool:
    """Return whether orders for ``instrument`` are matched at ``now``."""
    session = trading_session(instrument, now, extended=extended)
    return session is None or session.spans(now, extended=extended)


def trading_session(instrument: Instrument, now: float, *, extended: bool) -> TradingSession | None:
    """Return the session in which an order of ``now`` works.

    None if the instrument trades around the clock.
    """
    collection = instrument.collection
    return None if collection is None else _trading(collection, now, extended)


@lru_cache(maxsize=64)  # all orders that rest are evaluated at the same times
def _trading(collection: InstrumentCollection, now: float, extended: bool) -> TradingSession:
    return CALENDARS[collection].trading(now, extended=extended)


def opening(instrument: Instrument, now: float, *, extended: bool) -> float:
    """Return the earliest time, from ``now`` on, at which an order can be matched."""
    session = trading_session(instrument, now, extended=extended)
    if session is None:
        return now
    return max(now, session.start if extended else session.open)


def closing(instrument: Instrument, now: float, *, extended: bool) -> float:
    """Return when a day order of ``now`` expires, in epoch seconds."""
    session = trading_session(instrument, now, extended=extended)
    if session is None:
        return local_epoch(local_date(now) + timedelta(days=1), 0)
    return session.close_ext if extended else session.close
