"""The journal of a fleet: one PostgreSQL table, shared by workers on any number of machines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError
from .base import JournalError
from .sql import SqlJournal, schema_of, text_of

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresJournal"]

NOW = "EXTRACT(EPOCH FROM statement_timestamp())::float8"
SCHEMA_LOCK = 0x6A6F75726E616C
"""Advisory lock under which one worker at a time creates the table."""


class PostgresJournal(SqlJournal):
    """A journal in a PostgreSQL database, in ``table`` (created when it is not there).

    ``dsn`` is a libpq connection string or URL. It may hold a password, so it never shows in ``repr`` or in an error.
    Leases are measured with the clock of the server, and each write is committed with ``synchronous_commit = on``
    before its method returns. A statement that takes longer than ``timeout`` seconds has failed. Needs the extra
    ``brokerage-async[postgres]``.

    Raises:
        ConfigurationError: psycopg is not installed, or ``table`` is not a plain name.
    """

    def __init__(self, dsn: str, *, table: str = "brokerage_journal", timeout: float = 10.0) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,57}", table):
            raise ConfigurationError(f"not a plain table name: {table!r}")
        try:
            import psycopg  # noqa: F401  (an extra: told at construction, not at the first order)
        except ImportError as error:
            raise ConfigurationError("PostgresJournal needs psycopg: install brokerage-async[postgres]") from error
        self._dsn = dsn
        self._table = table
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"PostgresJournal(table={self._table!r})"

    async def _run(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        import psycopg

        text = text_of(statement, table=self._table, now=NOW, skip_locked="FOR UPDATE SKIP LOCKED")
        query = re.sub(r"(?<!:):(\w+)", r"%(\1)s", text)
        async with self._lock:
            # A connection may have broken while it was idle. Every statement can be repeated: an entry that the
            # first run opened is known by its owner, and all others find their work done.
            repeatable = self._connection is not None
            while True:
                try:
                    async with asyncio.timeout(self._timeout):
                        connection = await self._connected()
                        cursor = await connection.execute(query.encode(), values)
                        return await cursor.fetchall()
                except (psycopg.Error, OSError) as error:
                    await self._drop()
                    if not (repeatable and isinstance(error, psycopg.OperationalError)):
                        reason = str(error) or f"no answer within {self._timeout:g} s"
                        raise JournalError(f"the journal table {self._table} cannot be used: {reason}") from error
                    repeatable = False
                except asyncio.CancelledError:
                    # The statement may be half way: the next one starts on a fresh connection.
                    await self._drop()
                    raise

    async def aclose(self) -> None:
        """Close the connection, after the statement that is under way."""
        async with self._lock:
            self._closed = True
            await self._drop()

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        import psycopg

        if self._closed:
            raise JournalError(f"the journal table {self._table} is closed")
        if self._connection is None or self._connection.closed:
            connection = await psycopg.AsyncConnection.connect(
                self._dsn, autocommit=True, application_name="brokerage-async journal"
            )
            self._connection = connection
            await connection.execute("SET synchronous_commit = on")
            await connection.execute("SET client_min_messages = warning")
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
                for statement in schema_of(table=self._table, binary="BYTEA", seconds="DOUBLE PRECISION"):
                    await connection.execute(statement.encode())
        return self._connection

    async def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
