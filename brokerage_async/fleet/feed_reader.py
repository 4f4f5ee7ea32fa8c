"""Readers of a feed: alone with a cursor of their own, or as one consumer of a group."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

import attrs

from .._arguments import running_loop
from ..observers import FeedLag
from ..watch.codec import ChangeCodec
from ..watch.diff import Change
from ..watch.group_commit import GroupCommit
from ..watch.state import StoredChange
from .connection import EngineUnavailableError
from .feed_keys import MARGIN, FeedGapError, FeedKeys, LeaseLostError
from .feed_scripts import ACK, EXTEND, JOIN, READ, TAKE
from .fleet import Fleet

__all__ = ["CursorReader", "Entry", "FeedReader", "GroupReader"]

T = TypeVar("T")

BATCH = 16
"""Changes that are fetched at a time."""

MAX_WAITING = 1000
"""Changes of a group that may wait for others of their keys; beyond that, new ones stay in the stream."""

MAX_BLOCK = 0.5
"""Seconds after which a waiting reader looks by itself, for changes of consumers that died."""


@attrs.frozen
class Entry:
    """One entry of the stream.

    Attributes:
        stored: the change.
        key: its idempotency key.
        published: microseconds by the clock of the engine, None if an earlier version published it.
    """

    stored: StoredChange
    key: str
    published: int | None

    @classmethod
    def read(cls, entry: Any) -> Entry:
        """Return an entry as the engine gave it."""
        name, values = entry
        fields = {values[at].decode(): bytes(values[at + 1]) for at in range(0, len(values), 2)}
        stored = StoredChange(
            sequence=int(name.partition(b"-")[0]),
            key=fields["key"].decode(),
            kind=fields["kind"].decode(),
            at=fields["at"].decode(),
            before=fields.get("before"),
            after=fields.get("after"),
        )
        published = fields.get("published")
        return cls(stored, fields["id"].decode(), None if published is None else int(published))


class Batch(NamedTuple):
    """Entries that were fetched at once, after ``lost`` others; ``time`` is the engine's, in microseconds."""

    lost: int
    time: int
    entries: list[Entry]


class Fetched(NamedTuple, Generic[T]):
    """A change that is ready to be handed out; it was published at that time of the event loop, if that is known."""

    sequence: int
    key: str
    change: Change[T]
    published_at: float | None


class FeedReader(AsyncIterator[Change[T]], ABC, Generic[T]):
    """Async iterator over the changes of a feed.

    ``anext`` raises `EngineUnavailableError` while the engine is away and `FeedGapError` where changes were lost. The
    iteration can continue after either.
    """

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ChangeCodec[T], group: str = "") -> None:
        self._fleet = fleet
        self._feed = feed
        self._codec = codec
        self._group = group
        self._ready: deque[Fetched[T]] = deque()
        self._last = 0
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        while not self._closed:
            self._drop_expired()
            if self._ready:
                fetched = self._ready.popleft()
                self._report_lag(fetched)
                return self._handed_out(fetched.sequence, fetched.key, fetched.change)
            lost, time, entries = await self._fetch()
            now = running_loop().time()
            self._ready.extend(self._decoded(entry, time, now) for entry in entries)
            if lost:
                raise FeedGapError(f"{lost} changes of the feed {self._feed.name!r} are lost to this reader", lost=lost)
            if not entries:
                await self._wait()
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the iteration."""
        self._closed = True

    @abstractmethod
    async def _fetch(self) -> Batch:
        """Return the next entries."""

    def _drop_expired(self) -> None:
        """Drop fetched changes that may have gone to another consumer."""

    @abstractmethod
    def _handed_out(self, sequence: int, key: str, change: Change[T]) -> Change[T]:
        """Return a change as it is reported."""

    def _decoded(self, entry: Entry, time: int, now: float) -> Fetched[T]:
        """Return the change of an entry that was fetched ``now`` by the event loop, at ``time`` by the engine."""
        published_at = None if entry.published is None else now - (time - entry.published) / 1_000_000
        return Fetched(entry.stored.sequence, entry.key, self._codec.restore(entry.stored), published_at)

    def _report_lag(self, fetched: Fetched[T]) -> None:
        """Report how long ago the change was published; the clock of the engine may have been set back since."""
        if fetched.published_at is not None:
            lag = max(0.0, running_loop().time() - fetched.published_at)
            self._fleet.report(FeedLag(feed=self._feed.name, group=self._group, lag=lag))

    async def _wait(self) -> None:
        """Wait for a change after the last one of the stream."""
        block = min(MAX_BLOCK, self._feed.lease / 2)
        stream, after = self._feed.key("stream"), f"{self._last}-0"
        command = ("XREAD", "COUNT", 1, "BLOCK", int(block * 1000), "STREAMS", stream, after)
        await self._feed.connection.command(*command, wait=block)


class CursorReader(FeedReader[T]):
    """A reader with a cursor of its own, which it may keep and pass as ``start`` to the next one."""

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ChangeCodec[T], start: str | int) -> None:
        super().__init__(fleet, feed, codec)
        self._position: str | int = start
        self._cursor: str | int = start
        self._read = ""

    @property
    def cursor(self) -> str | int:
        """The position after the last change that was returned, to start from there later."""
        return self._cursor

    async def _fetch(self) -> Batch:
        keys = self._feed.keys("stream", "meta")
        reply = await self._feed.connection.script(READ, keys, [self._position, BATCH, self._read])
        cursor, lost, self._last, time, found = reply
        if lost or self._position != int(cursor):
            self._read = ""
        self._position = self._cursor = int(cursor)
        entries = [Entry.read(each) for each in found]
        if entries:
            self._position, self._read = entries[-1].stored.sequence, entries[-1].key
        return Batch(int(lost), int(time), entries)

    def _handed_out(self, sequence: int, key: str, change: Change[T]) -> Change[T]:
        self._cursor = sequence
        return attrs.evolve(change, idempotency_key=key)


class GroupReader(FeedReader[T]):
    """One consumer of a group. Every change goes to one of them, and to another one if the first dies.

    Leases are renewed in the background while changes are held; one that was lost raises `LeaseLostError` in ``ack``.
    """

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ChangeCodec[T], group: str, start: str) -> None:
        super().__init__(fleet, feed, codec, group)
        self._start = start
        self._keys = feed.group_keys(group)
        self._consumer = f"{fleet.worker}-{secrets.token_hex(4)}"
        self._joined = False
        self._held: set[int] = set()
        self._late: set[int] = set()
        self._valid_until = float("-inf")
        self._freed = asyncio.Event()
        self._acknowledgements = GroupCommit(self._acknowledge, self._is_held)
        self._keeping: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """End the iteration; unacknowledged changes go to another consumer when their lease ends."""
        await super().aclose()
        await self._acknowledgements.finish()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})

    async def _fetch(self) -> Batch:
        run = self._feed.connection.script
        if not self._joined:
            await run(JOIN, self._keys[:4], [self._group, self._start])
            self._joined = True
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="brokerage_async feed consumer")
        self._freed.clear()
        began = running_loop().time()
        limits = (self._feed.lease_ms, BATCH, MAX_WAITING)
        lost, self._last, time, found = await run(TAKE, self._keys, [self._group, self._consumer, *limits])
        entries = [Entry.read(each) for each in found]
        self._held.update(entry.stored.sequence for entry in entries)
        if entries:
            self._valid_until = began + self._feed.lease * (1 - MARGIN)
        return Batch(int(lost), int(time), entries)

    def _handed_out(self, sequence: int, key: str, change: Change[T]) -> Change[T]:
        async def acknowledge() -> None:
            await self._acknowledgements.add(sequence)
            if sequence in self._late:
                self._late.discard(sequence)
                raise LeaseLostError(f"change {sequence} of the feed {self._feed.name!r} went to another consumer")

        return attrs.evolve(change, idempotency_key=key, acknowledge=acknowledge)

    async def _wait(self) -> None:
        """Wait for a new change, or for an acknowledgement that frees a key."""
        tasks = {asyncio.create_task(super()._wait()), asyncio.create_task(self._note_freed())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in done:
            task.result()

    async def _note_freed(self) -> None:
        await self._freed.wait()

    def _drop_expired(self) -> None:
        if self._ready and running_loop().time() >= self._valid_until:
            self._held.difference_update(fetched.sequence for fetched in self._ready)
            self._ready.clear()

    def _is_held(self, sequence: int) -> bool:
        return sequence in self._held

    async def _acknowledge(self, sequences: AbstractSet[int]) -> None:
        named = (self._group, self._consumer)
        late = await self._feed.connection.script(ACK, self._keys, [*named, *sorted(sequences)])
        self._late.update(int(sequence) for sequence in late)
        self._held -= sequences
        self._freed.set()

    async def _keep(self) -> None:
        """Renew the leases of the changes that are held."""
        while True:
            await asyncio.sleep(self._feed.lease / 3)
            if self._closed:  # while the first call waited, or by a call that was cancelled
                return
            if held := sorted(self._held):
                began, limits = running_loop().time(), (self._consumer, self._feed.lease_ms)
                with contextlib.suppress(EngineUnavailableError):
                    if await self._feed.connection.script(EXTEND, self._keys, [*limits, *held]) == len(held):
                        self._valid_until = began + self._feed.lease * (1 - MARGIN)
