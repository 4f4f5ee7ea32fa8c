"""One suite for every journal, and what only the durable ones promise: processes, disks, servers."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async import journal as public
from brokerage_async.errors import BrokerageError, ConfigurationError
from brokerage_async.journal import (
    EntryKey,
    EntryState,
    Journal,
    JournalEntry,
    JournalError,
    MemoryJournal,
    PostgresJournal,
    SqliteJournal,
)
from tests import journal_servers
from tests.loops import run_in

ABSENT = journal_servers.missing()
KEY = EntryKey("sandbox", "5WT00001", "order-1")
OTHER = EntryKey("sandbox", "5WT00001", "order-2")
BODY = b'{"order-type":"Limit"}'
NO_TIME = 0.0
LONG = 600.0


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if ABSENT:
        pytest.skip(ABSENT)
    with journal_servers.postgres_server() as dsn:
        yield dsn


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Any
    if request.param == "memory":
        made = MemoryJournal()
    elif request.param == "sqlite":
        made = SqliteJournal(tmp_path / "orders.journal")
    else:
        made = PostgresJournal(request.getfixturevalue("server"), table=f"j_{uuid.uuid4().hex[:8]}")
    async with made:
        yield made


async def opened(journal: Journal, key: EntryKey = KEY, *, owner: str = "a", lease: float = LONG) -> JournalEntry:
    entry, fresh = await journal.open(key, BODY, owner=owner, lease=lease)
    assert fresh
    return entry


async def test_an_entry_comes_back_as_it_was_written(journal: Journal) -> None:
    entry = await opened(journal)
    assert (entry.key, entry.body, entry.state, entry.attempts, entry.owner) == (KEY, BODY, EntryState.OPEN, 1, "a")
    assert abs(entry.opened_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert entry.claimed_until == entry.opened_at + timedelta(seconds=LONG)
    assert await journal.find(KEY) == entry
    assert await journal.entries("sandbox") == [entry]


async def test_a_key_is_opened_once(journal: Journal) -> None:
    entry = await opened(journal)
    again, fresh = await journal.open(KEY, b"another body", owner="b", lease=LONG)
    assert not fresh
    assert again == entry


async def test_the_same_identifier_elsewhere_is_another_entry(journal: Journal) -> None:
    for key in (KEY, EntryKey("production", "5WT00001", "order-1"), EntryKey("sandbox", "5WT00002", "order-1")):
        await opened(journal, key)
    assert [entry.key.account_number for entry in await journal.entries("sandbox")] == ["5WT00001", "5WT00002"]
    assert len(await journal.entries()) == 3
    assert len(await journal.entries(state=EntryState.OPEN)) == 3


async def test_what_never_left_may_be_opened_again_unchanged(journal: Journal) -> None:
    await opened(journal)
    assert await journal.close(KEY, state=EntryState.NOT_SENT, note="connection refused")
    changed, fresh = await journal.open(KEY, b"another body", owner="b", lease=LONG)
    assert (fresh, changed.state) == (False, EntryState.NOT_SENT)
    again, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert (fresh, again.state, again.attempts, again.owner, again.note) == (True, EntryState.OPEN, 2, "b", "")
    assert again.closed_at is None


@pytest.mark.parametrize("state", [EntryState.PLACED, EntryState.REFUSED, EntryState.ABANDONED])
async def test_what_the_service_has_seen_is_never_opened_again(journal: Journal, state: EntryState) -> None:
    await opened(journal)
    assert await journal.close(KEY, state=state, order_id="77", note="why")
    entry, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert (fresh, entry.state, entry.order_id, entry.note, entry.owner) == (False, state, "77", "why", None)
    assert entry.closed_at is not None


async def test_the_first_outcome_stays(journal: Journal) -> None:
    await opened(journal)
    assert await journal.close(KEY, state=EntryState.PLACED, order_id="77")
    assert not await journal.close(KEY, state=EntryState.REFUSED)
    assert not await journal.close(OTHER, state=EntryState.REFUSED)
    assert (await journal.entries("sandbox", state=EntryState.PLACED))[0].order_id == "77"
    assert await journal.entries("sandbox", state=EntryState.OPEN) == []


async def test_a_claim_is_exclusive_until_it_ends(journal: Journal) -> None:
    await opened(journal, lease=LONG)
    assert await journal.claim("sandbox", owner="b", lease=LONG) == []
    assert await journal.claim("sandbox", owner="b", lease=LONG, key=KEY) == []
    assert await journal.renew(KEY, owner="a", lease=NO_TIME)
    (taken,) = await journal.claim("sandbox", owner="b", lease=LONG)
    assert taken.owner == "b"
    assert not await journal.renew(KEY, owner="a", lease=LONG)
    assert not await journal.release(KEY, owner="a", note="")


async def test_renewing_records_attempts(journal: Journal) -> None:
    await opened(journal)
    assert await journal.renew(KEY, owner="a", lease=LONG, attempts=2)
    assert await journal.renew(KEY, owner="a", lease=LONG)
    found = await journal.find(KEY)
    assert found is not None
    assert found.attempts == 2


async def test_a_released_entry_is_open_and_free(journal: Journal) -> None:
    await opened(journal)
    assert await journal.release(KEY, owner="a", note="no answer")
    found = await journal.find(KEY)
    assert found is not None
    assert (found.state, found.owner, found.note) == (EntryState.OPEN, None, "no answer")
    assert found.looked_at is not None
    assert [entry.key for entry in await journal.claim("sandbox", owner="b", lease=LONG, key=KEY)] == [KEY]


async def test_an_entry_given_up_was_not_looked_at(journal: Journal) -> None:
    await opened(journal)
    assert await journal.release(KEY, owner="a", note="cancelled", looked=False)
    found = await journal.find(KEY)
    assert found is not None
    assert (found.owner, found.note, found.looked_at) == (None, "cancelled", None)


async def test_a_sweep_takes_what_was_due_when_it_began_and_each_once(journal: Journal) -> None:
    await opened(journal, KEY, lease=NO_TIME)
    began = await journal.now()
    await asyncio.sleep(0.002)
    await opened(journal, OTHER, lease=NO_TIME)
    assert [e.key for e in await journal.claim("sandbox", owner="b", lease=LONG, due_at=began)] == [KEY]
    assert await journal.release(KEY, owner="b", note="still unknown")
    assert await journal.claim("sandbox", owner="c", lease=LONG, due_at=began) == []
    later = await journal.now()
    assert [e.key for e in await journal.claim("sandbox", owner="c", lease=LONG, due_at=later)] == [KEY, OTHER]


async def test_claims_stay_in_their_environment(journal: Journal) -> None:
    await opened(journal, lease=NO_TIME)
    assert await journal.claim("production", owner="b", lease=LONG) == []


async def test_many_workers_at_once_share_entries_without_overlap(journal: Journal) -> None:
    keys = [EntryKey("sandbox", "5WT00001", f"order-{n}") for n in range(20)]
    for key in keys:
        await opened(journal, key, lease=NO_TIME)
    got = await asyncio.gather(*(journal.claim("sandbox", owner=f"w{n}", lease=LONG) for n in range(8)))
    assert sorted(entry.key.external_identifier for taken in got for entry in taken) == sorted(
        key.external_identifier for key in keys
    )


async def test_closing_twice_is_harmless(journal: Journal) -> None:
    await opened(journal)
    await journal.aclose()
    await journal.aclose()


def calls(method: str, *arguments: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> Any:
    """Calls of one method of a journal."""
    return st.tuples(st.just(method), st.tuples(*arguments), st.fixed_dictionaries(options))


KEYS = st.sampled_from([KEY, OTHER])
LEASES = st.sampled_from([0.0, 5.0])
MINE = st.booleans()  # whether the caller is the one that holds the entry
CALLS = st.one_of(
    calls("open", KEYS, st.sampled_from([BODY, b"other"]), lease=LEASES),
    calls("claim", st.just("sandbox"), lease=LEASES),
    calls("claim", st.just("sandbox"), lease=LEASES, key=KEYS),
    calls("renew", KEYS, mine=MINE, lease=LEASES, attempts=st.sampled_from([None, 3])),
    calls("release", KEYS, mine=MINE, note=st.just("why"), looked=st.booleans()),
    calls("close", KEYS, state=st.sampled_from([EntryState.PLACED, EntryState.NOT_SENT])),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(CALLS, st.sampled_from([1.0, 3.0])), max_size=25))
def test_memory_and_sqlite_do_the_same(
    program: list[tuple[tuple[str, tuple[Any, ...], dict[str, Any]], float]],
) -> None:
    """Whatever is asked of them, in whatever order, with time passing in between."""
    now = [1_000_000.0]

    async def run(folder: str) -> None:
        memory = MemoryJournal(clock=lambda: now[0])
        async with SqliteJournal(Path(folder) / "j", clock=lambda: now[0]) as sqlite:
            for number, ((method, arguments, given_options), pause) in enumerate(program):
                options = dict(given_options)
                if options.pop("mine", False):
                    held = await memory.find(arguments[0])
                    options["owner"] = held.owner if held is not None and held.owner else "nobody"
                elif method != "close":
                    options["owner"] = f"worker {number}"
                outcome = await getattr(memory, method)(*arguments, **options)
                assert outcome == await getattr(sqlite, method)(*arguments, **options)
                now[0] += pause
            assert await memory.entries("sandbox") == await sqlite.entries("sandbox")

    with tempfile.TemporaryDirectory() as folder:
        run_in(asyncio.new_event_loop(), run(folder))


# --- the public door


def test_the_names_are_there_and_errors_are_ours() -> None:
    assert {"SqliteJournal", "PostgresJournal", "MemoryJournal"} <= set(public.__all__)
    assert issubclass(JournalError, BrokerageError)
    with pytest.raises(AttributeError):
        _ = public.NoSuchJournal  # type: ignore[attr-defined]


def test_no_database_is_imported_before_it_is_asked_for() -> None:
    program = "import sys, brokerage_async.journal; sys.exit('sqlite3' in sys.modules or 'psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- SQLite


async def test_sqlite_survives_the_process_and_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    async with SqliteJournal(path) as first:
        await opened(first)
    assert path.stat().st_mode & 0o077 == 0
    async with SqliteJournal(path) as second:
        assert await second.find(KEY) is not None


async def test_sqlite_writes_are_synchronous_and_logged_ahead(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "orders.journal") as journal:
        await opened(journal)
        connection = journal._file._connection
        assert connection is not None
        asked = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        assert asked == ["wal", 2]  # 2 is FULL


async def test_sqlite_waits_for_another_process_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    async with SqliteJournal(path) as journal:
        await journal.now()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(opened(journal))
        await asyncio.sleep(0.05)
        assert not opening.done()
        other.execute("COMMIT")
        other.close()
        assert (await opening).key == KEY


async def test_sqlite_says_that_the_disk_is_full_and_recovers(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "orders.journal") as journal:
        await journal.now()
        connection = journal._file._connection
        assert connection is not None
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalError, match=r"orders\.journal cannot be used: database or disk is full"):
            await journal.open(KEY, b"x" * 50_000, owner="a", lease=LONG)
        assert await journal.find(KEY) is None
        connection.execute(f"PRAGMA max_page_count = {pages + 100}")
        await opened(journal)


async def test_sqlite_says_that_there_is_no_such_folder_and_that_it_is_closed(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "nowhere" / "orders.journal") as journal:
        with pytest.raises(JournalError, match="No such file or directory"):
            await journal.now()
    with pytest.raises(JournalError, match="is closed"):
        await journal.now()


async def test_sqlite_says_that_a_text_is_none(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "orders.journal") as journal:
        with pytest.raises(JournalError, match="surrogates"):
            await journal.close(KEY, state=EntryState.PLACED, order_id="\ud800")


@pytest.mark.parametrize("name", ["orders.journal", ":memory:"])
async def test_sqlite_writes_to_the_file_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    journal = SqliteJournal(name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    async with journal:
        await opened(journal)
    async with SqliteJournal(tmp_path / name) as again:
        assert await again.find(KEY) is not None


def test_sqlite_says_that_the_file_is_read_only() -> None:
    """In a process of its own without root's rights, which no file mode stops."""
    program = """
        import asyncio, os, sys
        from brokerage_async.journal import EntryKey, JournalError, SqliteJournal
        path = sys.argv[1]
        async def write():
            async with SqliteJournal(path) as journal:
                await journal.open(EntryKey("sandbox", "a", sys.argv[2]), b"{}", owner="o", lease=1)
        asyncio.run(write())
        os.chmod(path, 0o444), os.chmod(os.path.dirname(path), 0o555)
        if os.geteuid() == 0:
            os.setgroups([]), os.setgid(65534), os.setuid(65534)
        try:
            sys.argv[2] = "second"
            asyncio.run(write())
        except JournalError as error:
            print(error)
    """
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), str(folder / "orders.journal"), "first"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
        folder.chmod(0o755)
    assert "orders.journal cannot be used: " in done.stdout
    assert "readonly" in done.stdout or "unable to open" in done.stdout


CLAIMER = """
    import asyncio, sys, time
    from brokerage_async.journal import PostgresJournal, SqliteJournal
    kind, where, start = sys.argv[1:]
    async def claim():
        made = SqliteJournal(where) if kind == "sqlite" else PostgresJournal(where, table="shared")
        async with made as journal:
            await journal.now()
            print("ready", flush=True)
            sys.stdin.readline()
            for entry in await journal.claim("sandbox", owner=start, lease=600):
                print(entry.key.external_identifier, flush=True)
    asyncio.run(claim())
"""


def claim_in_processes(kind: str, where: str, count: int) -> list[list[str]]:
    """What each of several processes gets that claim in the same moment."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CLAIMER), kind, where, f"p{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
        for n in range(count)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate(timeout=30)[0].split() for process in processes]


async def test_two_processes_never_claim_the_same_entry_in_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    async with SqliteJournal(path) as journal:
        for n in range(50):
            await opened(journal, EntryKey("sandbox", "a", str(n)), lease=NO_TIME)
    got = await asyncio.to_thread(claim_in_processes, "sqlite", str(path), 3)
    assert sorted(int(name) for names in got for name in names) == list(range(50))


# --- PostgreSQL


@pytest.mark.postgres
async def test_two_processes_never_claim_the_same_entry_in_postgres(server: str) -> None:
    async with PostgresJournal(server, table="shared") as journal:
        for n in range(50):
            await opened(journal, EntryKey("sandbox", "a", str(n)), lease=NO_TIME)
    got = await asyncio.to_thread(claim_in_processes, "postgres", server, 3)
    assert sorted(int(name) for names in got for name in names) == list(range(50))


@pytest.mark.postgres
async def test_postgres_mends_a_connection_that_broke_while_idle(server: str) -> None:
    async with PostgresJournal(server, table="mended") as journal, PostgresJournal(server, table="other") as other:
        await journal.now()
        await other._run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()", {})
        await opened(journal)


@pytest.mark.postgres
async def test_postgres_gives_up_on_a_server_that_does_not_answer(server: str) -> None:
    async with PostgresJournal(server, table="slow", timeout=0.3) as journal:
        with pytest.raises(JournalError, match=r"no answer within 0\.3 s"):
            await journal._run("SELECT pg_sleep(60)", {})
        await opened(journal)


@pytest.mark.postgres
async def test_postgres_goes_on_after_a_cancelled_call(server: str) -> None:
    async with PostgresJournal(server, table="cancelled") as journal:
        slow = asyncio.create_task(journal._run("SELECT pg_sleep(60)", {}))
        await asyncio.sleep(0.2)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await opened(journal)


@pytest.mark.skipif(ABSENT is not None and "psycopg" in ABSENT, reason=str(ABSENT))
async def test_postgres_says_why_it_cannot_be_used_and_never_its_password() -> None:
    async with PostgresJournal("host=/nowhere user=u password=hunter2 dbname=d") as journal:
        assert "hunter2" not in repr(journal)
        with pytest.raises(JournalError, match="cannot be used") as caught:
            await journal.now()
    assert "hunter2" not in f"{caught.value!r} {caught.value} {vars(caught.value)} {caught.value.__cause__!r}"


@pytest.mark.skipif(ABSENT is not None and "psycopg" in ABSENT, reason=str(ABSENT))
def test_postgres_takes_plain_table_names_only() -> None:
    with pytest.raises(ConfigurationError, match="not a plain table name"):
        PostgresJournal("host=/nowhere", table='x"; DROP TABLE y; --')
