"""Tables of the SQL journals: their schema, its version, and the migration from earlier ones.

Version 1 had no column ``origin`` and no ``closed_by``. Its entries migrate with origin "": their service is unknown,
so they count as entries of another one until they are adopted.
"""

from __future__ import annotations

from collections.abc import Collection

from .base import JournalError

__all__ = ["COLUMNS", "KEY", "VERSION", "creation", "postgres_migration", "sqlite_migration", "version_of"]

VERSION = 2
KEY = "origin, environment, account_number, external_identifier"
COLUMNS = (
    "origin, environment, account_number, external_identifier, body, state, attempts, order_id, note, "
    "opened_at, closed_at, looked_at, owner, claimed_until, closed_by"
)
ADDED = ("origin", "closed_by")
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


def version_of(what: str, recorded: int | None, columns: Collection[str]) -> int:
    """Return the schema version of a table by its recorded version, or by its columns where none is recorded.

    ``what`` names the journal in errors.

    Raises:
        JournalError: a newer release wrote the table, or it is not the table of a journal.
    """
    current = set(COLUMNS.split(", "))
    if recorded is not None and recorded > VERSION:
        raise JournalError(
            f"{what} has schema version {recorded}, and this release knows versions up to {VERSION}: "
            "upgrade brokerage-async (nothing was changed)"
        )
    if current <= set(columns):
        return VERSION
    if set(columns) == current - set(ADDED):
        return 1
    raise JournalError(f"{what} cannot be used: its table is not that of a journal")


def creation(*, table: str, binary: str, seconds: str) -> tuple[str, ...]:
    """Return the statements that create the table and its index, with the database's names for bytes and seconds."""
    return TABLE.format(table=table, binary=binary, seconds=seconds), INDEX.format(table=table)


def sqlite_migration(table: str) -> tuple[str, ...]:
    """Return the statements that bring an SQLite table from version 1 to 2: its primary key cannot be altered."""
    kept = ", ".join(name for name in COLUMNS.split(", ") if name not in ADDED)
    return (
        f"ALTER TABLE {table} RENAME TO {table}_1",
        f"DROP INDEX {table}_open",
        *creation(table=table, binary="BLOB", seconds="REAL"),
        f"INSERT INTO {table} (origin, {kept}) SELECT '', {kept} FROM {table}_1",  # noqa: S608 (no value in it)
        f"DROP TABLE {table}_1",
    )


def postgres_migration(table: str) -> tuple[str, ...]:
    """Return the statements that bring a PostgreSQL table from version 1 to 2."""
    return (
        f"ALTER TABLE {table} ADD COLUMN origin TEXT NOT NULL DEFAULT '', ADD COLUMN closed_by TEXT, "
        f"DROP CONSTRAINT {table}_pkey, ADD PRIMARY KEY ({KEY})",
        f"ALTER TABLE {table} ALTER COLUMN origin DROP DEFAULT",
    )
