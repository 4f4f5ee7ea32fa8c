"""Watcher of a market: the boundaries of its sessions, reported when the clock reaches them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta

import attrs

from .._arguments import running_loop
from .._generated.models import MarketSession
from .codec import read_json, write_json
from .diff import Change
from .feed import Feed
from .ledger import Ledger
from .market_hours import Boundary, MarketKind, boundaries, last_passed
from .poll import Watcher
from .state import StoredChange

__all__ = ["BoundaryCodec", "Mark", "MarketWatcher", "boundaries_after"]

MAX_SLEEP = 60.0
"""Maximum seconds between two looks at the clock, which may be set, or advance while the machine is suspended."""


MARKET = "market"
"""Key of the one position of a market: its boundaries are reported one after another."""


@attrs.frozen
class Mark:
    """Time of the boundary that was acknowledged last; without ``kind``, of the beginning."""

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


class BoundaryCodec:
    """Boundaries as JSON. Acknowledging one leaves a `Mark`."""

    def key_of(self, change: Change[MarketSession]) -> str:
        """Return the key of the market."""
        return MARKET

    def position_of(self, change: Change[MarketSession]) -> Mark:
        """Return the mark of the boundary."""
        return Mark(change.at, change.kind, change.key)

    def encode_position(self, key: str, position: Mark) -> tuple[str, bytes]:
        """Return a mark as it is stored."""
        return key, position.encode()

    def decode_position(self, key: str, data: bytes) -> tuple[str, Mark]:
        """Return a stored mark."""
        return key, Mark.decode(data)

    def store(self, change: Change[MarketSession], sequence: int) -> StoredChange:
        """Return a boundary as it is stored: ``before`` is its session, ``after`` its mark."""
        return StoredChange(
            sequence=sequence,
            key=MARKET,
            kind=str(change.kind),
            at=change.at.isoformat(),
            before=write_json(change.item, MarketSession),
            after=self.position_of(change).encode(),
        )

    def restore(self, stored: StoredChange) -> Change[MarketSession]:
        """Return a stored boundary."""
        session = read_json(stored.before or b"", MarketSession)
        mark = Mark.decode(stored.after)
        return Boundary(MarketKind(stored.kind), mark.day, mark.at, session).change()


class MarketWatcher(Watcher[MarketSession]):
    """A `Watcher` whose changes are due by the clock, each boundary once, even if a newer timetable moves it.

    Args:
        feed: polls the timetable.
        now: the clock of the service, known once the timetable has been read.
        is_stale: returns True if the timetable has to be read for the clock to be right.
        extended: whether to report the extended hours, too.
        initial: whether to begin with the last boundary that has passed.
        on_error: called with every transient failure to read the timetable.
        ledger: keeps the last acknowledged boundary, for a watcher with a state.
    """

    def __init__(
        self,
        feed: Feed[MarketSession],
        *,
        now: Callable[[], datetime],
        is_stale: Callable[[], bool] = lambda: False,
        extended: bool,
        initial: bool,
        on_error: Callable[[Exception], None] | None,
        ledger: Ledger[MarketSession] | None = None,
    ) -> None:
        super().__init__(feed, on_error=on_error, ledger=ledger)
        self._now = now
        self._is_stale = is_stale
        self._extended = extended
        self._initial = initial
        self._began: float | None = None
        self._hastened_at = 0.0
        self._since: datetime | None = None
        self._checked_at = now()
        self._reported: set[Boundary] = set()

    @property
    def snapshot(self) -> dict[object, MarketSession]:
        """The sessions of the timetable by trading day."""
        return dict(self._feed.latest or {})

    def _boundaries(self) -> list[Boundary]:
        return boundaries((self._feed.latest or {}).values(), extended=self._extended)

    def _take(self) -> Change[MarketSession] | None:
        clock = running_loop().time()
        if self._began is None:
            self._began = self._hastened_at = clock
        unknown = self._feed.latest is None or self._is_stale()
        if unknown and clock - self._hastened_at >= MAX_SLEEP:  # an hour until the next poll would be long
            self._hastened_at = clock
            self._feed.hasten()
        known, now = self._boundaries(), self._now()
        self._checked_at = now
        if self._since is None and known:
            began = now - timedelta(seconds=clock - self._began)  # includes boundaries before the first timetable
            self._since = self._begin(last_passed(known, now) if self._initial else began)
        for each in self._unacknowledged(known):
            if self._since is not None and self._since <= each.at <= now and each not in self._reported:
                self._reported.add(each)
                return each.change()
        return None

    def _begin(self, since: datetime) -> datetime:
        """Return the time from which boundaries are reported: where the consumer stood, if there is a state."""
        if self._ledger is None:
            return since
        if not self._ledger.begun:
            self._ledger.begin("", {MARKET: Mark(since)})
        mark: Mark = self._ledger.positions[MARKET]
        return mark.at

    def _unacknowledged(self, known: Sequence[Boundary]) -> Sequence[Boundary]:
        """Return the boundaries that may be reported: with a state, none before the last one is acknowledged."""
        if self._ledger is None or self._since is None:
            return known
        return () if self._ledger.holds(MARKET) else boundaries_after(known, self._ledger.positions[MARKET])

    def _max_wait(self) -> float:
        since = self._checked_at
        coming = ((each.at - since).total_seconds() for each in self._boundaries() if each.at > since)
        return min(MAX_SLEEP, next(coming, MAX_SLEEP))  # oldest first
