"""The journal as SQL: one set of statements that SQLite and PostgreSQL both understand.

Times are epoch seconds by one clock, ``{now}``: the machine's for SQLite, the server's for PostgreSQL, so that workers
on machines with different clocks agree on when a lease ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TypeVar

from .base import EntryKey, EntryState, JournalEntry

__all__ = ["SqlJournal", "schema_of", "text_of"]

J = TypeVar("J", bound="SqlJournal")

COLUMNS = (
    "environment, account_number, external_identifier, body, state, attempts, order_id, note, "
    "opened_at, closed_at, looked_at, owner, claimed_until"
)

SCHEMA = """
CREATE TABLE IF NOT EXISTS {table} (
    environment         TEXT NOT NULL,
    account_number      TEXT NOT NULL,
    external_identifier TEXT NOT NULL,
    body                {bytes} NOT NULL,
    state               TEXT NOT NULL,
    attempts            INTEGER NOT NULL,
    order_id            TEXT,
    note                TEXT NOT NULL,
    opened_at           {seconds} NOT NULL,
    closed_at           {seconds},
    looked_at           {seconds},
    owner               TEXT,
    claimed_until       {seconds},
    PRIMARY KEY (environment, account_number, external_identifier)
)
"""

INDEX = "CREATE INDEX IF NOT EXISTS {table}_open ON {table} (environment, opened_at) WHERE state = 'open'"

SAME_KEY = (
    "environment = :environment AND account_number = :account_number AND external_identifier = :external_identifier"
)

NOW = "SELECT {now}"

OPEN = """
INSERT INTO {table} AS known ({columns})
VALUES (:environment, :account_number, :external_identifier, :body, 'open', 1, NULL, '',
        {now}, NULL, NULL, :owner, {now} + :lease)
ON CONFLICT (environment, account_number, external_identifier) DO UPDATE
   SET state = 'open', attempts = known.attempts + 1, note = '', opened_at = excluded.opened_at,
       closed_at = NULL, looked_at = NULL, owner = excluded.owner, claimed_until = excluded.claimed_until
 WHERE known.state = 'not_sent' AND known.body = excluded.body
RETURNING {columns}
"""

FIND = "SELECT {columns} FROM {table} WHERE {same_key}"

ENTRIES = """
SELECT {columns} FROM {table}
 WHERE (CAST(:environment AS TEXT) IS NULL OR environment = :environment)
   AND (CAST(:state AS TEXT) IS NULL OR state = :state)
 ORDER BY opened_at
"""

CLAIM_KEY = """
UPDATE {table} SET owner = :owner, claimed_until = {now} + :lease
 WHERE {same_key} AND state = 'open' AND (claimed_until IS NULL OR claimed_until <= {now})
RETURNING {columns}
"""

CLAIM_DUE = """
UPDATE {table} SET owner = :owner, claimed_until = {now} + :lease
 WHERE (environment, account_number, external_identifier) IN (
    SELECT environment, account_number, external_identifier FROM {table}
     WHERE state = 'open' AND environment = :environment AND (claimed_until IS NULL OR claimed_until <= {now})
       AND opened_at <= :due_at AND (looked_at IS NULL OR looked_at <= :due_at)
    {skip_locked})
RETURNING {columns}
"""

RENEW = """
UPDATE {table} SET claimed_until = {now} + :lease, attempts = COALESCE(:attempts, attempts)
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

RELEASE = """
UPDATE {table} SET owner = NULL, claimed_until = NULL, note = :note,
       looked_at = CASE WHEN :looked = 1 THEN {now} ELSE looked_at END
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

CLOSE = """
UPDATE {table} SET state = :state, order_id = :order_id, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL
 WHERE {same_key} AND state = 'open'
RETURNING attempts
"""

FAR_FUTURE = 1e12
"""A time that no entry reaches: stands for 'whenever it was opened'."""


def text_of(statement: str, *, table: str, now: str, skip_locked: str = "") -> str:
    """A statement of this module for one table of one database; its ``:names`` stay to be bound."""
    return statement.format(table=table, now=now, skip_locked=skip_locked, columns=COLUMNS, same_key=SAME_KEY)


def schema_of(*, table: str, binary: str, seconds: str) -> tuple[str, str]:
    """The statements that create the table and its index, with the database's names for bytes and seconds."""
    return SCHEMA.format(table=table, bytes=binary, seconds=seconds), INDEX.format(table=table)


class SqlJournal(ABC):
    """Everything that a journal does, over one method that runs a statement durably."""

    async def __aenter__(self: J) -> J:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @abstractmethod
    async def _run(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """Run one statement in a transaction of its own, committed and durable on return; its rows."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of files and connections; harmless when repeated."""

    async def now(self) -> datetime:
        """See ``Journal.now``."""
        return _time((await self._run(NOW, {}))[0][0])

    async def open(self, key: EntryKey, body: bytes, *, owner: str, lease: float) -> tuple[JournalEntry, bool]:
        """See ``Journal.open``."""
        rows = await self._run(OPEN, {**_names(key), "body": body, "owner": owner, "lease": lease})
        if rows:
            return _entry(rows[0]), True
        known = _entry((await self._run(FIND, _names(key)))[0])
        return known, known.state is EntryState.OPEN and known.owner == owner  # ours already: the write was repeated

    async def find(self, key: EntryKey) -> JournalEntry | None:
        """See ``Journal.find``."""
        rows = await self._run(FIND, _names(key))
        return _entry(rows[0]) if rows else None

    async def entries(self, environment: str | None = None, *, state: EntryState | None = None) -> list[JournalEntry]:
        """See ``Journal.entries``."""
        values = {"environment": environment, "state": None if state is None else state.value}
        return [_entry(row) for row in await self._run(ENTRIES, values)]

    async def claim(
        self, environment: str, *, owner: str, lease: float, key: EntryKey | None = None, due_at: datetime | None = None
    ) -> list[JournalEntry]:
        """See ``Journal.claim``."""
        values: dict[str, object] = {"environment": environment, "owner": owner, "lease": lease}
        if key is not None:
            rows = await self._run(CLAIM_KEY, {**values, **_names(key)})
        else:
            due = FAR_FUTURE if due_at is None else due_at.timestamp()
            rows = await self._run(CLAIM_DUE, {**values, "due_at": due})
        return sorted((_entry(row) for row in rows), key=lambda entry: entry.opened_at)

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """See ``Journal.renew``."""
        return bool(await self._run(RENEW, {**_names(key), "owner": owner, "lease": lease, "attempts": attempts}))

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        """See ``Journal.release``."""
        values = {**_names(key), "owner": owner, "note": note, "looked": int(looked)}
        return bool(await self._run(RELEASE, values))

    async def close(self, key: EntryKey, *, state: EntryState, order_id: str | None = None, note: str = "") -> bool:
        """See ``Journal.close``."""
        values = {**_names(key), "state": state.value, "order_id": order_id, "note": note}
        return bool(await self._run(CLOSE, values))


def _names(key: EntryKey) -> dict[str, object]:
    return {
        "environment": key.environment,
        "account_number": key.account_number,
        "external_identifier": key.external_identifier,
    }


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _optional_time(seconds: float | None) -> datetime | None:
    return None if seconds is None else _time(seconds)


def _entry(row: Sequence[Any]) -> JournalEntry:
    environment, account, identifier, body, state, attempts, order_id, note, opened, closed, looked, owner, until = row
    return JournalEntry(
        key=EntryKey(environment, account, identifier),
        body=bytes(body),
        state=EntryState(state),
        attempts=attempts,
        order_id=order_id,
        note=note,
        opened_at=_time(opened),
        closed_at=_optional_time(closed),
        looked_at=_optional_time(looked),
        owner=owner,
        claimed_until=_optional_time(until),
    )
