"""A journal in a real SQLite file, which is moved away under the processes that use it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from brokerage_async.journal import JournalEntry, SqliteJournal
from brokerage_async.journal.sql import SqlJournal, Steps
from brokerage_async.journal.sqlite import run_steps

from .events import Event, only

if TYPE_CHECKING:
    from .process import Process
    from .world import World

R = TypeVar("R")

MEMORY = Path("/dev/shm")
PARTS = ("", "-wal", "-shm")


class JournalFile:
    """The file at one path, and the one that was there before it was moved.

    The library's own journal runs its statements in a thread. Here each of them is an event of the world.
    """

    def __init__(self, world: World, clock: Callable[[], float]) -> None:
        self._world = world
        self._clock = clock
        self._folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self._path = Path(self._folder.name, "orders.journal")
        self._opened: list[SqliteJournal] = []

    def open(self, process: Process) -> Any:
        """Return the journal as a process opens it."""
        process.loop.blocking = lambda work: self._later(process, work)
        journal = SqliteJournal(self._path, clock=self._clock)
        self._opened.append(journal)
        return _Named(journal, process)

    def move(self) -> None:
        """Move the file away: the next process that opens the path makes another."""
        for part in PARTS:
            if os.path.exists(f"{self._path}{part}"):
                os.rename(f"{self._path}{part}", f"{self._path}.moved{part}")

    async def entries(self) -> list[JournalEntry]:
        """Return the entries of both files."""
        found = await self.here()
        keys = {entry.key for entry in found}
        moved = await self._entries_of(f"{self._path}.moved")
        return found + [entry for entry in moved if entry.key not in keys]

    async def here(self) -> list[JournalEntry]:
        """Return the entries of the file that is at the path now."""
        return await self._entries_of(str(self._path))

    async def _entries_of(self, path: str) -> list[JournalEntry]:
        try:
            return await FileDatabase(path, self._clock).entries()
        except sqlite3.OperationalError:  # the file is missing, or its table
            return []

    def close(self) -> None:
        """Remove the files."""
        for journal in self._opened:
            journal._file._finalizer()
        self._folder.cleanup()

    def _later(self, process: Process, work: Callable[[], Any]) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = process.loop.create_future()

        def act() -> None:
            try:
                answer: Any = work()
            except Exception as error:
                process.observe("statement", self._world.moves, type(error).__name__)
                if not future.done():
                    future.set_exception(error)
            else:
                process.observe("statement", self._world.moves, len(answer or ()))
                if not future.done():
                    future.set_result(answer)

        latest = self._world.now + self._world.scope.times.link
        self._world.post(Event(process, "statement", only("a statement runs", act), latest=latest))
        return future


class _Named:
    """A journal that passes on the owners that it sees: their names are random."""

    def __init__(self, journal: SqliteJournal, process: Process) -> None:
        self._journal = journal
        self._process = process

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._journal, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._process.name_owner(kwargs.get("owner"))
            return method(*args, **kwargs)

        return call


class FileDatabase(SqlJournal):
    """Reader of the SQLite file of a journal. Runs statements at once."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock

    async def _perform(self, work: Callable[[], Steps[R]], **_: Any) -> R:
        with closing(sqlite3.connect(f"file:{self._path}?mode=rw", uri=True)) as connection:
            return run_steps(connection, work(), self._clock())

    async def aclose(self) -> None:
        """Do nothing: every statement opens its own connection."""
