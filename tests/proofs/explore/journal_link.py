"""The way from a process to the journal, whose statements the world delays and disturbs."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from brokerage_async.errors import OrderRefusedError
from brokerage_async.journal import EntryState, JournalEntry, JournalError
from brokerage_async.journal.sql import SqlJournal, Steps, creation
from brokerage_async.journal.sqlite import run_steps

from .events import Event, Fault, Option, only

if TYPE_CHECKING:
    from .process import Process
    from .world import World

R = TypeVar("R")

READS = {"now", "find", "entries"}


class Database(SqlJournal):
    """The library's own journal statements on an SQLite database in memory. Runs them at once, without waiting.

    ``clock`` gives epoch seconds by the journal's clock.
    """

    _connection: ClassVar[sqlite3.Connection | None] = None

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        if Database._connection is None:
            Database._connection = sqlite3.connect(":memory:", isolation_level=None)
            for statement in creation(table="entries", binary="BLOB", seconds="REAL"):
                Database._connection.execute(statement)
        for table in ("entries", "entries_halt", "entries_trip"):
            Database._connection.execute(f"DELETE FROM {table}")

    async def _perform(self, work: Callable[[], Steps[R]], *, alone: bool = False, **_: Any) -> R:
        return run_steps(self._connection, work(), self._clock(), alone=alone)

    async def aclose(self) -> None:
        """Keep the connection for the next history."""


class JournalLink:
    """Forwards every coroutine method to the journal that all processes share, as an event of the world.

    It knows no signatures: whatever the protocol of journals is, arguments and results pass through.
    """

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def __getattr__(self, name: str) -> Any:
        world, process = self._world, self._process
        method = getattr(world.journal, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            process.name_owner(kwargs.get("owner"))
            statement = Statement(world, process, name, lambda: run_at_once(method(*args, **kwargs)))
            return await statement.made()

        setattr(self, name, call)
        return call


class Statement:
    """One statement on its way, until its caller has an answer."""

    def __init__(self, world: World, process: Process, name: str, run: Callable[[], Any]) -> None:
        self._world = world
        self._process = process
        self._name = name
        self._run = run
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
        if self._process.is_frozen:
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
        """Run the statement now. Return whether it succeeded, and its result or error."""
        world, call = self._world, self._process.call
        before = world.states() if self._name == "close" else {}
        try:
            answer = (True, self._run())
        except (JournalError, OrderRefusedError) as error:
            answer = (False, error)
        if self._writes:
            world.written()
        if before:
            for key, state in world.states().items():
                if state is not EntryState.OPEN and before.get(key) is EntryState.OPEN:
                    world.closed_by[key] = call
        return answer

    def _answer(self, answer: tuple[bool, Any]) -> None:
        succeeded, value = answer
        process = self._process
        process.observe(self._name, canonical(value, process.world.owners) if succeeded else "error")
        if not self._future.done():
            if succeeded:
                self._future.set_result(value)
            else:
                self._future.set_exception(value)

    def _fail(self) -> None:
        self._process.observe(self._name, "unavailable")
        if self._name == "close" and self._process.call is not None:
            self._process.call.unacknowledged = True
        if not self._future.done():
            self._future.set_exception(JournalError("the journal cannot be used: no connection"))


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
        return (
            value.replaces or value.key,
            value.state,
            value.attempts,
            value.order_id,
            owner,
            value.opened_at,
            value.looked_at,
            value.claimed_until,
        )
    if isinstance(value, list | tuple):
        return tuple([canonical(item, owners) for item in value])
    return frozenset(value) if isinstance(value, set) else value
