"""Journal over SQL: one set of statements that SQLite and PostgreSQL both understand.

Times are epoch seconds by one clock, ``{now}``: the machine's for SQLite, the server's for PostgreSQL, so that workers
on machines with different clocks agree on when a lease ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

import attrs

from .base import EntryKey, EntryState, JournalEntry, JournalError

__all__ = ["COLUMNS", "VERSION", "SqlJournal", "creation", "is_created", "text_of"]

J = TypeVar("J", bound="SqlJournal")

VERSION = 2
KEY = "origin, environment, account_number, external_identifier"
COLUMNS = (
    f"{KEY}, body, state, attempts, order_id, note, opened_at, closed_at, looked_at, owner, claimed_until, closed_by"
)
ADDED = {"origin", "closed_by"}
"""Columns that version 1 did not have."""

TABLE = """
CREATE TABLE {table} (
    origin              TEXT NOT NULL,
    environment         TEXT NOT NULL,
    account_number      TEXT NOT NULL,
    external_identifier TEXT NOT NULL,
    body                {binary} NOT NULL,
    state               TEXT NOT NULL,
    attempts            INTEGER NOT NULL,
    order_id            TEXT,
    note                TEXT NOT NULL,
    opened_at           {seconds} NOT NULL,
    closed_at           {seconds},
    looked_at           {seconds},
    owner               TEXT,
    claimed_until       {seconds},
    closed_by           TEXT,
    PRIMARY KEY (origin, environment, account_number, external_identifier)
)
"""

INDEX = "CREATE INDEX {table}_open ON {table} (environment, opened_at) WHERE state = 'open'"

SAME_KEY = (
    "origin = :origin AND environment = :environment AND account_number = :account_number "
    "AND external_identifier = :external_identifier"
)

NOW = "SELECT {now}"

OPEN = """
INSERT INTO {table} AS known ({columns})
VALUES (:origin, :environment, :account_number, :external_identifier, :body, 'open', 1, NULL, '',
        {now}, NULL, NULL, :owner, {now} + :lease, NULL)
ON CONFLICT ({key}) DO UPDATE
   SET state = 'open', attempts = known.attempts + 1, note = '', opened_at = excluded.opened_at,
       closed_at = NULL, looked_at = NULL, owner = excluded.owner, claimed_until = excluded.claimed_until,
       closed_by = NULL
 WHERE known.state = 'not_sent' AND known.body = excluded.body
   AND (known.closed_by IS NULL OR known.closed_by <> excluded.owner)
RETURNING {columns}
"""

FIND = "SELECT {columns} FROM {table} WHERE {same_key}"

FIND_ANY_ORIGIN = """
SELECT {columns} FROM {table} WHERE {same_key}
UNION ALL
SELECT {columns} FROM {table}
 WHERE state = 'open' AND environment = :environment AND account_number = :account_number
   AND external_identifier = :external_identifier AND origin <> :origin
"""

ENTRIES = """
SELECT {columns} FROM {table}
 WHERE (CAST(:environment AS TEXT) IS NULL OR environment = :environment)
   AND (CAST(:origin AS TEXT) IS NULL OR origin = :origin)
   AND (CAST(:state AS TEXT) IS NULL OR state = :state)
 ORDER BY opened_at
"""

CLAIM = """
UPDATE {table} SET owner = :owner, claimed_until = {now} + :lease
 WHERE {same_key} AND state = 'open' AND (claimed_until IS NULL OR claimed_until <= {now} OR owner = :owner)
RETURNING {columns}
"""

RENEW = """
UPDATE {table} SET claimed_until = {now} + :lease,
       attempts = CASE WHEN CAST(:attempts AS INTEGER) > attempts THEN CAST(:attempts AS INTEGER) ELSE attempts END
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

RENEW_MANY = """
UPDATE {table} SET claimed_until = {now} + :lease
 WHERE state = 'open' AND ({key}, owner) IN (VALUES {claims})
RETURNING {key}
"""

RELEASE = """
UPDATE {table} SET owner = NULL, claimed_until = NULL, note = :note,
       looked_at = CASE WHEN :looked = 1 THEN {now} ELSE looked_at END
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

CLOSE = """
UPDATE {table} SET state = :state, order_id = :order_id, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL, closed_by = :owner
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

ABANDON = """
UPDATE {table} SET state = 'abandoned', order_id = NULL, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL
 WHERE {same_key} AND state = 'open'
RETURNING attempts
"""

ADOPT = """
UPDATE {table} SET origin = :new_origin, owner = NULL, claimed_until = NULL
 WHERE {same_key} AND state = 'open' AND (claimed_until IS NULL OR claimed_until <= {now})
   AND NOT EXISTS (
    SELECT 1 FROM {table} WHERE origin = :new_origin AND environment = :environment
       AND account_number = :account_number AND external_identifier = :external_identifier)
RETURNING attempts
"""

MAX_CLAIMS = 500
"""Claims that one statement renews: five values each, and older SQLite libraries take 32,766 of them."""


def is_created(what: str, table: str, recorded: int | None, columns: Collection[str]) -> bool:
    """Return True for a table of this version, by its columns where no version is recorded. False without one.

    ``what`` names the journal in errors.

    Raises:
        JournalError: another release wrote the table, or it is not the table of a journal.
    """
    if recorded is not None and recorded > VERSION:
        raise JournalError(
            f"{what} has schema version {recorded}, and this release knows version {VERSION}: "
            "upgrade brokerage-async (nothing was changed)"
        )
    if not columns or set(COLUMNS.split(", ")) <= set(columns):
        return bool(columns)
    if set(COLUMNS.split(", ")) - set(columns) == ADDED:
        raise JournalError(
            f"{what} has schema version 1, from before the first release, and this release knows version {VERSION} "
            f"(nothing was changed). Its orders may have been placed: read its table {table} with an SQL shell, find "
            "the outcome of those whose state is open, and begin a new journal without any of its external identifiers"
        )
    raise JournalError(f"{what} cannot be used: its table is not that of a journal")


def creation(*, table: str, binary: str, seconds: str) -> tuple[str, ...]:
    """Return the statements that create the table and its index, with the database's names for bytes and seconds."""
    return TABLE.format(table=table, binary=binary, seconds=seconds), INDEX.format(table=table)


@lru_cache(maxsize=64)
def text_of(statement: str, *, table: str, now: str) -> str:
    """Return a statement of this module for one table of one database, with ``:names`` to be bound."""
    return statement.format(table=table, now=now, columns=COLUMNS, key=KEY, same_key=SAME_KEY)


class SqlJournal(ABC):
    """Methods of a journal over one method that runs a statement durably."""

    async def __aenter__(self: J) -> J:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @abstractmethod
    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False
    ) -> Sequence[Sequence[Any]]:
        """Run one statement in its own transaction, and return its rows once it is durable.

        A ``renewal`` must not wait for other statements: the claim that it renews may expire.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """See ``Journal.aclose``."""

    async def now(self) -> datetime:
        """See ``Journal.now``."""
        return _time((await self._run(NOW, {}))[0][0])

    async def open(self, key: EntryKey, body: bytes, *, owner: str, lease: float) -> tuple[JournalEntry, bool]:
        """See ``Journal.open``."""
        rows = await self._run(OPEN, {**_names(key), "body": body, "owner": owner, "lease": lease})
        if rows:
            return _entry(rows[0]), True
        found = await self._run(FIND, _names(key))
        if not found:  # entries are never deleted
            raise JournalError(f"the entry of {key.external_identifier} was adopted by another address just now")
        known = _entry(found[0])
        return known, known.state is EntryState.OPEN and known.owner == owner

    async def find(self, key: EntryKey, *, any_origin: bool = False) -> JournalEntry | None:
        """See ``Journal.find``."""
        found = [_entry(row) for row in await self._run(FIND_ANY_ORIGIN if any_origin else FIND, _names(key))]
        return next((entry for entry in found if entry.key == key), found[0] if found else None)

    async def entries(
        self, environment: str | None = None, *, origin: str | None = None, state: EntryState | None = None
    ) -> list[JournalEntry]:
        """See ``Journal.entries``."""
        values = {"environment": environment, "origin": origin, "state": None if state is None else state.value}
        return [_entry(row) for row in await self._run(ENTRIES, values)]

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        """See ``Journal.claim``."""
        rows = await self._run(CLAIM, {**_names(key), "owner": owner, "lease": lease})
        return _entry(rows[0]) if rows else None

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """See ``Journal.renew``."""
        values = {**_names(key), "owner": owner, "lease": lease, "attempts": attempts}
        return bool(await self._run(RENEW, values, renewal=True))

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        """See ``BatchRenewal.renew_many``."""
        held = set[EntryKey]()
        # Two statements about the same rows lock them in the same order.
        ordered = sorted(claims.items(), key=lambda claim: attrs.astuple(claim[0]))
        for start in range(0, len(ordered), MAX_CLAIMS):
            rows, values = list[str](), dict[str, object](lease=lease)
            for number, (key, owner) in enumerate(ordered[start : start + MAX_CLAIMS]):
                row = {f"c{number}_{place}": value for place, value in enumerate((*attrs.astuple(key), owner))}
                rows.append(f"({', '.join(f':{name}' for name in row)})")
                values |= row
            statement = RENEW_MANY.replace("{claims}", ", ".join(rows))
            held |= {EntryKey(*each) for each in await self._run(statement, values, renewal=True)}
        return held

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        """See ``Journal.release``."""
        values = {**_names(key), "owner": owner, "note": note, "looked": int(looked)}
        return bool(await self._run(RELEASE, values))

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        """See ``Journal.close``."""
        values = {**_names(key), "owner": owner, "state": state.value, "order_id": order_id, "note": note}
        if await self._run(CLOSE, values):
            return True
        known = await self.find(key)  # a close that is repeated finds its own work
        return known is not None and (known.state, known.closed_by) == (state, owner)

    async def abandon(self, key: EntryKey, *, note: str) -> bool:
        """See ``Journal.abandon``."""
        return bool(await self._run(ABANDON, {**_names(key), "note": note}))

    async def adopt(self, key: EntryKey, *, origin: str) -> bool:
        """See ``Journal.adopt``."""
        if await self._run(ADOPT, {**_names(key), "new_origin": origin}):
            return True
        adopted = await self.find(attrs.evolve(key, origin=origin))  # entries are never deleted: it was moved before
        return adopted is not None and await self.find(key) is None


def _names(key: EntryKey) -> dict[str, object]:
    return attrs.asdict(key, recurse=False)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _optional_time(seconds: float | None) -> datetime | None:
    return None if seconds is None else _time(seconds)


def _entry(row: Sequence[Any]) -> JournalEntry:
    (*key, body, state, attempts, order_id, note, opened, closed, looked, owner, until, closed_by) = row
    return JournalEntry(
        key=EntryKey(*key),
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
        closed_by=closed_by,
    )
