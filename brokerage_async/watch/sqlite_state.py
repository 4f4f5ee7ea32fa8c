"""State of a watcher in a separate SQLite file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from attrs import astuple

from .state import Standing, StoredChange, WatchStateError

if TYPE_CHECKING:  # SQLite is loaded when it is needed
    import sqlite3

    from ..storage.sqlite_file import SqliteFile
    from ..storage.subject import Subject


R = TypeVar("R")

VERSION = 1
APPLICATION_ID = 0x62617773
"""Marks the file as a state of this library."""

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

        def write(connection: sqlite3.Connection) -> None:
            for part, items in begun.items():
                connection.execute("INSERT OR IGNORE INTO begun VALUES (?)", (part,))
                connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?)", items.items())
            connection.executemany("INSERT OR REPLACE INTO reported VALUES (?, ?, ?, ?, ?, ?)", map(astuple, changes))
            if changes:
                connection.execute("UPDATE owner SET sequence = max(sequence, ?)", (changes[-1].sequence,))

        await self._run(write)

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Move changes to the acknowledged items. Those that are acknowledged already are left out."""

        def write(connection: sqlite3.Connection) -> None:
            for sequence in sorted(sequences):
                for statement in (KEEP, DROP, DONE):
                    connection.execute(statement, (sequence,))

        await self._run(write)

    async def aclose(self) -> None:
        """Release the file, after the writes that are under way. Repeating it is harmless."""
        if (file := self._file) is not None:
            await file.aclose()
            if self._file is file:
                self._file = None

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
