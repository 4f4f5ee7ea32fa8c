"""Embedded journal: one SQLite file, shared by every process of one machine."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._arguments import running_loop
from .base import JournalError
from .files import FileIdentity, prepare
from .process import ProcessGuard
from .schema import VERSION, creation, sqlite_migration, version_of
from .sql import SqlJournal, text_of
from .wal import check_log

__all__ = ["SqliteJournal"]

TABLE = "entries"
BUSY_SECONDS = 10.0
"""How long a statement waits for another process that is writing."""


class SqliteJournal(SqlJournal):
    """Journal in the SQLite file ``path``, created (readable by its owner only) if it is missing.

    Every write is on disk when its method returns (write-ahead log, ``synchronous = FULL``). Any number of processes
    of one machine may share the file; it does not belong on a network file system, and a forked process needs a journal
    of its own. All work is done in one thread, so the event loop never waits for the disk::

        async with SqliteJournal("orders.journal") as journal:
            entry = client.order_entry(journal)

    ``clock`` gives epoch seconds and is what leases are measured with.

    A file of an earlier release is migrated when it is opened. Every method raises `JournalError` for a file of a newer
    release, a file that was moved, replaced or deleted since it was opened, and a damaged write-ahead log.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> None:
        self.path: Path = Path(path)
        self._clock = clock
        self._file = _File(self.path.absolute())  # wherever the process goes before it is opened
        self._process = ProcessGuard(f"the journal {self.path}")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._finalizer = weakref.finalize(self, _shut, self._thread, self._file)

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self.path)!r})"

    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False
    ) -> Sequence[Sequence[Any]]:
        if not self._finalizer.alive:
            raise JournalError(f"the journal {self.path} is closed")
        self._process.check()
        text = text_of(statement, table=TABLE, now=":now")
        loop = running_loop()
        return await loop.run_in_executor(self._thread, self._file.run, text, {**values, "now": self._clock()})

    async def aclose(self) -> None:
        """Close the file, after the writes that are under way. In a forked process, leave it to the parent."""
        if self._process.is_forked:
            self._finalizer.detach()
        elif self._finalizer.alive:
            loop = running_loop()
            await loop.run_in_executor(self._thread, self._file.close)
            self._finalizer()


class _File:
    """The connection, used by the journal's own thread only, and opened when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._identity: FileIdentity | None = None

    def run(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        try:
            if self._connection is None or self._identity is None:
                self._connection, self._identity = self._connect()
            self._identity.check()
            rows = self._connection.execute(statement, values).fetchall()
            self._identity.check()  # a file that was moved in between has the entry, but not where it is looked for
        except (sqlite3.Error, OSError, UnicodeError) as error:  # UnicodeError: a lone surrogate in a value
            raise JournalError(f"the journal {self._path} cannot be used: {error}") from error
        return rows

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> tuple[sqlite3.Connection, FileIdentity]:
        real = prepare(self._path)
        check_log(real)
        before = os.stat(self._path)
        # isolation_level None: every statement is a transaction of its own, committed before execute() returns.
        connection = sqlite3.connect(
            real, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=32
        )
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise JournalError(f"the journal {self._path} cannot be used: no write-ahead log on this file system")
            connection.execute("PRAGMA synchronous = FULL")
            _prepare_table(connection, f"the journal {self._path}")
            identity = FileIdentity.of(self._path, real)
            if not os.path.samestat(before, os.stat(self._path)):
                raise JournalError(f"the journal {self._path} was replaced while it was being opened: try again")
        except BaseException:
            connection.close()
            raise
        return connection, identity


def _prepare_table(connection: sqlite3.Connection, what: str) -> None:
    """Create or migrate the table; the version of its schema is the ``user_version`` of the file."""
    if _table_version(connection, what) == VERSION and _user_version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _table_version(connection, what)  # as another process may have left it in the meantime
        if version is None:
            statements = creation(table=TABLE, binary="BLOB", seconds="REAL")
        else:
            statements = sqlite_migration(TABLE) if version < VERSION else ()
        for statement in (*statements, f"PRAGMA user_version = {VERSION}"):
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _table_version(connection: sqlite3.Connection, what: str) -> int | None:
    recorded = _user_version(connection)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({TABLE})")]
    return version_of(what, recorded or None, columns) if columns or recorded > VERSION else None


def _user_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _shut(thread: ThreadPoolExecutor, file: _File) -> None:
    with suppress(RuntimeError):  # the interpreter is shutting down: the file closes with the process
        thread.submit(file.close)
    thread.shutdown(wait=False)
