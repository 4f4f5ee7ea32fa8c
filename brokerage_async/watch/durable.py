"""Durability of a watcher: changes are stored before they are reported, until they are acknowledged.

At most one change of a key is open (reported and not acknowledged) at a time. Newer ones are merged until then: changes
of one key keep their order however many workers handle them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, NamedTuple, TypeVar

import attrs

from .._arguments import running_loop
from ..errors import ConfigurationError
from ..http.concurrency import GroupCommit, outliving, result_of
from .diff import SILENT, Acknowledgeable, Change, Derive, change_of
from .feed import CHUNK, Cursor, Listener
from .state import ItemCodec, StoredChange, WatchState, WatchStateError

R = TypeVar("R", bound=Acknowledgeable)

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

MAX_BATCH = 32
"""Changes that are stored at a time before they are reported. Each of these transactions waits for the disk once."""

MAX_UNACKNOWLEDGED = 60.0
"""Seconds for which a newer change may be held back before a warning says so, once."""


class Entry(NamedTuple):
    """A change that is not acknowledged."""

    stored: StoredChange
    change: Change[Any]


class ChangeLog:
    """The changes of a watcher with a state. It does not refer to the watcher: changes outlive that."""

    def __init__(
        self,
        parts: Mapping[str, Cursor[Any]],
        state: WatchState,
        name: str,
        codec: ItemCodec[Any],
        derive: Derive,
        listener: Listener,
    ) -> None:
        self._parts = parts
        self._state = state
        self._name = name
        self._codec = codec
        self._derive = derive
        self._listener = listener
        self._identity: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sequence = 0
        self._begun: set[str] = set()
        self._beginning: dict[str, dict[str, bytes]] = {}
        self._pending: dict[Any, list[Change[Any]]] = {}  # not stored yet: one of each key, or two for a kept state
        self._held_since: dict[Any, float] = {}
        self._is_warned = self._is_left = False
        self._entries: dict[int, Entry] = {}
        self._open: dict[Any, deque[Entry]] = {}
        self._due: deque[Entry] = deque()
        self._unwritten: list[Entry] = []
        self._silent: set[int] = set()
        self._writing: asyncio.Task[None] | None = None
        self._acknowledgements = GroupCommit(self._settle, self._is_unsettled)

    @property
    def must_write(self) -> bool:
        """True if something has to be stored before the next change can be reported."""
        return self._identity is None or bool(self._unwritten or self._beginning or self._silent)

    def take(self, pull: Callable[[], Change[Any] | None], report: Callable[[Change[Any]], R]) -> R | None:
        """Return the next stored change. Otherwise ``pull`` new ones, to be stored next."""
        if not (self._due or self.must_write):
            self._fill(pull)
        if self._identity is None or not self._due:
            return None
        entry = self._due.popleft()
        return attrs.evolve(
            report(entry.change),
            idempotency_key=entry.stored.idempotency_key(self._identity),
            acknowledge=partial(self._acknowledge, entry.stored.sequence),
        )

    def before_pending(self) -> dict[Any, Any]:
        """Return the items as last reported of those that have changed since."""
        return {key: changes[0].before for key, changes in self._pending.items() if changes}  # none if one had no form

    async def write(self) -> None:
        """Open the state, or store the changes taken. A write that a cancelled call began is completed regardless."""
        self._loop = running_loop()
        if self._writing is None or self._writing.done():
            self._writing = outliving(self._open_state() if self._identity is None else self._store(), "write")
        await result_of(self._writing)

    async def release(self) -> None:
        """Release the state after the writes under way, even if the call is cancelled."""
        self._is_left = True
        await result_of(outliving(self._release(), "write"))

    def _fill(self, pull: Callable[[], Change[Any] | None]) -> None:
        for part, cursor in self._parts.items():
            if part not in self._begun and cursor.refresh():  # its first items are acknowledged from the outset
                known = cursor.seen or {}
                self._beginning[part] = {self._codec.text_of(key): self._codec.encode(known[key]) for key in known}
                self._begun.add(part)
        for _ in range(CHUNK):
            if (change := pull()) is None:
                break
            self._merge(change)
        for key in list(self._pending):
            if len(self._unwritten) >= MAX_BATCH:
                return
            changes = self._pending[key]
            while changes and key not in self._open:
                self._add(changes.pop(0))
            if not changes:
                del self._pending[key]
            else:
                self._note_held(key)

    def _merge(self, change: Change[Any]) -> None:
        """Merge a change into the one of its key that waits, but no removal into a last state that is worth keeping."""
        waiting = self._pending.setdefault(change.key, [])
        last = waiting[-1].after if waiting else None
        cursor = self._parts["" if "" in self._parts else change.key[0]]
        if waiting and (change.after is not None or last is None or not cursor.keep(last)):
            change = change_of(change.key, waiting[0].before, change.after, change.at)
            waiting.clear()
        if change.before != change.after:
            waiting.append(change)
        else:
            del self._pending[change.key]

    def _note_held(self, key: Any) -> None:
        """Note that a newer change of ``key`` waits. Warn once if the acknowledgement takes long."""
        now = running_loop().time()
        if now - self._held_since.setdefault(key, now) >= MAX_UNACKNOWLEDGED and not self._is_warned:
            self._is_warned = True
            logger.warning("changes of %r wait until the last one is acknowledged: await change.ack()", key)

    def _add(self, change: Change[Any]) -> None:
        """Store all changes that are derived in one transaction: the item after the first may imply the others."""
        for derived in self._derive(change):
            self._sequence += 1
            self._open_entry(Entry(self._codec.store(derived, self._sequence), derived))

    def _open_entry(self, entry: Entry) -> None:
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
                self._open_entry(entry)
                known[entry.change.key] = entry.change.after
            self._deliver()
            self._begun, self._sequence = set(standing.begun), standing.sequence
            for part in self._begun & self._parts.keys():
                self._parts[part].seed(
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
            key = self._entries.pop(sequence).change.key
            entries = self._open[key]
            entries.popleft()
            if entries:
                self._due.append(entries[0])
            else:
                del self._open[key]
                self._held_since.pop(key, None)
        self._listener.wake()

    async def _release(self) -> None:
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing})
        await self._acknowledgements.finish()
        if self._identity is not None:
            await self._state.aclose()
