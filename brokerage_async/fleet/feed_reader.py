"""Feeds in the engine: keys, Lua scripts, and readers, alone with their own cursor or as one consumer of a group.

Entries of the stream have the ids ``1-0``, ``2-0`` and so on, without a hole: a hole that a reader finds was trimmed.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from typing import Any, Generic, Self, TypeVar

import attrs

from .._arguments import check_count, running_loop
from ..errors import BrokerageError, ConfigurationError
from ..http.concurrency import GroupCommit, end
from ..observers import FeedLag
from ..watch.diff import Change
from ..watch.state import ItemCodec, StoredChange
from .fleet import Connection, EngineUnavailableError, Fleet, Script, check_lease, check_name

MARGIN = 0.1  # part of a lease before whose end its holder stops: its clock and the engine's may differ in speed


class FeedGapError(BrokerageError):
    """Changes are lost to this reader: trimmed, lost by the engine, or not to be decoded; ``anext`` goes on after them.

    ``lost`` is their number. Read the list itself to see the present state.
    """

    def __init__(self, message: str = "", *, lost: int = 0) -> None:
        super().__init__(message)
        self.lost = lost


class LeaseLostError(BrokerageError):
    """Another process polls by now, or reads these changes: work under the lease may be repeated."""


@attrs.frozen(kw_only=True)
class FeedKeys:
    """Keys and options of one feed in the engine, see `RedisFeed`."""

    connection: Connection
    name: str
    lease: float
    keep: int
    max_length: int

    def __attrs_post_init__(self) -> None:
        check_name(self.name)
        check_lease(self.lease)
        if check_count("max_length", self.max_length) < check_count("keep", self.keep):
            raise ConfigurationError(f"max_length must be at least keep ({self.keep}), got {self.max_length}")

    @property
    def lease_ms(self) -> int:
        return int(self.lease * 1000)

    def key(self, *parts: str) -> str:
        return self.connection.key("feed", self.name, *parts)

    def keys(self, *names: str) -> list[str]:
        return [self.key(name) for name in names]

    def group_keys(self, group: str) -> list[str]:
        return [*self.keys("stream", "meta"), *(self.key("group", group, part) for part in ("queues", "ready"))]


READ = Script.read("feed_common", "feed_read")
TAKE = Script.read("feed_common", "feed_group", "feed_take")
ACK = Script.read("feed_common", "feed_group", "feed_ack")
EXTEND = Script.read("feed_common", "feed_group", "feed_extend")


T = TypeVar("T")

BATCH = 16  # changes that are fetched at a time

MAX_WAITING = 1000
"""Changes of a group that may wait for others of their keys; beyond that, new ones stay in the stream."""

MAX_BLOCK = 0.5  # seconds after which a waiting reader looks by itself, for changes of consumers that died


@attrs.frozen(kw_only=True)
class Entry(StoredChange):
    """One entry of the stream: the change, its idempotency key, and when it was published.

    ``published`` is in microseconds by the clock of the engine, None if an earlier version published it.
    """

    id: str
    published: int | None

    @classmethod
    def read(cls, entry: Any) -> Entry:
        """Return an entry as the engine gave it."""
        name, values = entry
        fields = {values[at].decode(): bytes(values[at + 1]) for at in range(0, len(values), 2)}
        texts = {field: fields.get(field, b"").decode() for field in ("key", "kind", "at", "id")}
        return cls(
            **texts,
            sequence=int(name.partition(b"-")[0]),
            before=fields.get("before"),
            after=fields.get("after"),
            published=int(fields["published"]) if "published" in fields else None,
        )


class FeedReader(AsyncIterator[Change[T]], ABC, Generic[T]):
    """Async iterator over the changes of a feed.

    ``anext`` raises `EngineUnavailableError` while the engine is away, and `FeedGapError` where changes were lost or
    one cannot be decoded. The iteration can continue after either.
    """

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ItemCodec[T], group: str = "") -> None:
        self._fleet = fleet
        self._feed = feed
        self._codec = codec
        self._group = group
        self._ready: deque[tuple[Entry, float]] = deque()
        self._last = 0
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        while not self._closed:
            self._drop_expired()
            if self._ready:
                entry, published_at = self._ready[0]
                try:
                    change = self._codec.restore(entry)
                except Exception as error:  # a key function or a converter may raise anything
                    await self._skip(entry)
                    if self._ready and self._ready[0][0] is entry:
                        self._ready.popleft()
                    raise FeedGapError(
                        f"change {entry.sequence} of the feed {self._feed.name!r} cannot be decoded: {error}", lost=1
                    ) from error
                self._ready.popleft()
                if entry.published is not None:  # the clock of the engine may have been set back since
                    lag = max(0.0, running_loop().time() - published_at)
                    self._fleet.report(FeedLag(feed=self._feed.name, group=self._group, lag=lag))
                return self._handed_out(entry, change)
            lost, time, found = await self._fetch()
            now = running_loop().time()  # at ``time`` by the engine
            for entry in found:
                age = 0.0 if entry.published is None else (time - entry.published) / 1_000_000
                self._ready.append((entry, now - age))
            if lost:
                raise FeedGapError(f"{lost} changes of the feed {self._feed.name!r} are lost to this reader", lost=lost)
            if not found:
                await self._wait()
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the iteration."""
        self._closed = True

    @abstractmethod
    async def _fetch(self) -> tuple[int, int, list[Entry]]:
        """Return how many changes were lost, the engine's time in microseconds, and the next entries."""

    def _drop_expired(self) -> None:
        """Drop fetched changes that may have gone to another consumer."""

    @abstractmethod
    async def _skip(self, entry: Entry) -> None:
        """Go on after a change that cannot be decoded."""

    @abstractmethod
    def _handed_out(self, entry: Entry, change: Change[T]) -> Change[T]:
        """Return the change to report."""

    async def _wait(self) -> None:
        """Wait for a change after the last one of the stream."""
        block = min(MAX_BLOCK, self._feed.lease / 2)
        stream, after = self._feed.key("stream"), f"{self._last}-0"
        command = ("XREAD", "COUNT", 1, "BLOCK", int(block * 1000), "STREAMS", stream, after)
        await self._feed.connection.command(*command, wait=block)


class CursorReader(FeedReader[T]):
    """A reader with its own cursor, which it may keep and pass as ``start`` to the next one."""

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ItemCodec[T], start: str | int) -> None:
        super().__init__(fleet, feed, codec)
        self._cursor: str | int = start
        position, _, self._key = str(start).partition("-")
        self._position: str | int = position

    @property
    def cursor(self) -> str | int:
        """The position after the last change that was returned, to start from there later.

        It names that change, so that a reader that starts there notices when the engine has lost it since.
        """
        return self._cursor

    async def _fetch(self) -> tuple[int, int, list[Entry]]:
        keys = self._feed.keys("stream", "meta")
        reply = await self._feed.connection.script(READ, keys, [self._position, BATCH, self._key])
        self._position, lost, self._last, time, found, key = reply
        self._key = key.decode()
        self._cursor = f"{self._position}-{self._key}" if self._key else int(self._position)
        entries = [Entry.read(each) for each in found]
        if entries:
            self._position, self._key = entries[-1].sequence, entries[-1].id
        return int(lost), int(time), entries

    async def _skip(self, entry: Entry) -> None:
        self._cursor = f"{entry.sequence}-{entry.id}"

    def _handed_out(self, entry: Entry, change: Change[T]) -> Change[T]:
        self._cursor = f"{entry.sequence}-{entry.id}"
        return attrs.evolve(change, idempotency_key=entry.id)


class GroupReader(FeedReader[T]):
    """One consumer of a group. Every change goes to one of them, and to another if the first dies.

    Leases are renewed in the background while changes are held. One that was lost raises `LeaseLostError` in ``ack``.
    """

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ItemCodec[T], group: str, start: str) -> None:
        super().__init__(fleet, feed, codec, group)
        self._start = "0" if start == "beginning" else "$"
        self._has_joined = False
        self._keys = feed.group_keys(group)
        self._consumer = f"{fleet.worker}-{secrets.token_hex(4)}"
        self._held: dict[int, Entry] = {}
        self._late: set[int] = set()
        self._valid_until = float("-inf")
        self._freed = False
        self._waiting: asyncio.Timeout | None = None
        self._acknowledgements = GroupCommit(self._acknowledge, self._held.__contains__)
        self._keeping: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """End the iteration. Unacknowledged changes go to another consumer when their lease ends."""
        await super().aclose()
        await self._acknowledgements.finish()
        if self._keeping is not None:
            await end(self._keeping)

    async def _fetch(self) -> tuple[int, int, list[Entry]]:
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="brokerage_async feed consumer")
        self._freed = False
        began = running_loop().time()
        reply = await self._run(TAKE, self._feed.lease_ms, BATCH, MAX_WAITING, self._start, int(not self._has_joined))
        self._has_joined, self._start = True, "0"  # if the engine loses the group, all entries in the stream are new
        lost, self._last, time, found = reply
        entries = [Entry.read(each) for each in found]
        self._held.update((entry.sequence, entry) for entry in entries)
        if entries:
            self._valid_until = began + self._feed.lease * (1 - MARGIN)
        return int(lost), int(time), entries

    async def _skip(self, entry: Entry) -> None:
        await self._acknowledgements.add(entry.sequence)
        self._late.discard(entry.sequence)

    def _handed_out(self, entry: Entry, change: Change[T]) -> Change[T]:
        sequence = entry.sequence

        async def acknowledge() -> None:
            held = self._held.get(sequence)
            if held is None or held.id == entry.id:  # else the engine lost it, and another took its place
                await self._acknowledgements.add(sequence)
            if sequence in self._late:
                self._late.discard(sequence)
                raise LeaseLostError(f"change {sequence} of the feed {self._feed.name!r} went to another consumer")

        return attrs.evolve(change, idempotency_key=entry.id, acknowledge=acknowledge)

    async def _wait(self) -> None:
        """Wait for a new change, or for an acknowledgement that frees a key."""
        if self._freed:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as self._waiting:
                await super()._wait()

    def _drop_expired(self) -> None:
        if self._ready and running_loop().time() >= self._valid_until:
            for entry, _ in self._ready:
                self._held.pop(entry.sequence, None)
            self._ready.clear()

    async def _acknowledge(self, sequences: AbstractSet[int]) -> None:
        entries = [self._held[number] for number in sorted(sequences)]
        named = [part for entry in entries for part in (entry.sequence, entry.id, entry.key)]
        self._late.update(int(sequence) for sequence in await self._run(ACK, *named))
        for sequence in sequences:
            self._held.pop(sequence, None)
        self._freed = True
        if self._waiting is not None and not self._waiting.expired():
            with contextlib.suppress(RuntimeError):  # it has ended
                self._waiting.reschedule(running_loop().time())

    async def _keep(self) -> None:
        """Renew the leases of the changes that are held."""
        while True:
            await asyncio.sleep(self._feed.lease / 3)
            if self._closed:  # while the first call waited, or by a call that was cancelled
                return
            if held := sorted(self._held):
                began = running_loop().time()
                with contextlib.suppress(EngineUnavailableError):
                    if await self._run(EXTEND, *held) == len(held):
                        self._valid_until = began + self._feed.lease * (1 - MARGIN)

    async def _run(self, script: Script, *arguments: str | float) -> Any:
        return await self._feed.connection.script(script, self._keys, [self._group, self._consumer, *arguments])
