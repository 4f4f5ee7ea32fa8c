"""An SQLite file: one connection that is durable, checked at each use, and worked on in one thread."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from .._arguments import running_loop
from .subject import Subject
from .wal import check_log

logger: logging.Logger = logging.getLogger("brokerage_async.storage")

SIDE_FILES = ("-wal", "-shm")
"""Files that SQLite keeps beside the database: its write-ahead log, and the index that processes share."""

R = TypeVar("R")

BUSY_SECONDS = 10.0
"""How long a statement waits for another process that is writing."""


def prepare(path: Path, subject: Subject) -> Path:
    """Create the file for its owner only if it is missing, and return its real path, without symbolic links.

    A link is followed. A file that others can access is used unchanged, with a warning: its owner may have shared it
    with a group. SQLite gives the side files the mode of the database, and never makes one that is not a regular file.
    """
    real = Path(os.path.realpath(path))
    with suppress(FileExistsError):
        os.close(os.open(real, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for file in (real, *_beside(real)):
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            raise subject.unusable(f"{file} must be a regular file")
        if os.name == "posix" and status.st_mode & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            logger.warning("%s can be accessed by other users (mode %04o): chmod 600 keeps it private", file, mode)
    return real


def _beside(path: Path, suffixes: Iterable[str] = SIDE_FILES) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in suffixes]


def _inode(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what is written within, or nothing after an error. Other connections write before or after it."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


class SqliteFile:
    """One connection to an SQLite file, opened when it is first needed, and used in a thread of its own.

    The event loop never waits for the disk. Every transaction is on disk when it is committed (write-ahead log,
    ``synchronous = FULL``), and every statement is its own transaction unless the work begins one. The thread ends when
    this is closed or garbage-collected. A forked process is rejected, and leaves the file to its parent.

    ``set_up`` creates or checks the tables of a connection. A subject that says ``in_use`` has one owner at a time:
    others are rejected at once while it is open.
    """

    def __init__(self, path: Path, subject: Subject, *, set_up: Callable[[sqlite3.Connection, Subject], None]) -> None:
        self._path = path
        self._subject = subject
        self._set_up = set_up
        self._is_exclusive = bool(subject.in_use)
        self._opened: list[sqlite3.Connection] = []  # the connection, if there is one
        self._inodes: dict[Path, tuple[int, int] | None] = {}  # of the files that it has opened
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=subject.kind)
        self._finalizer = weakref.finalize(self, _shut, self._thread, self._opened)

    async def run(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Return the result of ``work`` on the connection, after earlier work, or raise the subject's error."""
        if not self._finalizer.alive:
            raise self._subject.error(f"{self._subject} is closed")
        self._subject.check_process()
        return await running_loop().run_in_executor(self._thread, self._run, work)

    async def aclose(self) -> None:
        """Close the file, after the writes that are under way. In a forked process, leave it to the parent."""
        if self._subject.is_forked:
            self._finalizer.detach()
        elif self._finalizer.alive:
            await running_loop().run_in_executor(self._thread, _close, self._opened)
            self._finalizer()

    def _run(self, work: Callable[[sqlite3.Connection], R]) -> R:
        try:
            if not self._opened:
                self._opened.append(self._connect())
            self._check_files()
            done = work(self._opened[0])
            self._check_files()  # a file that was moved in between has the entry, but not where it is looked for
        except (sqlite3.Error, OSError, UnicodeError) as error:  # UnicodeError: a lone surrogate in a value
            is_busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            raise self._subject.unusable((is_busy and self._subject.in_use) or error) from error
        return done

    def _check_files(self) -> None:
        """Raise the subject's error when a file is not the one that was opened, by device and inode.

        A connection whose file is moved, replaced or deleted goes on writing to the old file, and no later process
        finds those rows. The same holds for its write-ahead log.
        """
        for file, opened in self._inodes.items():
            found = _inode(file)
            if found is None or found != opened:
                fate = "moved or deleted" if found is None else "replaced"
                raise self._subject.unusable(
                    f"{file} was {fate} after it was opened: close the {self._subject.kind}, put the files back in "
                    "place, and open it again"
                )

    def _connect(self) -> sqlite3.Connection:
        real = prepare(self._path, self._subject)
        check_log(real, self._subject)
        before = _inode(self._path)
        # isolation_level None: every statement is its own transaction, committed before execute() returns.
        timeout = 0.0 if self._is_exclusive else BUSY_SECONDS
        connection = sqlite3.connect(
            real, timeout=timeout, isolation_level=None, check_same_thread=False, cached_statements=32
        )
        try:
            if self._is_exclusive:  # before the log is opened: the lock is then held until the connection is closed
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            mode, deadline = "", time.monotonic() + timeout
            while not mode:
                try:
                    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                except sqlite3.OperationalError as error:  # another process creates the file: SQLite does not wait here
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                        raise
                    time.sleep(0.002)
            if mode != "wal":
                raise self._subject.unusable("no write-ahead log on this file system")
            connection.execute("PRAGMA synchronous = FULL")
            self._set_up(connection, self._subject)
            beside = SIDE_FILES[:1] if self._is_exclusive else SIDE_FILES  # one owner needs no shared index
            self._inodes = {file: _inode(file) for file in (self._path, *_beside(real, beside))}
            if self._inodes[self._path] != before:
                raise self._subject.error(f"{self._subject} was replaced while it was being opened: try again")
        except BaseException:
            connection.close()
            raise
        return connection


def _close(opened: list[sqlite3.Connection]) -> None:
    while opened:
        opened.pop().close()


def _shut(thread: ThreadPoolExecutor, opened: list[sqlite3.Connection]) -> None:
    with suppress(RuntimeError):  # the interpreter is shutting down: the file closes with the process
        thread.submit(_close, opened)
    thread.shutdown(wait=False)
