"""Durability of a watcher, around its plain source: changes are stored before they are reported, until acknowledged.

At most one change of a key is open (reported and not acknowledged) at a time. Later changes of the key are merged into
one, which follows the acknowledgement. So changes of one key keep their order however many workers handle them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Generic, TypeVar

import attrs

from .._arguments import running_loop
from ..errors import ConfigurationError
from .codec import ItemCodec
from .cursor import Source
from .diff import SILENT, Change, change_of
from .state import StoredChange, WatchState, WatchStateError

__all__ = ["Durable", "GroupCommit"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

MAX_BATCH = 32
"""Changes that are stored at a time before they are reported. Each of these transactions waits for the disk once."""

MAX_PULLED = 1000
"""Changes that are taken from the source at a time."""

MAX_UNACKNOWLEDGED = 60.0
"""Seconds for which a newer change may be held back before a warning says so, once."""


@attrs.frozen(eq=False)
class Entry(Generic[T]):
    """A change that is not acknowledged. Acknowledging it leaves the position behind."""

    stored: StoredChange
    change: Change[T]
    key: Any
    position: Any


class Durable(Generic[T]):
    """Open changes and acknowledged positions of one watcher, in memory and in its state.

    Args:
        source: the plain changes.
        state: stores the changes and positions.
        name: identity of the watched list.
        codec: turns changes into stored ones.
        keep: decides whether the last state of an item is reported before its removal.
    """

    def __init__(
        self,
        source: Source[T],
        state: WatchState,
        name: str,
        codec: ItemCodec[T],
        keep: Callable[[Any], bool] | None = None,
    ) -> None:
        self._source = source
        self._state = state
        self._name = name
        self._codec = codec
        self._keep = keep
        self._identity: str | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sequence = 0
        self._positions: dict[Any, Any] = {}
        self._begun: set[str] = set()
        self._pending: dict[Any, Change[Any]] = {}
        self._freed: deque[Any] = deque()
        self._comparable: deque[Any] = deque()
        self._held_since: dict[Any, float] = {}
        self._is_warned = False
        self._open: dict[Any, deque[Entry[T]]] = {}
        self._entries: dict[int, Entry[T]] = {}
        self._due: deque[Entry[T]] = deque()
        self._unwritten: list[Entry[T]] = []
        self._silent: set[int] = set()
        self._beginning: dict[str, dict[str, bytes]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._acknowledgements = GroupCommit(self._settle, self._is_unsettled)

    @property
    def snapshot(self) -> dict[Any, Any]:
        """The positions once every open change is acknowledged."""
        latest = dict(self._positions)
        for entries in self._open.values():
            _move(latest, entries[-1])
        return latest

    @property
    def needs_writing(self) -> bool:
        """True if `write` has something to do before the next change can be reported."""
        return self._identity is None or bool(self._unwritten or self._beginning or self._silent)

    def take(self) -> Change[T] | None:
        """Return the next stored change. Otherwise take new ones from the source, to be stored by `write`."""
        if self._identity is None:
            return None
        pulled = True
        while pulled and not (self._due or self.needs_writing):
            pulled = False
            for change in islice(iter(self._source.pull, None), MAX_PULLED):
                self._add_pending(change)
                pulled = True
            for part, cursor in self._source.parts.items():
                if (start := cursor.start) is not None and part not in self._begun:  # acknowledged from the outset
                    self._beginning[part] = dict(self._codec.encode_position(*each) for each in start.items())
                    self._begun.add(part)
                    self._positions |= start
            while (keys := self._freed or self._comparable) and len(self._unwritten) < MAX_BATCH:
                self._compare(keys.popleft())
        if not self._due:
            return None
        entry = self._due.popleft()
        key, sequence = entry.stored.idempotency_key(self._identity), entry.stored.sequence
        return attrs.evolve(entry.change, idempotency_key=key, acknowledge=lambda: self._acknowledge(sequence))

    async def write(self) -> None:
        """Open the state, or store the changes taken. A write that a cancelled call began is completed regardless."""
        self._loop = running_loop()
        if self._writing is None or self._writing.done():
            self._writing = _completed(self._read() if self._identity is None else self._write())
        await _result_of(self._writing)

    async def aclose(self) -> None:
        """Release the state, after the writes that are under way, even if the call is cancelled."""
        self._closed = True
        await _result_of(_completed(self._release()))

    def _add_pending(self, change: Change[Any]) -> None:
        """Merge ``change`` with the waiting changes of its key. Warn once if an acknowledgement takes long."""
        key = change.key
        if key in self._open:
            now = running_loop().time()
            if now - self._held_since.setdefault(key, now) >= MAX_UNACKNOWLEDGED and not self._is_warned:
                self._is_warned = True
                logger.warning("changes of %r wait until the last one is acknowledged: await change.ack()", key)
        elif key not in self._pending:
            self._comparable.append(key)
        self._pending[key] = change

    def _compare(self, key: Any) -> None:
        """Store what leads from the acknowledged position of ``key`` to its pending change."""
        change = self._pending.pop(key)
        before, last, steps = self._positions.get(key), change.before, [change.after]
        if change.after is None and self._keep is not None and last not in (None, before) and self._keep(last):
            steps.insert(0, last)
        for after in steps:
            merged = change_of(key, before, after, change.at)
            # all that are derived go into one transaction: the position after the first may imply the others
            for derived in self._source.derive(merged) if before != after else ():
                self._sequence += 1
                self._add(derived, self._codec.store(derived, self._sequence))
            if key in self._open:
                if after is not change.after:
                    self._pending[key] = change  # the removal follows
                return

    def _add(self, change: Change[T], stored: StoredChange) -> None:
        entry = Entry(stored, change, self._codec.key_of(change), self._codec.position_of(change))
        self._entries[stored.sequence] = entry
        self._open.setdefault(entry.key, deque()).append(entry)
        self._unwritten.append(entry)

    def _deliver(self) -> None:
        """Make stored changes due, of each key the first. A silent one, which its key has alone, is settled next."""
        for entry in self._unwritten:
            if entry.change.kind == SILENT:
                self._silent.add(entry.stored.sequence)
            elif self._open[entry.key][0] is entry:
                self._due.append(entry)
        self._unwritten.clear()

    async def _read(self) -> None:
        standing, codec = await self._state.open(self._name), self._codec
        try:
            positions = dict(codec.decode_position(key, data) for key, data in standing.items.items())
            changes = [(codec.restore(stored), stored) for stored in standing.reported]
            self._positions, self._begun = positions, set(standing.begun)
            self._sequence = standing.sequence
            for change, stored in changes:
                self._add(change, stored)
            self._deliver()
            known = self.snapshot
            for part in self._begun & self._source.parts.keys():
                self._source.parts[part].seed({key: each for key, each in known.items() if not part or key[0] == part})
        except BaseException:
            await self._state.aclose()
            raise
        self._identity = standing.identity

    async def _write(self) -> None:
        beginning = dict(self._beginning)
        await self._state.report([entry.stored for entry in self._unwritten], beginning)
        for part in beginning:
            del self._beginning[part]
        self._deliver()
        if self._silent:
            await self._settle(self._silent)
            self._silent = set()

    async def _acknowledge(self, sequence: int) -> None:
        """Record that the consumer is done with a change."""
        if running_loop() is not self._loop:
            raise ConfigurationError(
                "a change belongs to the event loop of its watcher: pass change.ack() to it with "
                "asyncio.run_coroutine_threadsafe(change.ack(), loop)"
            )
        await self._acknowledgements.add(sequence)

    def _is_unsettled(self, sequence: int) -> bool:
        if self._closed and sequence in self._entries:
            raise WatchStateError("the watcher is closed: the change will be reported again by the next one")
        return sequence in self._entries

    async def _settle(self, sequences: AbstractSet[int]) -> None:
        await self._state.acknowledge(sequences)
        for sequence in sorted(sequences):
            entry = self._entries.pop(sequence)
            _move(self._positions, entry)
            entries = self._open[entry.key]
            entries.remove(entry)
            if entries:
                self._due.append(entries[0])
                continue
            del self._open[entry.key]
            self._held_since.pop(entry.key, None)
            if entry.key in self._pending:
                self._freed.append(entry.key)
        self._source.announce()

    async def _release(self) -> None:
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing})
        await self._acknowledgements.finish()
        if self._identity is not None:
            await self._state.aclose()


def _move(positions: dict[Any, Any], entry: Entry[Any]) -> None:
    """Move the position of a key to what acknowledging ``entry`` leaves behind."""
    if entry.position is None:
        positions.pop(entry.key, None)
    else:
        positions[entry.key] = entry.position


class GroupCommit:
    """Numbers that are written together: those asked for during a write go into the next one.

    Args:
        write: writes a set of numbers durably, or raises.
        needs_writing: returns True until a number is written.
    """

    def __init__(
        self, write: Callable[[AbstractSet[int]], Coroutine[Any, Any, None]], needs_writing: Callable[[int], bool]
    ) -> None:
        self._write = write
        self._needs_writing = needs_writing
        self._wanted: set[int] = set()
        self._running: asyncio.Task[None] | None = None

    async def add(self, number: int) -> None:
        """Return when a number is written. A write that a cancelled call began is completed regardless."""
        while self._needs_writing(number):
            self._wanted.add(number)
            if self._running is None or self._running.done():
                self._running = _completed(self._write_all())
            await _result_of(self._running)

    async def finish(self) -> None:
        """Wait for the write under way, if any, whether it succeeds or fails."""
        if self._running is not None and not self._running.done():
            await asyncio.wait({self._running})

    async def _write_all(self) -> None:
        numbers = {number for number in self._wanted if self._needs_writing(number)}
        self._wanted.clear()
        await self._write(numbers)


def _completed(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Return a task for a write that goes on when its caller is cancelled."""
    task = asyncio.get_running_loop().create_task(work, name="brokerage_async write")
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its caller may be gone
    return task


async def _result_of(work: asyncio.Task[None]) -> None:
    """Wait for ``work``, which goes on if this is cancelled.

    `asyncio.shield` does the same, but from Python 3.14 on it reports a later failure of ``work`` as unhandled.
    """
    await asyncio.wait({work})
    work.result()
