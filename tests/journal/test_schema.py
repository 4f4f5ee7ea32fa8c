"""Versions of the schema, and journals of other releases."""

import asyncio
import sqlite3
from typing import Any

import attrs
import pytest

from brokerage_async.journal import EntryKey, EntryState, JournalError, PostgresJournal
from brokerage_async.journal.sql import COLUMNS, VERSION, is_created
from tests.http.calls import raised_by
from tests.journal_servers import Durable
from tests.protocol.values import raised

BEFORE_ORIGINS = """
CREATE TABLE {table} (environment TEXT, account_number TEXT, external_identifier TEXT, state TEXT, owner TEXT);
INSERT INTO {table} VALUES
    ('production', 'A1', 'left open', 'open', NULL),
    ('production', 'A1', 'placed', 'placed', NULL),
    ('production', 'A1', 'in hand', 'open', 'host:1:a')
"""
"""The schema before it had a version, as far as it is looked at, with three entries."""

NEW = EntryKey("https://api.example.com", "sandbox", "A1", "new")


async def run(durable: Durable, *statements: str) -> list[Any]:
    """Run statements beside the journal, and return the rows of the last one."""
    if durable.kind == "sqlite":
        connection = sqlite3.connect(durable.where, isolation_level=None)
        try:
            return [row for statement in statements for row in connection.execute(statement).fetchall()]
        finally:
            connection.close()
    import psycopg

    async with await psycopg.AsyncConnection.connect(durable.where, autocommit=True) as server:
        cursor = server.cursor()
        for statement in statements:
            await cursor.execute(statement.encode())
        return await cursor.fetchall() if cursor.description else []


def table_of(durable: Durable) -> str:
    return "entries" if durable.kind == "sqlite" else durable.table


async def recorded_version(durable: Durable) -> object:
    if durable.kind == "sqlite":
        return (await run(durable, "PRAGMA user_version"))[0][0]
    (row,) = await run(durable, f"SELECT obj_description('{durable.table}'::regclass, 'pg_class')")
    return int(row[0].rpartition(" ")[2])


async def test_journal_from_before_origins_is_refused_whole_and_stays_readable(durable: Durable) -> None:
    """No order can be placed under an identifier that it holds, as nothing at all can be opened in it."""
    table = table_of(durable)
    await run(durable, *BEFORE_ORIGINS.format(table=table).split(";"))
    rows = await run(durable, f"SELECT * FROM {table}")
    async with durable.open() as journal:
        for use in (
            lambda: journal.open(NEW, b"", owner="a", lease=30),
            lambda: journal.open(attrs.evolve(NEW, external_identifier="left open"), b"", owner="a", lease=30),
            journal.entries,
        ):
            await raised_by(use(), JournalError, f"before the first release.*read its table {table} .*new journal")
    assert len(rows) == 3
    assert await run(durable, f"SELECT * FROM {table}") == rows


async def test_journal_that_many_create_at_once_records_its_version_and_a_newer_is_refused(durable: Durable) -> None:
    journals = [durable.open() for _ in range(5)]
    opened = await asyncio.gather(*(journal.open(NEW, b"", owner=str(id(journal)), lease=30) for journal in journals))
    assert sorted(fresh for _, fresh in opened) == [False] * 4 + [True]
    for journal in journals:
        await journal.aclose()
    assert await recorded_version(durable) == VERSION
    if durable.kind == "sqlite":
        await run(durable, f"PRAGMA user_version = {VERSION + 1}")
    else:
        comment = f"brokerage-async journal, schema version {VERSION + 1}"
        await run(durable, f"COMMENT ON TABLE {durable.table} IS '{comment}'")
    async with durable.open() as journal:
        with pytest.raises(JournalError, match=f"version {VERSION + 1}, .* version {VERSION}: upgrade brokerage-async"):
            await journal.open(NEW, b"", owner="b", lease=30)
    assert await recorded_version(durable) == VERSION + 1


async def test_a_table_of_something_else_is_refused_and_left_alone(durable: Durable) -> None:
    await run(durable, f"CREATE TABLE {table_of(durable)} (environment TEXT)")
    async with durable.open() as journal:
        await raised_by(journal.entries(), JournalError, "cannot be used: its table is not that of a journal")


@pytest.mark.postgres
async def test_a_table_that_is_up_to_date_needs_no_right_to_create_and_no_comment(server: str, table: str) -> None:
    owner, other = Durable("postgres", server, table), attrs.evolve(NEW, external_identifier="other")
    async with owner.open() as journal:
        await journal.open(other, b"", owner="a", lease=30)
    await run(
        owner,
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        f"CREATE ROLE worker_{table} LOGIN",
        f"GRANT SELECT, INSERT, UPDATE ON {table} TO worker_{table}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table}_halt, {table}_trip TO worker_{table}",
    )
    async with PostgresJournal(server.replace("user=journal", f"user=worker_{table}"), table=table) as journal:
        assert (await journal.open(NEW, b"", owner="a", lease=30))[1]
        assert await journal.close(NEW, owner="a", state=EntryState.PLACED)
        assert [each.key for each in await journal.halt("no more")] == [other]
        assert await journal.resume()
    await run(owner, f"COMMENT ON TABLE {table} IS NULL")
    async with owner.open() as journal:
        assert await journal.find(other) is not None


def test_columns_decide_where_no_version_is_recorded() -> None:
    current = list(COLUMNS)
    assert is_created("j", "t", None, current)
    assert not is_created("j", "t", None, [])
    raised(JournalError, is_created, "j", "t", 3, current[:-5], match="j is from before the first release")
