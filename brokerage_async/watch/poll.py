"""Polling as a stream: any coroutine function that returns a collection becomes an async iterator of changes.

One `Feed` polls on a fixed schedule and keeps the latest state; any number of `Watcher` s read it, each at its own
pace. A watcher holds no queue: it compares the latest state with the last one that its consumer saw. A slow consumer
therefore gets fewer changes, never outdated ones.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, Generic, TypeVar

from .._arguments import check_function
from .diff import Change, diff, state_of
from .feed import Feed, FetchItems, utc_now
from .schedule import Pacing, Schedule, is_fatal

__all__ = ["Watcher", "poll"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


class Watcher(AsyncIterator[Change[T]], Generic[T]):
    """Async iterator over the changes of a collection, from `poll` or ``client.watch``.

    Close it with `aclose` or ``async with``; dropping the last reference ends it as well. A cancelled ``anext``, as in
    ``asyncio.wait_for(anext(watcher), 5)``, loses no change, and the iteration can continue after it.
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
        self._kept: dict[Any, T] = {}
        self._closed = False
        self._error: Exception | None = None
        feed.attach(self)

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes reported so far."""
        return dict(self._seen or {})

    def __aiter__(self) -> Watcher[T]:
        return self

    async def __anext__(self) -> Change[T]:
        waited = False
        try:
            while not self._closed:
                if (change := self._take()) is not None:
                    return change
                if self._error is not None or self._feed.ended:
                    await self._feed.detach(self)  # if cancelled here, the next call raises the error
                    self._closed = True
                    self.check()
                else:
                    waited = True
                    await self._feed.wait(self._max_wait())
            if waited:  # closed by another call, which waited too and raised the error first
                self.check()
            raise StopAsyncIteration
        except BaseException:
            del self  # a traceback keeps its frames, and with this one the watcher of a cancelled task would live on
            raise

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        if self._error is not None:
            raise self._error
        self._feed.check()

    async def aclose(self) -> None:
        """End the iteration now, even while it waits.

        The last watcher of a feed ends its polling.
        """
        if not self._closed:
            self._closed = True
            self._feed.announce()
            await self._feed.detach(self)

    async def __aenter__(self) -> Watcher[T]:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def on_removed(self, removed: Mapping[Any, T]) -> None:
        """Keep the last state of removed items that satisfy ``keep``.

        They are reported in that state before they are reported as removed, even to a slow consumer.
        """
        if self._keep is not None and self._seen is not None:
            self._kept |= {k: item for k, item in removed.items() if self._keep(item) and self._seen.get(k) != item}

    def on_failure(self, error: Exception) -> None:
        """Report a failed poll that will be repeated."""
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.warning("poll failed and will be repeated: %s %s %s", type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as raised:  # a callback ends the iteration by raising
            self._error = raised
            self._feed.announce()

    def _max_wait(self) -> float | None:
        """Return when a change may be due without a new state."""
        return None

    def _take(self) -> Change[T] | None:
        """Return the next change that is due, if any."""
        latest = self._feed.latest
        if latest is not None and latest is not self._target and not self._ready:
            self._turn_to(latest)
        while not self._ready:
            if (change := next(self._pending, None)) is None:
                self._seen = self._seen if self._target is None else self._target
                return None
            self._record(change)
            self._ready.extend((change,) if self._derive is None else self._derive(change))
        return self._ready.popleft()

    def _turn_to(self, latest: Mapping[Any, T]) -> None:
        """Replace the pending changes by those that lead to ``latest``."""
        base = whole = latest if self._seen is None else self._seen
        at = self._feed.at
        if kept := {name: item for name, item in self._kept.items() if name not in latest}:
            whole = {**base, **kept}
        self._pending = chain(diff(base, whole, at) if kept else (), diff(whole, latest, at))
        self._kept.clear()
        self._target, self._seen, self._base = latest, base, base

    def _record(self, change: Change[T]) -> None:
        """Apply a reported change to the state last seen."""
        seen = dict(self._base) if self._seen is self._base else self._seen
        assert isinstance(seen, dict)
        if change.after is None:
            del seen[change.key]
        else:
            seen[change.key] = change.after
        self._seen = seen


def poll(
    fetch: FetchItems[T],
    *,
    key: Callable[[T], Hashable],
    interval: float | Pacing,
    initial: bool = True,
    seed: Iterable[T] | Mapping[Any, T] | None = None,
    min_interval: float = 0.0,
    jitter: float = 0.0,
    max_backoff: float = 60.0,
    on_error: Callable[[Exception], None] | None = None,
    fatal: Callable[[Exception, int], bool] = is_fatal,
    now: Callable[[], datetime] = utc_now,
) -> Watcher[T]:
    """Call ``fetch`` repeatedly and iterate over the changes of its collection.

    It turns any list into a stream::

        async for change in poll(client.watchlists.list, key=lambda each: each.name, interval=60):
            print(change.kind, change.key, change.fields)

    Polls start on a fixed grid of the loop's clock and never overlap; those missed during a slow poll are skipped.
    Transient failures are reported and retried, any other failure ends the iteration. Closing a client that ``fetch``
    has called ends it as well, with a ConfigurationError.

    Args:
        fetch: a coroutine function without arguments that returns the collection, or `UNCHANGED`.
        key: returns the identity of an item, None to leave it out; items are compared with ``==``.
        interval: seconds between the starts of two polls, or a coroutine function that returns them.
        initial: whether all items of the first state are reported as added; otherwise only later changes are.
        seed: the state known before, as items or a snapshot; the first state is always compared with it.
        min_interval: minimum interval in seconds.
        jitter: random delay of every poll, as a fraction (0 to 1) of the interval.
        max_backoff: maximum seconds between two polls while they fail, unless the service asks for more.
        on_error: called with every transient failure; an exception that it raises ends the iteration. Default: a
            warning on the logger ``brokerage_async.watch``.
        fatal: decides whether to end, given an error and how many errors of its class came in a row.
        now: the clock of ``Change.at``, such as ``client.watch.now``; by default this machine's.

    Raises:
        ConfigurationError: an argument is invalid; while iterating: the client was closed.
    """
    schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter, max_backoff=max_backoff)
    feed = Feed(fetch, key=key, schedule=schedule, fatal=fatal, now=now)
    return Watcher(feed, initial=initial, seed=state_of(seed, key), on_error=on_error)
