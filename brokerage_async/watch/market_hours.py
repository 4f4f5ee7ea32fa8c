"""What a timetable of market sessions says about a moment: boundaries, open or closed, how fast to poll.

Holidays are days without a session, half-days close early, and a change to or from daylight-saving time moves the
times: all of that is in the timetable, so nothing here knows a calendar or a time zone.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from datetime import date, datetime, timedelta

import attrs

from .._generated.models import MarketSession
from ..errors import InvalidRequestError
from .diff import Change, MarketKind
from .schedule import is_fatal

__all__ = ["Boundary", "MarketHours", "boundaries", "interval_at", "is_open", "last_passed", "timetable_range"]

REGULAR = (MarketKind.OPENED, MarketKind.CLOSED)

TIMES = {
    MarketKind.STARTED: "start_at",
    MarketKind.OPENED: "open_at",
    MarketKind.CLOSED: "close_at",
    MarketKind.ENDED: "close_at_ext",
}

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


@attrs.frozen
class Boundary:
    """A moment at which the session of a ``day`` begins or ends; the same one wherever a new timetable puts it."""

    kind: MarketKind
    day: date | None
    at: datetime = attrs.field(eq=False)
    session: MarketSession = attrs.field(eq=False)

    def change(self) -> Change[MarketSession]:
        """What it means to those who watch: a session comes into force, or goes out of it."""
        begins = self.kind in (MarketKind.STARTED, MarketKind.OPENED)
        before, after = (None, self.session) if begins else (self.session, None)
        return Change(kind=self.kind, key=self.day, before=before, after=after, at=self.at)


def boundaries(sessions: Iterable[MarketSession], *, extended: bool = False) -> list[Boundary]:
    """The boundaries of the regular sessions, with ``extended`` also those of the extended ones, oldest first."""
    found = [
        Boundary(kind, session.session_date, at, session)
        for session in sessions
        for kind, name in TIMES.items()
        if (extended or kind in REGULAR) and (at := getattr(session, name)) is not None
    ]
    return sorted(found, key=lambda boundary: boundary.at)  # stable: what ends comes before what begins then


def last_passed(known: Iterable[Boundary], now: datetime) -> datetime:
    """When the last boundary was due that has passed at ``now``; ``now`` itself if there is none."""
    return max((each.at for each in known if each.at <= now), default=now)


def timetable_range(now: datetime) -> tuple[date, date]:
    """First and last day to read, so that the last session and the next one are there, whatever the holidays."""
    return (now - timedelta(days=7)).date(), (now + timedelta(days=10)).date()


def is_open(sessions: Iterable[MarketSession], now: datetime, *, extended: bool = False) -> bool:
    """Whether ``now`` lies in a regular session, or with ``extended`` in the hours around one."""
    for session in sessions:
        begin, end = session.open_at, session.close_at
        if extended:
            begin, end = session.start_at or begin, session.close_at_ext or end
        if begin is not None and end is not None and begin <= now < end:
            return True
    return False


def interval_at(
    sessions: Iterable[MarketSession], now: datetime, *, trading: float, resting: float, extended: bool = False
) -> float:
    """Seconds until the next poll: ``trading`` in sessions, else ``resting``, but never beyond the next boundary."""
    known = list(sessions)
    if is_open(known, now, extended=extended):
        return trading
    coming = [each.at for each in boundaries(known, extended=extended) if each.at > now]
    return min(resting, (coming[0] - now).total_seconds()) if coming else resting


class MarketHours:
    """A pace for polls that follows the market: quick while it trades, slow while it rests.

    As long as no timetable could be read it takes the market for open.
    """

    LIFETIME = 3600.0
    """Seconds after which the timetable is read again."""

    PATIENCE = 60.0
    """Seconds to wait after a failure to read it."""

    HOLD_UP = 5.0
    """Most seconds for which reading it may hold up the polls that it paces; longer counts as a failure."""

    def __init__(
        self,
        timetable: Callable[[], Awaitable[list[MarketSession]]],
        *,
        trading: float,
        resting: float,
        extended: bool = False,
        now: Callable[[], datetime],
    ) -> None:
        for name, seconds in (("trading", trading), ("resting", resting)):
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
                raise InvalidRequestError(f"{name} must be a number of seconds greater than 0, not {seconds!r}")
        self._timetable = timetable
        self._trading = trading
        self._resting = resting
        self._extended = extended
        self._now = now
        self._sessions: list[MarketSession] | None = None
        self._stale_at = float("-inf")

    async def __call__(self) -> float:
        """The interval that holds now, in seconds."""
        clock = asyncio.get_running_loop().time
        if clock() >= self._stale_at:
            try:
                async with asyncio.timeout(self.HOLD_UP):
                    self._sessions = await self._timetable()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                logger.warning("the market's timetable could not be read: %s", type(error).__name__)
                self._stale_at = clock() + self.PATIENCE
            else:
                self._stale_at = clock() + self.LIFETIME
        if self._sessions is None:
            return self._trading
        return interval_at(
            self._sessions, self._now(), trading=self._trading, resting=self._resting, extended=self._extended
        )
