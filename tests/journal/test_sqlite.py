"""The journals in a file and in memory: the rest is in `test_journals.py`."""

import asyncio
import gc
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from brokerage_async.journal.base import EntryKey, EntryState, JournalError
from brokerage_async.journal.sqlite import MemoryJournal, SqliteJournal
from tests.journal_servers import ENVIRONMENT
from tests.tables import for_each

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "A1", "one")
OTHER = EntryKey(ORIGIN, "sandbox", "A1", "two")


async def test_nothing_is_touched_before_the_first_use_nor_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    journal = SqliteJournal(path)
    assert repr(journal) == f"SqliteJournal({str(path)!r})"
    await journal.aclose()
    assert not path.exists()
    journal = SqliteJournal(path)
    await journal.open(KEY, b"", owner="a", lease=30)
    for _ in range(2):
        await journal.aclose()
    with pytest.raises(JournalError, match="is closed"):
        await journal.find(KEY)


@for_each("content", [b"no database at all, but long enough to be looked at" * 40, b"\0" * 4096])
async def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    async with SqliteJournal(path) as journal:
        with pytest.raises(JournalError, match="cannot be used"):
            await journal.open(KEY, b"", owner="a", lease=30)
    assert path.read_bytes() == content


async def test_a_forgotten_journal_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    journal = SqliteJournal(tmp_path / "j")
    await journal.open(KEY, b"", owner="a", lease=30)
    # Threads of earlier tests may still be ending.
    (own,) = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("journal")]
    del journal
    gc.collect()
    own.join(10)
    assert not own.is_alive()


@for_each("name", ["new", "old"])
async def test_waits_for_another_process_that_writes_or_creates_the_file(tmp_path: Path, name: str) -> None:
    async with SqliteJournal(tmp_path / name) as journal:
        if name == "old":
            await journal.now()
        other = sqlite3.connect(tmp_path / name, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # SQLite itself does not wait for this when it switches to a write-ahead log
        opening = asyncio.create_task(journal.open(KEY, b"", owner="a", lease=30))
        await asyncio.sleep(0.05)
        assert not opening.done()
        other.execute("COMMIT")
        other.close()
        assert (await opening)[1]


async def test_writes_are_synchronous_and_logged_ahead_and_a_full_disk_is_said(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "orders.journal") as journal:
        await journal.now()
        connection = journal._file._opened[0]
        asked = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        assert asked == ["wal", 2]  # 2 is FULL
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalError, match=r"orders\.journal cannot be used: database or disk is full"):
            await journal.open(KEY, b"x" * 50_000, owner="a", lease=600.0)
        assert await journal.find(KEY) is None
        connection.execute(f"PRAGMA max_page_count = {pages + 100}")
        await journal.open(KEY, b"", owner="a", lease=30)
        with pytest.raises(JournalError, match="surrogates"):
            await journal.close(KEY, owner="a", state=EntryState.PLACED, order_id="\ud800")
    async with SqliteJournal(tmp_path / "nowhere" / "orders.journal") as journal:
        with pytest.raises(JournalError, match="No such file or directory"):
            await journal.now()


@for_each("name", ["orders.journal", ":memory:"])
async def test_writes_to_the_file_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    journal = SqliteJournal(name)
    monkeypatch.chdir(tmp_path.parent)
    async with journal:
        await journal.open(KEY, b"", owner="a", lease=30)
    async with SqliteJournal(tmp_path / name) as again:
        assert await again.find(KEY) is not None


WRITER = """
    import asyncio, os, resource, sys
    from brokerage_async.journal import EntryKey, JournalError, SqliteJournal
    path, how = sys.argv[1:]
    async def write(name):
        async with SqliteJournal(path) as journal:
            await journal.open(EntryKey("o", "sandbox", "a", name), b"{}", owner="o", lease=1)
    asyncio.run(write("first"))
    if how == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    else:
        os.chmod(path, 0o444), os.chmod(os.path.dirname(path), 0o555)
        if os.geteuid() == 0:
            os.setgroups([]), os.setgid(65534), os.setuid(65534)
    try:
        asyncio.run(write("second"))
    except JournalError as error:
        print(error)
"""


@for_each("how, words", [("full", ["disk"]), ("read-only", ["readonly", "unable to open"])])
def test_says_that_the_disk_takes_nothing(how: str, words: list[str]) -> None:
    """Run in a process that the system keeps from writing. File modes do not stop root."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(folder / "orders.journal"), how],
            capture_output=True, text=True, check=True, env=ENVIRONMENT,
        )  # fmt: skip
        folder.chmod(0o755)
    assert "orders.journal cannot be used: " in done.stdout
    assert any(word in done.stdout for word in words)


async def test_times_are_those_of_the_clock(tmp_path: Path) -> None:
    seconds = [1_000_000.0]
    for make in (MemoryJournal, partial(SqliteJournal, tmp_path / "j")):
        async with make(clock=lambda: seconds[0]) as journal:
            assert await journal.now() == datetime.fromtimestamp(seconds[0], UTC)
            entry, _ = await journal.open(KEY, b"", owner="a", lease=30)
            assert entry.claimed_until == entry.opened_at + timedelta(seconds=30)
            seconds[0] += 29.9
            assert (await journal.now() - entry.opened_at).total_seconds() == pytest.approx(29.9)
            assert await journal.claim(KEY, owner="b", lease=30) is None
            seconds[0] += 0.1
            assert (await journal.claim(KEY, owner="b", lease=30)).owner == "b"
            await journal.close(KEY, owner="b", state=EntryState.PLACED)
            assert (await journal.find(KEY)).closed_at == await journal.now()
            rule = {"count": 2, "seconds": 600, "reason": "twice"}
            assert [await journal.trip("refused", name, **rule) for name in "ab"] == [False, True]
            seconds[0] -= 60  # a clock that was set back: what was counted before is forgotten
            assert await journal.resume()
            assert [await journal.trip("refused", name, **rule) for name in "cd"] == [False, True]
            assert await journal.resume()
            await journal.open(OTHER, b"", owner="a", lease=1)
            assert [each.key for each in await journal.entries()] == [OTHER, KEY], "oldest first"


async def test_memory_stays_readable_when_closed_and_shows_its_size_only() -> None:
    async with MemoryJournal() as journal:
        entry, _ = await journal.open(KEY, b"secret", owner="a", lease=30)
        await journal.close(KEY, owner="a", state=EntryState.REFUSED, note="no")
    assert (entry.state, entry.note) == (EntryState.OPEN, "")  # what was handed out does not change afterwards
    assert await journal.find(KEY) is not None
    assert repr(journal) == "MemoryJournal(1 entries)"
