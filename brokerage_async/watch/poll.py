"""Polling as a stream: any coroutine function that returns a collection becomes an async iterator of changes.

One `Feed` polls on a fixed schedule and keeps the latest state. Any number of `Watcher` s read it, each at its own
pace. A watcher holds no queue: it compares the latest state with the last one that its consumer saw. A slow consumer
therefore gets fewer changes, never outdated ones.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, Self, TypeVar

from ..errors import ConfigurationError
from .diff import Acknowledgeable, Change, state_of
from .durable import DurableSource
from .feed import Cursor, Feed, FetchItems, OnError, utc_now
from .schedule import Pacing, Schedule, is_fatal
from .source import Derive, Report, Source
from .state import ItemCodec, WatchState

__all__ = ["AccountsWatcher", "Iteration", "Watcher", "poll"]

T = TypeVar("T")
R = TypeVar("R", bound=Acknowledgeable)


class Iteration(AsyncIterator[R], Generic[R]):
    """Async iterator over the reports of a watcher, and its end."""

    def __init__(
        self,
        parts: Mapping[str, Cursor[Any]],
        *,
        report: Report[R],
        on_error: OnError | None = None,
        derive: Derive | None = None,
        state: WatchState | None = None,
        name: str = "",
        codec: ItemCodec[Any] | None = None,
    ) -> None:
        how: dict[str, Any] = {"on_error": on_error, "derive": derive, "report": report}
        durable = None if state is None or codec is None else DurableSource[R](parts, state, name, codec, **how)
        self._source: Source[R] = durable or Source(parts, **how)
        weakref.finalize(self, self._source.drop).atexit = False

    @property
    def failed(self) -> dict[str, Exception]:
        """Accounts that are given up because access was denied or they are unknown, with their errors."""
        return self._source.failed

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[Any, Any, R]:
        return self._source.next()  # no frame of this watcher, which a traceback would keep alive

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        self._source.check()

    def on_failure(self, error: Exception) -> None:
        """Report a failed poll that will be repeated."""
        self._source.on_failure(error)

    async def aclose(self) -> None:
        """End the iteration now, even while it waits.

        The last watcher of a feed ends its polling.
        """
        await self._source.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


class Watcher(Iteration[Change[T]], Generic[T]):
    """Async iterator over the changes of a collection, from `poll` or ``client.watch``.

    Close it with ``async with`` or `aclose`. One that is dropped stops polling as well, with a ResourceWarning. A
    cancelled ``anext``, as in ``asyncio.wait_for(anext(watcher), 5)``, loses no change, and the iteration can continue
    after it.

    A watcher with a state opens it with the first ``anext`` and releases it when it is closed. While the state cannot
    be used, ``anext`` raises `WatchStateError`, and the iteration can continue after it, too.
    """

    def __init__(
        self, parts: Mapping[str, Cursor[Any]], *, report: Report[Change[T]] = lambda change: change, **options: Any
    ) -> None:
        super().__init__(parts, report=report, **options)

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes reported so far. A failed account keeps its last items."""
        return {key: item for cursor in self._source.parts.values() for key, item in (cursor.seen or {}).items()}


class AccountsWatcher(Watcher[T]):
    """A `Watcher` of several accounts: a failure of one does not hold up the changes of the others."""


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
    on_error: OnError | None = None,
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

    Polls start on a fixed grid of the loop's clock and never overlap. Those missed during a slow poll are skipped.
    Transient failures are reported and retried, any other failure ends the iteration. Closing a client that ``fetch``
    has called ends it as well, with a ConfigurationError.

    Args:
        fetch: a coroutine function without arguments that returns the collection, or `UNCHANGED`.
        key: returns the identity of an item, None to leave it out. Items are compared with ``==``.
        interval: seconds between the starts of two polls, or a coroutine function that returns them.
        initial: whether all items of the first state are reported as added. Otherwise only later changes are.
        seed: the state known before, as items or a snapshot. The first state is always compared with it.
        min_interval: minimum interval in seconds.
        jitter: random delay of every poll, as a fraction (0 to 1) of the interval.
        max_backoff: maximum seconds between two polls while they fail, unless the service asks for more.
        on_error: called with every transient failure. An exception that it raises ends the iteration. Default: a
            warning on the logger ``brokerage_async.watch``.
        fatal: decides whether to end, given an error and how many errors of its class came in a row.
        now: the clock of ``Change.at``, such as ``client.watch.now``. By default this machine's.
        state: keeps the position of the consumer durably, such as `SqliteState`. Changes must be acknowledged.
        name: name of the collection. Its state is rejected by a watcher with another name.
        item_type: type of the items that a state keeps, which ``models.converter`` can structure. By default they are
            JSON values.

    Raises:
        ConfigurationError: an argument is invalid, or while iterating the client was closed.
    """
    schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter, max_backoff=max_backoff)
    feed = Feed(fetch, key=key, schedule=schedule, fatal=fatal, now=now)
    if state is not None and not (name and isinstance(name, str)):
        raise ConfigurationError(f"name must be a non-empty str for a watcher with a state, got {name!r}")
    parts = {"": Cursor(feed, initial=initial, seed=state_of(seed, key))}
    return Watcher(parts, on_error=on_error, state=state, name=name, codec=ItemCodec(key, item_type))
