"""A file with one owner at a time; what journals need of it is in `tests/journal/test_sqlite.py`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from brokerage_async.errors import BrokerageError
from brokerage_async.storage.sqlite_file import FileThread, SqliteFile
from brokerage_async.storage.subject import Subject

SUBJECT = Subject(kind="thing", name="t.db", error=BrokerageError, in_use="another owner has it")


def create(connection: sqlite3.Connection, subject: Subject) -> None:
    assert subject is SUBJECT
    connection.execute("CREATE TABLE IF NOT EXISTS t (a)")


def exclusive(path: Path) -> FileThread:
    return FileThread(SqliteFile(path, SUBJECT, set_up=create, exclusive=True), SUBJECT)


def count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])


async def test_run_second_owner_is_rejected_at_once_until_the_first_closes(tmp_path: Path) -> None:
    one, other = exclusive(tmp_path / "t.db"), exclusive(tmp_path / "t.db")
    await one.run(lambda connection: connection.execute("INSERT INTO t VALUES (1)").rowcount)
    with pytest.raises(BrokerageError, match=r"the thing t\.db cannot be used: another owner has it"):
        await other.run(count)
    assert not (tmp_path / "t.db-shm").exists(), "one owner needs no shared index"
    await one.aclose()
    assert await other.run(count) == 1
    await other.aclose()


async def test_run_exclusive_file_that_was_moved_is_noticed(tmp_path: Path) -> None:
    thread = exclusive(tmp_path / "t.db")
    assert await thread.run(count) == 0
    (tmp_path / "t.db").rename(tmp_path / "elsewhere")
    with pytest.raises(BrokerageError, match="was moved or deleted after it was opened: close the thing"):
        await thread.run(count)
    await thread.aclose()


async def test_run_closed_thread_is_rejected(tmp_path: Path) -> None:
    thread = exclusive(tmp_path / "t.db")
    await thread.aclose()
    with pytest.raises(BrokerageError, match=r"the thing t\.db is closed"):
        await thread.run(count)
