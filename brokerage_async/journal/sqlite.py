"""Embedded journals: an SQLite file, shared by every process of one machine, and a database in memory."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from ..storage.sqlite_file import SqliteFile, transaction
from ..storage.subject import Subject
from .base import JournalError
from .sql import SCHEMA, VERSION, SqlJournal, Steps, is_created

R = TypeVar("R")

LOSS = ", whose orders may have been placed"


class SqliteJournal(SqlJournal):
    """Journal in the SQLite file ``path``, created (readable by its owner only) if it is missing.

    Every write is on disk when its method returns (write-ahead log, ``synchronous = FULL``). Any number of processes
    of one machine may share the file. It does not belong on a network file system, and a forked process needs its own
    journal. All work is done in one thread, so the event loop never waits for the disk::

        async with SqliteJournal("orders.journal") as journal:
            entry = client.order_entry(journal)

    ``clock`` gives epoch seconds and is what leases are measured with.

    Every method raises `JournalError` for a file of a newer release or from before the first one, a file that was
    moved, replaced or deleted since it was opened, and a damaged write-ahead log.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> None:
        self.path: Path = Path(path)
        self._clock = clock
        subject = Subject(kind="journal", name=self.path, error=JournalError, loss=LOSS)
        self._file = SqliteFile(self.path.absolute(), subject, set_up=_prepare_table)  # absolute: wherever it is opened

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self.path)!r})"

    async def _perform(self, work: Callable[[], Steps[R]], *, renewal: bool = False, alone: bool = False) -> R:
        now = self._clock()  # statements take turns, each for moments: a renewal needs no way past the others
        return await self._file.run(lambda connection: run_steps(connection, work(), now, alone=alone))

    async def aclose(self) -> None:
        """Close the file, after the writes that are under way. In a forked process, leave it to the parent."""
        await self._file.aclose()


class MemoryJournal(SqlJournal):
    """Keeps entries in memory: nothing survives the process, so nothing can be recovered after a crash.

    ``clock`` gives epoch seconds. Pass a different clock to run on simulated time.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        for statement in SCHEMA.split(";"):
            self._connection.execute(statement)

    def __repr__(self) -> str:
        (count,) = self._connection.execute("SELECT count(*) FROM entries").fetchone()
        return f"MemoryJournal({count} entries)"

    async def _perform(self, work: Callable[[], Steps[R]], *, renewal: bool = False, alone: bool = False) -> R:
        try:  # nothing comes between the steps: this never waits
            return run_steps(self._connection, work(), self._clock())
        except (sqlite3.Error, UnicodeError) as error:  # UnicodeError: a lone surrogate in a value
            raise JournalError(f"the journal in memory cannot be used: {error}") from error

    async def aclose(self) -> None:
        """Do nothing. The entries stay readable."""


def run_steps(connection: sqlite3.Connection, steps: Steps[R], now: float, *, alone: bool = False) -> R:
    """Run steps at the time ``now``, ``alone`` in one transaction."""
    with transaction(connection) if alone else nullcontext():
        try:
            statement, values = next(steps)
            while True:
                rows = connection.execute(statement, {**values, "now": now}).fetchall()
                statement, values = steps.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # of a generator that returns this


def _prepare_table(connection: sqlite3.Connection, subject: Subject) -> None:
    """Create the table if it is missing. The version of its schema is the ``user_version`` of the file."""
    if _is_created(connection, subject):
        return
    with transaction(connection):
        if not _is_created(connection, subject):  # another process may have done so in the meantime
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _is_created(connection: sqlite3.Connection, subject: Subject) -> bool:
    (recorded,) = connection.execute("PRAGMA user_version").fetchone()
    columns = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
    return is_created(str(subject), "entries", recorded, columns)
