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
from typing import Any, Generic, Self, TypeVar

import attrs

from .._arguments import running_loop
from ..watch.codec import ChangeCodec
from ..watch.diff import Change
from ..watch.group_commit import GroupCommit
from ..watch.state import StoredChange
from .connection import EngineUnavailableError
from .feed_keys import MARGIN, FeedGapError, FeedKeys, LeaseLostError
from .feed_scripts import ACK, EXTEND, JOIN, READ, TAKE

__all__ = ["CursorReader", "FeedReader", "GroupReader", "stored_of"]

T = TypeVar("T")

BATCH = 16
"""Changes that are fetched at a time."""

MAX_WAITING = 1000
"""Changes of a group that may wait for others of their keys; beyond that, new ones stay in the stream."""

MAX_BLOCK = 0.5
"""Seconds after which a waiting reader looks by itself, for changes of consumers that died."""


class FeedReader(AsyncIterator[Change[T]], ABC, Generic[T]):
    """Async iterator over the changes of a feed.

    ``anext`` raises `EngineUnavailableError` while the engine is away and `FeedGapError` where changes were lost. The
    iteration can continue after either.
    """

    def __init__(self, feed: FeedKeys, codec: ChangeCodec[T]) -> None:
        self._feed = feed
        self._codec = codec
        self._ready: deque[tuple[int, str, Change[T]]] = deque()
        self._last = 0
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        while not self._closed:
            self._drop_expired()
            if self._ready:
                sequence, key, change = self._ready.popleft()
                return self._handed_out(sequence, key, change)
            lost, entries = await self._fetch()
            self._ready.extend(self._decoded(entry) for entry in entries)
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
    async def _fetch(self) -> tuple[int, list[Any]]:
        """Return the number of lost changes, and the next entries."""

    def _drop_expired(self) -> None:
        """Drop fetched changes that may have gone to another consumer."""

    @abstractmethod
    def _handed_out(self, sequence: int, key: str, change: Change[T]) -> Change[T]:
        """Return a change as it is reported."""

    def _decoded(self, entry: Any) -> tuple[int, str, Change[T]]:
        stored, key = stored_of(entry)
        return stored.sequence, key, self._codec.restore(stored)

    async def _wait(self) -> None:
        """Wait for a change after the last one of the stream."""
        block = min(MAX_BLOCK, self._feed.lease / 2)
        stream, after = self._feed.key("stream"), f"{self._last}-0"
        command = ("XREAD", "COUNT", 1, "BLOCK", int(block * 1000), "STREAMS", stream, after)
        await self._feed.connection.command(*command, wait=block)


class CursorReader(FeedReader[T]):
    """A reader with a cursor of its own, which it may keep and pass as ``start`` to the next one."""

    def __init__(self, feed: FeedKeys, codec: ChangeCodec[T], start: str | int) -> None:
        super().__init__(feed, codec)
        self._position: str | int = start
        self._cursor: str | int = start

    @property
    def cursor(self) -> str | int:
        """The position after the last change that was returned, to start from there later."""
        return self._cursor

    async def _fetch(self) -> tuple[int, list[Any]]:
        keys = self._feed.keys("stream", "meta")
        cursor, lost, self._last, entries = await self._feed.connection.script(READ, keys, [self._position, BATCH])
        self._position = self._cursor = int(cursor)
        if entries:
            self._position = stored_of(entries[-1])[0].sequence
        return int(lost), entries

    def _handed_out(self, sequence: int, key: str, change: Change[T]) -> Change[T]:
        self._cursor = sequence
        return attrs.evolve(change, idempotency_key=key)


class GroupReader(FeedReader[T]):
    """One consumer of a group. Every change goes to one of them, and to another one if the first dies.

    Leases are renewed in the background while changes are held; one that was lost raises `LeaseLostError` in ``ack``.
    """

    def __init__(self, feed: FeedKeys, codec: ChangeCodec[T], group: str, start: str, worker: str) -> None:
        super().__init__(feed, codec)
        self._group = group
        self._start = start
        self._keys = feed.group_keys(group)
        self._consumer = f"{worker}-{secrets.token_hex(4)}"
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

    async def _fetch(self) -> tuple[int, list[Any]]:
        run = self._feed.connection.script
        if not self._joined:
            await run(JOIN, self._keys[:4], [self._group, self._start])
            self._joined = True
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="brokerage_async feed consumer")
        self._freed.clear()
        began = running_loop().time()
        limits = (self._feed.lease_ms, BATCH, MAX_WAITING)
        lost, self._last, entries = await run(TAKE, self._keys, [self._group, self._consumer, *limits])
        self._held.update(stored_of(entry)[0].sequence for entry in entries)
        if entries:
            self._valid_until = began + self._feed.lease * (1 - MARGIN)
        return int(lost), entries

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
            self._held.difference_update(sequence for sequence, *_ in self._ready)
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
            if held := sorted(self._held):
                began, limits = running_loop().time(), (self._consumer, self._feed.lease_ms)
                with contextlib.suppress(EngineUnavailableError):
                    if await self._feed.connection.script(EXTEND, self._keys, [*limits, *held]) == len(held):
                        self._valid_until = began + self._feed.lease * (1 - MARGIN)


def stored_of(entry: Any) -> tuple[StoredChange, str]:
    """Return an entry of the stream as a stored change, with its idempotency key."""
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
    return stored, fields["id"].decode()
