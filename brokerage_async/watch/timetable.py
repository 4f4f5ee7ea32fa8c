"""Timetable of a market: read from the service, watched, and as a pace for polls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from operator import attrgetter

from .._generated.endpoints import Endpoints
from .._generated.models import MarketSession
from ..errors import APIError, InvalidRequestError
from ..protocol.timetable import timetable_range
from .feed import Feed
from .feeds import Feeds, WatchedSession
from .ledger import Ledger
from .market_hours import MarketHours
from .market_watcher import BoundaryCodec, MarketWatcher
from .schedule import Schedule
from .state import WatchState

__all__ = ["Timetables"]

SESSION_KEY = attrgetter("session_date")


class Timetables:
    """Timetables of the markets of one client.

    Args:
        session: makes the calls.
        feeds: shared polls.
        now: the clock of the service.
    """

    def __init__(self, session: WatchedSession, feeds: Feeds, now: Callable[[], datetime]) -> None:
        self._session = session
        self._endpoints = Endpoints(session)
        self._feeds = feeds
        self._now = now

    def watch(
        self,
        instrument_collection: object,
        schedule: Schedule,
        *,
        extended: bool,
        initial: bool,
        on_error: Callable[[Exception], None] | None,
        state: WatchState | None,
    ) -> MarketWatcher:
        """Return a watcher of the sessions of a market."""
        collection = _check_collection(instrument_collection)
        identity = self._feeds.identity("market", instrument_collection=collection, extended=extended)
        return MarketWatcher(
            self._feed(collection, schedule),
            now=self._now,
            is_stale=self._session.service_time_is_stale,
            extended=extended,
            initial=initial,
            on_error=on_error,
            ledger=None if state is None else Ledger(state, identity, BoundaryCodec()),
        )

    def hours(self, instrument_collection: object, *, trading: float, resting: float, extended: bool) -> MarketHours:
        """Return a pacing function that follows the hours of a market."""
        collection = _check_collection(instrument_collection)
        read = partial(self._sessions, self._endpoints, collection)
        return MarketHours(read, trading=trading, resting=resting, extended=extended, now=self._now)

    def _feed(self, collection: str, schedule: Schedule) -> Feed[MarketSession]:
        name = ("timetable", collection)
        return self._feeds.get(name, schedule, lambda api: self._sessions(api, collection), SESSION_KEY)

    async def _sessions(self, api: Endpoints, collection: str) -> list[MarketSession]:
        """Read the timetable around today, and once more if the answer shows that the service has another date."""
        sessions: list[MarketSession] = []
        failure: APIError | None = None
        first, last = timetable_range(self._now())
        try:
            sessions = await api.market_time.sessions(last, from_date=first, instrument_collection=collection)
        except APIError as error:
            failure = error
        if (actual := timetable_range(self._now())) != (first, last):
            first, last = actual
            return await self._endpoints.market_time.sessions(last, from_date=first, instrument_collection=collection)
        if failure is not None:
            raise failure
        return sessions


def _check_collection(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"instrument_collection must be a str such as 'Equity', got {value!r}")
    return str(value)
