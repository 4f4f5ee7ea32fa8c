"""Feeds of one client: shared by the watchers of a list, and decoded only if the bytes of an answer have changed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Hashable, Iterable
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from .._generated.endpoints import Endpoints
from ..observers import PollStarted
from ..operation import BoundCall, Executor, Guard, Pager
from .diff import UNCHANGED
from .feed import Doorbell, Feed, FetchItems
from .schedule import Schedule

if TYPE_CHECKING:
    from ..http.session import BrokerageSession

__all__ = ["BodyUnchanged", "ConditionalExecutor", "Connected", "Feeds", "conditional_fetch"]

T = TypeVar("T")
E = TypeVar("E")


class Connected(Protocol):
    """The part of a client that watching needs."""

    @property
    def session(self) -> BrokerageSession:
        """The session that makes its calls."""
        ...


class Feeds:
    """Running feeds of one client, by list and schedule.

    Args:
        session: makes the calls, and closes the feeds with its client.
        now: the clock of ``Change.at``.
    """

    def __init__(self, session: BrokerageSession, now: Callable[[], datetime]) -> None:
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
        """Return the running feed of the list with this schedule, or a new one. Those with a doorbell are apart."""
        place = (name, schedule, doorbell is not None)
        feed: Feed[T] | None = self._running.get(place)
        if feed is None or feed.ended:
            fetch = conditional_fetch(self._session, read)
            report = partial(self._report, str(name[0] if isinstance(name, tuple) else name))
            feed = Feed(fetch, key=key, schedule=schedule, now=self._now, doorbell=doorbell, on_poll=report)
            self._running[place] = feed
            self._session.close_with_client(feed)
        return feed


class BodyUnchanged(Exception):  # noqa: N818 - a signal to `conditional_fetch`
    """The body is byte for byte the previous one."""


class ConditionalExecutor:
    """Executor for one repeated read: a body equal to the previous one is not decoded."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._previous_body: bytes | None = None
        self._rows: dict[Any, Any] = {}
        self._missed: frozenset[Any] = frozenset()

    async def fetch_if_changed(self, call: BoundCall[T], previous_body: bytes | None) -> tuple[T, bytes | None] | None:
        """Delegate to the wrapped executor."""
        return await self._executor.fetch_if_changed(call, previous_body)

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> T:
        """Return the decoded result, or raise `BodyUnchanged`."""
        found = await self._executor.fetch_if_changed(call, self._previous_body)
        if found is None:
            raise BodyUnchanged
        value, self._previous_body = found
        if self._previous_body is None and call.operation.identity:
            return cast("T", self._with_missed(cast("list[Any]", value), attrgetter(*call.operation.identity)))
        self._rows, self._missed = {}, frozenset()
        return value

    def _with_missed(self, rows: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
        """Return the rows of several pages, and those of the last reading that this one lacks and that one did not.

        A row may slip by between two pages though their totals agree. It is gone once two readings in a row lack it.
        """
        latest = {identity(row): row for row in rows}
        missed = {name: row for name, row in self._rows.items() if name not in latest and name not in self._missed}
        self._rows, self._missed = latest | missed, frozenset(missed)
        return [*rows, *missed.values()]

    def paginate(self, call: BoundCall[list[E]]) -> Pager[E]:
        """Return the pages, changed or not."""
        return self._executor.paginate(call)


def conditional_fetch(executor: Executor, read: Callable[[Endpoints], Awaitable[Iterable[T]]]) -> FetchItems[T]:
    """Build a fetch for `poll` from one endpoint call.

    It returns `UNCHANGED`, without decoding, if the body equals the previous one.
    """
    api = Endpoints(ConditionalExecutor(executor))

    async def fetch() -> Any:
        try:
            return await read(api)
        except BodyUnchanged:
            return UNCHANGED

    return fetch
