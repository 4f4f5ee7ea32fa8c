"""Polling loops: the latest states of collections, and the positions of their consumers within them."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

from .._arguments import check_function, running_loop
from ..config.random_values import chance
from ..errors import BrokerageError, ConfigurationError
from ..http.shared import BACKGROUND
from ..protocol.streams.timing import Doorbell, Found, LookBudget
from .diff import UNCHANGED, Change, Unchanged, change_of, differing, keyed
from .schedule import Schedule, is_fatal

__all__ = ["Cursor", "Feed", "FetchItems", "OnError", "utc_now", "wait_any"]

T = TypeVar("T")

CHUNK = 1000
"""Items that are compared at a time. In between, the event loop runs."""

FetchItems = Callable[[], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
"""Fetches the whole collection, or returns `UNCHANGED`."""

OnError = Callable[[Exception], None]
"""Called with every failure that does not end the iteration. By raising, it does."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Feed(Generic[T]):
    """One polling loop: the latest state of a collection for all its cursors.

    It starts when a consumer first waits, and is cancelled as soon as the last cursor leaves, or when the client is
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
        self._cursors: set[Cursor[T]] = set()
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

    def attach(self, cursor: Cursor[Any]) -> None:
        """Poll until ``cursor`` is released."""
        self._cursors.add(cursor)

    def release(self, cursor: Cursor[Any]) -> None:
        """Stop polling for ``cursor``, in any thread. The last one ends the loop."""
        self._cursors.discard(cursor)
        if not self._cursors and self._task is not None:
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
        """Poll now rather than when the next poll is due. Consumers are woken after it, changed or not."""
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
                for cursor in tuple(self._cursors):
                    cursor.on_failure(last)
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
            for cursor in tuple(self._cursors):
                cursor.on_removed(removed)
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


class Cursor(Generic[T]):
    """Position of one consumer within a feed. It holds no queue: it compares the latest state with the last one seen.

    Args:
        feed: the polling loop.
        initial: whether all items of the first state are reported as added.
        seed: the state known before, which the first state is compared with.
        keep: decides whether the last state of an item is reported before its removal, even to a slow consumer.

    Attributes:
        feed: the polling loop.
        seen: the items by key after all changes taken so far, None until the first state decides it.
        on_failure: called with every failed poll that will be repeated.
    """

    def __init__(
        self,
        feed: Feed[Any],
        *,
        initial: bool = True,
        seed: Mapping[Any, T] | None = None,
        keep: Callable[[T], bool] = lambda _: False,
    ) -> None:
        self.feed = feed
        self.seen: Mapping[Any, T] | None = seed if seed is not None else ({} if initial else None)
        self.on_failure: OnError = lambda _: None
        self._keep = keep
        self._kept: dict[Any, T] = {}
        self._target: Mapping[Any, T] | None = None
        self._differing: Iterator[Any] = iter(())
        self._is_own = False  # ``seen`` may be changed
        self._is_complete = True  # no key was passed over

    def current(self) -> Mapping[Any, T] | None:
        """Return the state to compare with, None while it is unknown."""
        return self.feed.latest

    def max_wait(self) -> float | None:
        """Return the seconds until a change may be due without a new state."""
        return None

    def seed(self, items: Mapping[Any, T]) -> None:
        """Compare the first state with ``items``."""
        self.seen = items

    def on_removed(self, removed: Mapping[Any, T]) -> None:
        """Keep the last state of removed items that satisfy ``keep``, to be reported before their removal."""
        seen = self.seen or {}
        self._kept |= {key: item for key, item in removed.items() if self._keep(item) and seen.get(key) != item}

    def refresh(self) -> bool:
        """Compare with a newer state from now on, if there is one. Return False before the first one."""
        latest = self.current()
        if latest is not None and latest is not self._target:
            if self.seen is None:
                self.seen, self._kept = latest, {}
            self._kept = {key: item for key, item in self._kept.items() if key not in latest}
            self._target, self._is_own, self._is_complete = latest, False, True
            self._differing = chain(list(self._kept), differing(self.seen, latest), list(self._kept))
        return self._target is not None

    def take(self, is_held: Callable[[Any], bool] = lambda _: False) -> Change[T] | None:
        """Return the next change, if any. Keys that are held are passed over: `compare` them later."""
        if not self.refresh():
            return None
        for key in self._differing:
            if is_held(key):
                self._is_complete = False
            elif (change := self.compare(key)) is not None:
                return change
        if self._is_complete:
            self.seen, self._is_own = self._target, False
        return None

    def compare(self, key: Any) -> Change[T] | None:
        """Return what leads from the item as last seen to its latest state, or first to the one that was kept."""
        if self._target is None or self.seen is None:
            return None
        before, after = self.seen.get(key), self._kept.pop(key, self._target.get(key))
        if before is after or before == after:
            return None
        if not self._is_own:
            self.seen, self._is_own = dict(self.seen), True
        assert isinstance(self.seen, dict)
        if after is None:
            del self.seen[key]
        else:
            self.seen[key] = after
        return change_of(key, before, after, self.feed.at)
