"""Change feeds on a real engine: who polls, what readers get, and what becomes of it when one of them dies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import (
    EngineUnavailableError,
    FeedGapError,
    FeedReader,
    Fleet,
    LeaseLostError,
    RedisFeed,
)
from brokerage_async.fleet.feed_poller import PublishingState, Turn
from brokerage_async.observers import Attempt, Event, FeedLag
from brokerage_async.watch import Change, StoredChange, WatchStateError, poll
from tests.fleet.engines import EngineServer, engine_server, missing

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

LEASE = 0.6


@pytest.fixture(scope="module")
def shared_server() -> Iterator[EngineServer]:
    with engine_server() as server:
        yield server


class Lags:
    """Records the lags of a fleet."""

    def __init__(self) -> None:
        self.found: list[FeedLag] = []

    def __call__(self, attempt: Attempt) -> None:
        raise AssertionError("a feed makes no calls")

    def on_event(self, event: Event) -> None:
        assert isinstance(event, FeedLag)
        self.found.append(event)

    def take(self) -> list[FeedLag]:
        found, self.found = self.found, []
        return found


@pytest.fixture
def lags() -> Lags:
    return Lags()


@pytest.fixture
async def fleet(shared_server: EngineServer, request: pytest.FixtureRequest, lags: Lags) -> AsyncIterator[Fleet]:
    async with Fleet(shared_server.url, name=f"f{abs(hash(request.node.nodeid))}", observers=[lags]) as fleet:
        yield fleet


class Lists:
    """The list that a poller reads, set by the test."""

    def __init__(self, **rows: int) -> None:
        self.rows: dict[str, int] = rows
        self.polls: list[str] = []

    def watching(self, name: str = "poller") -> Callable[[Any], Any]:
        async def fetch() -> list[dict[str, Any]]:
            self.polls.append(name)
            return [{"id": key, "n": n} for key, n in self.rows.items()]

        return lambda state: poll(fetch, key=lambda item: str(item["id"]), interval=0.02, name="things", state=state)


def feed_of(fleet: Fleet, **options: Any) -> RedisFeed[dict[str, Any]]:
    return RedisFeed(fleet, "things", lease=LEASE, **options)


@contextlib.asynccontextmanager
async def publishing(feed: RedisFeed[Any], lists: Lists, name: str = "poller") -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(feed.publish(lists.watching(name)))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


def brief(change: Change[dict[str, Any]]) -> tuple[str, Any, Any]:
    return change.kind, change.key, change.after and change.after["n"]


async def take(reader: FeedReader[Any], count: int, *, ack: bool = True) -> list[tuple[str, Any, Any]]:
    found = []
    async with asyncio.timeout(20):
        for _ in range(count):
            change = await anext(reader)
            if ack:
                await change.ack()
            found.append(brief(change))
    return found


async def quiet(reader: FeedReader[Any], seconds: float = 0.3) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(reader), seconds)


async def published(feed: RedisFeed[Any], count: int) -> None:
    for _ in range(1000):
        if (await feed.status()).published == count:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"{count} changes were not published")


async def test_readers_and_groups_get_every_change_from_where_they_start(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1, b=1)
    async with publishing(feed, lists):
        await published(feed, 2)
        async with (
            feed.read(start="beginning") as old,
            feed.read() as new,
            feed.read_group("one", start="beginning") as one,
            feed.read_group("two") as two,
        ):
            await quiet(new)
            await quiet(two)
            lists.rows = {"a": 2}
            assert await take(new, 2) == [("changed", "a", 2), ("removed", "b", None)]
            assert await take(old, 4) == [
                ("added", "a", 1),
                ("added", "b", 1),
                ("changed", "a", 2),
                ("removed", "b", None),
            ]
            assert await take(one, 4) == [
                ("added", "a", 1),
                ("added", "b", 1),
                ("changed", "a", 2),
                ("removed", "b", None),
            ]
            assert await take(two, 2) == [("changed", "a", 2), ("removed", "b", None)]
            assert (old.cursor, new.cursor) == (4, 4)
            status = await feed.status()
            assert (status.is_elected, status.published, status.lag) == (True, 4, {"one": 0, "two": 0})
            assert status.poller is not None
            assert status.poller.startswith(fleet.worker)
        async with feed.read(start=2) as later:
            assert await take(later, 1) == [("changed", "a", 2)]


async def test_next_poller_goes_on_where_the_last_one_stood(fleet: Fleet) -> None:
    one, two, lists = feed_of(fleet), feed_of(fleet), Lists(a=1)
    async with one.read(start="beginning") as reader:
        async with publishing(one, lists, "one"):
            assert await take(reader, 1) == [("added", "a", 1)]
            async with publishing(two, lists, "two"):
                await asyncio.sleep(2 * LEASE)
                assert set(lists.polls) == {"one"}, "only one polls, lease after lease"
        lists.rows = {"a": 2}
        lists.polls.clear()
        async with publishing(two, lists, "two"):
            assert await take(reader, 1) == [("changed", "a", 2)]
            await quiet(reader)
            assert set(lists.polls) == {"two"}


async def test_poller_that_lost_its_lease_publishes_nothing(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    keys = feed._feed
    first, second = Turn(keys, "first"), Turn(keys, "second")
    assert await first.elect() is None
    wait = await second.elect()
    assert wait is not None
    assert 0 < wait <= LEASE
    state = PublishingState(keys, first)
    await state.open("things")
    change = StoredChange(sequence=1, key='"a"', kind="added", at="2026-03-02T12:00:00+00:00", before=None, after=b"1")
    await asyncio.sleep(LEASE * 1.1)
    assert await second.elect() is None
    with pytest.raises(LeaseLostError, match="the lease of the feed 'things' was lost"):
        await state.report([change], {})
    with pytest.raises(LeaseLostError):
        await state.open("things")
    await first.resign()
    assert (await feed.status()).published == 0
    assert await first.elect() is not None, "the second one still has it"


async def test_batch_whose_answer_was_lost_is_published_once(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    turn = Turn(feed._feed, "first")
    await turn.elect()
    state = PublishingState(feed._feed, turn)
    await state.open("things")
    change = StoredChange(sequence=1, key='"a"', kind="added", at="2026-03-02T12:00:00+00:00", before=None, after=b"1")
    await state.report([change], {"": {}})
    state._sequence = 0  # as if the answer had not arrived
    await state.report([change], {"": {}})
    assert (await feed.status()).published == 1
    assert (await PublishingState(feed._feed, turn).open("things")).items == {'"a"': b"1"}


async def test_idempotency_key_is_the_same_after_the_engine_lost_changes(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    dumped: dict[str, Any] = {}

    async def keys_of_next(count: int) -> list[str | None]:
        async with publishing(feed, lists), feed.read(start="beginning") as reader:
            return [(await asyncio.wait_for(anext(reader), 20)).idempotency_key for _ in range(count)]

    await keys_of_next(1)
    run = fleet.connection.command
    for name in ("meta", "begun", "items", "revisions", "stream"):
        dumped[name] = await run("DUMP", feed._feed.key(name))
    lists.rows = {"a": 2}
    before = await keys_of_next(2)
    lists.rows = {"a": 1}
    await keys_of_next(3)
    for name, data in dumped.items():
        await run("RESTORE", feed._feed.key(name), 0, data, "REPLACE")
    lists.rows = {"a": 2}
    after = await keys_of_next(2)
    assert before == after
    lists.rows = {}
    await keys_of_next(3)
    lists.rows = {"a": 1}
    everything = await keys_of_next(4)
    assert len(set(everything)) == 4, "an item that comes back is another change"


def added(number: int) -> StoredChange:
    """Return a change whose poller has a clock that is months off."""
    at = "2026-03-02T12:00:00+00:00"
    return StoredChange(sequence=number, key=f'"{number}"', kind="added", at=at, before=None, after=b'{"n": 1}')


async def test_lag_of_each_change_is_reported_when_it_is_handed_out(fleet: Fleet, lags: Lags) -> None:
    feed = feed_of(fleet)
    turn = Turn(feed._feed, "poller")
    await turn.elect()
    state = PublishingState(feed._feed, turn)
    await state.open("things")
    await state.report([added(1), added(2)], {})
    await asyncio.sleep(0.2)
    async with feed.read(start="beginning") as reader, feed.read_group("desk", start="beginning") as consumer:
        for each, group in ((reader, ""), (consumer, "desk")):
            await take(each, 1)
            (first,) = lags.take()  # the second one is fetched, and not handed out
            assert (first.feed, first.group) == ("things", group)
            assert 0.2 <= first.lag < 20
            await asyncio.sleep(0.1)
            await take(each, 1)
            (second,) = lags.take()
            assert second.lag >= first.lag + 0.1 - 0.001, "it has waited for its consumer"


async def test_lag_counts_from_publishing_when_a_change_goes_to_another_consumer(fleet: Fleet, lags: Lags) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    async with publishing(feed, lists):
        dead = feed.read_group("g", start="beginning")
        await asyncio.wait_for(anext(dead), 20)
        await dead.aclose()
        async with feed.read_group("g") as other:
            await take(other, 1)
    first, again = lags.take()
    assert again.lag >= first.lag + LEASE * 0.9


async def test_change_published_by_an_earlier_version_has_no_lag(fleet: Fleet, lags: Lags) -> None:
    feed, run = feed_of(fleet), fleet.connection.command
    fields = ("key", '"a"', "kind", "added", "at", "2026-03-02T12:00:00+00:00", "id", "k", "after", '{"n": 1}')
    await run("XADD", feed._feed.key("stream"), "1-0", *fields)
    await run("HSET", feed._feed.key("meta"), "sequence", 1)
    async with feed.read(start="beginning") as reader, feed.read_group("g", start="beginning") as consumer:
        for each in (reader, consumer):
            assert await take(each, 1) == [("added", "a", 1)]
    assert lags.take() == []


async def test_lag_is_not_negative_after_the_engine_was_set_back(fleet: Fleet, lags: Lags) -> None:
    feed, run = feed_of(fleet), fleet.connection.command
    fields = ("key", '"a"', "kind", "added", "at", "2026-03-02T12:00:00+00:00", "id", "k", "after", '{"n": 1}')
    await run("XADD", feed._feed.key("stream"), "1-0", *fields, "published", 4_000_000_000_000_000)
    await run("HSET", feed._feed.key("meta"), "sequence", 1)
    async with feed.read(start="beginning") as reader:
        await take(reader, 1)
    assert [found.lag for found in lags.take()] == [0.0]


async def test_group_hands_changes_of_a_key_out_one_after_another(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    async with (
        publishing(feed, lists),
        feed.read_group("g", start="beginning") as one,
        feed.read_group("g") as two,
    ):
        first = await asyncio.wait_for(anext(one), 20)
        lists.rows = {"a": 2, "b": 1}
        assert await take(two, 1) == [("added", "b", 1)]
        lists.rows = {"a": 3, "b": 1}
        await published(feed, 4)
        await quiet(two, 2 * LEASE)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(take(two, 2))
            await first.ack()
        assert waiting.result() == [("changed", "a", 2), ("changed", "a", 3)]


async def test_changes_of_a_dead_consumer_go_to_another_one(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    async with publishing(feed, lists):
        dead = feed.read_group("g", start="beginning")
        change = await asyncio.wait_for(anext(dead), 20)
        await dead.aclose()  # its leases are not renewed any more
        async with feed.read_group("g") as other:
            again = await asyncio.wait_for(anext(other), 20)
            assert again == change
            assert again.idempotency_key == change.idempotency_key
            with pytest.raises(LeaseLostError, match="change 1 of the feed 'things' went to another consumer"):
                await change.ack()
            await again.ack()
            await again.ack()
            await quiet(other, 2 * LEASE)
        assert (await feed.status()).lag == {"g": 0}


async def test_slow_group_keeps_changes_up_to_the_bound_and_sees_the_gap(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet, keep=3, max_length=10), Lists(a=0)
    async with publishing(feed, lists), feed.read_group("slow", start="beginning") as slow:
        held = await asyncio.wait_for(anext(slow), 20)
        for n in range(1, 9):
            lists.rows = {"a": n}
            await published(feed, n + 1)
        assert await fleet.connection.command("XLEN", feed._feed.key("stream")) == 9, "kept for the group"
        await held.ack()
        assert await take(slow, 8) == [("changed", "a", n) for n in range(1, 9)]
        held = None
        for n in range(9, 30):
            lists.rows = {"a": n}
            await published(feed, n + 1)
        assert await fleet.connection.command("XLEN", feed._feed.key("stream")) <= 10
        with pytest.raises(FeedGapError, match="11 changes of the feed 'things' are lost") as caught:
            await take(slow, 1)
        assert caught.value.lost == 11
        assert await take(slow, 10) == [("changed", "a", n) for n in range(20, 30)]
        await feed.remove_group("slow")
        lists.rows = {"a": 99}
        await published(feed, 31)
        assert await fleet.connection.command("XLEN", feed._feed.key("stream")) == 3, "nothing is kept for a group"
        async with feed.read(start=5) as late:
            with pytest.raises(FeedGapError, match="23 changes"):
                await take(late, 1)
            assert await take(late, 1) == [("changed", "a", 28)]
        async with feed.read(start=500) as ahead:
            with pytest.raises(FeedGapError):  # the engine was restored from a backup
                await take(ahead, 1)


async def test_another_list_under_the_same_name_is_rejected(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    async with publishing(feed, lists):
        await published(feed, 1)
        with pytest.raises(ConfigurationError, match="is published by this process already"):
            await feed.publish(lists.watching())

    def other(state: Any) -> Any:
        async def nothing() -> list[Any]:
            return []

        return poll(nothing, key=str, interval=1.0, name="others", state=state)

    with pytest.raises(WatchStateError, match="publishes things, not others: give each its own name"):
        await asyncio.wait_for(feed.publish(other), 20)
    assert (await feed.status()).poller is None, "it has resigned"


async def test_feed_says_that_the_engine_is_away_and_heals_when_it_is_back() -> None:
    lists = Lists(a=1)
    with engine_server(append_only=True) as server:
        async with Fleet(server.url, name="away") as fleet:
            feed = feed_of(fleet)
            async with publishing(feed, lists), feed.read_group("g", start="beginning") as reader:
                assert await take(reader, 1) == [("added", "a", 1)]
                server.kill()
                with pytest.raises(EngineUnavailableError, match="the engine of the fleet 'away' is away"):
                    await take(reader, 1)
                await asyncio.sleep(2 * LEASE)
                count = len(lists.polls)
                await asyncio.sleep(LEASE)
                assert len(lists.polls) == count, "no polls without a lease"
                assert (await feed.status()).published is None
                lists.rows = {"a": 2}
                server.start()
                async with asyncio.timeout(20):
                    while True:
                        with contextlib.suppress(EngineUnavailableError):
                            assert await take(reader, 1) == [("changed", "a", 2)]
                            break
                        await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "a b"}, "name must be 1 to 64 letters"),
        ({"lease": 0}, "lease must be"),
        ({"keep": 5, "max_length": 4}, r"max_length must be at least keep \(5\), got 4"),
    ],
)
async def test_invalid_settings_are_rejected(fleet: Fleet, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        RedisFeed(fleet, **({"name": "things"} | options))


async def test_invalid_readers_are_rejected(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    with pytest.raises(ConfigurationError, match="group must be a non-empty str, got ''"):
        feed.read_group("")
    with pytest.raises(ConfigurationError, match="start must be 'now' or 'beginning', got 'later'"):
        feed.read_group("g", start="later")
    with pytest.raises(ConfigurationError, match="start must be"):
        feed.read(start=-1)
    with pytest.raises(ConfigurationError, match="fleet must be a Fleet"):
        RedisFeed(None, "things")  # type: ignore[arg-type]


async def test_fetched_changes_are_dropped_when_their_lease_ends(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1, b=1)
    async with publishing(feed, lists):
        await published(feed, 2)
        slow = feed.read_group("g", start="beginning")
        assert (await anext(slow)).key == "a"
        assert slow._keeping is not None
        slow._keeping.cancel()  # as if the engine had been away for longer than the lease
        await asyncio.sleep(LEASE * 1.1)
        async with feed.read_group("g") as other:
            assert await take(other, 2) == [("added", "a", 1), ("added", "b", 1)]
            await quiet(slow)  # it has fetched b, too
        await slow.aclose()
