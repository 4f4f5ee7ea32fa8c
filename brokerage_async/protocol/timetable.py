"""Timetable of a market: the range to ask for, and whether one of its sessions is open."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from .._generated.models import MarketSession


def timetable_range(now: datetime) -> tuple[date, date]:
    """Return days between which the last and next session lie."""
    return (now - timedelta(days=7)).date(), (now + timedelta(days=10)).date()


def is_open(sessions: Iterable[MarketSession], now: datetime, *, extended: bool = False) -> bool:
    """Return True if ``now`` is within a session, extended if asked."""
    for session in sessions:
        begin, end = session.open_at, session.close_at
        if extended:
            begin, end = session.start_at or begin, session.close_at_ext or end
        if begin is not None and end is not None and begin <= now < end:
            return True
    return False
