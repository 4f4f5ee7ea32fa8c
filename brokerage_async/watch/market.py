"""Market hours: the boundaries of a timetable of sessions, watched, and as a pace for polls.

The timetable contains holidays (days without a session), half-days and changes of daylight-saving time, so this module
needs neither a calendar nor a time zone.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import attrs

from .._arguments import check_flag, check_seconds, running_loop
from .._generated.models import MarketSession
from ..errors import InvalidRequestError
from ..protocol.timetable import is_open
from .diff import Change, change_of
from .feed import Cursor, Feed, is_fatal, logger
from .poll import Watcher
from .state import OwnCodec


class MarketKind(enum.StrEnum):
    """Boundary of a market session, in the order of a day.

    ``started`` and ``ended`` belong to the extended session around the regular one.
    """

    STARTED = "started"
    OPENED = "opened"
    CLOSED = "closed"
    ENDED = "ended"


BEGINS = (MarketKind.STARTED, MarketKind.OPENED)
REGULAR = (MarketKind.OPENED, MarketKind.CLOSED)
TIMES = dict(zip(MarketKind, ("start_at", "open_at", "close_at", "close_at_ext"), strict=True))

MAX_SLEEP = 60.0  # maximum seconds between two looks at the clock, which may be set, or advance during a suspension
MARKET = "market"  # key of the one item of a market: its boundaries are reported one after another


@attrs.frozen
class Boundary:
    """Begin or end of the session of a ``day``, equal wherever a newer timetable moves it.

    One without ``kind`` is a mere moment: the beginning of a watcher.
    """

    kind: MarketKind | None
    day: date | None
    at: datetime = attrs.field(eq=False)
    session: MarketSession | None = attrs.field(eq=False)


def boundaries(sessions: Iterable[MarketSession], *, extended: bool = False) -> list[Boundary]:
    """Return the boundaries of the sessions, extended ones if asked, oldest first."""
    found = [
        Boundary(kind, session.session_date, at, session)
        for session in sessions
        for kind, name in TIMES.items()
        if (extended or kind in REGULAR) and (at := getattr(session, name)) is not None
    ]
    return sorted(found, key=lambda boundary: boundary.at)  # stable: an end sorts before the begin at the same time


def seconds_to_next(known: Iterable[Boundary], now: datetime, most: float) -> float:
    """Return the seconds until the first coming one of ``known`` boundaries, oldest first, at most as given."""
    return min(most, next(((each.at - now).total_seconds() for each in known if each.at > now), most))


class MarketHours:
    """Pacing function for polls: frequent while the market is open, rare while it is closed.

    The timetable is read again after `REFRESH_INTERVAL` seconds or on another day, and `RETRY_DELAY` seconds after a
    failure. A read that delays the paced polls by more than `READ_TIMEOUT` seconds counts as one. As long as the
    timetable could not be read, the market counts as open.
    """

    REFRESH_INTERVAL = 3600.0
    RETRY_DELAY = 60.0
    READ_TIMEOUT = 5.0

    def __init__(
        self,
        timetable: Callable[[], Awaitable[list[MarketSession]]],
        *,
        trading: float,
        resting: float,
        extended: bool = False,
        now: Callable[[], datetime],
    ) -> None:
        self._timetable, self._now, self._extended = timetable, now, check_flag("extended", extended)
        self._trading = check_seconds("trading", trading)
        self._resting = check_seconds("resting", resting)
        self._sessions: list[MarketSession] | None = None
        self._stale_at = float("-inf")
        self._read_on: date | None = None

    async def __call__(self) -> float:
        """Return the current interval in seconds. While the market is closed it does not go past the opening."""
        clock = running_loop().time
        if clock() >= self._stale_at or self._now().date() != self._read_on:  # this machine may have slept for weeks
            try:
                async with asyncio.timeout(self.READ_TIMEOUT):
                    self._sessions = await self._timetable()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                logger.warning("reading the market timetable failed: %s", type(error).__name__)
                self._stale_at = clock() + self.RETRY_DELAY
                if all(each.at <= self._now() for each in boundaries(self._sessions or ())):
                    self._sessions = None  # it is over: this machine may have slept for weeks
            else:
                self._stale_at = clock() + self.REFRESH_INTERVAL
            self._read_on = self._now().date()
        now = self._now()
        if self._sessions is None or is_open(self._sessions, now, extended=self._extended):
            return self._trading
        return seconds_to_next(boundaries(self._sessions, extended=self._extended), now, self._resting)


def boundaries_after(known: Sequence[Boundary], last: Boundary) -> Sequence[Boundary]:
    """Return the boundaries that follow ``last``, even if a newer timetable has moved it."""
    if last in known:
        return known[known.index(last) + 1 :]
    return [each for each in known if each.at >= last.at]


class MarketCursor(Cursor[Boundary]):
    """Position of one consumer in a timetable: a collection whose one item is the last boundary that has passed.

    ``is_stale`` returns True if the timetable has to be read for the clock ``now`` to be right.
    """

    def __init__(
        self,
        feed: Feed[MarketSession],
        *,
        now: Callable[[], datetime],
        is_stale: Callable[[], bool] = lambda: False,
        extended: bool,
        initial: bool,
    ) -> None:
        super().__init__(feed, initial=False)
        self._now, self._is_stale = now, is_stale
        self._extended, self._initial = check_flag("extended", extended), check_flag("initial", initial)
        self._began: float | None = None
        self._hastened_at = 0.0
        self._passed: list[Boundary] = []  # since the last one seen

    def refresh(self) -> bool:
        """Look at the clock. Return False before the first timetable."""
        clock = running_loop().time()
        if self._began is None:
            self._began = self._hastened_at = clock
        known, now = boundaries((self.feed.latest or {}).values(), extended=self._extended), self._now()
        is_over = bool(known) and known[-1].at <= now  # this machine has slept, and another answer has shown the time
        unknown = self.feed.latest is None or is_over or self._is_stale()
        if unknown and clock - self._hastened_at >= MAX_SLEEP:  # an hour until the next poll would be long
            self._hastened_at = clock
            self.feed.hasten()
        self.max_wait: float | None = seconds_to_next(known, now, MAX_SLEEP)
        if self.seen is None and known:
            began = now - timedelta(seconds=clock - self._began)  # includes boundaries before the first timetable
            at = max((each.at for each in known if each.at <= now), default=now) if self._initial else began
            self.seen: dict[Any, Boundary] | None = {MARKET: Boundary(None, None, at, None)}
        if self.seen is None:
            return False
        self._passed = [each for each in boundaries_after(known, self.seen[MARKET]) if each.at <= now]
        self._latest = {MARKET: self._passed[-1]} if self._passed else self.seen
        self.keys: deque[Any] = deque([MARKET])
        return True

    def reports(self, change: Change[Any]) -> Iterable[Change[Any]]:
        """Return one change for each boundary that has passed."""
        steps = zip([change.before, *self._passed], self._passed, strict=False)
        return [change_of(MARKET, before, after, after.at) for before, after in steps]


class MarketWatcher(Watcher[MarketSession]):
    """A `Watcher` whose changes are due by the clock, each boundary once, even if a newer timetable moves it."""

    def __init__(self, cursor: MarketCursor, **options: Any) -> None:
        super().__init__({"": cursor}, codec=OwnCodec(lambda _: Boundary), **options)

    def _report(self, change: Change[Any]) -> Any:
        """Return the change of the session, which begins or ends."""
        kind, day, session = change.item.kind, change.item.day, change.item.session
        before, after = (None, session) if kind in BEGINS else (session, None)
        return attrs.evolve(change, kind=kind, key=day, before=before, after=after)

    @property
    def snapshot(self) -> dict[Any, MarketSession]:
        """The sessions of the timetable by trading day."""
        return dict(self._parts[""].feed.latest or {})


def check_collection(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"instrument_collection must be a str such as 'Equity', got {value!r}")
    return str(value)
