"""Tables of a watcher's state in SQLite: each function returns the work of one transaction."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ..storage.sqlite_file import FileThread, SqliteFile
from ..storage.subject import Subject
from .state import Standing, StoredChange, WatchStateError

__all__ = ["acknowledging", "open_file", "reading", "reporting"]

R = TypeVar("R")
Work = Callable[[sqlite3.Connection], R]

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


def open_file(name: Path, path: Path) -> tuple[FileThread, Subject]:
    """Return the thread of the file at ``path``, which nothing has opened yet. Messages call it ``name``."""
    subject = Subject(
        kind="watch state",
        name=name,
        error=WatchStateError,
        loss="; changes acknowledged in them are reported again",
        in_use="another watcher has it open: close that one, or give each watcher a file of its own",
    )
    return FileThread(SqliteFile(path, subject, set_up=_set_up, exclusive=True), subject), subject


def reading(feed: str, subject: Subject) -> Work[Standing]:
    """Return the work that reads the content of the file, which belongs to ``feed`` from then on."""
    return _transaction(lambda connection: _read(connection, feed, subject))


def reporting(changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> Work[None]:
    """Return the work that stores changes, and the first items of parts of the collection."""
    rows = [(c.sequence, c.key, c.kind, c.at, c.before, c.after) for c in changes]

    def write(connection: sqlite3.Connection) -> None:
        for part, items in begun.items():
            connection.execute("INSERT OR IGNORE INTO begun VALUES (?)", (part,))
            connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?)", items.items())
        connection.executemany("INSERT OR REPLACE INTO reported VALUES (?, ?, ?, ?, ?, ?)", rows)
        if rows:
            connection.execute("UPDATE owner SET sequence = max(sequence, ?)", (rows[-1][0],))

    return _transaction(write)


def acknowledging(sequences: Iterable[int]) -> Work[None]:
    """Return the work that moves changes to the acknowledged items."""
    rows = [(sequence,) for sequence in sorted(sequences)]

    def write(connection: sqlite3.Connection) -> None:
        for row in rows:
            for statement in (KEEP, DROP, DONE):
                connection.execute(statement, row)

    return _transaction(write)


def _transaction(write: Callable[[sqlite3.Connection], R]) -> Callable[[sqlite3.Connection], R]:
    """Return ``write`` as one transaction."""

    def run(connection: sqlite3.Connection) -> R:
        connection.execute("BEGIN IMMEDIATE")
        try:
            done = write(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return done

    return run


def _set_up(connection: sqlite3.Connection, subject: Subject) -> None:
    """Create the tables in an empty file, or check that those of the file can be used."""
    _transaction(lambda _: _check_tables(connection, subject))(connection)


def _check_tables(connection: sqlite3.Connection, subject: Subject) -> None:
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for statement in SCHEMA:
            connection.execute(statement)
        return
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise subject.unusable("it is a database of another kind")
    if version != VERSION:
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
    return Standing(
        identity=identity,
        begun=frozenset(part for (part,) in connection.execute("SELECT part FROM begun")),
        items=dict(connection.execute("SELECT key, item FROM items").fetchall()),
        reported=tuple(
            StoredChange(sequence=number, key=key, kind=kind, at=at, before=before, after=after)
            for number, key, kind, at, before, after in reported
        ),
        sequence=sequence,
    )
