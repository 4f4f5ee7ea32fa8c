"""The journal of a history: the way to it, whose statements the world delays and disturbs, or a file that is moved."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from brokerage_async.errors import OrderRefusedError
from brokerage_async.journal import EntryState, JournalEntry, JournalError, SqliteJournal
from brokerage_async.journal.sql import SCHEMA, SqlJournal, Steps
from brokerage_async.journal.sqlite import run_steps

from .choices import Event, Fault, Option, only, settle

if TYPE_CHECKING:
    from .process import Process
    from .world import World

R = TypeVar("R")

READS = {"now", "find", "entries"}
STORED = attrgetter("state", "attempts", "order_id", "opened_at", "looked_at", "claimed_until")


class Database(SqlJournal):
    """The library's own journal statements on an SQLite database. Runs them at once, without waiting."""

    def __init__(self, clock: Callable[[], float], connection: sqlite3.Connection) -> None:
        self._clock, self._connection = clock, connection

    async def _perform(self, work: Callable[[], Steps[R]], *, alone: bool = False, **_: Any) -> R:
        return run_steps(self._connection, work(), self._clock(), alone=alone)

    async def aclose(self) -> None:
        pass  # the connection is not its own


@functools.cache
def memory() -> sqlite3.Connection:
    """Return the one database in memory, which every history empties."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    return connection


def emptied() -> sqlite3.Connection:
    for table in ("entries", "entries_halt", "entries_trip"):
        memory().execute(f"DELETE FROM {table}")
    return memory()


class JournalLink:
    """Forwards every coroutine method to a journal, as an event of the world unless its statements are events anyway.

    It knows no signatures: whatever the protocol of journals is, arguments and results pass through. Owners are named.
    """

    def __init__(self, world: World, process: Process) -> None:
        self._world, self._process = world, process
        self._journal = world.journal if world.file is None else world.file.open(process)

    def __getattr__(self, name: str) -> Any:
        world, process = self._world, self._process
        method = getattr(self._journal, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            process.name_owner(kwargs.get("owner"))
            if world.file is not None:
                return await method(*args, **kwargs)
            statement = Statement(world, process, name, lambda: run_at_once(method(*args, **kwargs)))
            return await statement.made()

        setattr(self, name, call)
        return call


class Statement:
    """One statement on its way, until its caller has an answer."""

    def __init__(self, world: World, process: Process, name: str, run: Callable[[], Any]) -> None:
        self._world, self._process, self._name, self._run = world, process, name, run
        self._future: asyncio.Future[Any] = process.loop.create_future()
        self._writes = name not in READS

    async def made(self) -> Any:
        """Wait until the world lets the statement take effect, and return its result."""
        if self._world.over:
            raise JournalError("the history has ended")
        self._post(self._name, self._options)
        return await self._future

    def _post(self, label: str, options: Callable[[], list[Option]], *, delivery: bool = False) -> None:
        world = self._world
        latest = world.now + world.scope.times.link
        # A driver may have sent the statement before its caller gave up. A lost read changes nothing.
        gone = self._future.done if delivery or not self._writes else None
        local = delivery or label == "now"
        event = Event(self._process, label, options, latest=latest, delivery=delivery, local=local, is_gone=gone)
        world.post(event)

    def _options(self) -> list[Option]:
        process, name = self._process, self._name
        if self._future.done():  # its caller was cancelled
            return [Option(f"{name} takes effect", 0, self._effect), Option(f"{name} never arrives", 0, lambda: None)]
        if process.outage_until > self._world.now:
            return [Option(f"{name} fails: unreachable", 0, self._fail)]
        faults: list[Fault] = [
            ("unreachable", f"{name} fails", self._fail),
            ("outage", f"{name} fails: unreachable from now on", self._outage),
        ]
        if self._writes:
            faults[:0] = [
                ("ack-lost", f"{name} takes effect, its acknowledgement is lost", self._unacknowledged),
                ("repeated", f"{name} takes effect and will be repeated", self._repeated),
                ("ack-slow", f"{name} takes effect, its acknowledgement is slow", self._slowly),
                ("late", f"{name} fails and takes effect later", self._late),
            ]
        return [Option(name, 0, self._done), *self._world.allowed(*faults)]

    def _done(self) -> None:
        if self._process.frozen_until is not None:
            self._slowly()
        else:
            self._answer(self._effect())

    def _unacknowledged(self) -> None:
        self._effect()
        self._fail()

    def _repeated(self) -> None:
        self._effect()
        self._post(f"{self._name} again", only(f"{self._name} again", self._done))

    def _slowly(self) -> None:
        answer = self._effect()
        acknowledged = only(f"{self._name} is acknowledged", lambda: self._answer(answer))
        self._post(f"{self._name} acknowledged", acknowledged, delivery=True)

    def _late(self) -> None:
        self._fail()
        self._post(f"{self._name} late", only(f"{self._name} takes effect late", self._effect))

    def _outage(self) -> None:
        self._process.outage_until = self._world.now + self._world.scope.times.outage
        self._fail()

    def _effect(self) -> Any:
        """Run the statement now. Return its result or its error."""
        world, call = self._world, self._process.call
        before = world.states() if self._name == "close" else {}
        try:
            answer = self._run()
        except (JournalError, OrderRefusedError) as error:
            answer = error
        if self._writes:
            world.contents = None
        if before:
            for key, state in world.states().items():
                if state is not EntryState.OPEN and before.get(key) is EntryState.OPEN:
                    world.closed_by[key] = call
        return answer

    def _answer(self, value: Any) -> None:
        process = self._process
        process.observe(self._name, "error" if isinstance(value, Exception) else canonical(value, process.world.owners))
        settle(self._future, value)

    def _fail(self) -> None:
        self._process.observe(self._name, "unavailable")
        if self._name == "close" and self._process.call is not None:
            self._process.call.unacknowledged = True
        settle(self._future, JournalError("the journal cannot be used: no connection"))


def run_at_once(coroutine: Any) -> Any:
    """Run a coroutine that never waits to its end."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a journal in memory must not wait")


def canonical(value: Any, owners: dict[str, str]) -> Any:
    """Return a hashable form of a result, the same in every run of the same history."""
    if isinstance(value, JournalEntry):
        owner = owners.get(value.owner, value.owner) if value.owner is not None else None
        return value.replaces or value.key, owner, *STORED(value)
    if isinstance(value, list | tuple):
        return tuple([canonical(item, owners) for item in value])
    return frozenset(value) if isinstance(value, set) else value


class JournalFile:
    """The file at one path, and the one that was there before it was moved.

    The library's own journal runs its statements in a thread. Here each of them is an event of the world.
    """

    def __init__(self, world: World, clock: Callable[[], float]) -> None:
        self._world, self._clock = world, clock
        self._folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self._path = Path(self._folder.name, "orders.journal")
        self._opened: list[SqliteJournal] = []

    def open(self, process: Process) -> SqliteJournal:
        process.loop.blocking = lambda work: self._later(process, work)
        journal = SqliteJournal(self._path, clock=self._clock)
        self._opened.append(journal)
        return journal

    def move(self) -> None:
        """Move the file away: the next process that opens the path makes another."""
        for part in ("", "-wal", "-shm"):
            if os.path.exists(f"{self._path}{part}"):
                os.rename(f"{self._path}{part}", f"{self._path}.moved{part}")

    async def entries(self) -> list[JournalEntry]:
        """Return the entries of both files."""
        found = await self.here()
        keys = {entry.key for entry in found}
        return found + [entry for entry in await self.here(".moved") if entry.key not in keys]

    async def here(self, suffix: str = "") -> list[JournalEntry]:
        """Return the entries of the file that is at the path now."""
        try:
            with closing(sqlite3.connect(f"file:{self._path}{suffix}?mode=rw", uri=True)) as connection:
                return await Database(self._clock, connection).entries()
        except sqlite3.OperationalError:  # the file is missing, or its table
            return []

    def close(self) -> None:
        for journal in self._opened:
            journal._file._finalizer()
        self._folder.cleanup()

    def _later(self, process: Process, work: Callable[[], Any]) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = process.loop.create_future()

        def act() -> None:
            try:
                answer: Any = work()
            except Exception as error:
                answer = error
            seen = type(answer).__name__ if isinstance(answer, Exception) else len(answer or ())
            process.observe("statement", self._world.moves, seen)
            settle(future, answer)

        latest = self._world.now + self._world.scope.times.link
        self._world.post(Event(process, "statement", only("a statement runs", act), latest=latest))
        return future
