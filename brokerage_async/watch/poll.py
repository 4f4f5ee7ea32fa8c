"""Polling as a stream: any coroutine function that returns a collection becomes an async iterator of changes.

One `Feed` polls on a fixed schedule and keeps the latest state. Any number of `Watcher` s read it, each at its own
pace. A watcher holds no queue: it compares the latest state with the last one that its consumer saw. A slow consumer
therefore gets fewer changes, never outdated ones.
"""

from __future__ import annotations

import logging
import warnings
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, Self, TypeVar

from .._arguments import check_methods
from ..errors import ConfigurationError, NotFoundError, PermissionDeniedError
from .diff import SILENT, Acknowledgeable, Change, state_of
from .feed import Cursor, Feed, FetchItems, Listener, OnError, Pacing, Schedule, is_fatal, utc_now
from .state import ChangeLog, ItemCodec, WatchState

T = TypeVar("T")
R = TypeVar("R", bound=Acknowledgeable)


class Iteration(AsyncIterator[R], Generic[R]):
    """Async iterator over the changes of a collection in parts, such as accounts, each with its feed and failures.

    A part is named by the first element of its keys. An undivided collection has the one part "".
    """

    failed: dict[str, Exception]
    """Accounts that are given up because access was denied or they are unknown, with their errors."""

    def __init__(
        self,
        parts: Mapping[str, Cursor[Any]],
        *,
        on_error: OnError | None = None,
        state: WatchState | None = None,
        name: str = "",
        codec: ItemCodec[Any] | None = None,
    ) -> None:
        self._parts = dict(parts)  # those that have changes take turns
        self._listener = Listener(on_error)
        self._ready: deque[Change[Any]] = deque()
        self._log: ChangeLog | None = None
        if state is not None and codec is not None:
            check_methods("state", state, "open", "report", "acknowledge", "aclose")
            self._log = ChangeLog(parts, state, name, codec, self._listener)
        self._closed = False
        self.failed = {}
        for cursor in parts.values():
            cursor.attach(self._listener)
        weakref.finalize(self, _drop, tuple(parts.values())).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> R:
        waited = False
        try:
            while not self._closed:
                if (found := self._take()) is not None:
                    return found
                if self._log is not None and self._log.must_write:
                    await self._log.write()  # if cancelled here, the next call goes on with it
                elif self._has_ended():
                    await self._leave()  # if cancelled here, the next call raises the error
                    self._closed = True
                    self.check()
                else:
                    waited = True
                    for feed in self._feeds():
                        feed.begin()
                    bounds = [cursor.max_wait for cursor in self._parts.values() if cursor.max_wait is not None]
                    await self._listener.wait(min(bounds, default=None))
            if waited:  # closed by another call, which waited too and raised the error first
                self.check()
            raise StopAsyncIteration
        finally:
            del self  # the traceback of a cancelled task that is kept would keep a dropped watcher alive

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        try:
            self._listener.check()
            for feed in self._feeds():
                feed.check()
        except StopAsyncIteration as error:  # it would end the iteration as if nothing had failed
            raise RuntimeError("a function of the watcher raised StopAsyncIteration") from error

    async def aclose(self) -> None:
        """End the iteration now, even while it waits. The last watcher of a feed ends its polling."""
        if not self._closed:
            self._closed = True
            await self._leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _feeds(self) -> list[Feed[Any]]:
        return [cursor.feed for part, cursor in self._parts.items() if part not in self.failed]

    def _report(self, change: Change[Any]) -> Any:
        """Return what the consumer gets for a change of an item."""
        return change

    def _take(self) -> R | None:
        if self._log is not None:
            return self._log.take(self._pull, self._report)
        while not self._ready and (changes := self._pull()) is not None:
            self._ready.extend(each for each in changes if each.kind != SILENT)
        found: R | None = self._report(self._ready.popleft()) if self._ready else None
        return found

    def _pull(self, is_held: Callable[[Any], bool] = lambda _: False) -> Iterable[Change[Any]] | None:
        for part, cursor in self._parts.items():
            if (changes := cursor.take(is_held)) is not None:
                self._parts[part] = self._parts.pop(part)  # the other parts are next
                return changes
        return None

    def _has_ended(self) -> bool:
        """Return True once no change can follow those that are due."""
        if self._listener.raised is not None:
            return True
        for part, cursor in self._parts.items():
            error = cursor.feed.error
            if part in self.failed or not cursor.feed.ended:
                continue
            if not isinstance(error, PermissionDeniedError | NotFoundError) or len(self._feeds()) == 1:
                return True
            self.failed[part] = error
            self._listener.on_failure(error, "an account is no longer watched", logging.ERROR)
        return self._listener.raised is not None

    async def _leave(self) -> None:
        """Stop polling, wake the other calls that wait, and release the state, even if this call is cancelled."""
        try:
            self._listener.wake()
            for cursor in self._parts.values():
                cursor.feed.release(cursor)
            for feed in self._feeds():
                await feed.join()
        finally:
            if self._log is not None:
                await self._log.release()


def _drop(cursors: Iterable[Cursor[Any]]) -> None:
    """Stop polling for a watcher that was garbage-collected, in any thread."""
    polled = [cursor for cursor in cursors if cursor.feed.release(cursor)]
    if polled:
        warnings.warn("a watcher was dropped: close it with `async with` or aclose()", ResourceWarning)  # noqa: B028 - no caller


class Watcher(Iteration[Change[T]], Generic[T]):
    """Async iterator over the changes of a collection, from `poll` or ``client.watch``.

    Close it with ``async with`` or `aclose`. One that is dropped stops polling as well, with a ResourceWarning. A
    cancelled ``anext``, as in ``asyncio.wait_for(anext(watcher), 5)``, loses no change, and the iteration can continue
    after it.

    A watcher with a state opens it with the first ``anext`` and releases it when it is closed. While the state cannot
    be used, ``anext`` raises `WatchStateError`, and the iteration can continue after it, too.
    """

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes reported so far. A failed account keeps its last items."""
        return {key: item for cursor in self._parts.values() for key, item in (cursor.seen or {}).items()}


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
