"""Polling as a stream: any coroutine function that returns a collection becomes an async iterator of changes.

One `Feed` polls on a fixed schedule and keeps the latest state. Any number of `Watcher` s read it, each at its own
pace. A watcher holds no queue: it compares the latest state with the last one that its consumer saw. A slow consumer
therefore gets fewer changes, never outdated ones.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Generic, NamedTuple, Self, TypeVar

import attrs

from .._arguments import check_methods, running_loop
from ..errors import ConfigurationError, NotFoundError, PermissionDeniedError
from ..http.concurrency import outliving, result_of
from .diff import SILENT, Acknowledgeable, Change, state_of
from .feed import Cursor, Feed, FetchItems, Listener, OnError, Pacing, Schedule, is_fatal, logger, pull, utc_now
from .state import ItemCodec, StoredChange, WatchState, WatchStateError

T = TypeVar("T")
R = TypeVar("R", bound=Acknowledgeable)


MAX_BATCH = 32  # changes that are stored at a time before they are reported: each transaction waits for the disk once
MAX_UNACKNOWLEDGED = 60.0  # seconds that a newer change may be held back before a warning says so, once


class Entry(NamedTuple):
    """A change that is not acknowledged."""

    stored: StoredChange
    change: Change[Any]


@attrs.define(eq=False, repr=False)
class ChangeLog:
    """The changes of a watcher with a state. It does not refer to the watcher: changes outlive that.

    At most one change of a key is open (reported and not acknowledged) at a time. The cursors pass over that key until
    then: its changes keep their order however many workers handle them, and those in between become one.
    """

    _parts: dict[str, Cursor[Any]]
    _state: WatchState
    _name: str
    _codec: ItemCodec[Any]
    _listener: Listener
    _identity: str | None = attrs.field(default=None, init=False)  # of the state, None before it is open
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False)
    _sequence: int = attrs.field(default=0, init=False)
    _begun: set[str] = attrs.field(factory=set, init=False)
    _beginning: dict[str, dict[str, bytes]] = attrs.field(factory=dict, init=False)
    _entries: dict[int, Entry] = attrs.field(factory=dict, init=False)
    _open: dict[Any, deque[Entry]] = attrs.field(factory=dict, init=False)
    _unwritten: list[Entry] = attrs.field(factory=list, init=False)
    _due: deque[Entry] = attrs.field(factory=deque, init=False)
    _acknowledged: set[int] = attrs.field(factory=set, init=False)  # and not written
    _writing: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _held_since: dict[Any, float] = attrs.field(factory=dict, init=False)  # keys that were passed over
    _is_warned: bool = attrs.field(default=False, init=False)
    _is_left: bool = attrs.field(default=False, init=False)

    @property
    def must_write(self) -> bool:
        """True if something has to be stored before the next change can be reported."""
        return self._identity is None or bool(self._unwritten or self._beginning or self._acknowledged)

    def take(self) -> Change[Any] | None:
        """Return the next stored change. Otherwise take new ones of keys that are not held, to be stored next."""
        if not (self._due or self.must_write):
            for part, cursor in self._parts.items():
                if part not in self._begun and cursor.refresh():  # its first items are acknowledged from the outset
                    known = cursor.seen or {}
                    self._beginning[part] = {self._codec.text_of(key): self._codec.encode(known[key]) for key in known}
                    self._begun.add(part)
            most = MAX_BATCH + len(self._beginning)  # parts take turns: the first change of each goes with its begin
            while len(self._unwritten) < most and (changes := pull(self._parts, self._holds)) is not None:
                for change in changes:  # in one transaction: the item after the first implies the others
                    self._sequence += 1
                    self._add(Entry(self._codec.store(change, self._sequence), change))
        if self._identity is None or not self._due:
            return None
        stored, change = self._due.popleft()
        acknowledge = partial(self._acknowledge, stored.sequence)
        return attrs.evolve(change, idempotency_key=stored.idempotency_key(self._identity), acknowledge=acknowledge)

    async def write(self) -> None:
        """Open the state, or store what it lacks. A write that a cancelled call began is completed regardless.

        One write runs at a time. Acknowledgements that are asked for during one share the next.
        """
        self._loop = running_loop()
        if self._writing is None or self._writing.done():
            self._writing = outliving(self._write(), "write")
        try:
            await result_of(self._writing)
        finally:
            if self._writing is not None and self._writing.done():  # its error holds the frames of the consumer
                self._writing = None

    async def release(self) -> None:
        """Release the state after the write under way, even if the call is cancelled."""

        async def released() -> None:
            if self._writing is not None and not self._writing.done():
                await asyncio.wait({self._writing})
            if self._identity is not None:
                await self._state.aclose()

        self._is_left = True
        await result_of(outliving(released(), "write"))

    def _holds(self, key: Any) -> bool:
        """Return whether a change of ``key`` is open, so that a newer one waits. Warn once if that takes long."""
        if key not in self._open:
            return False
        now = running_loop().time()
        if now - self._held_since.setdefault(key, now) >= MAX_UNACKNOWLEDGED and not self._is_warned:
            self._is_warned = True
            logger.warning("changes of %r wait until the last one is acknowledged: await change.ack()", key)
        return True

    def _add(self, entry: Entry) -> None:
        self._entries[entry.stored.sequence] = entry
        self._open.setdefault(entry.change.key, deque()).append(entry)
        self._unwritten.append(entry)

    async def _acknowledge(self, sequence: int) -> None:
        if running_loop() is not self._loop:
            raise ConfigurationError(
                "a change belongs to the event loop of its watcher: pass change.ack() to it with "
                "asyncio.run_coroutine_threadsafe(change.ack(), loop)"
            )
        while sequence in self._entries:
            if self._is_left:
                raise WatchStateError("the watcher is closed: the change will be reported again by the next one")
            self._acknowledged.add(sequence)
            await self.write()

    async def _write(self) -> None:
        if self._identity is None:
            await self._open_state()
        elif self._unwritten or self._beginning:
            await self._state.report([entry.stored for entry in self._unwritten], self._beginning)
            self._beginning = {}
        for entry in self._unwritten:
            if entry.change.kind == SILENT:  # which its key has alone
                self._acknowledged.add(entry.stored.sequence)
            elif self._open[entry.change.key][0] is entry:
                self._due.append(entry)
        self._unwritten.clear()
        if acknowledged := sorted(self._acknowledged):
            await self._state.acknowledge(acknowledged)
            for sequence in acknowledged:  # the next change of its key may follow
                key = self._entries.pop(sequence).change.key
                entries = self._open[key]
                entries.popleft()
                if entries:
                    self._due.append(entries[0])
                else:
                    del self._open[key]
                    self._held_since.pop(key, None)
                    for cursor in self._parts.values():  # an item may name another account than the one of its list
                        if cursor.feed.latest is not None:  # else it compares all keys once there is one
                            cursor.keys.append(key)
            self._acknowledged.difference_update(acknowledged)
            self._listener.wake()

    async def _open_state(self) -> None:
        standing, codec = await self._state.open(self._name), self._codec
        try:
            known = dict(codec.read(key, data) for key, data in standing.items.items())
            entries = [Entry(stored, codec.restore(stored)) for stored in standing.reported]
        except BaseException:
            await self._state.aclose()
            raise
        for entry in entries:
            self._add(entry)
            known[entry.change.key] = entry.change.after
        self._identity, self._sequence, self._begun = standing.identity, standing.sequence, set(standing.begun)
        for part in self._begun & self._parts.keys():
            own = known if len(self._parts) == 1 else {key: item for key, item in known.items() if key[0] == part}
            self._parts[part].seen = {key: item for key, item in own.items() if item is not None}


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
        self._parts = dict(parts)
        self._listener = Listener(on_error)
        self._ready: deque[Change[Any]] = deque()
        self._log: ChangeLog | None = None
        if state is not None and codec is not None:
            check_methods("state", state, "open", "report", "acknowledge", "aclose")
            self._log = ChangeLog(self._parts, state, name, codec, self._listener)
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
            if self._listener.raised is not None:
                raise self._listener.raised
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
            change = self._log.take()
        else:
            while not self._ready and (changes := pull(self._parts)) is not None:
                self._ready.extend(each for each in changes if each.kind != SILENT)
            change = self._ready.popleft() if self._ready else None
        found: R | None = None if change is None else self._report(change)
        return found

    def _has_ended(self) -> bool:
        """Return True once no change can follow those that are due. Give up accounts that are denied or unknown."""
        for part, cursor in self._parts.items():
            if self._listener.raised is None and cursor.feed.ended and part not in self.failed:
                error = cursor.feed.error
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
    if state is not None and not (name and isinstance(name, str)):
        raise ConfigurationError(f"name must be a non-empty str for a watcher with a state, got {name!r}")
    schedule = Schedule(interval=interval, min_interval=min_interval, jitter=jitter, max_backoff=max_backoff)
    feed = Feed(fetch, key=key, schedule=schedule, fatal=fatal, now=now)
    parts = {"": Cursor(feed, initial=initial, seed=state_of(seed, key))}
    return Watcher(parts, on_error=on_error, state=state, name=name, codec=ItemCodec(key, item_type))
