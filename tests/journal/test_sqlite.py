"""The journals in a file and in memory, the values they keep, and the statements that both databases understand."""

import asyncio
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async.errors import BrokerageError
from brokerage_async.journal import sql as journal_sql
from brokerage_async.journal.base import EntryKey, EntryState, JournalEntry, JournalError, renew_claims
from brokerage_async.journal.caps import Usage
from brokerage_async.journal.sqlite import MemoryJournal, SqliteJournal
from tests.http.calls import raised_by
from tests.journal_servers import ENVIRONMENT, key
from tests.protocol.values import raised
from tests.tables import for_each

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "5WT00001", "order-1")
KEY_FIELDS = ("origin", "environment", "account_number", "external_identifier")
ENTRY = JournalEntry(key=KEY, body=b'{"price":"1"}', opened_at=datetime(2026, 3, 2, tzinfo=UTC))
STATES = {"open", "not_sent", "abandoned", "refused", "pruned", ""}
ONE, OTHER = key("one"), key("two")


def test_entries_keys_and_states_are_plain_values() -> None:
    assert (ENTRY.state, ENTRY.attempts, ENTRY.note) == (EntryState.OPEN, 1, "")
    assert (ENTRY.order_id, ENTRY.closed_at, ENTRY.looked_at, ENTRY.owner, ENTRY.claimed_until) == (None,) * 5
    assert ENTRY.closed_by is None
    assert len({KEY, EntryKey(*attrs.astuple(KEY)), *(attrs.evolve(KEY, **{name: "x"}) for name in KEY_FIELDS)}) == 5
    assert "price" not in repr(ENTRY)
    assert "order-1" in repr(ENTRY)
    for value, name in ((ENTRY, "state"), (KEY, "environment")):
        raised(attrs.exceptions.FrozenInstanceError, setattr, value, name, "other")
    assert [str(state) for state in EntryState] == ["open", "placed", "refused", "not_sent", "abandoned", "pruned"]
    error = JournalError("disk full")
    assert isinstance(error, BrokerageError)
    assert (error.code, str(error)) == ("journal_unavailable", "disk full")
    assert pickle.loads(pickle.dumps(error)).code == "journal_unavailable"


@pytest.mark.virtual_time
async def test_renew_claims_of_a_journal_without_a_batch_tries_every_claim() -> None:
    renewed = list[tuple[EntryKey, str, float]]()

    async def renew(key: EntryKey, *, owner: str, lease: float) -> bool:
        if owner == "broken":
            raise JournalError("disk is full")
        await asyncio.sleep(1)
        renewed.append((key, owner, lease))
        return owner == "me"

    journal: Any = SimpleNamespace(renew=renew)
    first, second, third = (attrs.evolve(KEY, external_identifier=f"order-{number}") for number in range(3))
    assert await renew_claims(journal, {first: "me", second: "other", third: "me"}, lease=5) == {first, third}
    assert renewed == [(first, "me", 5), (second, "other", 5), (third, "me", 5)]
    renewed.clear()
    await raised_by(renew_claims(journal, {first: "broken", second: "me"}, lease=5), JournalError, "disk is full")
    assert renewed == [(second, "me", 5)]


class InMemory(MemoryJournal):
    """Journal in memory that records its statements and which work was done alone, with a clock to set."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.ran: list[str] = []
        super().__init__(clock=lambda: self.seconds)
        self._connection.set_trace_callback(self.ran.append)
        self.alone: list[bool] = []

    async def _perform(self, work: Any, *, renewal: bool = False, alone: bool = False) -> Any:
        self.alone.append(alone)
        return await super()._perform(work, renewal=renewal, alone=alone)


async def test_entry_adopted_while_its_order_is_opened_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MemoryJournal() as journal:
        await journal.open(ONE, b"x", owner="a", lease=30)
        monkeypatch.setattr(journal_sql, "FIND", f"{journal_sql.FIND} AND origin = 'not any more'")
        with pytest.raises(JournalError, match="was adopted by another address, or what forbade it"):
            await journal.open(ONE, b"x", owner="b", lease=30)


async def test_statements_take_values_as_values() -> None:
    statements = [each for each in vars(journal_sql).values() if isinstance(each, str) and " entries" in each]
    assert len(statements) > 20
    for statement in statements:
        assert set(re.findall(r"'([^']*)'", statement)) <= STATES
    hostile = EntryKey(ORIGIN, "sandbox", "A1", "'; DROP TABLE t; --")
    async with InMemory() as journal:
        await journal.open(hostile, b"'", owner="'", lease=30)
        assert await journal.close(hostile, owner="'", state=EntryState.REFUSED, note="' OR 1=1")
        found = await journal.find(hostile)
        assert (found.key, found.note) == (hostile, "' OR 1=1")


async def test_a_usual_order_takes_one_statement_for_each_step_and_its_caps_one_each() -> None:
    """One for the sums, and one for the net position."""
    async with InMemory() as journal:
        await journal.open(ONE, b"x", owner="a", lease=30)
        await journal.renew(ONE, owner="a", lease=30)
        await journal.close(ONE, owner="a", state=EntryState.PLACED)
        assert [statement.split()[0] for statement in journal.ran] == ["INSERT", "UPDATE", "UPDATE"]
        journal.ran.clear()
        usage = Usage(value=Decimal(1), max_value_per_day=Decimal(2), bought=Decimal(1), max_net_quantity=Decimal(2))
        await journal.open(attrs.evolve(ONE, external_identifier="two"), b"x", owner="a", lease=30, usage=usage)
        assert [statement.split()[0] for statement in journal.ran] == ["SELECT", "SELECT", "INSERT"]
        assert journal.alone == [False, False, False, True], "between the sums and the entry no other one comes"
        await journal.halt("why")
        assert journal.alone[-2:] == [False, True]


async def test_work_alone_keeps_other_writers_out_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"

    def steps() -> journal_sql.Steps[str]:
        yield "SELECT 1", {}
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            error = raised(sqlite3.OperationalError, other.execute, "DELETE FROM entries")
        return str(error)

    async with SqliteJournal(path) as journal:
        assert await journal._perform(steps, alone=True) == "database is locked"


@for_each("claims, statements", [(0, 0), (1, 1), (500, 1), (501, 2)])
async def test_many_claims_are_renewed_in_one_statement(claims: int, statements: int) -> None:
    owners = {EntryKey(ORIGIN, "sandbox", "A1", f"order-{number}"): f"owner {number}" for number in range(claims)}
    async with InMemory() as journal:
        for key, owner in owners.items():
            await journal.open(key, b"", owner=owner, lease=30)
        journal.ran.clear()
        journal.seconds += 20
        assert await journal.renew_many(owners, lease=30) == set(owners)
        assert len(journal.ran) == statements
        ends = {entry.claimed_until for entry in await journal.entries()}
        assert ends <= {datetime.fromtimestamp(1050.0, UTC)}


async def test_nothing_is_touched_before_the_first_use_nor_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    journal = SqliteJournal(path)
    assert repr(journal) == f"SqliteJournal({str(path)!r})"
    await journal.aclose()
    assert not path.exists()
    journal = SqliteJournal(path)
    await journal.open(ONE, b"", owner="a", lease=30)
    for _ in range(2):
        await journal.aclose()
    await raised_by(journal.find(ONE), JournalError, "is closed")


@for_each("content", [b"no database at all, but long enough to be looked at" * 40, b"\0" * 4096])
async def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    async with SqliteJournal(path) as journal:
        await raised_by(journal.open(ONE, b"", owner="a", lease=30), JournalError, "cannot be used")
    assert path.read_bytes() == content


@for_each("name", ["new", "old"])
async def test_waits_for_another_process_that_writes_or_creates_the_file(tmp_path: Path, name: str) -> None:
    async with SqliteJournal(tmp_path / name) as journal:
        if name == "old":
            await journal.now()
        other = sqlite3.connect(tmp_path / name, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # SQLite itself does not wait for this when it switches to a write-ahead log
        opening = asyncio.create_task(journal.open(ONE, b"", owner="a", lease=30))
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
            await journal.open(ONE, b"x" * 50_000, owner="a", lease=600.0)
        assert await journal.find(ONE) is None
        connection.execute(f"PRAGMA max_page_count = {pages + 100}")
        await journal.open(ONE, b"", owner="a", lease=30)
        with pytest.raises(JournalError, match="surrogates"):
            await journal.close(ONE, owner="a", state=EntryState.PLACED, order_id="\ud800")
    async with SqliteJournal(tmp_path / "nowhere" / "orders.journal") as journal:
        await raised_by(journal.now(), JournalError, "No such file or directory")


@for_each("name", ["orders.journal", ":memory:"])
async def test_writes_to_the_file_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    journal = SqliteJournal(name)
    monkeypatch.chdir(tmp_path.parent)
    async with journal:
        await journal.open(ONE, b"", owner="a", lease=30)
    async with SqliteJournal(tmp_path / name) as again:
        assert await again.find(ONE) is not None


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
        if os.geteuid() == 0:  # file modes do not stop it
            os.setgroups([]), os.setgid(65534), os.setuid(65534)
    try:
        asyncio.run(write("second"))
    except JournalError as error:
        print(error)
"""


@for_each("how, words", [("full", "disk"), ("read-only", "readonly|unable to open")])
def test_says_that_it_may_not_write(how: str, words: str) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(folder / "orders.journal"), how]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
        folder.chmod(0o755)
    assert re.search(f"orders.journal cannot be used: .*({words})", done.stdout)


async def test_times_are_those_of_the_clock(tmp_path: Path) -> None:
    seconds = [1_000_000.0]
    for make in (MemoryJournal, partial(SqliteJournal, tmp_path / "j")):
        async with make(clock=lambda: seconds[0]) as journal:
            assert await journal.now() == datetime.fromtimestamp(seconds[0], UTC)
            entry, _ = await journal.open(ONE, b"", owner="a", lease=30)
            assert entry.claimed_until == entry.opened_at + timedelta(seconds=30)
            seconds[0] += 29.9
            assert (await journal.now() - entry.opened_at).total_seconds() == pytest.approx(29.9)
            assert await journal.claim(ONE, owner="b", lease=30) is None
            seconds[0] += 0.1
            assert (await journal.claim(ONE, owner="b", lease=30)).owner == "b"
            await journal.close(ONE, owner="b", state=EntryState.PLACED)
            assert (await journal.find(ONE)).closed_at == await journal.now()
            rule = {"count": 2, "seconds": 600, "reason": "twice"}
            assert [await journal.trip("refused", name, **rule) for name in "ab"] == [False, True]
            seconds[0] -= 60  # a clock that was set back: earlier counts are forgotten
            assert await journal.resume()
            assert [await journal.trip("refused", name, **rule) for name in "cd"] == [False, True]
            assert await journal.resume()
            await journal.open(OTHER, b"", owner="a", lease=1)
            assert [each.key for each in await journal.entries()] == [OTHER, ONE], "oldest first"


async def test_memory_stays_readable_when_closed_and_shows_its_size_only() -> None:
    async with MemoryJournal() as journal:
        entry, _ = await journal.open(ONE, b"secret", owner="a", lease=30)
        await journal.close(ONE, owner="a", state=EntryState.REFUSED, note="no")
    assert (entry.state, entry.note) == (EntryState.OPEN, "")  # a returned entry never changes
    assert await journal.find(ONE) is not None
    assert repr(journal) == "MemoryJournal(1 entries)"
