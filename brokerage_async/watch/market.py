"""Market hours: the boundaries of a timetable of sessions, watched, and as a pace for polls.

The timetable contains holidays (days without a session), half-days and changes of daylight-saving time, so this module
needs neither a calendar nor a time zone.
"""

from __future__ import annotations

import asyncio
import enum
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import attrs

from .._arguments import check_seconds, running_loop
from .._generated.endpoints import Endpoints
from .._generated.models import MarketSession
from ..errors import APIError, InvalidRequestError
from ..protocol.timetable import is_open, timetable_range
from .codec import ItemCodec, read_json, write_json
from .cursor import Cursor, OnError
from .diff import Change, change_of
from .feed import Feed
from .poll import Watcher
from .schedule import is_fatal
from .state import StoredChange, WatchState

__all__ = [
    "Boundary",
    "BoundaryCodec",
    "Mark",
    "MarketHours",
    "MarketKind",
    "MarketWatcher",
    "boundaries",
    "boundaries_after",
    "check_collection",
    "interval_at",
    "sessions_around_now",
]

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


class MarketKind(enum.StrEnum):
    """Boundary of a market session, in the order of a day.

    ``started`` and ``ended`` belong to the extended session around the regular one.
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
    """Begin or end of the session of a ``day``, equal wherever a newer timetable moves it."""

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
    """Maximum seconds by which reading it delays the paced polls. Longer counts as a failure."""

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


MAX_SLEEP = 60.0
"""Maximum seconds between two looks at the clock, which may be set, or advance while the machine is suspended."""


MARKET = "market"
"""Key of the one position of a market: its boundaries are reported one after another."""


@attrs.frozen
class Mark:
    """Time of the boundary that was acknowledged last, or without ``kind`` of the beginning."""

    at: datetime
    kind: str | None = None
    day: date | None = None

    def encode(self) -> bytes:
        """Return the mark as JSON."""
        return json.dumps([self.at.isoformat(), self.kind, self.day and self.day.isoformat()]).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> Mark:
        """Return the mark that was encoded."""
        at, kind, day = read_json(data or b"", None)
        return cls(datetime.fromisoformat(at), kind, day and date.fromisoformat(day))


def boundaries_after(known: Sequence[Boundary], mark: Mark) -> Sequence[Boundary]:
    """Return the boundaries that follow ``mark``, even if a newer timetable has moved it."""
    for number, each in enumerate(known):
        if (each.kind, each.day) == (mark.kind, mark.day):
            return known[number + 1 :]
    return [each for each in known if each.at >= mark.at]


class BoundaryCodec(ItemCodec[MarketSession]):
    """Boundaries as JSON. Acknowledging one leaves a `Mark`."""

    def __init__(self) -> None:
        super().__init__(lambda _: MARKET, MarketSession)

    def key_of(self, change: Change[MarketSession]) -> str:
        """Return the key of the market."""
        return MARKET

    def position_of(self, change: Change[MarketSession]) -> Mark:
        """Return the mark of the boundary."""
        return Mark(change.at, change.kind, change.key)

    def encode_position(self, key: str, position: Mark) -> tuple[str, bytes]:
        """Return the stored form of a mark."""
        return key, position.encode()

    def decode_position(self, key: str, data: bytes) -> tuple[str, Mark]:
        """Return a stored mark."""
        return key, Mark.decode(data)

    def store(self, change: Change[MarketSession], sequence: int) -> StoredChange:
        """Return the stored form of a boundary: ``before`` is its session, ``after`` its mark."""
        before, after = write_json(change.item, MarketSession), self.position_of(change).encode()
        return attrs.evolve(super().store(change, sequence), key=MARKET, before=before, after=after)

    def restore(self, stored: StoredChange) -> Change[MarketSession]:
        """Return a stored boundary."""
        session = read_json(stored.before or b"", MarketSession)
        mark = Mark.decode(stored.after)
        return Boundary(MarketKind(stored.kind), mark.day, mark.at, session).change()


class _MarketCursor(Cursor[Mark]):
    """Position of one consumer in a timetable: a collection whose one item is the `Mark` of the last boundary."""

    def __init__(
        self,
        feed: Feed[MarketSession],
        *,
        now: Callable[[], datetime],
        is_stale: Callable[[], bool],
        extended: bool,
        initial: bool,
    ) -> None:
        super().__init__(feed)
        self._now = now
        self._is_stale = is_stale
        self._extended = extended
        self._initial = initial
        self._began: float | None = None
        self._hastened_at = 0.0
        self._mark: Mark | None = None
        self._checked_at = now()

    @property
    def snapshot(self) -> Mapping[Any, MarketSession]:
        """The sessions of the timetable by trading day."""
        return self.feed.latest or {}

    def seed(self, items: Mapping[Any, Mark]) -> None:
        """Begin where the consumer stood."""
        self._mark = items[MARKET]

    def max_wait(self) -> float:
        """Return the seconds until the next boundary."""
        since = self._checked_at
        coming = ((each.at - since).total_seconds() for each in self._boundaries() if each.at > since)
        return min(MAX_SLEEP, next(coming, MAX_SLEEP))  # oldest first

    def take(self) -> Change[Mark] | None:
        """Return the change to the mark of the last boundary that has passed, if any has."""
        clock = running_loop().time()
        if self._began is None:
            self._began = self._hastened_at = clock
        unknown = self.feed.latest is None or self._is_stale()
        if unknown and clock - self._hastened_at >= MAX_SLEEP:  # an hour until the next poll would be long
            self._hastened_at = clock
            self.feed.hasten()
        known, now = self._boundaries(), self._now()
        self._checked_at = now
        if self._mark is None and known:
            began = now - timedelta(seconds=clock - self._began)  # includes boundaries before the first timetable
            self._mark = Mark(
                max((each.at for each in known if each.at <= now), default=now) if self._initial else began
            )
            self.start = {MARKET: self._mark}
        if (before := self._mark) is None:
            return None
        passed = [each for each in boundaries_after(known, before) if each.at <= now]
        if not passed:
            return None
        last = passed[-1]
        self._mark = Mark(last.at, last.kind, last.day)
        return change_of(MARKET, before, self._mark, last.at)

    def derive(self, change: Change[Mark]) -> Iterable[Change[MarketSession]]:
        """Return the changes of the boundaries from one mark to another."""
        assert change.before is not None
        assert change.after is not None
        known = self._boundaries()
        passed = boundaries_after(known, change.before)
        coming = boundaries_after(known, change.after)
        return [each.change() for each in passed[: len(passed) - len(coming)]]

    def _boundaries(self) -> list[Boundary]:
        return boundaries((self.feed.latest or {}).values(), extended=self._extended)


class MarketWatcher(Watcher[MarketSession]):
    """A `Watcher` whose changes are due by the clock, each boundary once, even if a newer timetable moves it.

    For the other arguments see `Watch.market` and `Watcher`.

    Args:
        feed: polls the timetable.
        now: the clock of the service, known once the timetable has been read.
        is_stale: returns True if the timetable has to be read for the clock to be right.
    """

    def __init__(
        self,
        feed: Feed[MarketSession],
        *,
        now: Callable[[], datetime],
        is_stale: Callable[[], bool] = lambda: False,
        extended: bool,
        initial: bool,
        on_error: OnError | None,
        state: WatchState | None = None,
        name: str = "market",
    ) -> None:
        cursor = _MarketCursor(feed, now=now, is_stale=is_stale, extended=extended, initial=initial)
        super().__init__(
            {"": cursor}, on_error=on_error, derive=cursor.derive, state=state, name=name, codec=BoundaryCodec()
        )

    @property
    def snapshot(self) -> dict[Any, MarketSession]:
        """The sessions of the timetable by trading day."""
        return self._source.snapshot


async def sessions_around_now(
    now: Callable[[], datetime], collection: str, api: Endpoints, again: Endpoints
) -> list[MarketSession]:
    """Read the timetable around today, and ``again`` if the answer shows that the service has another date."""
    sessions: list[MarketSession] = []
    failure: APIError | None = None
    first, last = timetable_range(now())
    try:
        sessions = await api.market_time.sessions(last, from_date=first, instrument_collection=collection)
    except APIError as error:
        failure = error
    if (actual := timetable_range(now())) != (first, last):
        first, last = actual
        return await again.market_time.sessions(last, from_date=first, instrument_collection=collection)
    if failure is not None:
        raise failure
    return sessions


def check_collection(value: object) -> str:
    """Return ``value`` if it can name a collection.

    Raises:
        InvalidRequestError: it cannot.
    """
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"instrument_collection must be a str such as 'Equity', got {value!r}")
    return str(value)
