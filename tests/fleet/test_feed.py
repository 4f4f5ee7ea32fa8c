"""Change feeds on a real engine: losses that must be seen, one list per name, and an engine that goes away."""

import asyncio
import contextlib
from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineUnavailableError, FeedGapError, Fleet
from brokerage_async.watch import WatchStateError, poll
from tests.fleet.engines import engine_server, missing
from tests.fleet.watched_list import LEASE, Lists, feed_of, published, publishing, quiet, take

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


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


async def test_change_that_cannot_be_decoded_costs_that_change_and_no_other(fleet: Fleet) -> None:
    feed, run = feed_of(fleet), fleet.connection.command
    items = ('{"n": 1}', "{", '{"n": 3}', '{"n": 4}')
    for number, item in enumerate(items, 1):
        fields = ("key", f'"{number % 3}"', "kind", "added", "at", "2026-03-02T12:00:00+00:00", "id", f"k{number}")
        await run("XADD", feed._feed.key("stream"), f"{number}-0", *fields, "after", item)
    await run("HSET", feed._feed.key("meta"), "sequence", len(items))
    async with feed.read(start="beginning") as reader, feed.read_group("g", start="beginning") as consumer:
        for each in (reader, consumer):
            assert await take(each, 1) == [("added", "1", 1)]
            with pytest.raises(FeedGapError, match="change 2 of the feed 'things' cannot be decoded") as caught:
                await asyncio.wait_for(anext(each), 20)
            assert caught.value.lost == 1
            assert await take(each, 2) == [("added", "0", 3), ("added", "1", 4)]
        await quiet(consumer, 2 * LEASE)
    assert (await feed.status()).lag == {"g": 0}, "it does not come again"


async def test_cursor_kept_across_a_failover_that_lost_writes_gets_a_gap(fleet: Fleet) -> None:
    feed, lists, run = feed_of(fleet), Lists(a=1), fleet.connection.command
    async with publishing(feed, lists), feed.read(start="beginning") as reader:
        await take(reader, 1)
        kept = reader.cursor
    copied = {
        name: await run("DUMP", feed._feed.key(name)) for name in ("meta", "begun", "items", "revisions", "stream")
    }
    for n in (2, 3):
        lists.rows = {"a": n}
        async with publishing(feed, lists):
            await published(feed, n)
    async with feed.read(start="beginning") as reader:
        await take(reader, 3)
        lost = reader.cursor
    for name, data in copied.items():
        await run("RESTORE", feed._feed.key(name), 0, data, "REPLACE")
    lists.rows = {f"other{n}": n for n in range(5)}
    async with publishing(feed, lists):
        await published(feed, 7)
        async with feed.read(start=lost) as reader:
            with pytest.raises(FeedGapError):
                await asyncio.wait_for(anext(reader), 20)
            await quiet(reader)
            lists.rows |= {"new": 8}
            assert await take(reader, 1) == [("added", "new", 8)]
        async with feed.read(start=kept) as reader:
            assert len(await take(reader, 7)) == 7, "what it names was not lost"


async def test_cursor_at_the_end_of_what_was_trimmed_gets_no_gap(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet, keep=1, max_length=10), Lists(a=1)
    async with publishing(feed, lists), feed.read(start="beginning") as reader:
        await take(reader, 1)
        for n in (2, 3):
            lists.rows = {"a": n}
            await published(feed, n)
            assert await take(reader, 1) == [("changed", "a", n)]
        lists.rows = {"a": 4}
        await published(feed, 4)
        async with feed.read(start=reader.cursor) as later:
            assert await take(later, 1) == [("changed", "a", 4)]


async def test_feed_whose_script_the_engine_refuses_reaches_the_publisher(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    stream = feed._feed.key("stream")
    await fleet.connection.command("SET", stream, "another type")
    with pytest.raises(EngineUnavailableError, match="WRONGTYPE: a key of this fleet holds another type") as caught:
        await asyncio.wait_for(feed.publish(lists.watching()), 10)
    assert caught.value.code == "WRONGTYPE"
    assert (await feed.status()).poller is None, "it has resigned"
    await fleet.connection.command("DEL", stream)
    async with publishing(feed, lists), feed.read_group("g", start="beginning") as reader:
        assert await take(reader, 1) == [("added", "a", 1)], "published by the next poller, not taken for published"


async def test_engine_that_is_away_does_not_end_the_publisher(fleet: Fleet) -> None:
    feed, lists, run = feed_of(fleet), Lists(a=1), fleet.connection.script
    failures = iter(["AWAY", "BUSY", "LOADING", "TRYAGAIN"])

    async def fail(*arguments: Any, **options: Any) -> Any:
        if (code := next(failures, None)) is not None:
            raise EngineUnavailableError("passing", code=code)
        return await run(*arguments, **options)

    fleet.connection.script = fail  # type: ignore[method-assign]
    async with publishing(feed, lists):
        await published(feed, 1)
