"""Feeds of one client, shared by the watchers of the same list at the same schedule."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Hashable, Iterable
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from .._generated.endpoints import Endpoints
from ..config import Environment
from ..observers import Event, PollStarted
from ..operation import Executor
from .doorbell import Doorbell
from .feed import Feed
from .schedule import Schedule
from .unchanged import conditional_fetch

__all__ = ["Connected", "Feeds", "WatchedSession"]

T = TypeVar("T")


class WatchedSession(Executor, Protocol):
    """A session that also knows the service's time, and closes feeds when its client is closed."""

    def close_with_client(self, resource: Feed[Any]) -> None:
        """Await ``resource.aclose()`` when the client is closed."""
        ...

    @property
    def environment(self) -> Environment:
        """The service that is called."""
        ...

    def on_event(self, event: Event) -> None:
        """Pass an event on to the observers of the client."""
        ...

    def service_now(self) -> datetime | None:
        """Return the service's time, or None until an answer has shown it."""
        ...

    def service_time_is_stale(self) -> bool:
        """Return True if an answer has to show the time once more."""
        ...


class Connected(Protocol):
    """The part of a client that watching needs."""

    @property
    def session(self) -> WatchedSession:
        """The session that makes its calls."""
        ...


class Feeds:
    """Running feeds of one client, by list and schedule.

    Args:
        session: makes the calls, and closes the feeds with its client.
        now: the clock of ``Change.at``.
    """

    def __init__(self, session: WatchedSession, now: Callable[[], datetime]) -> None:
        self._session = session
        self._now = now
        self._running: WeakValueDictionary[Hashable, Feed[Any]] = WeakValueDictionary()

    def identity(self, name: str, **filters: Any) -> str:
        """Return the identity of a list for a durable state: service, environment, name and filters."""
        service = self._session.environment
        return json.dumps({"watch": name, "origin": service.origin, "environment": service.name, **filters})

    def _report(self, watcher: str, lateness: float) -> None:
        self._session.on_event(PollStarted(watcher=watcher, lateness=lateness))

    def get(
        self,
        name: Hashable,
        schedule: Schedule,
        read: Callable[[Endpoints], Awaitable[Iterable[T]]],
        key: Callable[[T], Hashable],
        doorbell: Doorbell | None = None,
    ) -> Feed[T]:
        """Return the running feed of the list with this schedule, or a new one; those with a doorbell are apart."""
        place = (name, schedule, doorbell is not None)
        feed: Feed[T] | None = self._running.get(place)
        if feed is None or feed.ended:
            fetch = conditional_fetch(self._session, read)
            report = partial(self._report, str(name[0] if isinstance(name, tuple) else name))
            feed = Feed(fetch, key=key, schedule=schedule, now=self._now, doorbell=doorbell, on_poll=report)
            self._running[place] = feed
            self._session.close_with_client(feed)
        return feed
