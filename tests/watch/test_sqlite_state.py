"""The state of a watcher in a file; `test_durable.py` tests how watchers use it."""

import gc
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import attrs
import pytest

from brokerage_async.watch import SqliteState, Standing, StoredChange, WatchStateError

ADDED = StoredChange(sequence=1, key="a", kind="added", at="2026-03-02T12:00:00+00:00", before=None, after=b"1")
CHANGED = attrs.evolve(ADDED, sequence=2, kind="changed", before=b"1", after=b"2")
REMOVED = attrs.evolve(ADDED, sequence=3, kind="removed", before=b"2", after=None)


async def opened(path: Path) -> SqliteState:
    state = SqliteState(path)
    await state.open("orders")
    return state


async def content(path: Path) -> Standing:
    state = SqliteState(path)
    try:
        return await state.open("orders")
    finally:
        await state.aclose()


async def test_open_returns_what_was_reported_and_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "watch.db"
    state = SqliteState(path)
    assert not path.exists()
    assert repr(state) == f"SqliteState({str(path)!r})"
    fresh = await state.open("orders")
    assert (fresh.begun, fresh.items, fresh.reported, fresh.sequence) == (frozenset(), {}, (), 0)
    await state.report([ADDED, attrs.evolve(CHANGED, key="b")], {"A1": {"z": b"9"}, "B2": {}})
    await state.acknowledge([1])
    await state.acknowledge([1])
    await state.aclose()
    await state.aclose()
    assert path.stat().st_mode & 0o077 == 0
    found = await content(path)
    assert found.identity == fresh.identity
    assert found.begun == {"A1", "B2"}
    assert found.items == {"z": b"9", "a": b"1"}
    assert found.reported == (attrs.evolve(CHANGED, key="b"),)
    assert found.sequence == 2


async def test_acknowledge_removal_leaves_nothing_of_the_item(tmp_path: Path) -> None:
    state = await opened(tmp_path / "watch.db")
    await state.report([ADDED], {})
    await state.acknowledge([1])
    await state.report([REMOVED], {})
    await state.acknowledge({3})
    await state.aclose()
    found = await content(tmp_path / "watch.db")
    assert (found.items, found.reported, found.sequence) == ({}, (), 3)


async def test_open_second_watcher_is_rejected_while_the_first_has_the_file(tmp_path: Path) -> None:
    state = await opened(tmp_path / "watch.db")
    for other in (SqliteState(tmp_path / "watch.db"), state):
        with pytest.raises(WatchStateError, match=r"watch\.db cannot be used: another watcher has it open: close that"):
            await other.open("orders")
    await state.report([ADDED], {})
    await state.aclose()
    assert (await content(tmp_path / "watch.db")).sequence == 1


async def test_open_for_another_feed_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "watch.db"
    await content(path)
    with pytest.raises(WatchStateError, match="belongs to the watcher of orders, not of positions: give each a file"):
        await SqliteState(path).open("positions")
    await content(path)


def raise_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 3] = b"\xff" * (4096 * 2)
    path.write_bytes(data)


def other_kind(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE entries (a)")
    connection.close()


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (raise_version, "its version 2 must be at most 1: use the release that wrote it"),
        (truncate, "database disk image is malformed"),
        (scribble, "database disk image is malformed"),
        (other_kind, "it is a database of another kind"),
        (lambda path: path.write_bytes(b"no database at all" * 100), "not a database"),
    ],
)
async def test_open_unusable_file_is_rejected_and_left_alone(tmp_path: Path, damage: object, reason: str) -> None:
    path = tmp_path / "watch.db"
    state = await opened(path)
    many = [attrs.evolve(ADDED, sequence=n, key=f"k{n}", after=b"x" * 500) for n in range(1, 200)]
    await state.report(many, {})
    await state.aclose()
    assert callable(damage)
    damage(path)
    before = path.read_bytes()
    with pytest.raises(WatchStateError, match=reason):
        await SqliteState(path).open("orders")
    assert path.read_bytes() == before


async def test_log_of_a_crashed_process_is_read_and_damage_in_it_found(tmp_path: Path) -> None:
    path, copy = tmp_path / "watch.db", tmp_path / "copy.db"
    state = await opened(path)
    for number in range(1, 6):
        await state.report([attrs.evolve(ADDED, sequence=number)], {})
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    await state.aclose()
    flip(Path(f"{copy}-wal"))
    with pytest.raises(WatchStateError, match=r"is damaged: its write-ahead log copy\.db-wal is broken at frame 1"):
        await SqliteState(copy).open("orders")
    flip(Path(f"{copy}-wal"))
    assert len((await content(copy)).reported) == 5


async def test_full_disk_is_reported_and_nothing_is_half_written(tmp_path: Path) -> None:
    state = await opened(tmp_path / "watch.db")
    file = state._file
    pages = await file.run(lambda connection: int(connection.execute("PRAGMA page_count").fetchone()[0]))
    await file.run(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchall())
    many = [attrs.evolve(ADDED, sequence=n, after=b"x" * 10_000) for n in range(1, 9)]
    with pytest.raises(WatchStateError, match="database or disk is full"):
        await state.report(many, {})
    await file.run(lambda connection: connection.execute("PRAGMA max_page_count = 10000").fetchall())
    assert (await file.run(lambda connection: connection.execute("SELECT count(*) FROM reported").fetchone())) == (0,)
    await state.report(many, {})
    await state.aclose()
    assert (await content(tmp_path / "watch.db")).sequence == 8


async def test_closed_state_says_so_and_can_be_opened_again(tmp_path: Path) -> None:
    state = SqliteState(tmp_path / "watch.db")
    with pytest.raises(WatchStateError, match=r"the watch state .*watch\.db is closed"):
        await state.report([ADDED], {})
    await state.open("orders")
    await state.aclose()
    with pytest.raises(WatchStateError, match="is closed"):
        await state.acknowledge([1])
    await state.open("orders")
    await state.aclose()


async def test_dropped_state_releases_file_and_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    state = await opened(tmp_path / "watch.db")
    (own,) = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("watch state")]
    del state
    gc.collect()
    own.join(10)
    assert not own.is_alive()
    await content(tmp_path / "watch.db")
