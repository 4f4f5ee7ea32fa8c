"""Watchers with a state: changes that are reported after a restart, held back, and acknowledged."""

import asyncio
import logging
import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError, ServerError
from brokerage_async.watch import AccountsWatcher, Change, ChangeKind, Watcher, WatchStateError, poll
from brokerage_async.watch.feed import Cursor, Feed, Schedule
from brokerage_async.watch.state import MAX_BATCH, MAX_UNACKNOWLEDGED, ItemCodec
from tests.tables import for_each
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import quiet

Item = dict[str, Any]
Brief = tuple[str, str, Any, Any]

pytestmark = pytest.mark.virtual_time


class Lists:
    """The collection as a brokerage would answer it, set by the test."""

    def __init__(self, **rows: int) -> None:
        self.rows: dict[str, int] = rows

    async def __call__(self) -> Iterable[Item]:
        return [{"id": name, "n": n} for name, n in self.rows.items()]


def watch(lists: Lists, state: MemoryState, **options: Any) -> Watcher[Item]:
    return poll(lists, key=lambda item: str(item["id"]), interval=1.0, state=state, name="things", **options)


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


async def test_restart_reports_what_changed_since_the_last_acknowledged_state() -> None:
    lists, state = Lists(a=1, b=1, c=1), MemoryState()
    async with watch(lists, state) as watcher:
        assert await take(watcher, 3) == [("added", name, None, 1) for name in "abc"]
        await quiet(watcher)
        assert watcher.snapshot["a"] == {"id": "a", "n": 1}
    assert not state.is_open
    lists.rows = {"a": 1, "b": 5, "d": 1}
    async with watch(lists, state, initial=False) as watcher:
        assert await take(watcher, 3) == [("changed", "b", 1, 5), ("added", "d", None, 1), ("removed", "c", 1, None)]
        await quiet(watcher)
    assert sorted(state.items) == ['"a"', '"b"', '"d"']


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


@for_each("crashed", [False, True])
async def test_item_that_left_before_its_acknowledgement_is_removed_after_it(crashed: bool) -> None:
    lists, state = Lists(a=1), MemoryState()
    async with watch(lists, state) as watcher:
        change = await anext(watcher)
        lists.rows = {}
        if not crashed:
            await quiet(watcher)
            await change.ack()
            assert await take(watcher, 1) == [("removed", "a", 1, None)]
    if crashed:
        async with watch(lists, state) as watcher:
            assert await take(watcher, 2) == [("added", "a", None, 1), ("removed", "a", 1, None)]
    assert (state.items, state.reported) == ({}, {})


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
    assert len(state.acknowledged) == 50
    assert state.writes == 2  # 50 changes, 32 at a time


async def test_failing_state_raises_and_loses_nothing() -> None:
    lists, state = Lists(a=1), MemoryState()
    state.failing = True
    async with watch(lists, state) as watcher:
        for _ in range(2):
            with pytest.raises(WatchStateError, match="full"):
                await anext(watcher)
        state.failing = False
        change = await anext(watcher)
        lists.rows = {"a": 1, "b": 1}
        state.failing = True
        with pytest.raises(WatchStateError, match="full"):
            await change.ack()
        with pytest.raises(WatchStateError, match="full"):
            await anext(watcher)
        state.failing = False
        await change.ack()
        assert await take(watcher, 1) == [("added", "b", None, 1)]
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
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(change.ack(), 0.5)
        assert state.acknowledged == []
        await asyncio.sleep(1)
        assert len(state.acknowledged) == 1
        await change.ack()
        lists.rows = {"a": 2}
        change = await anext(watcher)
        acking = asyncio.create_task(change.ack())
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
    with pytest.raises(WatchStateError, match="the watcher is closed"):
        await change.ack()
    async with watch(lists, state) as watcher:
        assert await anext(watcher) == change


async def test_dropped_watcher_ends_its_polls_even_while_a_change_is_kept() -> None:
    lists, state = Lists(a=1), MemoryState()
    watcher = watch(lists, state)
    change = await anext(watcher)
    with pytest.warns(ResourceWarning, match="dropped"):
        del watcher
    await asyncio.sleep(0.1)
    assert [task.get_name() for task in asyncio.all_tasks() if "poll" in task.get_name()] == []
    await change.ack()
    assert len(state.acknowledged) == 1


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


def durable(lists: Lists, state: MemoryState, keep: Any = lambda _: False, **options: Any) -> Watcher[Item]:
    feed: Feed[Item] = Feed(lists, key=lambda item: str(item["id"]), schedule=Schedule(interval=1.0))
    codec: ItemCodec[Item] = ItemCodec(lambda item: str(item["id"]))
    return Watcher({"": Cursor(feed, keep=keep)}, state=state, name="things", codec=codec, **options)


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


def account_key(item: Item) -> tuple[str, str]:
    return item["account"], item["id"]


def is_nine(item: Item) -> bool:
    return bool(item["n"] == 9)


def unless_version(change: Change[Item]) -> list[Change[Item]]:
    is_noise = change.before is not None and change.after is not None and change.before["n"] == change.after["n"]
    return [] if is_noise else [change]


def watch_accounts(accounts: list[Account], state: MemoryState) -> Watcher[Item]:
    feeds = {each.name: Feed(each, key=account_key, schedule=Schedule(interval=1.0)) for each in accounts}
    return AccountsWatcher(
        {name: Cursor(feed, keep=is_nine) for name, feed in feeds.items()},
        derive=unless_version, on_error=lambda error: None,
        state=state, name="things", codec=ItemCodec(account_key),
    )  # fmt: skip


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
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(watcher.aclose(), 0.1)
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
            with pytest.raises(ConfigurationError, match="belongs to the event loop of its watcher"):
                outcome.result()
        assert state.acknowledged == []
        await change.ack()
        assert len(state.acknowledged) == 1


async def test_change_without_a_stored_form_raises_and_is_in_the_snapshot() -> None:
    lists = Lists(a=float("nan"))  # type: ignore[arg-type]  # what JSON cannot hold
    async with watch(lists, MemoryState()) as watcher:
        with pytest.raises(ConfigurationError, match="items must be JSON values"):
            await anext(watcher)
        assert list(watcher.snapshot) == ["a"]
