"""The embedded journal: one SQLite file, shared by every process of one machine."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from .base import JournalError
from .sql import SqlJournal, schema_of, text_of

__all__ = ["SqliteJournal"]

TABLE = "entries"
BUSY_SECONDS = 10.0
"""How long a statement waits for another process that is writing."""


class SqliteJournal(SqlJournal):
    """A journal in the SQLite file ``path``, created (readable by its owner only) when it is not there.

    Every write is on disk when its method returns (write-ahead log, ``synchronous = FULL``). Any number of processes
    of one machine may share the file; it does not belong on a network file system. The work is done in a thread of
    its own, so the event loop never waits for the disk::

        async with SqliteJournal("orders.journal") as journal:
            entry = client.order_entry(journal)

    ``clock`` gives epoch seconds and is what leases are measured with.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> None:
        self.path: Path = Path(path)
        self._clock = clock
        self._file = _File(self.path.absolute())  # wherever the process goes before it is opened
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._finalizer = weakref.finalize(self, _shut, self._thread, self._file)

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self.path)!r})"

    async def _run(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        if not self._finalizer.alive:
            raise JournalError(f"the journal {self.path} is closed")
        text = text_of(statement, table=TABLE, now=":now")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._file.run, text, {**values, "now": self._clock()})

    async def aclose(self) -> None:
        """Close the file, after the writes that are under way."""
        if self._finalizer.alive:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._file.close)
            self._finalizer()


class _File:
    """The connection; used by the journal's own thread only, opened when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def run(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        try:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OSError, UnicodeError) as error:  # text that is none: a lone surrogate
            raise JournalError(f"the journal {self._path} cannot be used: {error}") from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> sqlite3.Connection:
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        # isolation_level None: every statement is a transaction of its own, committed before execute() returns.
        connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=32
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            for statement in schema_of(table=TABLE, binary="BLOB", seconds="REAL"):
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection


def _shut(thread: ThreadPoolExecutor, file: _File) -> None:
    with suppress(RuntimeError):  # the interpreter is on its way out: the file closes with the process
        thread.submit(file.close)
    thread.shutdown(wait=False)
