"""Bounded pool of PostgreSQL connections that run one statement at a time each.

psycopg_pool 3.3 was compared: it reports a refused server or an unusable table at its timeout only, without the reason,
and waits ten seconds for a statement that is cancelled on a silent link.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ..http.concurrency import outliving, result_of
from .base import JournalError

if TYPE_CHECKING:
    import psycopg

Connection: TypeAlias = "psycopg.AsyncConnection[Any]"
Rows: TypeAlias = list[tuple[Any, ...]]

MAX_RUNS = 3
"""Runs of one statement whose connection breaks: every statement of a journal is safe to repeat."""
SYNC_WAIT = "SyncRepWaitForLSN"
"""Function of the server that waits until the synchronous standby has a commit. An administrator can cancel this wait:
the server then acknowledges the commit with a warning, although the standby may lack it."""
CUT_SECONDS = 1.0
"""Time for a statement to end by itself once its socket is shut."""


class ConnectionPool:
    """Runs statements on up to ``size`` connections, opened when they are first needed.

    Each statement runs in a separate task. A cancelled caller leaves at once, and its statement runs to its end: no
    cancellation is lost inside the driver, and no connection is torn down in the middle of a statement.
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

    async def run(self, query: bytes, values: Mapping[str, object], *, first: bytes | None = None) -> Rows:
        """Run one statement, durably, and return its rows. In one transaction with the ``first``, if given.

        Raises:
            JournalError: the statement failed, or got no answer in time.
        """
        await self._slots.acquire()
        if self._closed:
            self._slots.release()
            raise JournalError(self._reason_of(JournalError("it is closed")))
        running = outliving(self._repeat(query, values, first), "journal statement")
        self._running.add(running)
        running.add_done_callback(self._ended)  # the slot is free when the statement ends, not when its caller leaves
        return await result_of(running)

    async def aclose(self) -> None:
        """Close the connections, after the statements that are under way."""
        self._closed = True
        if self._running:
            await asyncio.wait(set(self._running))
        await _close(self._idle)
        self._idle = []

    def _ended(self, running: asyncio.Task[Rows]) -> None:
        self._running.discard(running)
        self._slots.release()

    async def _repeat(self, query: bytes, values: Mapping[str, object], first: bytes | None) -> Rows:
        for run in range(1, MAX_RUNS + 1):
            rows, reason, is_broken = await self._attempt(query, values, first)
            if not reason:
                return rows
            if not is_broken or run == MAX_RUNS:
                raise JournalError(reason)
            idle, self._idle = self._idle, []  # they have probably broken as well
            await _close(idle)
        raise AssertionError("unreachable")

    async def _attempt(self, query: bytes, values: Mapping[str, object], first: bytes | None) -> tuple[Rows, str, bool]:
        """Run a statement within the time limit. Return its rows, or why it failed and whether its connection broke.

        No exception of the driver leaves this: its frames hold secrets. At the limit the socket is shut, so that the
        driver sees a lost connection. If it were cancelled, it would first ask the server to cancel the statement, for
        many seconds if it does not answer. Only a connection that is not open yet is cancelled.
        """
        used: list[Connection] = []
        work = outliving(self._execute(query, values, first, used), "journal statement")
        done, _ = await asyncio.wait({work}, timeout=self._timeout)
        if not done:
            for connection in used:
                with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as link:
                    link.shutdown(socket.SHUT_RDWR)
            await asyncio.wait({work}, timeout=CUT_SECONDS if used else 0)
            work.cancel()
            await asyncio.wait({work})
            await _close(used)
            return [], self._reason_of(TimeoutError(f"no answer within {self._timeout:g} s")), False
        error = work.exception()
        is_broken = any(connection.broken for connection in used)
        if is_broken:
            await _close(used)
        else:
            self._idle += used
        return ([], self._reason_of(error), is_broken) if error is not None else (work.result(), "", False)

    async def _execute(
        self, query: bytes, values: Mapping[str, object], first: bytes | None, used: list[Connection]
    ) -> Rows:
        connection = self._idle.pop() if self._idle else await self._connect()
        used.append(connection)
        sources = set[str | None]()  # of the server's notices, whose messages are translated

        def note(notice: psycopg.errors.Diagnostic) -> None:
            sources.add(notice.source_function)

        connection.add_notice_handler(note)
        try:
            if first is None:
                rows: Rows = await (await connection.execute(query, values)).fetchall()
            else:
                async with connection.transaction():
                    await connection.execute(first)
                    rows = await (await connection.execute(query, values)).fetchall()
        finally:
            connection.remove_notice_handler(note)
        if SYNC_WAIT in sources:
            raise JournalError("the wait for the synchronous standby was cancelled")
        return rows


async def _close(connections: list[Connection]) -> None:
    for connection in connections:
        await connection.close()
