"""States of watchers: their form, their file, and changes that are acknowledged, or reported after a restart."""

import asyncio
import gc
import logging
import random
import sqlite3
import threading
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import attrs
import pytest

from brokerage_async.errors import ConfigurationError, ServerError
from brokerage_async.models import Order, OrderStatus
from brokerage_async.watch import (
    AccountsWatcher,
    AlertKind,
    Change,
    ChangeKind,
    PositionKey,
    SqliteState,
    Standing,
    StoredChange,
    Watcher,
    WatchStateError,
    poll,
)
from brokerage_async.watch.feed import Cursor, Feed, Schedule
from brokerage_async.watch.poll import MAX_BATCH, MAX_UNACKNOWLEDGED
from brokerage_async.watch.state import ItemCodec
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import NOON, quiet

pytestmark = pytest.mark.virtual_time

by_id, account_key = itemgetter("id"), itemgetter("account", "id")

Item = dict[str, Any]
Brief = tuple[str, str, Any, Any]


@for_each(
    "key, expected",
    [
        ("a", '"a"'),
        (1, "1"),
        ("1", '"1"'),
        (date(2026, 3, 2), '"2026-03-02"'),
        (PositionKey("A1", "AAPL", "Equity"), '["A1","AAPL","Equity"]'),
    ],
)
def test_key_text_distinguishes_keys(key: Any, expected: str) -> None:
    assert ItemCodec[Any](None).text_of(key) == expected
    with pytest.raises(ConfigurationError, match="a watcher with a state must be str, int, date or tuple, got <obj"):
        ItemCodec[Any](None).text_of(object())


def test_store_models_are_restored_as_equal_changes_with_every_digit_of_unknown_fields() -> None:
    """A service may add a field at any time, and its fractions are decimals in ``extra``."""
    extra = {"fee": Decimal("0.12345678901234567890"), "rates": [{"rate": Decimal("1.50"), "name": "a"}, 1]}
    before = Order(id="7", price=Decimal("1.50"), status=OrderStatus.LIVE, received_at=NOON, extra=extra)
    after = Order(id="7", price=Decimal("1.55"), status=OrderStatus("Brand New"))
    change = Change(kind=ChangeKind.CHANGED, key="7", before=before, after=after, at=NOON)
    codec: ItemCodec[Order] = ItemCodec(lambda order: order.id, Order)
    restored = codec.restore(codec.store(change, 1))
    assert (restored, str(restored.before.extra)) == (change, str(extra))
    assert codec.read(codec.text_of("7"), codec.encode(before)) == ("7", before)


def test_restore_gives_the_kind_and_needs_an_item() -> None:
    codec: ItemCodec[Any] = ItemCodec(by_id)
    stored = StoredChange(
        sequence=3, key='"a"', kind="dismissed", at=NOON.isoformat(), before=None, after=b'{"id":"a"}'
    )
    assert codec.restore(stored).kind is AlertKind.DISMISSED
    with pytest.raises(WatchStateError, match="change 3 of the watch state holds no item"):
        codec.restore(attrs.evolve(stored, after=None))
    with pytest.raises(WatchStateError, match="change 3 of the watch state holds no item or time"):
        codec.restore(attrs.evolve(stored, at="noon"))


@for_each("item", [{"id": "a", "at": NOON}, {"id": ("a", 1)}, {"id": "a", 1: 2}, {"id": float("nan")}])
def test_store_item_that_json_or_its_type_does_not_keep_is_rejected(item: Any) -> None:
    for item_type in (None, Order):
        with pytest.raises(ConfigurationError, match=r"items must be JSON values, got dict.*: pass item_type"):
            ItemCodec[Any](by_id, item_type).encode(item)


@for_each("item_type, data", [(None, b'{"id":'), (Order, b"7")])
def test_decode_unreadable_item_is_a_state_error(item_type: Any, data: bytes) -> None:
    with pytest.raises(WatchStateError, match="an item of the watch state cannot be read"):
        ItemCodec[Any](by_id, item_type).read('"a"', data)


CHANGE = StoredChange(sequence=7, key="a", kind="changed", at="2026-03-02T12:00:00+00:00", before=b"1", after=b"2")


def test_idempotency_key_is_that_of_the_change_in_its_state() -> None:
    key = CHANGE.idempotency_key("s")
    assert key == attrs.evolve(CHANGE, at="2026-03-03T12:00:00+00:00").idempotency_key("s")
    others = [{"sequence": 8}, {"key": "b"}, {"kind": "added"}, {"before": None}, {"before": b"12", "after": b""}]
    keys = {attrs.evolve(CHANGE, **other).idempotency_key("s") for other in others}  # type: ignore[arg-type]
    assert len({key, *keys, CHANGE.idempotency_key("t")}) == len(others) + 2
    assert len(key) == 32


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


def raise_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()


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


@pytest.mark.virtual_time(False)
class TestSqliteState:
    async def test_open_returns_what_was_reported_and_acknowledged(self, tmp_path: Path) -> None:
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

    async def test_acknowledge_removal_leaves_nothing_of_the_item(self, tmp_path: Path) -> None:
        state = await opened(tmp_path / "watch.db")
        await state.report([ADDED], {})
        await state.acknowledge([1])
        await state.report([REMOVED], {})
        await state.acknowledge({3})
        await state.aclose()
        found = await content(tmp_path / "watch.db")
        assert (found.items, found.reported, found.sequence) == ({}, (), 3)

    async def test_open_second_watcher_is_rejected_while_the_first_has_the_file(self, tmp_path: Path) -> None:
        state = await opened(tmp_path / "watch.db")
        for other in (SqliteState(tmp_path / "watch.db"), state):
            with pytest.raises(
                WatchStateError, match=r"watch\.db cannot be used: another watcher has it open: close that"
            ):
                await other.open("orders")
        await state.report([ADDED], {})
        await state.aclose()
        assert (await content(tmp_path / "watch.db")).sequence == 1

    async def test_open_for_another_feed_is_rejected(self, tmp_path: Path) -> None:
        path = tmp_path / "watch.db"
        await content(path)
        with pytest.raises(
            WatchStateError, match="belongs to the watcher of orders, not of positions: give each a file"
        ):
            await SqliteState(path).open("positions")
        await content(path)

    @pytest.mark.parametrize(
        ("damage", "reason"),
        [
            (raise_version, "its version 2 must be at most 1: use the release that wrote it"),
            (scribble, "database disk image is malformed"),
            (other_kind, "it is a database of another kind"),
            (lambda path: path.write_bytes(b"no database at all" * 100), "not a database"),
        ],
    )
    async def test_open_unusable_file_is_rejected_and_left_alone(
        self, tmp_path: Path, damage: object, reason: str
    ) -> None:
        path = tmp_path / "watch.db"
        state = await opened(path)
        many = [attrs.evolve(ADDED, sequence=n, key=f"k{n}", after=b"x" * 500) for n in range(1, 200)]
        await state.report(many, {})
        await state.aclose()
        assert callable(damage)
        damage(path)
        before = path.read_bytes()
        await raised_by(SqliteState(path).open("orders"), WatchStateError, reason)
        assert path.read_bytes() == before

    async def test_full_disk_is_reported_and_nothing_is_half_written(self, tmp_path: Path) -> None:
        state = await opened(tmp_path / "watch.db")
        file = state._file
        pages = await file.run(lambda connection: int(connection.execute("PRAGMA page_count").fetchone()[0]))
        await file.run(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchall())
        many = [attrs.evolve(ADDED, sequence=n, after=b"x" * 10_000) for n in range(1, 9)]
        await raised_by(state.report(many, {}), WatchStateError, "database or disk is full")
        await file.run(lambda connection: connection.execute("PRAGMA max_page_count = 10000").fetchall())
        assert (await file.run(lambda connection: connection.execute("SELECT count(*) FROM reported").fetchone())) == (
            0,
        )
        await state.report(many, {})
        await state.aclose()
        assert (await content(tmp_path / "watch.db")).sequence == 8

    async def test_closed_state_says_so_and_can_be_opened_again(self, tmp_path: Path) -> None:
        state = SqliteState(tmp_path / "watch.db")
        await raised_by(state.report([ADDED], {}), WatchStateError, r"the watch state .*watch\.db is closed")
        await state.open("orders")
        await state.aclose()
        await raised_by(state.acknowledge([1]), WatchStateError, "is closed")
        await state.open("orders")
        await state.aclose()

    async def test_dropped_state_releases_file_and_thread(self, tmp_path: Path) -> None:
        before = set(threading.enumerate())
        state = await opened(tmp_path / "watch.db")
        (own,) = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("watch state")]
        del state
        gc.collect()
        own.join(10)
        assert not own.is_alive()
        await content(tmp_path / "watch.db")


class Lists:
    """The collection as a brokerage would answer it, set by the test."""

    def __init__(self, **rows: int) -> None:
        self.rows: dict[str, int] = rows

    async def __call__(self) -> Iterable[Item]:
        return [{"id": name, "n": n} for name, n in self.rows.items()]


def watch(lists: Lists, state: MemoryState, key: Any = by_id, **options: Any) -> Watcher[Item]:
    return poll(lists, key=key, interval=1.0, state=state, name="things", **options)


def brief(change: Change[Item]) -> Brief:
    return change.kind, change.key, change.before and change.before["n"], change.after and change.after["n"]


async def take(watcher: Watcher[Item], count: int, *, ack: bool = True) -> list[Brief]:
    found = []
    for _ in range(count):
        change = await anext(watcher)
        if ack:
            await change.ack()
        found.append(brief(change))
    return found


@for_each("key_of", [str, ord, lambda name: date(2026, 3, ord(name) - 96), lambda name: () if name == "a" else (name,)])
async def test_restart_reports_what_changed_since_the_last_acknowledged_state(key_of: Any) -> None:
    lists, state, options = Lists(a=1, b=1, c=1), MemoryState(), {"key": lambda item: key_of(item["id"])}
    a, b, c, d = map(key_of, "abcd")
    async with watch(lists, state, **options) as watcher:
        assert await take(watcher, 3) == [("added", key, None, 1) for key in (a, b, c)]
        await quiet(watcher)
        assert watcher.snapshot[a] == {"id": "a", "n": 1}
    lists.rows = {"a": 1, "b": 5, "d": 1}
    async with watch(lists, state, initial=False, **options) as watcher:
        assert await take(watcher, 3) == [("changed", b, 1, 5), ("added", d, None, 1), ("removed", c, 1, None)]
        await quiet(watcher)
    assert (len(state.items), state.is_open) == (3, False)


async def test_unacknowledged_change_is_reported_again_as_it_was() -> None:
    lists, state = Lists(a=1), MemoryState()
    async with watch(lists, state) as watcher:
        await take(watcher, 1)
        lists.rows = {"a": 2}
        first = await anext(watcher)
    lists.rows = {"a": 3}
    async with watch(lists, state) as watcher:
        again = await anext(watcher)
        assert again == first
        assert again.kind is ChangeKind.CHANGED
        assert again.idempotency_key == first.idempotency_key is not None
        await again.ack()
        following = await anext(watcher)
        assert brief(following) == ("changed", "a", 2, 3)
        assert following.idempotency_key != first.idempotency_key


async def test_initial_false_and_seed_count_for_an_empty_state_only() -> None:
    lists, state = Lists(a=1, b=1), MemoryState()
    async with watch(lists, state, initial=False) as watcher:
        await quiet(watcher)
    lists.rows = {"a": 2, "b": 1, "c": 1}
    async with watch(lists, state, initial=False, seed=[{"id": "z", "n": 1}]) as watcher:
        assert await take(watcher, 2) == [("changed", "a", 1, 2), ("added", "c", None, 1)]
        await quiet(watcher)
    fresh = MemoryState()
    async with watch(lists, fresh, seed=[{"id": "a", "n": 2}, {"id": "b", "n": 0}]) as watcher:
        assert await take(watcher, 2) == [("changed", "b", 0, 1), ("added", "c", None, 1)]


async def test_next_change_of_a_key_waits_for_the_acknowledgement_and_coalesces() -> None:
    lists, state = Lists(a=1, b=1), MemoryState()
    async with watch(lists, state) as watcher:
        first, other = await anext(watcher), await anext(watcher)
        for n in (2, 3, 4):
            lists.rows = {"a": n, "b": n}
            await quiet(watcher, 1.5)
        await other.ack()
        assert await take(watcher, 1) == [("changed", "b", 1, 4)]
        waiting = asyncio.create_task(anext(watcher))
        await asyncio.sleep(5)
        assert not waiting.done()
        await first.ack()
        assert brief(await waiting) == ("changed", "a", 1, 4)
        assert len(state.reported) == 1


async def test_change_that_is_undone_before_the_acknowledgement_is_not_reported() -> None:
    lists, state = Lists(a=1), MemoryState()
    async with watch(lists, state) as watcher:
        change = await anext(watcher)
        for n in (2, 1):
            lists.rows = {"a": n}
            await quiet(watcher, 1.5)
        assert watcher.snapshot == {"a": {"id": "a", "n": 1}}
        await change.ack()
        await quiet(watcher)
    assert (len(state.items), state.reported) == (1, {})


async def test_snapshot_has_the_items_as_last_reported() -> None:
    lists, state = Lists(a=1, b=1), MemoryState()
    async with watch(lists, state) as watcher:
        first = [await anext(watcher) for _ in range(2)]
        lists.rows = {"a": 2, "c": 1}
        assert brief(await anext(watcher)) == ("added", "c", None, 1)
        assert {key: item["n"] for key, item in watcher.snapshot.items()} == {"a": 1, "b": 1, "c": 1}
        for change in first:
            await change.ack()
        assert await take(watcher, 2) == [("changed", "a", 1, 2), ("removed", "b", 1, None)]
        assert {key: item["n"] for key, item in watcher.snapshot.items()} == {"a": 2, "c": 1}


async def test_async_with_acknowledges_unless_the_block_raises() -> None:
    lists, state = Lists(a=1, b=1), MemoryState()
    async with watch(lists, state) as watcher:
        async with await anext(watcher) as change:
            assert state.acknowledged == []
        assert change.key == "a"
        with pytest.raises(LookupError):
            async with await anext(watcher):
                raise LookupError
    assert [each.key for each in state.acknowledged] == ['"a"']
    assert [each.key for each in state.reported.values()] == ['"b"']
    async with poll(lists, key=lambda item: str(item["id"]), interval=1.0) as watcher:  # without a state
        async with await anext(watcher) as change:
            assert change.idempotency_key is None
        await change.ack()


async def test_ack_repeated_or_concurrent_is_written_once() -> None:
    lists, state = Lists(**{f"k{n}": 1 for n in range(50)}), MemoryState()
    async with watch(lists, state) as watcher:
        changes = [await anext(watcher) for _ in range(50)]
        await asyncio.gather(*(change.ack() for change in (*changes, *changes)))
        await asyncio.gather(*(change.ack() for change in changes))
    assert (len(state.acknowledged), state.writes) == (50, 2)  # 50 changes, 32 at a time


async def test_failing_state_raises_and_loses_nothing() -> None:
    lists, state = Lists(a=1), MemoryState()
    state.failing = True
    async with watch(lists, state) as watcher:
        for _ in range(2):
            await raised_by(anext(watcher), WatchStateError, "full")
        state.failing = False
        change = await anext(watcher)
        lists.rows, state.failing = {"a": 1, "b": 1}, True
        for call in (change.ack, watcher.__anext__):
            await raised_by(call(), WatchStateError, "full")
        state.failing = False
        assert await take(watcher, 1) == [("added", "b", None, 1)]  # and writes what could not be acknowledged
    assert [each.sequence for each in state.acknowledged] == [1, 2]


class Slow(MemoryState):
    """Takes a second for each write."""

    async def report(self, changes: Any, begun: Any) -> None:
        await asyncio.sleep(1)
        await super().report(changes, begun)

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        wanted = list(sequences)
        await asyncio.sleep(1)
        await super().acknowledge(wanted)


async def test_cancelled_anext_and_ack_are_completed_by_themselves() -> None:
    lists, state = Lists(a=1), Slow()
    async with watch(lists, state) as watcher:
        for _ in range(2):
            await quiet(watcher, 0.4)
        change = await anext(watcher)
        assert (change.key, state.sequence) == ("a", 1)
        await raised_by(asyncio.wait_for(change.ack(), 0.5), TimeoutError)
        assert state.acknowledged == []
        await asyncio.sleep(1)
        assert len(state.acknowledged) == 1
        await change.ack()
        lists.rows = {"a": 2}
        acking = asyncio.create_task((await anext(watcher)).ack())
        await asyncio.sleep(0.5)
    await acking
    assert len(state.acknowledged) == 2, "closing waits for the write under way"


async def test_acks_asked_for_during_a_write_share_the_next_one() -> None:
    async with watch(Lists(**{f"k{n}": 1 for n in range(9)}), Slow()) as watcher:
        changes = [await anext(watcher) for _ in range(9)]
        began = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as acks:
            for number, change in enumerate(changes):
                acks.create_task(change.ack())
                await asyncio.sleep(0.1 * (number < 2))
        assert asyncio.get_running_loop().time() - began == pytest.approx(2)


async def test_ack_after_the_watcher_was_closed_says_so() -> None:
    lists, state = Lists(a=1), MemoryState()
    async with watch(lists, state) as watcher:
        change = await anext(watcher)
    await raised_by(change.ack(), WatchStateError, "the watcher is closed")
    async with watch(lists, state) as watcher:
        assert await anext(watcher) == change


async def test_dropped_watcher_ends_its_polls_even_while_a_change_is_kept() -> None:
    lists, state = Lists(a=1), MemoryState()
    watcher = watch(lists, state)
    change = await anext(watcher)
    lists.rows, state.failing = {"a": 1, "b": 1}, True
    await raised_by(take(watcher, 1), WatchStateError, "full")
    del watcher
    with pytest.warns(ResourceWarning, match="dropped"):
        gc.collect()  # the error was raised through frames that hold the watcher
    state.failing = False
    await asyncio.sleep(0.1)
    assert [task.get_name() for task in asyncio.all_tasks() if "poll" in task.get_name()] == []
    await change.ack()
    assert len(state.acknowledged) == 1
    released = weakref.ref(state)
    del state, change
    assert released() is None


async def test_forgotten_acknowledgement_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    lists, state = Lists(a=1), MemoryState()
    async with watch(lists, state) as watcher:
        await anext(watcher)
        for n in range(int(MAX_UNACKNOWLEDGED) + 10):
            lists.rows = {"a": 2 + n}
            await quiet(watcher, 1.0)
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert record.getMessage() == "changes of 'a' wait until the last one is acknowledged: await change.ack()"


def derive(change: Change[Item]) -> list[Change[Item]]:
    return [change, change] if change.kind == ChangeKind.ADDED else []


def durable(lists: Lists, state: MemoryState, **options: Any) -> Watcher[Item]:
    feed: Feed[Item] = Feed(lists, key=by_id, schedule=Schedule(interval=1.0), **options)
    return Watcher({"": Cursor(feed)}, state=state, name="things", codec=ItemCodec(by_id))


async def test_derived_changes_are_stored_together_and_follow_one_another() -> None:
    lists, state = Lists(a=1), MemoryState()
    async with durable(lists, state, derive=derive) as watcher:
        one = await anext(watcher)
        assert sorted(state.reported) == [1, 2]
        await quiet(watcher)
        await one.ack()
    async with durable(lists, state, derive=derive) as watcher:
        two = await anext(watcher)
        assert two.idempotency_key != one.idempotency_key
        await two.ack()
        lists.rows = {"a": 2}
        await quiet(watcher)  # derived to nothing


async def test_change_is_reported_at_once_though_many_before_it_are_derived_to_nothing() -> None:
    lists, state = Lists(**{f"k{n}": 1 for n in range(5001)}), MemoryState()
    async with durable(lists, state, derive=lambda change: [change] if change.key == "k5000" else []) as watcher:
        await asyncio.wait_for(anext(watcher), 0.5)


async def test_many_derived_changes_are_not_split_by_a_crash() -> None:
    lists, state = Lists(**{f"k{n}": 1 for n in range(MAX_BATCH)}), MemoryState()
    async with durable(lists, state, derive=lambda change: [change] * 3) as watcher:
        await anext(watcher)
        assert len(state.reported) == MAX_BATCH + 1


async def test_crash_leaves_no_part_begun_without_its_first_change() -> None:
    def part(number: int) -> Cursor[Item]:
        schedule = Schedule(interval=1.0)
        return Cursor(Feed(Lists(a=1, b=1), key=lambda each: (str(number), each["id"]), schedule=schedule))

    parts, state = {str(number): part(number) for number in range(2 * MAX_BATCH)}, MemoryState()
    async with Watcher(parts, state=state, name="things", codec=ItemCodec(None)) as watcher:
        await anext(watcher)
        assert {each.key.split('"')[1] for each in state.reported.values()} == state.begun


async def test_last_state_worth_keeping_is_reported_before_the_removal() -> None:
    lists, state = Lists(a=1), MemoryState()
    async with durable(lists, state, keep=lambda item: bool(item["n"] == 9)) as watcher:
        first = await anext(watcher)
        for rows in ({"a": 2}, {"a": 9, "b": 9, "c": 1}, {}):
            lists.rows = rows
            await asyncio.sleep(1)
        await first.ack()
        assert await take(watcher, 4) == [
            ("changed", "a", 1, 9),
            ("added", "b", None, 9),
            ("removed", "a", 9, None),
            ("removed", "b", 9, None),
        ]
        await quiet(watcher)
    assert (state.items, state.reported) == ({}, {})


class Account(Lists):
    """Rows of one account. Each item has a version that alone is not worth a report, and fails at times."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.version = 0
        self.failure: Exception | None = None

    def change(self, chance: random.Random) -> None:
        if chance.random() < 0.8:
            self.rows = {name: chance.choice([1, 2, 9]) for name in "abc" if chance.random() < 0.7}
        self.version = chance.randrange(3)
        self.failure = ServerError("down", status=503) if chance.random() < 0.1 else None

    async def __call__(self) -> Iterable[Item]:
        if self.failure is not None:
            raise self.failure
        return [{"id": name, "n": n, "account": self.name, "version": self.version} for name, n in self.rows.items()]


def unless_version(change: Change[Item]) -> list[Change[Item]]:
    is_noise = change.before is not None and change.after is not None and change.before["n"] == change.after["n"]
    return [] if is_noise else [change]


def watch_accounts(accounts: list[Account], state: MemoryState) -> Watcher[Item]:
    options: Any = {"key": account_key, "schedule": Schedule(interval=1.0), "derive": unless_version}
    options["keep"] = lambda item: item["n"] == 9
    parts = {each.name: Cursor[Item](Feed(each, **options)) for each in accounts}
    codec = ItemCodec(account_key)
    return AccountsWatcher(parts, on_error=lambda error: None, state=state, name="things", codec=codec)


async def play(chance: random.Random) -> None:
    """Crash at random points while the lists of two accounts change and fail. Check the acknowledged changes."""
    state, accounts, done = MemoryState(), [Account("X"), Account("Y")], dict[Any, Item]()
    reported: dict[str, Change[Item]] = {}
    keys: list[str] = []
    for _ in range(12):
        async with watch_accounts(accounts, state) as watcher:
            changes: list[Change[Item]] = []
            for _ in range(chance.randrange(1, 10)):
                for account in accounts:
                    account.change(chance)
                try:
                    change = await asyncio.wait_for(anext(watcher), chance.choice([0.1, 1.5, 2.5]))
                except TimeoutError:
                    continue
                assert change.idempotency_key is not None
                assert reported.setdefault(change.idempotency_key, change) == change
                changes.append(change)
                assert len({each.key for each in changes}) == len(changes), "one change of a key is open"
                if chance.random() < 0.7:
                    await finish(changes.pop(chance.randrange(len(changes))), done, keys)
    for account in accounts:
        account.failure = None
    for _ in range(2):  # the first run brings the consumer up to date
        async with watch_accounts(accounts, state) as watcher:
            while True:
                try:
                    change = await asyncio.wait_for(anext(watcher), 6)
                except TimeoutError:
                    break
                await finish(change, done, keys)
    latest = {(account.name, name): n for account in accounts for name, n in account.rows.items()}
    assert {key: item["n"] for key, item in done.items()} == latest
    assert len(keys) == len(set(keys)), "each change is acknowledged once"
    assert state.reported == {}
    assert len(state.items) == len(latest)


async def finish(change: Change[Item], done: dict[Any, Item], keys: list[str]) -> None:
    """Acknowledge a change, which begins where the last one of its key ended."""
    before = done.pop(change.key, None)
    assert (before and before["n"]) == (change.before and change.before["n"])
    if change.after is not None:
        done[change.key] = change.after
    assert change.idempotency_key is not None
    keys.append(change.idempotency_key)
    await change.ack()


@for_each("seed", range(10))
async def test_random_changes_and_crashes_keep_every_key_in_order(seed: int) -> None:
    await play(random.Random(seed))


async def test_cancelled_aclose_releases_the_state_by_itself() -> None:
    state = Slow()
    watcher = watch(Lists(a=1), state)
    change = await anext(watcher)
    acking = asyncio.create_task(change.ack())
    await asyncio.sleep(0.5)
    await raised_by(asyncio.wait_for(watcher.aclose(), 0.1), TimeoutError)
    await acking
    await asyncio.sleep(0.1)
    assert not state.is_open
    async with watch(Lists(a=1, b=2), state) as successor:
        assert await take(successor, 1) == [("added", "b", None, 2)]


async def test_ack_in_another_event_loop_is_rejected_and_changes_nothing() -> None:
    lists, state = Lists(a=1), MemoryState()
    async with watch(lists, state) as watcher:
        change = await anext(watcher)
        with ThreadPoolExecutor(1) as thread:
            outcome = thread.submit(asyncio.run, change.ack())
            raised(ConfigurationError, outcome.result, match="belongs to the event loop of its watcher")
        assert state.acknowledged == []
        await change.ack()
        assert len(state.acknowledged) == 1


async def test_change_without_a_stored_form_raises_and_is_in_the_snapshot() -> None:
    lists = Lists(a=float("nan"))  # type: ignore[arg-type]  # what JSON cannot hold
    async with watch(lists, MemoryState()) as watcher:
        await raised_by(anext(watcher), ConfigurationError, "items must be JSON values")
        assert list(watcher.snapshot) == ["a"]
