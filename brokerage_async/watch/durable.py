"""Durability of a watcher, around its cursors: changes are stored before they are reported, until acknowledged.

At most one change of a key is open (reported and not acknowledged) at a time. Its cursor compares the key with the
latest state again when that is acknowledged. So changes of one key keep their order however many workers handle them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, TypeVar

import attrs

from .._arguments import running_loop
from ..errors import ConfigurationError
from ..http.concurrency import GroupCommit, outliving, result_of
from .diff import SILENT, Acknowledgeable, Change
from .feed import Cursor
from .source import Source
from .state import ItemCodec, StoredChange, WatchState, WatchStateError

__all__ = ["DurableSource"]

R = TypeVar("R", bound=Acknowledgeable)

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

MAX_BATCH = 32
"""Changes that are stored at a time before they are reported. Each of these transactions waits for the disk once."""

MAX_UNACKNOWLEDGED = 60.0
"""Seconds for which a newer change may be held back before a warning says so, once."""


@attrs.frozen(eq=False)
class Entry:
    """A change that is not acknowledged."""

    stored: StoredChange
    change: Change[Any]


class DurableSource(Source[R]):
    """The changes of a watcher with a state: those that are open are in memory, and in the state.

    Args:
        parts: the cursors by part.
        state: stores the changes, and the acknowledged items.
        name: identity of the watched list.
        codec: turns changes into stored ones.
        options: options of `Source`.
    """

    def __init__(
        self, parts: Mapping[str, Cursor[Any]], state: WatchState, name: str, codec: ItemCodec[Any], **options: Any
    ) -> None:
        super().__init__(parts, **options)
        self._state = state
        self._name = name
        self._codec = codec
        self._identity: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sequence = 0
        self._begun: set[str] = set()
        self._beginning: dict[str, dict[str, bytes]] = {}
        self._held_since: dict[Any, float] = {}
        self._is_warned = self._is_left = False
        self._entries: dict[int, Entry] = {}
        self._open: dict[Any, deque[Entry]] = {}
        self._freed: deque[Any] = deque()
        self._due: deque[Entry] = deque()
        self._unwritten: list[Entry] = []
        self._silent: set[int] = set()
        self._writing: asyncio.Task[None] | None = None
        self._acknowledgements = GroupCommit(self._settle, self._is_unsettled)

    def _needs_writing(self) -> bool:
        return self._identity is None or bool(self._unwritten or self._beginning or self._silent)

    def _take(self) -> R | None:
        """Return the next stored change. Otherwise take new ones from the cursors, to be stored next."""
        if not (self._due or self._needs_writing()):
            self._fill()
        if self._identity is None or not self._due:
            return None
        entry = self._due.popleft()
        return attrs.evolve(
            self._report(entry.change),
            idempotency_key=entry.stored.idempotency_key(self._identity),
            acknowledge=partial(self._acknowledge, entry.stored.sequence),
        )

    async def _write(self) -> None:
        """Open the state, or store the changes taken. A write that a cancelled call began is completed regardless."""
        self._loop = running_loop()
        if self._writing is None or self._writing.done():
            self._writing = outliving(self._open_state() if self._identity is None else self._store(), "write")
        await result_of(self._writing)

    async def _leave(self) -> None:
        """Stop polling, and release the state after the writes under way, even if the call is cancelled."""
        try:
            await super()._leave()
        finally:
            self._is_left = True
            await result_of(outliving(self._release(), "write"))

    def _fill(self) -> None:
        """Take changes from the cursors."""
        for part, cursor in self.parts.items():
            if part not in self._begun and cursor.refresh():  # its first items are acknowledged from the outset
                known = cursor.seen or {}
                self._beginning[part] = {self._codec.text_of(key): self._codec.encode(known[key]) for key in known}
                self._begun.add(part)
        while len(self._unwritten) < MAX_BATCH:
            if self._freed:
                key = self._freed.popleft()
                change = None if self._is_held(key) else self.parts["" if "" in self.parts else key[0]].compare(key)
            elif (change := self._pull(self._is_held)) is None:
                return
            # all that are derived go into one transaction: the item after the first may imply the others
            for derived in () if change is None else self._derive(change):
                self._sequence += 1
                self._add(Entry(self._codec.store(derived, self._sequence), derived))

    def _is_held(self, key: Any) -> bool:
        """Return True if a newer change of ``key`` has to wait. Warn once if the acknowledgement takes long."""
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

    def _deliver(self) -> None:
        """Make stored changes due, of each key the first. A silent one, which its key has alone, is settled next."""
        for entry in self._unwritten:
            if entry.change.kind == SILENT:
                self._silent.add(entry.stored.sequence)
            elif self._open[entry.change.key][0] is entry:
                self._due.append(entry)
        self._unwritten.clear()

    async def _open_state(self) -> None:
        standing, codec = await self._state.open(self._name), self._codec
        try:
            known = dict(codec.read(key, data) for key, data in standing.items.items())
            for entry in [Entry(stored, codec.restore(stored)) for stored in standing.reported]:
                self._add(entry)
                known[entry.change.key] = entry.change.after
            self._deliver()
            self._begun, self._sequence = set(standing.begun), standing.sequence
            for part in self._begun & self.parts.keys():
                self.parts[part].seed(
                    {key: item for key, item in known.items() if item is not None and part in ("", key[0])}
                )
        except BaseException:
            await self._state.aclose()
            raise
        self._identity = standing.identity

    async def _store(self) -> None:
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
        if self._is_left and sequence in self._entries:
            raise WatchStateError("the watcher is closed: the change will be reported again by the next one")
        return sequence in self._entries

    async def _settle(self, sequences: AbstractSet[int]) -> None:
        await self._state.acknowledge(sequences)
        for sequence in sorted(sequences):
            key = self._entries[sequence].change.key
            self._open[key].remove(self._entries.pop(sequence))
            if self._open[key]:
                self._due.append(self._open[key][0])
                continue
            del self._open[key]
            self._held_since.pop(key, None)
            self._freed.append(key)
        self._announce()

    async def _release(self) -> None:
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing})
        await self._acknowledgements.finish()
        if self._identity is not None:
            await self._state.aclose()
