"""Files of an SQLite database: modes, links, whether they are still the same ones, and a file with one owner at a time.

The needs of journals are tested in `tests/journal/test_sqlite.py`.
"""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from brokerage_async.journal import JournalError, SqliteJournal
from brokerage_async.storage.sqlite_file import prepare
from brokerage_async.storage.subject import Subject
from brokerage_async.watch import SqliteState, WatchStateError
from tests.http.calls import raised_by
from tests.journal_servers import key
from tests.protocol.values import raised
from tests.tables import for_each

SUBJECT = Subject(kind="journal", name="j", error=JournalError)
KEY, OTHER = key("one"), key("two")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def make(path: Path, mode: int) -> None:
    path.touch()
    path.chmod(mode)


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.replace(path)


CHANGES = [
    (move, "", "moved or deleted"),
    (Path.unlink, "", "moved or deleted"),
    (replace, "", "replaced"),
    (Path.unlink, "-wal", "moved or deleted"),
    (replace, "-wal", "replaced"),
    (Path.unlink, "-shm", "moved or deleted"),
    (lambda path: move(path.parent), "", "moved or deleted"),
]


@pytest.mark.parametrize(("change", "suffix", "reason"), CHANGES)
async def test_a_changed_file_is_noticed_before_the_next_entry_is_written(
    tmp_path: Path, change: Callable[[Path], None], suffix: str, reason: str
) -> None:
    path = tmp_path / "folder" / "orders.journal"
    path.parent.mkdir()
    async with SqliteJournal(path) as journal:
        await journal.open(KEY, b"", owner="a", lease=30)
        change(Path(f"{path}{suffix}"))
        said = rf"orders\.journal{suffix} was {reason} after it was opened: close the journal"
        for _ in range(2):
            await raised_by(journal.open(OTHER, b"", owner="a", lease=30), JournalError, said)


async def test_a_file_that_is_moved_while_an_entry_is_written_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "orders.journal"
    async with SqliteJournal(path) as journal:
        await journal.now()
        check = journal._file._check_files

        def check_and_move() -> None:
            monkeypatch.undo()
            check()
            path.rename(tmp_path / "elsewhere")

        monkeypatch.setattr(journal._file, "_check_files", check_and_move)
        await raised_by(journal.open(KEY, b"", owner="a", lease=30), JournalError, "moved or deleted")
    async with SqliteJournal(tmp_path / "elsewhere") as journal:
        assert await journal.find(KEY) is None, "a recovery would not find the entry: its order must not be sent"


async def test_a_link_is_followed_and_its_target_watched(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "data" / "target"
    target.parent.mkdir()
    link.symlink_to(target)
    async with SqliteJournal(link) as journal:
        await journal.open(KEY, b"", owner="a", lease=30)
        assert [mode_of(target), mode_of(Path(f"{target}-wal"))] == [0o600, 0o600]
        link.unlink()
        link.symlink_to(tmp_path / "another")
        make(tmp_path / "another", 0o600)
        await raised_by(journal.open(OTHER, b"", owner="a", lease=30), JournalError, "link was replaced")


async def test_a_file_that_others_can_access_is_used_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "orders.journal"
    make(path, 0o640)
    with caplog.at_level(logging.WARNING):
        async with SqliteJournal(path) as journal:
            await journal.open(KEY, b"", owner="a", lease=30)
            await journal.open(OTHER, b"", owner="a", lease=30)
    (record,) = caplog.records
    assert record.getMessage() == f"{path} can be accessed by other users (mode 0640): chmod 600 keeps it private"
    assert mode_of(path) == 0o640, "its owner may have shared it on purpose"


def test_side_files_that_others_can_access_are_named_as_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, mode in (("j", 0o600), ("j-wal", 0o604), ("j-shm", 0o660)):
        make(tmp_path / name, mode)
    prepare(tmp_path / "j", SUBJECT)
    assert [record.getMessage().split(" can")[0] for record in caplog.records] == [
        str(tmp_path / "j-wal"),
        str(tmp_path / "j-shm"),
    ]


def link(path: Path) -> None:
    path.symlink_to(path.with_name("other"))


@for_each("name, make", [*((name, os.mkfifo) for name in ("j", "j-wal", "j-shm")), ("j-wal", link)])
def test_what_is_not_a_regular_file_is_refused(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    make(tmp_path / name)
    raised(JournalError, prepare, tmp_path / "j", SUBJECT, match=f"{name} must be a regular file")
    (tmp_path / name).unlink()


def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        prepare(tmp_path / "j", SUBJECT)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "j") == 0o600


async def test_file_of_one_owner_that_was_moved_is_noticed(tmp_path: Path) -> None:
    state = SqliteState(tmp_path / "t.db")
    await state.open("orders")
    assert not (tmp_path / "t.db-shm").exists(), "one owner needs no shared index"
    (tmp_path / "t.db").rename(tmp_path / "elsewhere")
    said = "was moved or deleted after it was opened: close the watch state"
    await raised_by(state.acknowledge([1]), WatchStateError, said)
    await state.aclose()
