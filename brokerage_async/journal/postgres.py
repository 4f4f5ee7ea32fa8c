"""Journal of a fleet: one PostgreSQL table, shared by workers on any number of machines."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .._arguments import check_count, check_timeout
from ..config import Secret
from ..errors import ConfigurationError
from ..storage.subject import ProcessGuard, Subject
from .base import JournalError
from .connections import ConnectionPool
from .sql import VERSION, SqlJournal, creation, is_created, text_of

if TYPE_CHECKING:
    import psycopg

NOW = "EXTRACT(EPOCH FROM statement_timestamp())::float8"
SCHEMA_LOCK = 0x6A6F75726E616C
"""Advisory lock under which one worker at a time creates the table."""
SECRETS = ("password", "sslpassword", "oauth_client_secret")
"""Parameters of a connection string that are secrets."""

SETTINGS = """
SELECT set_config('client_min_messages', 'warning', false), set_config('statement_timeout', %s, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('synchronous_commit', CASE setting WHEN 'remote_apply' THEN setting ELSE 'on' END, false)
  FROM current_setting('synchronous_commit') AS setting
"""
TABLE_STATE = """
SELECT obj_description(oid, 'pg_class'),
       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = oid AND attnum > 0 AND NOT attisdropped)
  FROM pg_class WHERE oid = to_regclass(%s)
"""
COMMENT = "brokerage-async journal, schema version"
"""The version of the schema is in the comment of the table: everyone who may use the table can read it."""


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
        server = _Server(dsn, table, timeout)
        del dsn  # the variables of this frame may show up in a traceback
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,57}", table):
            raise ConfigurationError(f"table must be a plain lower-case name of at most 58 characters, got {table!r}")
        if check_timeout("timeout", timeout) is None:
            raise ConfigurationError("timeout must not be None: a statement without an answer would block its order")
        check_count("connections", connections)
        self._table = table
        # Statements that record attempts read the halts: they lock that table before they take their snapshots.
        self._alone = f"LOCK TABLE {table}_halt IN ACCESS EXCLUSIVE MODE".encode()
        self._process = ProcessGuard(Subject(kind="journal", name=f"table {table}", error=JournalError))
        server.check()
        self._statements = ConnectionPool(server.connect, server.reason_of, size=connections, timeout=timeout)
        self._renewals = ConnectionPool(server.connect, server.reason_of, size=1, timeout=timeout)

    def __repr__(self) -> str:
        return f"PostgresJournal(table={self._table!r})"

    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False, alone: bool = False
    ) -> Sequence[Sequence[Any]]:
        self._process.check()
        pool = self._renewals if renewal else self._statements
        return await pool.run(_query_of(statement, self._table), values, first=self._alone if alone else None)

    async def aclose(self) -> None:
        """Close the connections, after the statements under way. In a forked process, leave them to the parent."""
        if not self._process.is_forked:
            await self._statements.aclose()
            await self._renewals.aclose()


@lru_cache(maxsize=64)
def _query_of(statement: str, table: str) -> bytes:
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", text_of(statement, table=table, now=NOW)).encode()


class _Server:
    """Address of the database. Holds the connection string, and keeps its secrets out of messages."""

    __slots__ = ("_dsn", "_is_prepared", "_secrets", "_table", "_timeout")

    def __init__(self, dsn: str, table: str, timeout: float) -> None:
        self._dsn = Secret(dsn)
        self._secrets: tuple[Secret, ...] = ()
        self._table = table
        self._timeout = timeout
        self._is_prepared = False

    def check(self) -> None:
        """Raise ConfigurationError if psycopg is missing, or the connection string is invalid."""
        try:
            from psycopg import Error
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise ConfigurationError("PostgresJournal needs psycopg: install brokerage-async[postgres]") from error
        parameters = None
        with suppress(Error, UnicodeError):  # libpq quotes parts of an invalid string, which may be parts of a password
            parameters = conninfo_to_dict(self._dsn.reveal())
        if parameters is None:
            raise ConfigurationError("dsn must be a libpq connection string or URL (not shown: it may hold a password)")
        plain = {str(parameters[name]) for name in SECRETS if parameters.get(name)}
        found = sorted({*plain, *map(quote, plain)}, key=len, reverse=True)  # plain, and quoted for a URL
        self._secrets = tuple(map(Secret, found))

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        """Open a connection. The first one makes sure that the table is there and up to date."""
        import psycopg

        try:
            connection = await psycopg.AsyncConnection.connect(
                self._dsn.reveal(), autocommit=True, application_name="brokerage-async journal"
            )
        except BaseException as error:
            error.__traceback__ = None  # the frames of psycopg hold the password
            raise
        try:
            # A statement that was given up here ends in the server a second later: it has no effect after that.
            await connection.execute(SETTINGS, (str(math.ceil(1000 * (self._timeout + 1))),))
            if not self._is_prepared:
                await _prepare_table(connection, self._table)
                self._is_prepared = True
        except BaseException:
            await connection.close()
            raise
        return connection

    def reason_of(self, error: BaseException) -> str:
        """Return the message for a failed statement, without secrets."""
        text = str(error) or type(error).__name__
        for secret in self._secrets:
            text = secret.conceal_in(text)
        named = f"the journal table {self._table}"
        return text if isinstance(error, JournalError) and text.startswith(named) else f"{named} cannot be used: {text}"


async def _prepare_table(connection: psycopg.AsyncConnection[Any], table: str) -> None:
    """Create the table if it is missing."""
    if await _is_created(connection, table):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
        if await _is_created(connection, table):  # another worker did so in the meantime
            return
        statements = creation(table=table, binary="BYTEA", seconds="DOUBLE PRECISION")
        for statement in (*statements, f"COMMENT ON TABLE {table} IS '{COMMENT} {VERSION}'"):
            await connection.execute(statement.encode())


async def _is_created(connection: psycopg.AsyncConnection[Any], table: str) -> bool:
    row = await (await connection.execute(TABLE_STATE, (table,))).fetchone()
    if row is None:
        return False
    recorded = re.search(rf"{COMMENT} (\d+)", row[0] or "")
    return is_created(f"the journal table {table}", table, int(recorded[1]) if recorded else None, row[1])
