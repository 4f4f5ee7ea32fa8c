"""One polling loop: the latest state of a collection, shared by all who watch it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Generic, Literal, Protocol, TypeVar

from .._arguments import check_function, running_loop
from ..config.random_values import chance
from ..errors import BrokerageError, ConfigurationError
from ..http.shared import BACKGROUND
from ..protocol.streams.timing import LookBudget
from .diff import UNCHANGED, Unchanged, keyed
from .doorbell import Doorbell, Found
from .schedule import FailureStreak, Schedule, is_fatal

__all__ = ["Feed", "FetchItems", "utc_now", "wait_any"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

CHUNK = 1000
"""Items that are compared at a time; in between, the event loop runs."""

FetchItems = Callable[[], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
"""Fetches the whole collection, or returns `UNCHANGED`."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Listener(Protocol):
    """A consumer of a feed, called synchronously from its loop."""

    def on_failure(self, error: Exception) -> None:
        """Handle a failed poll that will be repeated."""
        ...

    def on_removed(self, removed: Mapping[Any, Any]) -> None:
        """Handle items that left the collection, in their last state."""
        ...


class Feed(Generic[T]):
    """One polling loop: the latest state of a collection for all its listeners.

    It starts when a listener first waits. It is cancelled as soon as the last listener is detached or is
    garbage-collected, or when the client is closed. A feed that has ended never starts again.

    Attributes:
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
        self._listeners: set[weakref.ref[Listener]] = set()
        self._waiting: set[asyncio.Future[None]] = set()
        self._hastened = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self._finished = False
        self._traceback: TracebackType | None = None
        self.latest: Mapping[Any, T] | None = None
        self.at: datetime = now()
        self.error: Exception | None = None

    @property
    def ended(self) -> bool:
        """True once the loop was stopped, or has ended and its error is known."""
        return self._stopped or self._finished

    def attach(self, listener: Listener) -> None:
        """Poll until ``listener`` is detached or garbage-collected."""
        remove = weakref.WeakMethod(self._remove)  # a strong reference would make a cycle

        def collected(reference: weakref.ref[Listener]) -> None:
            if (method := remove()) is not None:
                method(reference)

        self._listeners.add(weakref.ref(listener, collected))

    async def detach(self, listener: Listener) -> None:
        """Stop polling for ``listener``; the last one ends the loop."""
        self._remove(weakref.ref(listener))
        if self._stopped:
            await self._join()

    async def aclose(self) -> None:
        """End the loop with an error, because the client was closed."""
        if not self.ended:
            self.error = ConfigurationError("the client is closed")
            self._stop()
            self.announce()
        await self._join()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for a new state or the end, at most ``seconds``."""
        await wait_any((self,), seconds)

    def hasten(self) -> None:
        """Poll now rather than when the next poll is due; listeners are woken after it, changed or not."""
        self._hastened.set()

    def ring(self) -> None:
        """Poll soon, because of an event; not while polls fail, since they wait for the service to recover."""
        loop = running_loop()
        if not self._is_failing and (when := self._looks.ring(loop.time())) is not None:
            self._early = loop.call_at(when, self._hastened.set)

    def check(self) -> None:
        """Raise the error that ended the loop, with its original traceback."""
        if self.error is not None:
            raise self.error.with_traceback(self._traceback)

    def announce(self) -> None:
        """Wake all tasks in `wait`."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def begin(self) -> None:
        """Start the loop, unless it runs or has ended."""
        if self._task is None and not self._stopped:
            self._task = running_loop().create_task(self._run(), name="brokerage_async poll")
            self._task.add_done_callback(self._done)

    @contextlib.contextmanager
    def waking(self, waiter: asyncio.Future[None]) -> Iterator[None]:
        """Wake ``waiter`` with the next announcement while inside."""
        self._waiting.add(waiter)
        try:
            yield
        finally:
            self._waiting.discard(waiter)

    def _alive(self) -> Iterator[Listener]:
        return (listener for reference in tuple(self._listeners) if (listener := reference()) is not None)

    def _remove(self, reference: weakref.ref[Listener]) -> None:
        self._listeners.discard(reference)
        if not self._listeners:
            self._stop()

    def _stop(self) -> None:
        """Cancel the loop; also called by the garbage collector, in any thread."""
        self._stopped = True
        if self._task is not None and not (loop := self._task.get_loop()).is_closed():
            loop.call_soon_threadsafe(self._task.cancel)

    async def _join(self) -> None:
        if self._task is not None and not self._task.done() and self._task is not asyncio.current_task():
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        BACKGROUND.set(weakref.ref(self))  # every client that ``fetch`` calls ends this loop when it is closed
        async with contextlib.nullcontext() if self._doorbell is None else self._doorbell(self.ring) as found:
            await self._poll_on_schedule(found)

    async def _poll_on_schedule(self, found: Found | None) -> None:
        loop = asyncio.get_running_loop()
        due, delay, streak = loop.time(), 0.0, FailureStreak()
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
            streak.record(await self._poll())
            if found is not None and before is not None and not hastened and self._has_news(known):
                found(before)
            before = began if streak.last is None else before
            self._is_failing = streak.last is not None
            if hastened:
                self.announce()
            interval = await self._schedule.current()
            if (failure := streak.last) is None:
                due = self._schedule.next_due(due, interval, loop.time())
            elif self._fatal(failure, streak.same_kind):
                raise failure
            else:
                self._report(failure)
                retry_after = getattr(failure, "retry_after", None)
                due = loop.time() + self._schedule.backoff(streak.total, interval, retry_after)
            delay = chance() * self._schedule.jitter * interval
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due + delay):
                    await self._hastened.wait()

    async def _poll(self) -> Exception | None:
        try:
            items = await self._fetch()
            if items is not UNCHANGED:
                await self._publish(items)
        except Exception as error:
            return error
        return None

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
            self._report_removed(removed)
        self.announce()

    def _has_news(self, known: Mapping[Any, T] | None) -> bool:
        """Return whether items were added or changed; a list drops some without an event."""
        latest = self.latest or {}
        return latest is not known and any((known or {}).get(name) is not item for name, item in latest.items())

    # The loop sleeps in its frame: a listener held there in a variable would never be garbage-collected.

    def _report(self, failure: Exception) -> None:
        for listener in self._alive():
            listener.on_failure(failure)

    def _report_removed(self, removed: Mapping[Any, T]) -> None:
        for listener in self._alive():
            listener.on_removed(removed)

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
    with contextlib.ExitStack() as stack, contextlib.suppress(TimeoutError):
        woken = running_loop().create_future()
        for feed in feeds:
            feed.begin()
            if feed.ended:
                return
            stack.enter_context(feed.waking(woken))
        async with asyncio.timeout(seconds):
            await woken
