"""Pollers of a feed: one at a time, also when a lease or an answer is lost."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async._generated.models import MarketSession
from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import Fleet, LeaseLostError
from brokerage_async.fleet.feed import Turn
from brokerage_async.fleet.feed_scripts import ELECT
from brokerage_async.watch import StoredChange, poll
from brokerage_async.watch.feed import Feed
from brokerage_async.watch.market import MarketCursor, MarketWatcher
from brokerage_async.watch.schedule import Schedule
from tests.fleet.engines import EngineServer, missing
from tests.fleet.watched_list import LEASE, Lists, feed_of, publishing, quiet, take

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

CHANGE = StoredChange(sequence=1, key='"a"', kind="added", at="2026-03-02T12:00:00+00:00", before=None, after=b"1")


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


async def test_publish_cancelled_while_the_fleet_closes_is_cancelled(shared_server: EngineServer) -> None:
    async with Fleet(shared_server.url, name="closing") as closing:
        publishing = asyncio.create_task(feed_of(closing).publish(Lists(a=1).watching()))
        await asyncio.sleep(LEASE)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing


async def test_poller_that_lost_its_lease_publishes_nothing(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    keys = feed._feed
    first, second = Turn(keys, "first"), Turn(keys, "second")
    assert await first.elect() is None
    wait = await second.elect()
    assert wait is not None
    assert 0 < wait <= LEASE
    await first.open("things")
    await asyncio.sleep(LEASE * 1.1)
    assert await second.elect() is None
    with pytest.raises(LeaseLostError, match="the lease of the feed 'things' was lost"):
        await first.report([CHANGE], {})
    with pytest.raises(LeaseLostError):
        await first.open("things")
    await first.resign()
    assert (await feed.status()).published == 0
    assert await first.elect() is not None, "the second one still has it"


async def test_batch_whose_answer_was_lost_is_published_once(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    turn = Turn(feed._feed, "first")
    await turn.elect()
    await turn.open("things")
    await turn.report([CHANGE], {"": {}})
    turn._sequence = 0  # as if the answer had not arrived
    await turn.report([CHANGE], {"": {}})
    assert (await feed.status()).published == 1
    assert (await turn.open("things")).items == {'"a"': b"1"}


async def test_turn_is_kept_until_it_is_lost(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    turn, other = Turn(feed._feed, "first"), Turn(feed._feed, "second")
    await turn.elect()
    keeping = asyncio.create_task(turn.keep())
    await asyncio.sleep(1.5 * LEASE)
    assert await other.elect() is not None, "it is renewed"
    assert not keeping.done()
    await fleet.connection.command("DEL", feed._feed.key("lease"))
    await asyncio.wait_for(keeping, LEASE)
    assert await other.elect() is None


async def test_turn_is_not_kept_beyond_its_lease_while_the_engine_is_silent(fleet: Fleet, server: EngineServer) -> None:
    turn = Turn(feed_of(fleet)._feed, "first")
    await turn.elect()
    with server.paused():
        await asyncio.wait_for(turn.keep(), LEASE)
        await turn.resign()


async def test_market_hours_are_not_published(fleet: Fleet) -> None:
    async def nothing() -> list[MarketSession]:
        raise AssertionError("not polled")

    def now() -> datetime:
        return datetime(2026, 3, 2, 12, tzinfo=UTC)

    def watch(state: Any) -> Any:
        sessions = Feed(nothing, key=str, schedule=Schedule(interval=60.0), now=now)
        return MarketWatcher(MarketCursor(sessions, now=now, extended=False, initial=False))

    feed = feed_of(fleet)
    with pytest.raises(ConfigurationError, match="market hours cannot be published"):
        await asyncio.wait_for(feed.publish(watch), 20)
    assert (await feed.status()).poller is None, "it has resigned"


async def test_publish_takes_a_function_that_makes_a_watcher_with_the_state(fleet: Fleet) -> None:
    async def fetch() -> list[dict[str, Any]]:
        return [{"id": "a"}]

    watches: list[tuple[Any, str]] = [
        (5, "must be a function, got 5"),
        (lambda _: None, "got NoneType"),
        (lambda _: poll(fetch, key=lambda item: str(item["id"]), interval=0.02), "make its watcher with the state"),
    ]
    for watch, reason in watches:
        with pytest.raises(ConfigurationError, match=reason):
            await asyncio.wait_for(feed_of(fleet).publish(watch), 10)


async def test_poller_cancelled_during_its_election_leaves_no_lease(fleet: Fleet) -> None:
    feed, run, elected = feed_of(fleet), fleet.connection.script, asyncio.Event()

    async def lose_answer(script: Any, *arguments: Any, **options: Any) -> Any:
        found = await run(script, *arguments, **options)
        if script is ELECT:
            elected.set()
            await asyncio.Event().wait()
        return found

    fleet.connection.script = lose_answer  # type: ignore[method-assign]
    polling = asyncio.create_task(feed.publish(Lists().watching()))
    await elected.wait()
    assert (await feed.status()).poller is not None
    polling.cancel()
    await asyncio.wait({polling})
    assert (await feed.status()).poller is None
