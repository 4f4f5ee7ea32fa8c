"""The journal of a fleet without its server: arguments, secrets, and what is told when there is none.

What a server answers is asked of a real one in `test_journal.py`.
"""

from __future__ import annotations

import sys

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.journal.base import EntryKey, JournalError
from brokerage_async.journal.postgres import PostgresJournal
from tests.loops import on_real_time

KEY = EntryKey("sandbox", "A1", "one")
DSN = "postgresql://someone:hunter2@127.0.0.1:1/none"


@pytest.mark.parametrize("table", ["", "Orders", "a b", "a;b", "1a", "a" * 60, 'a"', "schema.table"])
def test_a_table_has_a_plain_name(table: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(ConfigurationError, match="not a plain table name"):
        PostgresJournal(DSN, table=table)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r"brokerage-async\[postgres\]"):
        PostgresJournal(DSN)


@on_real_time
async def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    pytest.importorskip("psycopg")
    async with PostgresJournal(DSN, timeout=5) as journal:
        assert "hunter2" not in repr(journal)
        with pytest.raises(JournalError, match="brokerage_journal cannot be used") as caught:
            await journal.open(KEY, b"", owner="a", lease=30)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(JournalError, match="is closed"):
        await journal.find(KEY)


@on_real_time
async def test_closing_what_was_never_used_is_harmless() -> None:
    pytest.importorskip("psycopg")
    journal = PostgresJournal(DSN)
    await journal.aclose()
    await journal.aclose()
