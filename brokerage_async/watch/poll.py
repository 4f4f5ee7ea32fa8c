"""Polling as a stream: any coroutine function that returns a collection becomes an async iterator of changes.

One `Feed` polls on a fixed schedule and keeps the latest state; any number of `Watcher` s read it, each at its own
pace. A watcher holds no queue: it compares the latest state with the last one that its consumer saw. A slow consumer
therefore gets fewer changes, never outdated ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from ..errors import ConfigurationError
from .codec import ItemCodec
from .cursor import Cursor, Derive
from .diff import Change, state_of
from .durable import cursor_type
from .feed import Feed, FetchItems, utc_now
from .ledger import Ledger
from .schedule import Pacing, Schedule, is_fatal
from .state import WatchState

__all__ = ["Watcher", "leave", "poll"]

T = TypeVar("T")


class Watcher(AsyncIterator[Change[T]], Generic[T]):
    """Async iterator over the changes of a collection, from `poll` or ``client.watch``.

    Close it with `aclose` or ``async with``; dropping the last reference ends it as well. A cancelled ``anext``, as in
    ``asyncio.wait_for(anext(watcher), 5)``, loses no change, and the iteration can continue after it.

    A watcher with a state opens it with the first ``anext`` and releases it when it is closed. While the state cannot
    be used, ``anext`` raises `WatchStateError`, and the iteration can continue after it, too.
    """

    def __init__(
        self,
        feed: Feed[T],
        *,
        initial: bool = True,
        seed: Mapping[Any, T] | None = None,
        on_error: Callable[[Exception], None] | None = None,
        derive: Derive[T] | None = None,
        keep: Callable[[T], bool] | None = None,
        ledger: Ledger[T] | None = None,
    ) -> None:
        self._feed = feed
        make = cursor_type(ledger)
        self._cursor = make(feed, initial=initial, seed=seed, on_error=on_error, derive=derive, keep=keep)
        self._ledger = ledger
        self._closed = False
        if ledger is not None:
            ledger.call_on_change(feed.announce)

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes reported so far."""
        return self._cursor.snapshot

    def __aiter__(self) -> Watcher[T]:
        return self

    async def __anext__(self) -> Change[T]:
        waited = False
        try:
            while not self._closed:
                if (change := self._next_due()) is not None:
                    return change
                if self._ledger is not None and self._ledger.needs_writing:
                    await self._ledger.write()  # if cancelled here, the next call goes on with it
                elif self._ended():
                    await self._leave()  # if cancelled here, the next call raises the error
                    self._closed = True
                    self.check()
                else:
                    waited = True
                    await self._wait()
            if waited:  # closed by another call, which waited too and raised the error first
                self.check()
            raise StopAsyncIteration
        except BaseException:
            del self  # a traceback keeps its frames, and with this one the watcher of a cancelled task would live on
            raise

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        self._cursor.check()

    async def aclose(self) -> None:
        """End the iteration now, even while it waits.

        The last watcher of a feed ends its polling.
        """
        if not self._closed:
            self._closed = True
            await self._leave()

    async def __aenter__(self) -> Watcher[T]:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def on_failure(self, error: Exception) -> None:
        """Report a failed poll that will be repeated."""
        self._cursor.on_failure(error)

    def _ended(self) -> bool:
        """Return True if no change can follow those that are due."""
        return self._cursor.ended

    # These two are no coroutine functions: the frame of one would keep the watcher of a cancelled task alive.

    def _wait(self) -> Awaitable[None]:
        """Wait until a change may be due, or the end."""
        return self._feed.wait(self._max_wait())

    def _leave(self) -> Awaitable[None]:
        """Stop polling, and wake the other tasks that wait here."""
        self._feed.announce()
        return leave((self._cursor,), self._ledger)

    def _max_wait(self) -> float | None:
        """Return when a change may be due without a new state."""
        return None

    def _next_due(self) -> Change[T] | None:
        """Return the next change to report, if any; with a state, one that it has stored."""
        return self._take() if self._ledger is None else self._ledger.next_due(self._take)

    def _take(self) -> Change[T] | None:
        """Return the next change that is due, if any."""
        return self._cursor.take()


async def leave(cursors: Iterable[Cursor[Any]], ledger: Ledger[Any] | None) -> None:
    """Detach the cursors of a watcher from their feeds, and release its state."""
    try:
        for cursor in cursors:
            await cursor.feed.detach(cursor)
    finally:
        if ledger is not None:
            await ledger.aclose()


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
    state: WatchState | None = None,
    name: str = "",
    item_type: type[T] | None = None,
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
        state: keeps the position of the consumer durably, such as `SqliteState`; changes must be acknowledged.
        name: name of the collection; its state is rejected by a watcher with another name.
        item_type: type of the items that a state keeps, which ``models.converter`` can structure; by default they are
            JSON values.

    Raises:
        ConfigurationError: an argument is invalid; while iterating: the client was closed.
    """
    schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter, max_backoff=max_backoff)
    feed = Feed(fetch, key=key, schedule=schedule, fatal=fatal, now=now)
    ledger = None
    if state is not None:
        if not name or not isinstance(name, str):
            raise ConfigurationError(f"name must be a non-empty str for a watcher with a state, got {name!r}")
        ledger = Ledger(state, name, ItemCodec(key, item_type))
    return Watcher(feed, initial=initial, seed=state_of(seed, key), on_error=on_error, ledger=ledger)
