"""State of a watcher: the position of its consumer, kept durably.

A state holds the items that the consumer has acknowledged, as it saw them last, and the changes that were reported to
it and are not acknowledged yet. Changes are stored before they are reported, so that a consumer that crashed gets the
very same changes again. Items that left the list leave the state when that is acknowledged, and a key has one open
change at a time: the size of a state is bounded by the size of its list.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import attrs

from .._arguments import running_loop
from ..errors import BrokerageError, ConfigurationError
from ..http.concurrency import GroupCommit, outliving, result_of
from .diff import SILENT, Acknowledgeable, AlertKind, Change, ChangeKind
from .feed import Cursor, Listener, logger

if TYPE_CHECKING:  # SQLite is loaded when it is needed
    import sqlite3

    from ..storage.sqlite_file import SqliteFile
    from ..storage.subject import Subject

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A", bound=Acknowledgeable)


class WatchStateError(BrokerageError):
    """The state of a watcher cannot be read or written, or belongs to another watcher. The message says why.

    A change whose acknowledgement raised it may be acknowledged again.
    """

    default_code: ClassVar[str | None] = "watch_state_unavailable"


@attrs.frozen(kw_only=True)
class StoredChange:
    """One change as a state keeps it until it is acknowledged.

    Attributes:
        sequence: counts the changes of one state, from 1.
        key: the item, as a str.
        kind: the kind of change.
        at: the time of the change, in ISO format.
        before: the item before it, encoded. None for a new one.
        after: the item that becomes the acknowledged one, encoded. None if it is removed.
    """

    sequence: int
    key: str
    kind: str
    at: str
    before: bytes | None
    after: bytes | None

    def idempotency_key(self, identity: str) -> str:
        """Return a key that is the same whenever this change of the state ``identity`` is reported.

        It covers the content: a state that was restored from a backup counts from an earlier change.
        """
        digest = hashlib.blake2b(digest_size=16)
        for part in (identity, str(self.sequence), self.key, self.kind, self.before, self.after):
            data = b"-" if part is None else b"+" + (part if isinstance(part, bytes) else part.encode())
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()


@attrs.frozen(kw_only=True)
class Standing:
    """Content of a state when a watcher opens it.

    Attributes:
        identity: distinguishes this state from all others.
        begun: the parts of the collection whose first state is in ``items``.
        items: the acknowledged items by key, encoded.
        reported: changes that are not acknowledged, oldest first.
        sequence: number of the last change that was ever reported.
    """

    identity: str
    begun: frozenset[str] = frozenset()
    items: Mapping[str, bytes] = attrs.field(factory=dict)
    reported: tuple[StoredChange, ...] = ()
    sequence: int = 0


class WatchState(Protocol):
    """A place that keeps the state of one watcher. Every method is atomic, and durable when it returns.

    Every method raises `WatchStateError` if the state cannot be read or written. It may be repeated then.
    """

    async def open(self, feed: str) -> Standing:
        """Take possession of the state for the watcher of ``feed``, and return its content.

        Raises:
            WatchStateError: the state belongs to another feed, or a watcher has it open.
        """
        ...

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        """Store changes before they are reported, and the first items of parts of the collection."""
        ...

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Move changes to the acknowledged items. Those that are acknowledged already are left out."""
        ...

    async def aclose(self) -> None:
        """Release the state for the next watcher. Repeating it is harmless."""
        ...


# Kinds by their values, so that the kind of a restored change is a member of its enumeration again.
KINDS: Mapping[str, str] = {kind.value: kind for kinds in (ChangeKind, AlertKind) for kind in kinds}
DAMAGED = "restore the state from a backup, or delete it for a fresh start"


class ItemCodec(Generic[T]):
    """Changes of items as JSON.

    Without a ``key`` function JSON restores the keys, with tuples for lists. Without an ``item_type``, which the
    converter of the models can structure, items are JSON values.
    """

    def __init__(self, key: Callable[[T], Hashable] | None, item_type: Any = None) -> None:
        self._key = key
        self._type = item_type

    def encode(self, item: T) -> bytes:
        """Return an item as JSON, or raise ConfigurationError if it cannot be restored from that."""
        from ..models import converter  # made when it is first needed

        plain, reason = item, ""
        try:
            plain = item if self._type is None else converter.unstructure(item, self._type)
            data = json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()
            if self._type is not None or json.loads(data) == item:
                return data
        except Exception as error:  # unstructuring raises errors of any kind
            reason = f" ({error})"
        raise ConfigurationError(
            f"items must be JSON values, got {type(plain).__name__}{reason}: "
            "pass item_type, a type that brokerage_async.models.converter can structure"
        )

    def decode(self, key: str, data: bytes) -> T:
        """Return the item that was encoded, given the text of its key. It may raise anything."""
        from ..models import converter

        value = json.loads(data)
        item: T = value if self._type is None else converter.structure(value, self._type)
        return item

    def text_of(self, key: Any) -> str:
        """Return a key as a str that distinguishes it from all others of its list."""
        try:
            return json.dumps(key, default=lambda part: part.isoformat(), separators=(",", ":"))
        except (AttributeError, TypeError):
            raise ConfigurationError(
                f"keys of a watcher with a state must be str, int, date or tuple, got {key!r}"
            ) from None

    def read(self, key: str, data: bytes) -> tuple[Any, T]:
        """Return a stored item, with its key, or raise WatchStateError."""
        try:
            item = self.decode(key, data)
            return (_tupled(json.loads(key)) if self._key is None else self._key(item)), item
        except Exception as error:  # structuring raises groups of any kind
            reason = type(error).__name__
            raise WatchStateError(f"an item of the watch state cannot be read ({reason}): {DAMAGED}") from error

    def store(self, change: Change[T], sequence: int) -> StoredChange:
        before, after = (None if item is None else self.encode(item) for item in (change.before, change.after))
        key, at = self.text_of(change.key), change.at.isoformat()
        return StoredChange(sequence=sequence, key=key, kind=str(change.kind), at=at, before=before, after=after)

    def restore(self, stored: StoredChange) -> Change[T]:
        """Return a stored change, or raise WatchStateError."""
        (old, before), (new, after) = (
            (None, None) if data is None else self.read(stored.key, data) for data in (stored.before, stored.after)
        )
        key, at = old if new is None else new, None
        with suppress(ValueError):
            at = datetime.fromisoformat(stored.at)
        if key is None or at is None:
            raise WatchStateError(f"change {stored.sequence} of the watch state holds no item or time: {DAMAGED}")
        return Change(kind=KINDS.get(stored.kind, stored.kind), key=key, before=before, after=after, at=at)


def _tupled(key: Any) -> Any:
    return tuple(map(_tupled, key)) if isinstance(key, list) else key


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

    _parts: Mapping[str, Cursor[Any]]
    _state: WatchState
    _name: str
    _codec: ItemCodec[Any]
    _listener: Listener
    _identity: str | None = attrs.field(default=None, init=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False)
    _sequence: int = attrs.field(default=0, init=False)
    _begun: set[str] = attrs.field(factory=set, init=False)
    _beginning: dict[str, dict[str, bytes]] = attrs.field(factory=dict, init=False)
    _held_since: dict[Any, float] = attrs.field(factory=dict, init=False)  # keys that were passed over
    _is_warned: bool = attrs.field(default=False, init=False)
    _is_left: bool = attrs.field(default=False, init=False)
    _entries: dict[int, Entry] = attrs.field(factory=dict, init=False)
    _open: dict[Any, deque[Entry]] = attrs.field(factory=dict, init=False)
    _due: deque[Entry] = attrs.field(factory=deque, init=False)
    _unwritten: list[Entry] = attrs.field(factory=list, init=False)
    _silent: set[int] = attrs.field(factory=set, init=False)
    _writing: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _acknowledgements: GroupCommit = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        log = weakref.proxy(self)  # no cycle: the state of a dropped watcher goes with its last change
        self._acknowledgements = GroupCommit(
            lambda numbers: log.settle(numbers), lambda number: log.is_unsettled(number)
        )

    @property
    def must_write(self) -> bool:
        """True if something has to be stored before the next change can be reported."""
        return self._identity is None or bool(self._unwritten or self._beginning or self._silent)

    def take(
        self, pull: Callable[[Callable[[Any], bool]], Iterable[Change[Any]] | None], report: Callable[[Change[Any]], A]
    ) -> A | None:
        """Return the next stored change. Otherwise ``pull`` new ones of keys that are not held, to be stored next."""
        if not (self._due or self.must_write):
            for part, cursor in self._parts.items():
                if part not in self._begun and cursor.refresh():  # its first items are acknowledged from the outset
                    known = cursor.seen or {}
                    self._beginning[part] = {self._codec.text_of(key): self._codec.encode(known[key]) for key in known}
                    self._begun.add(part)
            most = MAX_BATCH + len(self._beginning)  # parts take turns: the first change of each goes with its begin
            while len(self._unwritten) < most and (changes := pull(self._holds)) is not None:
                for change in changes:  # in one transaction: the item after the first implies the others
                    self._sequence += 1
                    self._add(Entry(self._codec.store(change, self._sequence), change))
        if self._identity is None or not self._due:
            return None
        entry = self._due.popleft()
        return attrs.evolve(
            report(entry.change),
            idempotency_key=entry.stored.idempotency_key(self._identity),
            acknowledge=partial(self._acknowledge, entry.stored.sequence),
        )

    async def write(self) -> None:
        """Open the state, or store the changes taken. A write that a cancelled call began is completed regardless."""
        self._loop = running_loop()
        if self._writing is None or self._writing.done():
            self._writing = outliving(self._open_state() if self._identity is None else self._store(), "write")
        try:
            await result_of(self._writing)
        finally:
            if self._writing is not None and self._writing.done():  # its error holds the frames of the consumer
                self._writing = None

    async def release(self) -> None:
        """Release the state after the writes under way, even if the call is cancelled."""
        self._is_left = True
        await result_of(outliving(self._release(), "write"))

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
            for part in self._begun & self._parts.keys():
                own = {key: item for key, item in known.items() if item is not None and (not part or key[0] == part)}
                self._parts[part].seen = own
        except BaseException:
            await self._state.aclose()
            raise
        self._identity = standing.identity

    async def _store(self) -> None:
        await self._state.report([entry.stored for entry in self._unwritten], self._beginning)
        self._beginning = {}
        self._deliver()
        if self._silent:
            await self.settle(self._silent)
            self._silent = set()

    async def _acknowledge(self, sequence: int) -> None:
        if running_loop() is not self._loop:
            raise ConfigurationError(
                "a change belongs to the event loop of its watcher: pass change.ack() to it with "
                "asyncio.run_coroutine_threadsafe(change.ack(), loop)"
            )
        await self._acknowledgements.add(sequence)

    def is_unsettled(self, sequence: int) -> bool:
        if self._is_left and sequence in self._entries:
            raise WatchStateError("the watcher is closed: the change will be reported again by the next one")
        return sequence in self._entries

    async def settle(self, sequences: AbstractSet[int]) -> None:
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
                self._parts["" if "" in self._parts else key[0]].keys.append(key)
        self._listener.wake()

    async def _release(self) -> None:
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing})
        await self._acknowledgements.finish()
        if self._identity is not None:
            await self._state.aclose()


VERSION = 1
APPLICATION_ID = 0x62617773  # marks the file as a state of this library
SCHEMA = (
    "CREATE TABLE owner (feed TEXT NOT NULL, identity TEXT NOT NULL, sequence INTEGER NOT NULL)",
    "CREATE TABLE begun (part TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE items (key TEXT PRIMARY KEY, item BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE reported (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL, "
    "before BLOB, after BLOB)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

KEEP = "INSERT OR REPLACE INTO items SELECT key, after FROM reported WHERE sequence = ? AND after IS NOT NULL"
DROP = "DELETE FROM items WHERE key = (SELECT key FROM reported WHERE sequence = ? AND after IS NULL)"
DONE = "DELETE FROM reported WHERE sequence = ?"


class SqliteState:
    """State of one watcher in the file ``path``, created (readable by its owner only) if it is missing.

    Pass it to a watcher, which opens it with the first change and releases it when it is closed::

        async with client.watch.orders("me", [account], state=SqliteState("watch.db")) as changes:
            async for change in changes:
                async with change:  # acknowledged at its end, unless it raises
                    ...

    Every acknowledgement is on disk when it returns. The file holds the items of the list (orders, positions), never a
    token. It belongs to one watcher at a time, of one list, and not on a network file system. A missing or empty file
    is a fresh start.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        self._absolute = self.path.absolute()  # wherever the process goes before it is opened
        self._file: SqliteFile | None = None

    def __repr__(self) -> str:
        return f"SqliteState({str(self.path)!r})"

    async def open(self, feed: str) -> Standing:
        """Open the file for the watcher of ``feed``, and return its content."""
        from ..storage.sqlite_file import SqliteFile
        from ..storage.subject import Subject

        subject = Subject(
            kind="watch state",
            name=self.path,
            error=WatchStateError,
            loss="; changes acknowledged in them are reported again",
            in_use="another watcher has it open: close that one, or give each watcher a file of its own",
        )
        if self._file is not None:
            raise subject.unusable(subject.in_use)
        self._file = SqliteFile(self._absolute, subject, set_up=_set_up, exclusive=True)
        try:
            return await self._run(lambda connection: _read(connection, feed, subject))
        except BaseException:
            await self.aclose()
            raise

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        """Store changes before they are reported, and the first items of parts of the collection."""
        await self._write(
            ("INSERT OR IGNORE INTO begun VALUES (?)", [(part,) for part in begun]),
            (
                "INSERT OR REPLACE INTO items VALUES (?, ?)",
                [pair for known in begun.values() for pair in known.items()],
            ),
            ("INSERT OR REPLACE INTO reported VALUES (?, ?, ?, ?, ?, ?)", [attrs.astuple(each) for each in changes]),
            ("UPDATE owner SET sequence = max(sequence, ?)", [(each.sequence,) for each in changes[-1:]]),
        )

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Move changes to the acknowledged items. Those that are acknowledged already are left out."""
        await self._write(*((sql, [(number,)]) for number in sorted(sequences) for sql in (KEEP, DROP, DONE)))

    async def aclose(self) -> None:
        """Release the file, after the writes that are under way. Repeating it is harmless."""
        if (file := self._file) is not None:
            await file.aclose()
            if self._file is file:
                self._file = None

    async def _write(self, *statements: tuple[str, Sequence[tuple[object, ...]]]) -> None:
        await self._run(lambda connection: [connection.executemany(sql, rows) for sql, rows in statements])

    async def _run(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Return the result of ``work``, which is one transaction."""
        from ..storage.sqlite_file import transaction

        def transact(connection: sqlite3.Connection) -> R:
            with transaction(connection):
                return work(connection)

        if self._file is None:
            raise WatchStateError(f"the watch state {self.path} is closed")
        return await self._file.run(transact)


def _set_up(connection: sqlite3.Connection, subject: Subject) -> None:
    """Create the tables in an empty file, or check that the file's tables can be used."""
    from ..storage.sqlite_file import transaction

    with transaction(connection):
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in SCHEMA:
                connection.execute(statement)
        elif connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise subject.unusable("it is a database of another kind")
        elif (version := connection.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            raise subject.unusable(f"its version {version} must be at most {VERSION}: use the release that wrote it")


def _read(connection: sqlite3.Connection, feed: str, subject: Subject) -> Standing:
    """Return the content of the file, which belongs to ``feed`` from now on."""
    if (row := connection.execute("SELECT feed, identity, sequence FROM owner").fetchone()) is None:
        row = (feed, secrets.token_hex(16), 0)
        connection.execute("INSERT INTO owner VALUES (?, ?, ?)", row)
    owner, identity, sequence = row
    if owner != feed:
        raise subject.unusable(f"it belongs to the watcher of {owner}, not of {feed}: give each a file of its own")
    reported = connection.execute("SELECT sequence, key, kind, at, before, after FROM reported ORDER BY sequence")
    names = [name for name, *_ in reported.description]
    return Standing(
        identity=identity,
        begun=frozenset(part for (part,) in connection.execute("SELECT part FROM begun")),
        items=dict(connection.execute("SELECT key, item FROM items").fetchall()),
        reported=tuple(StoredChange(**dict(zip(names, row, strict=True))) for row in reported),
        sequence=sequence,
    )
