"""Polling loops: the latest states of collections, shared by their watchers, decoded only if the bytes have changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import weakref
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast

from .._arguments import check_function, running_loop
from .._generated.endpoints import Endpoints
from ..config.random_values import chance
from ..errors import BrokerageError, ConfigurationError
from ..http.shared import BACKGROUND
from ..observers import PollStarted
from ..operation import BoundCall, Executor, Guard, Pager
from ..protocol.streams.timing import LookBudget
from .diff import UNCHANGED, Unchanged, keyed
from .schedule import Schedule, is_fatal

if TYPE_CHECKING:
    from ..http.session import BrokerageSession

__all__ = [
    "ConditionalExecutor",
    "Connected",
    "Doorbell",
    "Doorbells",
    "Feed",
    "Feeds",
    "FetchItems",
    "Found",
    "conditional_fetch",
    "utc_now",
    "wait_any",
]

T = TypeVar("T")
E = TypeVar("E")

CHUNK = 1000
"""Items that are compared at a time. In between, the event loop runs."""

FetchItems = Callable[[], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
"""Fetches the whole collection, or returns `UNCHANGED`."""

Found = Callable[[float], None]
"""Takes a change that a poll on schedule found, as the time of the poll before: an event should have announced it."""

Doorbell = Callable[[Callable[[], None]], AbstractAsyncContextManager[Found | None]]
"""Calls the given function after each event while the context is open. See `Found` for its value.

Events are hints. The polls alone decide on reports: a lost hint costs nothing but time, a repeated one at most a poll.
"""


class Doorbells(Protocol):
    """Source of doorbells: the streams of a client."""

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Doorbell:
        """Return a doorbell for events of these types. None for the accounts of the user.

        Raises:
            ConfigurationError: the client cannot stream.
        """
        ...


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Listener(Protocol):
    """A consumer of a feed, called synchronously from its loop."""

    def on_failure(self, error: Exception, /) -> None:
        """Handle a failed poll that will be repeated."""
        ...

    def on_removed(self, removed: Mapping[Any, Any]) -> None:
        """Handle items that left the collection, in their last state."""
        ...


class Feed(Generic[T]):
    """One polling loop: the latest state of a collection for all its listeners.

    It starts when a listener first waits, and is cancelled as soon as the last listener leaves, or when the client is
    closed. A feed that has ended never starts again.

    Attributes:
        waiting: futures that the next announcement completes.
        latest: the items by key, None before the first answer.
        at: when ``latest`` was received.
        error: the error that ended the loop, None while it runs.
    """

    def __init__(
        self,
        fetch: FetchItems[T],
        *,
        key: Callable[[T], Hashable],
        schedule: Schedule,
        fatal: Callable[[Exception, int], bool] = is_fatal,
        now: Callable[[], datetime] = utc_now,
        doorbell: Doorbell | None = None,
        on_poll: Callable[[float], None] | None = None,
    ) -> None:
        if not callable(fetch):
            raise ConfigurationError(f"fetch must be a coroutine function, got {fetch!r}")
        for name, function in (("key", key), ("fatal", fatal), ("now", now)):
            check_function(name, function)
        self._fetch = fetch
        self._key = key
        self._schedule = schedule
        self._fatal = fatal
        self._now = now
        self._doorbell = doorbell
        self._on_poll = on_poll
        self._looks = LookBudget()
        self._early: asyncio.TimerHandle | None = None
        self._is_failing = False
        self._listeners: set[Listener] = set()
        self.waiting: set[asyncio.Future[None]] = set()
        self._hastened = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self._finished = False
        self._traceback: TracebackType | None = None
        self.latest: Mapping[Any, T] | None = None
        self.at: datetime = now()
        self.error: Exception | None = None

    @property
    def is_polling(self) -> bool:
        """True while the loop runs."""
        return self._task is not None and not self.ended

    @property
    def ended(self) -> bool:
        """True once the loop was stopped, or has ended and its error is known."""
        return self._stopped or self._finished

    def attach(self, listener: Listener) -> None:
        """Poll until ``listener`` is released."""
        self._listeners.add(listener)

    def release(self, listener: Listener) -> None:
        """Stop polling for ``listener``, in any thread. The last one ends the loop."""
        self._listeners.discard(listener)
        if not self._listeners and self._task is not None:
            self._stop()

    async def join(self) -> None:
        """Wait for the end of a loop that was stopped."""
        task = self._task
        if self._stopped and task is not None and not task.done() and task is not asyncio.current_task():
            await asyncio.wait({task})

    async def aclose(self) -> None:
        """End the loop with an error, because the client was closed."""
        if not self.ended:
            self.error = ConfigurationError("the client is closed")
            self._stop()
            self.announce()
        await self.join()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for a new state or the end, at most ``seconds``."""
        await wait_any((self,), seconds)

    def hasten(self) -> None:
        """Poll now rather than when the next poll is due. Listeners are woken after it, changed or not."""
        self._hastened.set()

    def ring(self) -> None:
        """Poll soon, because of an event, but not while polls fail and wait for the service to recover."""
        loop = running_loop()
        if not self._is_failing and (when := self._looks.ring(loop.time())) is not None:
            self._early = loop.call_at(when, self._hastened.set)

    def check(self) -> None:
        """Raise the error that ended the loop, with its original traceback."""
        if self.error is not None:
            raise self.error.with_traceback(self._traceback)

    def announce(self) -> None:
        """Wake all tasks in `wait`."""
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_result(None)

    def begin(self) -> None:
        """Start the loop, unless it runs or has ended."""
        if self._task is None and not self._stopped:
            self._task = running_loop().create_task(self._run(), name="brokerage_async poll")
            self._task.add_done_callback(self._done)

    def _stop(self) -> None:
        self._stopped = True
        if self._task is not None and not (loop := self._task.get_loop()).is_closed():
            loop.call_soon_threadsafe(self._task.cancel)

    async def _run(self) -> None:
        BACKGROUND.set(weakref.ref(self))  # every client that ``fetch`` calls ends this loop when it is closed
        async with contextlib.nullcontext() if self._doorbell is None else self._doorbell(self.ring) as found:
            await self._poll_on_schedule(found)

    async def _poll_on_schedule(self, found: Found | None) -> None:
        loop = asyncio.get_running_loop()
        due, delay = loop.time(), 0.0
        failures = repeated = 0  # in a row, and of the same class
        last: Exception | None = None
        before = None  # when the last poll that succeeded began
        while not self._stopped:
            if hastened := self._hastened.is_set():
                self._hastened.clear()
                due = loop.time()
            elif self._on_poll is not None:
                self._on_poll(max(0.0, loop.time() - due - delay))
            self._cancel_early()  # this poll comes after those events, too
            self._looks.polled()
            began, known = loop.time(), self.latest
            try:
                fetched = await self._fetch()
                if fetched is not UNCHANGED:
                    await self._publish(fetched)
            except Exception as error:
                failures, repeated = failures + 1, repeated + 1 if type(error) is type(last) else 1
                last = error
            else:
                failures, repeated, last = 0, 0, None
            # items that were added or changed: a list drops some without an event
            items, old = self.latest or {}, known or {}
            news = items is not known and any(old.get(name) is not item for name, item in items.items())
            if found is not None and before is not None and not hastened and news:
                found(before)
            before = began if last is None else before
            self._is_failing = last is not None
            if hastened:
                self.announce()
            interval = await self._schedule.current()
            if last is None:
                due = self._schedule.next_due(due, interval, loop.time())
            elif self._fatal(last, repeated):
                raise last
            else:
                for listener in tuple(self._listeners):
                    listener.on_failure(last)
                retry_after = getattr(last, "retry_after", None)
                due = loop.time() + self._schedule.backoff(failures, interval, retry_after)
            delay = chance() * self._schedule.jitter * interval
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due + delay):
                    await self._hastened.wait()

    async def _publish(self, items: Iterable[T]) -> None:
        previous, rows = self.latest or {}, list(items)
        latest: dict[Any, T] = {}
        for start in range(0, len(rows), CHUNK):
            if start:
                await asyncio.sleep(0)
            latest |= keyed(rows[start : start + CHUNK], self._key, previous)
        same = len(latest) == len(previous) and all(previous.get(name) is item for name, item in latest.items())
        if same and self.latest is not None:
            return
        self.latest, self.at = latest, self._now()
        if removed := {name: item for name, item in previous.items() if name not in latest}:
            for listener in tuple(self._listeners):
                listener.on_removed(removed)
        self.announce()

    def _cancel_early(self) -> None:
        if self._early is not None:
            self._early.cancel()
            self._early = None

    def _done(self, task: asyncio.Task[None]) -> None:
        self._cancel_early()
        if task.cancelled():
            if not self._stopped:
                self.error = BrokerageError("the polling loop was cancelled")
        elif isinstance(crash := task.exception(), Exception) and self.error is None:
            self.error, self._traceback = crash, crash.__traceback__
        self._finished = True
        self.announce()


async def wait_any(feeds: Iterable[Feed[Any]], seconds: float | None = None) -> None:
    """Wait until one of the feeds has a new state or has ended, at most ``seconds``."""
    awaited, woken = tuple(feeds), running_loop().create_future()
    try:
        for feed in awaited:
            feed.begin()
            if feed.ended:
                return
            feed.waiting.add(woken)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await woken
    finally:
        for feed in awaited:
            feed.waiting.discard(woken)


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
        self._running: weakref.WeakValueDictionary[Hashable, Feed[Any]] = weakref.WeakValueDictionary()

    def identity(self, name: str, **filters: Any) -> str:
        """Return the identity of a list for a durable state: service, environment, name and filters."""
        service = self._session.environment
        return json.dumps({"watch": name, "origin": service.origin, "environment": service.name, **filters})

    def get(
        self,
        name: Hashable,
        schedule: Schedule,
        read: Callable[[Endpoints], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]],
        key: Callable[[T], Hashable],
        doorbell: Doorbell | None = None,
    ) -> Feed[T]:
        """Return the running feed of the list with this schedule, or a new one. Those with a doorbell are apart."""
        place = (name, schedule, doorbell is not None)
        feed: Feed[T] | None = self._running.get(place)
        if feed is None or feed.ended:
            fetch = conditional_fetch(self._session, read)
            label = str(name[0] if isinstance(name, tuple) else name)
            feed = Feed(
                fetch, key=key, schedule=schedule, now=self._now, doorbell=doorbell,
                on_poll=lambda lateness: self._session.on_event(PollStarted(watcher=label, lateness=lateness)),
            )  # fmt: skip
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
        if self._previous_body is not None or not call.operation.identity:
            self._rows, self._missed = {}, frozenset()
            return value
        # A row may slip by between two pages though their totals agree: it is gone once two readings in a row lack it.
        rows, identity = cast("list[Any]", value), attrgetter(*call.operation.identity)
        latest = {identity(row): row for row in rows}
        missed = {name: row for name, row in self._rows.items() if name not in latest and name not in self._missed}
        self._rows, self._missed = latest | missed, frozenset(missed)
        return cast("T", [*rows, *missed.values()])

    def paginate(self, call: BoundCall[list[E]]) -> Pager[E]:
        """Return the pages, changed or not."""
        return self._executor.paginate(call)


def conditional_fetch(
    executor: Executor, read: Callable[[Endpoints], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
) -> FetchItems[T]:
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
