"""The statements that both databases understand, and the journal over them; the suite is in `test_journal.py`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async.journal import sql as journal_sql
from brokerage_async.journal.base import EntryKey, EntryState
from brokerage_async.journal.sql import SqlJournal, schema_of, text_of

KEY = EntryKey("sandbox", "A1", "one")
STATEMENTS = ("NOW", "OPEN", "FIND", "ENTRIES", "CLAIM_KEY", "CLAIM_DUE", "RENEW", "RELEASE", "CLOSE")


class InMemory(SqlJournal):
    """The journal over an SQLite database in memory, with a clock to be set and a record of what was run."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.ran: list[str] = []
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in schema_of(table="t", binary="BLOB", seconds="REAL"):
            self.connection.execute(statement)

    async def _run(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        self.ran.append(statement)
        text = text_of(statement, table="t", now=":now")
        return self.connection.execute(text, {**values, "now": self.seconds}).fetchall()

    async def aclose(self) -> None:
        self.connection.close()


@pytest.mark.parametrize("name", STATEMENTS)
def test_nothing_is_left_to_fill_in_but_values(name: str) -> None:
    text = text_of(getattr(journal_sql, name), table="orders", now="clock()", skip_locked="SKIP")
    assert "{" not in text
    assert "}" not in text
    assert "clock()" in text or name in {"FIND", "ENTRIES"}
    assert ("SKIP" in text) is (name == "CLAIM_DUE")


def test_no_value_is_ever_part_of_a_statement() -> None:
    for name in STATEMENTS:
        assert set(re.findall(r"'([^']*)'", getattr(journal_sql, name))) <= {"open", "not_sent", ""}


def test_the_schema_can_be_applied_again() -> None:
    connection = sqlite3.connect(":memory:")
    for _ in range(2):
        for statement in schema_of(table="t", binary="BLOB", seconds="REAL"):
            connection.execute(statement)
    assert [row[1] for row in connection.execute("PRAGMA table_info(t)")] == journal_sql.COLUMNS.split(", ")
    connection.close()


async def test_an_entry_written_twice_by_its_owner_is_new_both_times() -> None:
    async with InMemory() as journal:
        first = await journal.open(KEY, b"x", owner="a", lease=30)
        assert await journal.open(KEY, b"x", owner="a", lease=30) == first  # the answer to the first write was lost
        assert (await journal.open(KEY, b"x", owner="b", lease=30))[1] is False
        assert first[1] is True


async def test_times_are_read_as_utc() -> None:
    async with InMemory() as journal:
        assert await journal.now() == datetime.fromtimestamp(1000.0, UTC)
        entry, _ = await journal.open(KEY, b"x", owner="a", lease=30)
        assert entry.claimed_until == datetime.fromtimestamp(1030.0, UTC)
        assert (entry.closed_at, entry.looked_at) == (None, None)


async def test_a_sweep_tells_the_oldest_first_and_leaves_out_what_came_later() -> None:
    async with InMemory() as journal:
        for seconds, name in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (9.0, "late")):
            journal.seconds = seconds
            await journal.open(EntryKey("sandbox", "A1", name), b"", owner="x", lease=0)
        journal.seconds = 20.0
        due = datetime.fromtimestamp(5.0, UTC)
        taken = await journal.claim("sandbox", owner="y", lease=30, due_at=due)
        assert [entry.key.external_identifier for entry in taken] == ["a", "b", "c"]


async def test_values_that_look_like_sql_are_values() -> None:
    hostile = EntryKey("sandbox", "A1", "'; DROP TABLE t; --")
    async with InMemory() as journal:
        await journal.open(hostile, b"'", owner="'", lease=30)
        assert await journal.close(hostile, state=EntryState.REFUSED, note="' OR 1=1")
        found = await journal.find(hostile)
        assert found is not None
        assert (found.key, found.note) == (hostile, "' OR 1=1")
