"""Polling as a stream: any coroutine that returns a collection becomes an async iterator of changes.

One `Feed` asks, at a fixed cadence and never twice at once, and keeps the latest state; any number of `Watcher` s
read it, each at its own pace. A watcher holds no queue: it compares the latest state with the one that its consumer
saw last, so that a slow consumer gets fewer changes, never older ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

from .._arguments import check_function
from ..errors import BrokerageError, ConfigurationError
from .diff import UNCHANGED, Change, Unchanged, diff, keyed, state_of
from .schedule import Cadence, Pacing, Streak, is_fatal

__all__ = ["UNCHANGED", "Feed", "Fetch", "Unchanged", "Watcher", "poll", "utc_now"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

SLICE = 1000
"""Items that are compared at a time; in between, the event loop runs."""


Fetch = Callable[[], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]


def utc_now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)


class Feed(Generic[T]):
    """One polling loop: the latest state of a collection for all who watch it.

    It starts when the first watcher waits and ends by itself when the last one is closed or forgotten.

    Attributes:
        latest: the items by key, None before the first answer.
        at: when ``latest`` was received.
        error: what ended the loop, None while it runs.
    """

    def __init__(
        self,
        fetch: Fetch[T],
        *,
        key: Callable[[T], Hashable],
        cadence: Cadence,
        fatal: Callable[[Exception, int], bool] = is_fatal,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        if not callable(fetch):
            raise ConfigurationError(f"fetch must be a coroutine function, not {type(fetch).__name__}")
        for name, function in (("key", key), ("fatal", fatal), ("now", now)):
            check_function(name, function)
        self._fetch = fetch
        self._key = key
        self._cadence = cadence
        self._fatal = fatal
        self._now = now
        self._watchers: weakref.WeakSet[Watcher[T]] = weakref.WeakSet()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._left = False
        self._traceback: TracebackType | None = None
        self.latest: Mapping[Any, T] | None = None
        self.at: datetime = now()
        self.error: Exception | None = None

    @property
    def ended(self) -> bool:
        """Whether the loop is over; an ended feed is never started again."""
        return self._left or (self._task is not None and self._task.done())

    def attach(self, watcher: Watcher[T]) -> None:
        """Poll as long as ``watcher`` is neither detached nor forgotten."""
        self._watchers.add(watcher)

    async def detach(self, watcher: Watcher[T]) -> None:
        """Stop polling for ``watcher``; if it was the last one, a poll that is under way is cancelled."""
        self._watchers.discard(watcher)
        if not self._watchers and self._task is not None and self._task is not asyncio.current_task():
            self._left = True  # whoever comes while the poll is being cancelled is too late for this one
            self._task.cancel()
            await asyncio.wait({self._task})

    async def news(self, seconds: float | None = None) -> None:
        """Wait until there is a new state, or the loop has ended, or so many seconds have passed."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="brokerage_async poll")
            self._task.add_done_callback(self._done)
        if not self._task.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()

    def check(self) -> None:
        """Raise what ended the loop, if it has; with the traceback that it had there, however often it is raised."""
        if self.error is not None:
            raise self.error.with_traceback(self._traceback)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due, streak = loop.time(), Streak()
        while self._watchers:
            streak.note(await self._poll())
            interval = await self._cadence.current()
            if (failure := streak.last) is None:
                due = self._cadence.next_due(due, interval, loop.time())
            elif self._fatal(failure, streak.alike):
                raise failure
            else:
                for watcher in list(self._watchers):
                    watcher.report(failure)
                due = loop.time() + self._cadence.backoff(
                    streak.in_all, interval, getattr(failure, "retry_after", None)
                )
            late = random.random() * self._cadence.jitter * interval  # noqa: S311 - spreads load, guards no secret
            await asyncio.sleep(due + late - loop.time())

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
        for start in range(0, len(rows), SLICE):
            if start:
                await asyncio.sleep(0)
            latest |= keyed(rows[start : start + SLICE], self._key, previous)
        same = len(latest) == len(previous) and all(previous.get(name) is item for name, item in latest.items())
        if same and self.latest is not None:
            return
        self.latest, self.at = latest, self._now()
        if gone := {name: item for name, item in previous.items() if name not in latest}:
            for watcher in list(self._watchers):
                watcher.left(gone)
        self.announce()

    def announce(self) -> None:
        """Wake everyone who waits for `news`."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self.error = BrokerageError("the polling loop was cancelled") if self._watchers else None
        elif isinstance(crash := task.exception(), Exception):
            self.error, self._traceback = crash, crash.__traceback__
        self.announce()


class Watcher(AsyncIterator[Change[T]], Generic[T]):
    """The changes of a collection as they come to be known, from `poll` or ``client.watch``.

    Iterate it; leave it with `aclose`, by ``async with``, or by forgetting it. A change that was asked for and
    cancelled (``asyncio.wait_for(anext(watcher), 5)``) is not lost, and the iteration can go on after it.
    """

    def __init__(
        self,
        feed: Feed[T],
        *,
        initial: bool = True,
        seed: Mapping[Any, T] | None = None,
        on_error: Callable[[Exception], None] | None = None,
        derive: Callable[[Change[T]], Iterable[Change[T]]] | None = None,
        keep: Callable[[T], bool] | None = None,
    ) -> None:
        if on_error is not None:
            check_function("on_error", on_error)
        self._feed = feed
        self._on_error = on_error
        self._derive = derive
        self._keep = keep
        self._seen: Mapping[Any, T] | None = seed if seed is not None else ({} if initial else None)
        self._target: Mapping[Any, T] | None = None
        self._base: Mapping[Any, T] = {}
        self._pending: Iterator[Change[T]] = iter(())
        self._ready: deque[Change[T]] = deque()
        self._left: dict[Any, T] = {}
        self._closed = False
        self._error: Exception | None = None
        feed.attach(self)

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key as the consumer knows them from all changes up to the last one; a seed for a later start."""
        return dict(self._seen or {})

    def __aiter__(self) -> Watcher[T]:
        return self

    async def __anext__(self) -> Change[T]:
        while not self._closed:
            if (change := self._take()) is not None:
                return change
            if self._error is not None or self._feed.ended:
                await self._feed.detach(self)  # cancelled here, it is not closed: whoever comes next is told
                self._closed = True
                self.check()
            else:
                await self._feed.news(self._patience())
        raise StopAsyncIteration

    def check(self) -> None:
        """Raise what ended the polling, if it has ended; changes that are still due do not come first."""
        if self._error is not None:
            raise self._error
        self._feed.check()

    async def aclose(self) -> None:
        """End the iteration now, also where it is waiting; the last watcher of a feed ends its poll with it."""
        if not self._closed:
            self._closed = True
            self._feed.announce()
            await self._feed.detach(self)

    async def __aenter__(self) -> Watcher[T]:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def left(self, gone: Mapping[Any, T]) -> None:
        """Hear from the feed which items are no longer there, in their last state.

        Those that ``keep`` names are handed out in that state before they are reported as removed, also to a consumer
        too slow to see it while they were there.
        """
        if self._keep is not None and self._seen is not None:
            self._left |= {k: item for k, item in gone.items() if self._keep(item) and self._seen.get(k) != item}

    def report(self, error: Exception) -> None:
        """Hear from the feed that a poll failed and will be repeated."""
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.warning("poll failed, will be repeated: %s %s %s", type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as own:  # the consumer's own way to say: enough
            self._error = own
            self._feed.announce()

    def _patience(self) -> float | None:
        """Seconds after which a change may be due without any news; None for never."""
        return None

    def _take(self) -> Change[T] | None:
        """The next change that is due to the consumer, None if it knows the latest state."""
        latest = self._feed.latest
        if latest is not None and latest is not self._target and not self._ready:
            self._turn_to(latest)
        while not self._ready:
            if (change := next(self._pending, None)) is None:
                self._seen = self._seen if self._target is None else self._target
                return None
            self._learn(change)
            self._ready.extend((change,) if self._derive is None else self._derive(change))
        return self._ready.popleft()

    def _turn_to(self, latest: Mapping[Any, T]) -> None:
        """Have what leads from the state that the consumer knows to ``latest`` pending, and nothing else."""
        base = whole = latest if self._seen is None else self._seen
        at = self._feed.at
        if lost := {name: item for name, item in self._left.items() if name not in latest}:
            whole = {**base, **lost}
        self._pending = chain(diff(base, whole, at) if lost else (), diff(whole, latest, at))
        self._left.clear()
        self._target, self._seen, self._base = latest, base, base

    def _learn(self, change: Change[T]) -> None:
        """Know what is handed out; the state that the pending changes start from stays as it is."""
        seen = dict(self._base) if self._seen is self._base else self._seen
        assert isinstance(seen, dict)
        if change.after is None:
            del seen[change.key]
        else:
            seen[change.key] = change.after
        self._seen = seen


def poll(
    fetch: Fetch[T],
    *,
    key: Callable[[T], Hashable],
    interval: float | Pacing,
    initial: bool = True,
    seed: Iterable[T] | Mapping[Any, T] | None = None,
    floor: float = 0.0,
    jitter: float = 0.0,
    max_backoff: float = 60.0,
    on_error: Callable[[Exception], None] | None = None,
    fatal: Callable[[Exception, int], bool] = is_fatal,
    now: Callable[[], datetime] = utc_now,
) -> Watcher[T]:
    """Call ``fetch`` again and again, and iterate over what changes in the collection that it returns::

        async for change in poll(client.watchlists.list, key=lambda each: each.name, interval=60):
            print(change.kind, change.key, change.fields)

    Polls start on a fixed grid of the loop's clock and never overlap; what a slow poll misses is left out. What may
    pass is reported and waited out, any other failure ends the iteration.

    Args:
        fetch: a coroutine function without arguments that returns the collection, or `UNCHANGED`.
        key: what tells its items apart, None for one to be left out; items are compared with ``==``.
        interval: seconds between the starts of two polls, or a coroutine function that tells them.
        initial: whether everything in the first state is reported as added; else only what changes after it.
        seed: what was known before, items or a snapshot; the first state is compared with it in any case.
        floor: the least interval in seconds.
        jitter: random delay of every poll, as a fraction (0 to 1) of the interval.
        max_backoff: most seconds between two polls while they fail, unless the service asks for more patience.
        on_error: hears every failure that may pass; an exception of its own ends the iteration. Default: a warning
            on the logger ``brokerage_async.watch``.
        fatal: decides whether to end, from an error and how often errors of its kind have come in a row.
        now: the clock that ``Change.at`` is read from.

    Raises:
        ConfigurationError: an argument cannot be used.
    """
    cadence = Cadence(interval=interval, floor=floor, jitter=jitter, max_backoff=max_backoff)
    feed = Feed(fetch, key=key, cadence=cadence, fatal=fatal, now=now)
    return Watcher(feed, initial=initial, seed=state_of(seed, key), on_error=on_error)
