"""The journal in a file: what is special to SQLite beside what `test_journal.py` asks of every journal."""

from __future__ import annotations

import gc
import sqlite3
import threading
from pathlib import Path

import pytest

from brokerage_async.journal.base import EntryKey, EntryState, JournalError
from brokerage_async.journal.sqlite import SqliteJournal
from tests.loops import on_real_time

KEY = EntryKey("sandbox", "A1", "one")


@on_real_time
async def test_nothing_is_touched_before_the_first_use(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    journal = SqliteJournal(path)
    assert not path.exists()
    assert repr(journal) == f"SqliteJournal({str(path)!r})"
    await journal.aclose()
    assert not path.exists()


@on_real_time
async def test_another_journal_reads_what_one_has_written(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "j") as one, SqliteJournal(str(tmp_path / "j")) as other:
        await one.open(KEY, b"\0\xff", owner="a", lease=30)
        found = await other.find(KEY)
        assert found is not None
        assert found.body == b"\0\xff"
        assert await other.close(KEY, state=EntryState.PLACED, order_id="7")
        assert not await one.renew(KEY, owner="a", lease=30)


@on_real_time
async def test_leases_are_measured_with_its_clock(tmp_path: Path) -> None:
    seconds = [1000.0]
    async with SqliteJournal(tmp_path / "j", clock=lambda: seconds[0]) as journal:
        await journal.open(KEY, b"", owner="a", lease=30)
        seconds[0] += 29
        assert await journal.claim("sandbox", owner="b", lease=30) == []
        seconds[0] += 1
        assert len(await journal.claim("sandbox", owner="b", lease=30)) == 1


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be looked at" * 40, b"\0" * 4096], ids=["text", "zeros"]
)
@on_real_time
async def test_a_file_of_something_else_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    async with SqliteJournal(path) as journal:
        with pytest.raises(JournalError, match="cannot be used"):
            await journal.open(KEY, b"", owner="a", lease=30)
    assert path.read_bytes() == content


@on_real_time
async def test_a_table_of_something_else_is_told(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "j")
    connection.execute("CREATE TABLE entries (a)")
    connection.close()
    async with SqliteJournal(tmp_path / "j") as journal:
        with pytest.raises(JournalError, match="cannot be used"):
            await journal.entries()


@on_real_time
async def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    await journal.open(KEY, b"", owner="a", lease=30)
    await journal.aclose()
    await journal.aclose()
    with pytest.raises(JournalError, match="is closed"):
        await journal.find(KEY)


@on_real_time
async def test_a_forgotten_journal_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    journal = SqliteJournal(tmp_path / "j")
    await journal.open(KEY, b"", owner="a", lease=30)
    # Those of earlier tests may just be ending.
    (own,) = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("journal")]
    del journal
    gc.collect()
    own.join(10)
    assert not own.is_alive()
