"""Market hours: the boundaries of a timetable of sessions, and polling paced by them.

The timetable contains holidays (days without a session), half-days and changes of daylight-saving time, so this module
needs neither a calendar nor a time zone.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import date, datetime

import attrs

from .._arguments import check_seconds, running_loop
from .._generated.models import MarketSession
from ..protocol.timetable import is_open
from .diff import Change
from .schedule import is_fatal

__all__ = [
    "Boundary",
    "MarketHours",
    "MarketKind",
    "boundaries",
    "interval_at",
    "last_passed",
]

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


class MarketKind(enum.StrEnum):
    """Boundary of a market session, in the order of a day.

    ``started`` and ``ended`` are those of the extended session around the regular one.
    """

    STARTED = "started"
    OPENED = "opened"
    CLOSED = "closed"
    ENDED = "ended"


REGULAR = (MarketKind.OPENED, MarketKind.CLOSED)

TIMES = {
    MarketKind.STARTED: "start_at",
    MarketKind.OPENED: "open_at",
    MarketKind.CLOSED: "close_at",
    MarketKind.ENDED: "close_at_ext",
}


@attrs.frozen
class Boundary:
    """Begin or end of the session of a ``day``; equal wherever a newer timetable moves it."""

    kind: MarketKind
    day: date | None
    at: datetime = attrs.field(eq=False)
    session: MarketSession = attrs.field(eq=False)

    def change(self) -> Change[MarketSession]:
        """Return the change to report: a session begins or ends."""
        begins = self.kind in (MarketKind.STARTED, MarketKind.OPENED)
        before, after = (None, self.session) if begins else (self.session, None)
        return Change(kind=self.kind, key=self.day, before=before, after=after, at=self.at)


def boundaries(sessions: Iterable[MarketSession], *, extended: bool = False) -> list[Boundary]:
    """Return the boundaries of the sessions, extended ones if asked, oldest first."""
    found = [
        Boundary(kind, session.session_date, at, session)
        for session in sessions
        for kind, name in TIMES.items()
        if (extended or kind in REGULAR) and (at := getattr(session, name)) is not None
    ]
    return sorted(found, key=lambda boundary: boundary.at)  # stable: an end sorts before the begin at the same time


def last_passed(known: Iterable[Boundary], now: datetime) -> datetime:
    """Return the time of the last boundary until ``now``, by default ``now``."""
    return max((each.at for each in known if each.at <= now), default=now)


def interval_at(
    sessions: Iterable[MarketSession], now: datetime, *, trading: float, resting: float, extended: bool = False
) -> float:
    """Return ``trading`` during sessions, else ``resting``, but never past the next boundary."""
    known = list(sessions)
    if is_open(known, now, extended=extended):
        return trading
    coming = [each.at for each in boundaries(known, extended=extended) if each.at > now]
    return min(resting, (coming[0] - now).total_seconds()) if coming else resting


class MarketHours:
    """Pacing function for polls: frequent while the market is open, rare while it is closed.

    As long as the timetable could not be read, the market counts as open.
    """

    REFRESH_INTERVAL = 3600.0
    """Seconds after which the timetable is read again."""

    RETRY_DELAY = 60.0
    """Seconds to wait after a failure to read it."""

    READ_TIMEOUT = 5.0
    """Maximum seconds by which reading it delays the paced polls; longer counts as a failure."""

    def __init__(
        self,
        timetable: Callable[[], Awaitable[list[MarketSession]]],
        *,
        trading: float,
        resting: float,
        extended: bool = False,
        now: Callable[[], datetime],
    ) -> None:
        self._timetable = timetable
        self._trading = check_seconds("trading", trading)
        self._resting = check_seconds("resting", resting)
        self._extended = extended
        self._now = now
        self._sessions: list[MarketSession] | None = None
        self._stale_at = float("-inf")

    async def __call__(self) -> float:
        """Return the current interval in seconds."""
        clock = running_loop().time
        if clock() >= self._stale_at:
            try:
                async with asyncio.timeout(self.READ_TIMEOUT):
                    self._sessions = await self._timetable()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                logger.warning("reading the market timetable failed: %s", type(error).__name__)
                self._stale_at = clock() + self.RETRY_DELAY
            else:
                self._stale_at = clock() + self.REFRESH_INTERVAL
        if self._sessions is None:
            return self._trading
        return interval_at(
            self._sessions, self._now(), trading=self._trading, resting=self._resting, extended=self._extended
        )
