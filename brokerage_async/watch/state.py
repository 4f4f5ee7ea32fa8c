"""State of a watcher: the position of its consumer, kept durably.

A state holds the items that the consumer has acknowledged, as it saw them last, and the changes that were reported to
it and are not acknowledged yet. Changes are stored before they are reported, so that a consumer that crashed gets the
very same changes again. Items that left the list leave the state when that is acknowledged, and a key has one open
change at a time: the size of a state is bounded by the size of its list.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import attrs
import msgspec

from ..errors import BrokerageError, ConfigurationError
from .diff import AlertKind, Change, ChangeKind

if TYPE_CHECKING:  # SQLite is loaded when it is needed
    import sqlite3

    from ..storage.sqlite_file import SqliteFile
    from ..storage.subject import Subject

T = TypeVar("T")
R = TypeVar("R")


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
            default = None if self._type is None else _tagged
            data = json.dumps(plain, separators=(",", ":"), allow_nan=False, default=default).encode()
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

        if self._type is None:
            plain: T = json.loads(data)
            return plain
        item: T = converter.structure(json.loads(data, object_hook=_untagged), self._type)
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
        read = [None if data is None else self.read(stored.key, data) for data in (stored.before, stored.after)]
        keys, (before, after) = [each[0] for each in read if each], (each and each[1] for each in read)
        try:
            at = datetime.fromisoformat(stored.at)
            return Change(kind=KINDS.get(stored.kind, stored.kind), key=keys[-1], before=before, after=after, at=at)
        except (LookupError, ValueError):
            raise WatchStateError(
                f"change {stored.sequence} of the watch state holds no item or time: {DAMAGED}"
            ) from None


DECIMAL = "brokerage_async.Decimal"  # stands for a fraction in the ``extra`` of a model: a float would lose digits


def _tagged(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {DECIMAL: str(value)}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _untagged(found: dict[str, Any]) -> Any:
    return Decimal(found[DECIMAL]) if found.keys() == {DECIMAL} else found


class OwnCodec(ItemCodec[Any]):
    """Items of types of this library as JSON. ``type_of`` returns the type of an item with this key."""

    def __init__(self, type_of: Callable[[Any], Any]) -> None:
        super().__init__(None)
        self._type_of = type_of

    def encode(self, item: Any) -> bytes:
        return msgspec.json.encode(item)

    def decode(self, key: str, data: bytes) -> Any:
        return msgspec.json.decode(data, type=self._type_of(json.loads(key)))


def _tupled(key: Any) -> Any:
    return tuple(map(_tupled, key)) if isinstance(key, list) else key


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
        self._file = SqliteFile(self._absolute, subject, set_up=_set_up)
        try:
            return await self._run(lambda connection: _read(connection, feed, subject))
        except BaseException:
            await self.aclose()
            raise

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        """Store changes before they are reported, and the first items of parts of the collection."""
        items = [pair for known in begun.values() for pair in known.items()]
        await self._write(
            ("INSERT OR IGNORE INTO begun VALUES (?)", [(part,) for part in begun]),
            ("INSERT OR REPLACE INTO items VALUES (?, ?)", items),
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
