"""Damage in the write-ahead log: found where it hides committed entries, and never in the tail that a crash leaves."""

import random
import shutil
import sqlite3
import struct
from pathlib import Path

import pytest

from brokerage_async.journal import JournalError, SqliteJournal
from brokerage_async.storage.subject import Subject
from brokerage_async.storage.wal import FRAME, HEADER, check_log, damaged_frame
from tests.http.calls import raised_by
from tests.journal_servers import key
from tests.protocol.values import raised

ENTRIES = 20
PAGE = 4096
SIZE = FRAME.size + PAGE
SUBJECT = Subject(kind="journal", name="j", error=JournalError)


@pytest.fixture
async def crashed(tmp_path: Path) -> Path:
    """Return a journal as a killed process leaves it, with all entries in the log."""
    path = tmp_path / "live"
    async with SqliteJournal(path) as journal:
        for number in range(ENTRIES):
            await journal.open(key(number), b"x" * 100, owner="a", lease=30)
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{tmp_path}/crashed{suffix}")
    return tmp_path / "crashed"


def log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def contents(path: Path) -> tuple[bytes, bytes]:
    return path.read_bytes(), log_of(path).read_bytes()


def commits(content: bytes) -> list[int]:
    """Return the numbers, from 0, of the frames that end a transaction."""
    count = (len(content) - HEADER.size) // SIZE
    return [n for n in range(count) if FRAME.unpack_from(content, HEADER.size + n * SIZE)[1]]


def damage(path: Path, position: int) -> None:
    content = bytearray(log_of(path).read_bytes())
    content[position] ^= 0x40
    log_of(path).write_bytes(content)


def read_by_sqlite(path: Path) -> int:
    """Count the entries that SQLite finds in a copy."""
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{path}.copy{suffix}")
    connection = sqlite3.connect(f"{path}.copy")
    try:
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
    except sqlite3.OperationalError:  # not even the table is left
        return 0
    finally:
        connection.close()


async def test_damage_anywhere_before_the_last_two_transactions_is_found(crashed: Path) -> None:
    """SQLite itself opens every one of these without an error, and with entries missing."""
    intact = log_of(crashed).read_bytes()
    assert damaged_frame(intact) is None
    *_, before_last, _ = commits(intact)
    chance = random.Random(1)
    for _ in range(104):
        position = chance.randrange(HEADER.size + before_last * SIZE)
        damage(crashed, position)
        assert read_by_sqlite(crashed) < ENTRIES
        with pytest.raises(
            JournalError, match=r"the journal j is damaged: its write-ahead log crashed-wal is broken at frame"
        ):
            check_log(crashed, SUBJECT)
        log_of(crashed).write_bytes(intact)


async def test_a_damaged_journal_is_refused_and_left_alone(crashed: Path) -> None:
    damage(crashed, HEADER.size + 3 * SIZE + 500)
    before = contents(crashed)
    async with SqliteJournal(crashed) as journal:
        for _ in range(2):
            await raised_by(journal.open(key(0), b"", owner="b", lease=30), JournalError, "broken at frame 4")
    assert contents(crashed) == before


async def test_a_damaged_header_is_found(crashed: Path) -> None:
    for position in (0, 5, 10, 17, 25, 31):
        damage(crashed, position)
        assert read_by_sqlite(crashed) == 0, position
        assert damaged_frame(log_of(crashed).read_bytes()) == 0, position
        damage(crashed, position)  # as it was


async def test_a_torn_last_transaction_is_what_a_crash_leaves(crashed: Path) -> None:
    """Drop any part of it, also the first frame while the last one was written."""
    content = log_of(crashed).read_bytes()
    *_, before_last, last = commits(content)
    for frame in range(before_last + 1, last + 1):
        for start in (0, 8, FRAME.size, SIZE - 100):
            torn = bytearray(content)
            position = HEADER.size + frame * SIZE + start
            torn[position : position + 100] = bytes(100)
            assert damaged_frame(bytes(torn)) is None
    for length in range(HEADER.size + (before_last + 1) * SIZE, len(content), 1000):
        assert damaged_frame(content[:length]) is None


async def test_entries_that_overwrite_a_torn_transaction_are_no_damage(crashed: Path) -> None:
    content = bytearray(log_of(crashed).read_bytes())
    last = commits(bytes(content))[-2] + 1
    content[HEADER.size + last * SIZE + 200] ^= 1
    log_of(crashed).write_bytes(content)
    async with SqliteJournal(crashed) as journal:
        for number in range(3):
            await journal.open(key(100 + number), b"", owner="a", lease=30)
            check_log(crashed, SUBJECT)
        assert len(await journal.entries()) == ENTRIES - 1 + 3


async def test_frames_of_the_log_before_are_no_damage(tmp_path: Path) -> None:
    """After a checkpoint SQLite begins the log again, over the old frames."""
    path = tmp_path / "j"
    async with SqliteJournal(path) as journal:
        for number in range(ENTRIES):
            await journal.open(key(number), b"x" * 100, owner="a", lease=30)
        connection = journal._file._opened[0]
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        for number in range(ENTRIES, ENTRIES + 5):
            await journal.open(key(number), b"", owner="a", lease=30)
            check_log(path, SUBJECT)
        damage(path, HEADER.size + 500)
        raised(JournalError, check_log, path, SUBJECT, match="broken at frame 1,")


async def test_a_log_that_changes_while_it_is_read_is_no_damage(crashed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-written frames are complete in the second reading. A log begun again has another header."""
    intact = log_of(crashed).read_bytes()
    damage(crashed, HEADER.size + 3 * SIZE + 500)
    half = log_of(crashed).read_bytes()
    begun_again = struct.pack(">8I", 0x377F0682, 3007000, PAGE, 2, 8, 9, 1, 1) + half[HEADER.size :]
    for readings in ([half, intact], [half, begun_again], [half, half[:100]]):
        answers = iter(readings)
        monkeypatch.setattr(Path, "read_bytes", lambda _, answers=answers: next(answers))
        check_log(crashed, SUBJECT)
    monkeypatch.setattr(Path, "read_bytes", lambda _: half)
    raised(JournalError, check_log, crashed, SUBJECT)


def test_what_is_not_a_log_hides_nothing(tmp_path: Path) -> None:
    for content in (b"", b"\0" * 31, b"\0" * 32, b"\0" * 3 * SIZE, b"\xff" * 3 * SIZE):
        assert damaged_frame(content) is None
    check_log(tmp_path / "j", SUBJECT)  # a clean close leaves none


def test_both_byte_orders_of_checksums_are_read(tmp_path: Path) -> None:
    """SQLite writes the machine's own order. A file may come from a machine of the other one."""
    salts = (7, 8)

    def checksum(data: bytes, start: tuple[int, int]) -> tuple[int, int]:
        first, second = start
        for even, odd in struct.iter_unpack(">2I", data):
            first = (first + even + second) % 2**32
            second = (second + odd + first) % 2**32
        return first, second

    head = struct.pack(">6I", 0x377F0683, 3007000, 512, 0, *salts)
    running = checksum(head, (0, 0))
    content = head + struct.pack(">2I", *running)
    for number in range(4):
        start, page = struct.pack(">2I", 1, 1), bytes([number]) * 512
        running = checksum(page, checksum(start, running))
        content += start + struct.pack(">4I", *salts, *running) + page
    assert damaged_frame(content) is None
    damaged = bytearray(content)
    damaged[HEADER.size + FRAME.size + 10] ^= 1
    assert damaged_frame(bytes(damaged)) == 1
