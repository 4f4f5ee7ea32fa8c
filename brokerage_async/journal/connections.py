"""Bounded pool of PostgreSQL connections that run one statement at a time each."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from .._arguments import running_loop
from .base import JournalError

if TYPE_CHECKING:
    import psycopg

__all__ = ["ConnectionPool", "Failure"]

Connection: TypeAlias = "psycopg.AsyncConnection[Any]"
Rows: TypeAlias = list[tuple[Any, ...]]

MAX_RUNS = 3
"""Runs of one statement whose connection breaks: every statement of a journal is safe to repeat."""
SYNC_WAIT = "SyncRepWaitForLSN"
"""Function of the server that waits until the synchronous standby has a commit. An administrator can cancel this wait:
the server then acknowledges the commit with a warning, although the standby may lack it."""
CUT_SECONDS = 1.0
"""Time for a statement to end by itself once its socket is shut."""


@attrs.frozen
class Failure:
    """Outcome of a statement that failed: why, and whether its connection broke."""

    reason: str
    is_broken: bool = False


class ConnectionPool:
    """Runs statements on up to ``size`` connections, opened when they are first needed.

    Each statement runs in a task of its own. A caller that is cancelled leaves at once, and its statement ends by
    itself: no cancellation is lost inside the driver, and no connection is torn down in the middle of a statement.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        reason_of: Callable[[BaseException], str],
        *,
        size: int,
        timeout: float,
    ) -> None:
        self._connect = connect
        self._reason_of = reason_of
        self._timeout = timeout
        self._slots = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._running = set[asyncio.Task[Rows]]()
        self._closed = False

    async def run(self, query: bytes, values: Mapping[str, object]) -> Rows:
        """Run one statement, durably, and return its rows.

        Raises:
            JournalError: the statement failed, or got no answer in time.
        """
        await self._slots.acquire()
        if self._closed:
            self._slots.release()
            raise JournalError(self._reason_of(JournalError("it is closed")))
        running = running_loop().create_task(self._repeat(query, values))
        self._running.add(running)
        running.add_done_callback(self._ended)  # the slot is free when the statement ends, not when its caller leaves
        await asyncio.wait({running})
        return running.result()

    async def aclose(self) -> None:
        """Close the connections, after the statements that are under way."""
        self._closed = True
        if self._running:
            await asyncio.wait(set(self._running))
        await self._discard_idle()

    def _ended(self, running: asyncio.Task[Rows]) -> None:
        self._running.discard(running)
        self._slots.release()
        if not running.cancelled():
            running.exception()  # retrieved, for a caller that has left

    async def _repeat(self, query: bytes, values: Mapping[str, object]) -> Rows:
        for run in range(1, MAX_RUNS + 1):
            outcome = await self._attempt(query, values)
            if not isinstance(outcome, Failure):
                return outcome
            if not outcome.is_broken or run == MAX_RUNS:
                raise JournalError(outcome.reason)
            await self._discard_idle()  # they have probably broken as well
        raise AssertionError("unreachable")

    async def _attempt(self, query: bytes, values: Mapping[str, object]) -> Rows | Failure:
        """Run a statement within the time limit. No exception of the driver leaves this: its frames hold secrets."""
        used: list[Connection] = []
        limit = _TimeLimit(self._timeout, used)
        try:
            with limit:
                return await self._execute(query, values, used)
        except asyncio.CancelledError:
            if not limit.is_over:
                raise
            reason = ""
        except Exception as error:
            reason = self._reason_of(error)
        if limit.is_over:
            await _close(used)
            return Failure(self._reason_of(TimeoutError(f"no answer within {self._timeout:g} s")))
        is_broken = any(connection.broken for connection in used)
        if is_broken:
            await _close(used)
        else:
            self._idle += used
        return Failure(reason, is_broken)

    async def _execute(self, query: bytes, values: Mapping[str, object], used: list[Connection]) -> Rows:
        connection = self._idle.pop() if self._idle else await self._connect()
        used.append(connection)
        with _sources_of_notices(connection) as sources:
            cursor = await connection.execute(query, values)
            rows: Rows = await cursor.fetchall()
        if SYNC_WAIT in sources:
            raise JournalError("the wait for the synchronous standby was cancelled")
        self._idle.append(connection)
        return rows

    async def _discard_idle(self) -> None:
        idle, self._idle = self._idle, []
        await _close(idle)


@contextmanager
def _sources_of_notices(connection: Connection) -> Iterator[set[str | None]]:
    """Collect the functions of the server that send notices in the block: their messages are translated."""
    sources = set[str | None]()

    def add(notice: psycopg.errors.Diagnostic) -> None:
        sources.add(notice.source_function)

    connection.add_notice_handler(add)
    try:
        yield sources
    finally:
        connection.remove_notice_handler(add)


async def _close(connections: list[Connection]) -> None:
    for connection in connections:
        await connection.close()


class _TimeLimit:
    """Ends the statement of the current task after some seconds, by shutting its socket.

    The driver sees a lost connection then. If it were cancelled, it would first ask the server to cancel the statement,
    for many seconds where there is no answer. Only a connection that is not open yet is cancelled.
    """

    def __init__(self, seconds: float, used: list[Connection]) -> None:
        self._seconds = seconds
        self._used = used
        self._cancellations = 0
        self.is_over = False

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        while self._task is not None and self._cancellations:
            self._cancellations -= 1
            self._task.uncancel()

    def _end(self) -> None:
        if self._used and not self.is_over:
            for connection in self._used:
                _shut(connection)
        elif self._task is not None:
            self._cancellations += 1
            self._task.cancel()
        self.is_over = True
        self._timer = asyncio.get_running_loop().call_later(CUT_SECONDS, self._end)


def _shut(connection: Connection) -> None:
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
