"""The sessions of a market as they open and close, told when the clock passes the times of the timetable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from .._generated.models import MarketSession
from .diff import Change
from .market_hours import Boundary, boundaries, last_passed
from .poll import Feed, Watcher

__all__ = ["MarketWatcher"]

NAP = 60.0
"""Longest sleep in seconds between two looks at the wall clock, which may be set, or go on while the machine sleeps."""


class MarketWatcher(Watcher[MarketSession]):
    """A `Watcher` whose changes come from the clock: each boundary once, wherever a new timetable puts it.

    Args:
        feed: reads the timetable.
        now: the wall clock.
        extended: whether to tell the extended hours, too.
        initial: whether to begin with the last boundary that has passed.
        on_error: hears every failure to read the timetable that may pass.
    """

    def __init__(
        self,
        feed: Feed[MarketSession],
        *,
        now: Callable[[], datetime],
        extended: bool,
        initial: bool,
        on_error: Callable[[Exception], None] | None,
    ) -> None:
        super().__init__(feed, on_error=on_error)
        self._now = now
        self._extended = extended
        self._initial = initial
        self._since: datetime | None = None
        self._looked = now()
        self._told: set[Boundary] = set()

    @property
    def snapshot(self) -> dict[object, MarketSession]:
        """The sessions of the timetable by trading day."""
        return dict(self._feed.latest or {})

    def _boundaries(self) -> list[Boundary]:
        return boundaries((self._feed.latest or {}).values(), extended=self._extended)

    def _take(self) -> Change[MarketSession] | None:
        known, now = self._boundaries(), self._now()
        self._looked = now
        if self._since is None and (known or not self._initial):  # what passes before the first timetable comes counts
            self._since = last_passed(known, now) if self._initial else now
        for each in known:
            if self._since is not None and self._since <= each.at <= now and each not in self._told:
                self._told.add(each)
                return each.change()
        return None

    def _patience(self) -> float:
        coming = ((each.at - self._looked).total_seconds() for each in self._boundaries() if each.at > self._looked)
        return min(NAP, next(coming, NAP))  # oldest first
