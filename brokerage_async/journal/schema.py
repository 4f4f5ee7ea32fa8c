"""Table of the SQL journals: its columns and its version."""

from __future__ import annotations

from collections.abc import Collection

from .base import JournalError

__all__ = ["COLUMNS", "KEY", "VERSION", "creation", "is_created"]

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


def is_created(what: str, table: str, recorded: int | None, columns: Collection[str]) -> bool:
    """Return True for a table of this version, by its columns where no version is recorded; False without one.

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
