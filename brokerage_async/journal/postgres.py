"""Journal of a fleet: one PostgreSQL table, shared by workers on any number of machines."""

from __future__ import annotations

import asyncio
import math
import os
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from urllib.parse import quote

from .._arguments import check_count, check_timeout
from ..config import Secret
from ..errors import ConfigurationError
from ..http.concurrency import outliving, result_of
from ..storage.subject import Subject
from .base import JournalError
from .sql import SCHEMA, VERSION, SqlJournal, Steps, is_created

if TYPE_CHECKING:
    import psycopg

R = TypeVar("R")
Connection: TypeAlias = "psycopg.AsyncConnection[Any]"

NOW = "EXTRACT(EPOCH FROM statement_timestamp())::float8"
TYPES = {"BLOB": "BYTEA", "REAL": "DOUBLE PRECISION"}
MAX_RUNS = 3
"""Runs of one statement whose connection breaks: every statement of a journal is safe to repeat."""
SYNC_WAIT = "SyncRepWaitForLSN"
"""Function of the server that waits until the synchronous standby has a commit. An administrator can cancel this wait:
the server then acknowledges the commit with a warning, although the standby may lack it."""
SCHEMA_LOCK = 0x6A6F75726E616C
"""Advisory lock under which one worker at a time creates the table."""
SECRETS = ("password", "sslpassword", "oauth_client_secret")
"""Parameters of a connection string that are secrets."""

SETTINGS = """
SELECT set_config('client_min_messages', 'warning', false), set_config('statement_timeout', %(most)s, false),
       set_config('idle_in_transaction_session_timeout', %(most)s, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('synchronous_commit', CASE setting WHEN 'remote_apply' THEN setting ELSE 'on' END, false)
  FROM current_setting('synchronous_commit') AS setting
"""
COMMENT = "brokerage-async journal, schema version"
"""The version of the schema is in the comment of the table: everyone who may use the table can read it."""
TABLE_STATE = f"""
SELECT substring(obj_description(oid, 'pg_class') FROM '{COMMENT} ([0-9]+)')::int,
       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = oid AND attnum > 0 AND NOT attisdropped)
  FROM pg_class WHERE oid = to_regclass(%s)
"""


class PostgresJournal(SqlJournal):
    """Journal in a PostgreSQL database, in ``table``, which is created if it is missing.

    Each write is committed with ``synchronous_commit = on`` (or ``remote_apply`` where that is set) before its method
    returns, and leases are measured with the clock of the server. A table that exists asks for no right to create. One
    of a newer release, or from before the first one, is refused. A forked process needs its own journal.

    Args:
        dsn: libpq connection string or URL. Its password never shows in ``repr``, errors or tracebacks.
        table: a plain name.
        timeout: seconds until a statement without an answer fails.
        connections: most connections for ordinary statements. One more renews claims, ahead of them all.

    Raises:
        ConfigurationError: psycopg is not installed (extra ``brokerage-async[postgres]``), or an argument is invalid.
    """

    def __init__(
        self, dsn: str, *, table: str = "brokerage_journal", timeout: float = 10.0, connections: int = 4
    ) -> None:
        secret = Secret(dsn)
        del dsn  # the variables of this frame may show up in a traceback
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,57}", table):
            raise ConfigurationError(f"table must be a plain lower-case name of at most 58 characters, got {table!r}")
        if check_timeout("timeout", timeout) is None:
            raise ConfigurationError("timeout must not be None: a statement without an answer would block its order")
        check_count("connections", connections)
        self._dsn, self._secrets = secret, _secrets_in(secret)
        self._table, self._timeout = table, timeout
        self._subject = Subject(kind="journal", name=f"table {table}", error=JournalError)
        # Statements that record attempts read the halts: they lock that table before they take their snapshots.
        self._begin_alone = f"BEGIN; LOCK TABLE {table}_halt IN ACCESS EXCLUSIVE MODE".encode()
        self._slots, self._renewal_slot = asyncio.Semaphore(connections), asyncio.Semaphore(1)
        self._idle: list[Connection] = []
        self._running = set[asyncio.Task[Any]]()
        self._is_prepared = self._is_closed = False

    def __repr__(self) -> str:
        return f"PostgresJournal(table={self._table!r})"

    async def _perform(self, work: Callable[[], Steps[R]], *, renewal: bool = False, alone: bool = False) -> R:
        """Run the work in a task, which goes on when its caller is cancelled.

        So no cancellation is lost inside the driver, and no connection is torn down in the middle of a statement.

        psycopg_pool 3.3 was compared: it reports a refused server or an unusable table at its timeout only, without the
        reason, and waits ten seconds for a statement that is cancelled on a silent link.
        """
        self._subject.check_process()
        slot = self._renewal_slot if renewal else self._slots
        await slot.acquire()
        if self._is_closed:
            slot.release()
            raise JournalError(self._reason_of(JournalError("it is closed")))
        running = outliving(self._repeat(work, alone=alone), "journal statement")
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        running.add_done_callback(lambda _: slot.release())  # when the work ends, not when its caller leaves
        return await result_of(running)

    async def aclose(self) -> None:
        """Close the connections, after the statements under way. In a forked process, leave them to the parent."""
        if not self._subject.is_forked:
            self._is_closed = True
            if self._running:
                await asyncio.wait(set(self._running))
            await self._close_idle()

    async def _close_idle(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _repeat(self, work: Callable[[], Steps[R]], *, alone: bool) -> R:
        reason = ""
        for _ in range(MAX_RUNS):
            result, reason, is_broken = await self._attempt(work, alone=alone)
            if not reason:
                return cast("R", result)
            if not is_broken:
                break
            await self._close_idle()  # they have probably broken as well
        raise JournalError(reason)

    async def _attempt(self, work: Callable[[], Steps[R]], *, alone: bool) -> tuple[R | None, str, bool]:
        """Run work within the time limit. Return its result, or why it failed and whether its connection broke.

        No exception of the driver leaves this: its frames hold secrets. At the limit the socket is shut, so that the
        driver sees a lost connection. If it were cancelled, it would first ask the server to cancel the statement, for
        many seconds if it does not answer. Only a connection that is not open yet is cancelled.
        """
        loop = asyncio.get_running_loop()
        end, failure, result = loop.time() + self._timeout, None, None
        connection = self._idle.pop() if self._idle else None
        is_set_up, cutting = connection is not None, None
        try:
            if connection is None:
                async with asyncio.timeout_at(end):
                    connection = await _connect(self._dsn)
            cutting = loop.call_at(end, _cut, connection)
            if not is_set_up:
                await self._set_up(connection)
                is_set_up = True
            result = await self._execute(connection, work(), alone=alone)
        except Exception as error:
            failure = TimeoutError(f"no answer within {self._timeout:g} s") if loop.time() >= end else error
        finally:
            is_broken = False
            if cutting is not None:
                cutting.cancel()
            if connection is not None:
                is_broken = connection.broken
                if is_set_up and connection.info.transaction_status.name == "IDLE":
                    self._idle.append(connection)
                else:
                    await connection.close()
        if failure is None:
            return result, "", False
        return None, self._reason_of(failure), is_broken and not isinstance(failure, TimeoutError)

    async def _execute(self, connection: Connection, steps: Steps[R], *, alone: bool) -> R:
        sources = set[str | None]()  # of the server's notices, whose messages are translated

        def note(notice: psycopg.errors.Diagnostic) -> None:
            sources.add(notice.source_function)

        connection.add_notice_handler(note)
        try:
            if alone:
                await connection.execute(self._begin_alone, prepare=False)
            result = await _run_steps(connection, steps, self._table)
            await connection.commit()
        finally:
            connection.remove_notice_handler(note)
        if SYNC_WAIT in sources:
            raise JournalError("the wait for the synchronous standby was cancelled")
        return result

    async def _set_up(self, connection: Connection) -> None:
        """Make a connection ready for use. The first one creates the table if it is missing."""
        # What was given up here ends in the server a second later: it has no effect, and holds no lock, after that.
        await connection.execute(SETTINGS, {"most": str(math.ceil(1000 * (self._timeout + 1)))})
        if not self._is_prepared and not await self._is_created(connection):
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
                if not await self._is_created(connection):  # else another worker did so in the meantime
                    for statement in (*SCHEMA.split(";"), f"COMMENT ON TABLE entries IS '{COMMENT} {VERSION}'"):
                        await connection.execute(_query_of(statement, self._table))
        self._is_prepared = True

    async def _is_created(self, connection: Connection) -> bool:
        row = await (await connection.execute(TABLE_STATE, (self._table,))).fetchone()
        return row is not None and is_created(str(self._subject), self._table, *row)

    def _reason_of(self, error: BaseException) -> str:
        """Return the message for a failed statement, without secrets."""
        text, named = str(error) or type(error).__name__, str(self._subject)
        for secret in self._secrets:
            text = secret.conceal_in(text)
        return text if isinstance(error, JournalError) and text.startswith(named) else f"{named} cannot be used: {text}"


def _secrets_in(dsn: Secret) -> list[Secret]:
    """Return the secrets of a connection string, plain and quoted for a URL, the longest first."""
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise ConfigurationError("PostgresJournal needs psycopg: install brokerage-async[postgres]") from error
    parameters = None
    with suppress(Error, UnicodeError):  # libpq quotes parts of an invalid string, which may be parts of a password
        parameters = conninfo_to_dict(dsn.reveal())
    if parameters is None:
        raise ConfigurationError("dsn must be a libpq connection string or URL (not shown: it may hold a password)")
    plain = {str(parameters[name]) for name in SECRETS if parameters.get(name)}
    return [*map(Secret, sorted({*plain, *map(quote, plain)}, key=len, reverse=True))]


async def _connect(dsn: Secret) -> Connection:
    import psycopg

    try:
        return await psycopg.AsyncConnection.connect(
            dsn.reveal(), autocommit=True, application_name="brokerage-async journal"
        )
    except BaseException as error:
        error.__traceback__ = None  # the frames of psycopg hold the password
        raise


async def _run_steps(connection: Connection, steps: Steps[R], table: str) -> R:
    try:
        statement, values = next(steps)
        while True:
            cursor = await connection.execute(_query_of(statement, table), values)
            statement, values = steps.send(await cursor.fetchall())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return] # of a generator that returns this


@lru_cache(maxsize=64)
def _query_of(statement: str, table: str) -> bytes:
    """Return a statement in the words of PostgreSQL: its table, clock, types, and marks of values."""
    text = re.sub(r"\bentries", table, statement)
    text = re.sub(r"\b(BLOB|REAL)\b", lambda found: TYPES[found[0]], text)
    return re.sub(r"(?<!:):(\w+)", lambda found: NOW if found[1] == "now" else f"%({found[1]})s", text).encode()


def _cut(connection: Connection) -> None:
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
