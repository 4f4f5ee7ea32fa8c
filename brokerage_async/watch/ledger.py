"""Ledger of one watcher: changes reported and acknowledged, in memory and in its state.

At most one change of a key is open (reported and not acknowledged) at a time; the next one follows when it is
acknowledged. So changes of one key keep their order however many workers handle them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Generic, TypeVar

import attrs

from .._arguments import running_loop
from ..errors import ConfigurationError
from .codec import ChangeCodec
from .diff import Change
from .group_commit import GroupCommit, completed
from .state import Standing, StoredChange, WatchState, WatchStateError

__all__ = ["Ledger"]

T = TypeVar("T")

MAX_BATCH = 32
"""Changes that are stored at a time before they are reported; each of these transactions waits for the disk once."""


@attrs.frozen(eq=False)
class Entry(Generic[T]):
    """A change that is not acknowledged."""

    stored: StoredChange
    change: Change[T]
    key: Any
    position: Any


class Ledger(Generic[T]):
    """Open changes and acknowledged positions of one watcher.

    Args:
        state: keeps them durably.
        feed: identity of the watched list.
        codec: turns changes into stored ones.

    Attributes:
        positions: what the consumer has acknowledged, by key.
        begun: parts of the collection whose first state is known.
        acknowledged: number of changes acknowledged since the state was opened.
    """

    def __init__(self, state: WatchState, feed: str, codec: ChangeCodec[T]) -> None:
        self._state = state
        self._feed = feed
        self._codec = codec
        self._wake: Callable[[], None] = lambda: None
        self._identity: str | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sequence = 0
        self._open: dict[Any, deque[Entry[T]]] = {}
        self._entries: dict[int, Entry[T]] = {}
        self._due: deque[Entry[T]] = deque()
        self._unwritten: list[Entry[T]] = []
        self._beginning: dict[str, dict[str, bytes]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._acknowledgements = GroupCommit(self._settle, self._is_unsettled)
        self.positions: dict[Any, Any] = {}
        self.begun: set[str] = set()
        self.acknowledged: int = 0

    @property
    def is_open(self) -> bool:
        """True once the state has been read."""
        return self._identity is not None

    @property
    def needs_writing(self) -> bool:
        """True if `write` has something to do before the next change can be reported."""
        return not self.is_open or bool(self._unwritten or self._beginning)

    def call_on_change(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` whenever an acknowledgement may make a change due."""
        self._wake = wake

    def holds(self, key: Any) -> bool:
        """Return True while a change of ``key`` is open."""
        return key in self._open

    def keys(self) -> dict[Any, None]:
        """Return the keys with a position or an open change, oldest first."""
        return dict.fromkeys((*self.positions, *self._open))

    def latest_positions(self) -> dict[Any, Any]:
        """Return the positions as they are once every open change is acknowledged."""
        latest = dict(self.positions)
        for key, entries in self._open.items():
            if (position := entries[-1].position) is None:
                latest.pop(key, None)
            else:
                latest[key] = position
        return latest

    def begin(self, part: str, positions: Mapping[Any, Any]) -> None:
        """Take the first state of a part of the collection as acknowledged."""
        encoded = dict(self._codec.encode_position(key, position) for key, position in positions.items())
        self._beginning[part] = encoded
        self.begun.add(part)
        self.positions |= positions

    def next_due(self, take: Callable[[], Change[T] | None]) -> Change[T] | None:
        """Return the next stored change; otherwise take new ones, to be stored by `write`."""
        if self.is_open and not self._due and not self._unwritten:
            for change in islice(iter(take, None), MAX_BATCH):
                self._sequence += 1
                self._add(change, self._codec.store(change, self._sequence))
        return self._handed_out(self._due.popleft()) if self._due else None

    async def write(self) -> None:
        """Open the state, or store the changes taken. What a cancelled call began is completed by itself."""
        self._loop = running_loop()
        if self._writing is None or self._writing.done():
            self._writing = completed(self._write() if self.is_open else self._read())
        await asyncio.shield(self._writing)

    async def acknowledge(self, sequence: int) -> None:
        """Record that the consumer is done with a change. What a cancelled call began is completed by itself."""
        if running_loop() is not self._loop:
            raise ConfigurationError(
                "a change belongs to the event loop of its watcher: pass change.ack() to it with "
                "asyncio.run_coroutine_threadsafe(change.ack(), loop)"
            )
        await self._acknowledgements.add(sequence)

    async def aclose(self) -> None:
        """Release the state, after the writes that are under way; if cancelled, this is completed by itself."""
        self._closed = True
        await asyncio.shield(completed(self._release()))

    async def _release(self) -> None:
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing})
        await self._acknowledgements.finish()
        if self.is_open:
            await self._state.aclose()

    async def _read(self) -> None:
        standing = await self._state.open(self._feed)
        try:
            self._load(standing)
        except BaseException:
            await self._state.aclose()
            raise

    def _load(self, standing: Standing) -> None:
        positions = dict(self._codec.decode_position(key, data) for key, data in standing.items.items())
        changes = [(self._codec.restore(stored), stored) for stored in standing.reported]
        self.positions, self.begun = positions, set(standing.begun)
        self._sequence = standing.sequence
        for change, stored in changes:
            self._add(change, stored)
        self._deliver()
        self._identity = standing.identity

    async def _write(self) -> None:
        entries, beginning = tuple(self._unwritten), dict(self._beginning)
        await self._state.report([entry.stored for entry in entries], beginning)
        for part in beginning:
            del self._beginning[part]
        self._deliver()

    def _add(self, change: Change[T], stored: StoredChange) -> None:
        entry = Entry(stored, change, self._codec.key_of(change), self._codec.position_of(change))
        self._entries[stored.sequence] = entry
        self._open.setdefault(entry.key, deque()).append(entry)
        self._unwritten.append(entry)

    def _deliver(self) -> None:
        """Make stored changes due, of each key the first."""
        self._due.extend(entry for entry in self._unwritten if self._open[entry.key][0] is entry)
        self._unwritten.clear()

    def _handed_out(self, entry: Entry[T]) -> Change[T]:
        assert self._identity is not None  # nothing is due before the state is open
        key, sequence = entry.stored.idempotency_key(self._identity), entry.stored.sequence
        return attrs.evolve(entry.change, idempotency_key=key, acknowledge=lambda: self.acknowledge(sequence))

    def _is_unsettled(self, sequence: int) -> bool:
        if self._closed and sequence in self._entries:
            raise WatchStateError("the watcher is closed: the change will be reported again by the next one")
        return sequence in self._entries

    async def _settle(self, sequences: AbstractSet[int]) -> None:
        await self._state.acknowledge(sequences)
        for sequence in sorted(sequences):
            entry = self._entries.pop(sequence)
            if entry.position is None:
                self.positions.pop(entry.key, None)
            else:
                self.positions[entry.key] = entry.position
            entries = self._open[entry.key]
            entries.remove(entry)
            if entries:
                self._due.append(entries[0])
            else:
                del self._open[entry.key]
            self.acknowledged += 1
        self._wake()
