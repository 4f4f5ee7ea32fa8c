"""Scripts of feeds on a real engine: leases, revisions, trimming, and the order within a group."""

import asyncio
import struct
import time
from typing import Any

import pytest

from brokerage_async.fleet import FeedGapError, Fleet
from brokerage_async.fleet.feed_reader import Entry
from brokerage_async.fleet.feed_scripts import ACK, ELECT, EXTEND, RENEW, TAKE
from brokerage_async.fleet.fleet import Script
from tests.fleet.engines import missing
from tests.fleet.watched_list import LEASE, Lists, feed_of, published, publishing, quiet, take

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


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


async def test_group_hands_changes_of_a_key_out_one_after_another(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    async with publishing(feed, lists), feed.read_group("g", start="beginning") as one, feed.read_group("g") as two:
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


async def test_lease_is_renewed_and_ended_by_its_holder_only(fleet: Fleet) -> None:
    feed = feed_of(fleet)._feed

    async def run(script: Script, token: str, lease: int = 5000) -> Any:
        return await fleet.connection.script(script, feed.keys("lease"), [token, lease])

    assert await run(ELECT, "one") == [1, 0]
    assert await run(ELECT, "one") == [1, 0], "its answer may have been lost"
    won, left = await run(ELECT, "two")
    assert won == 0
    assert 4000 < left <= 5000
    assert [await run(RENEW, "two", 9000), await run(RENEW, "one", 9000)] == [0, 1]
    assert (await run(ELECT, "two"))[1] > 5000
    assert [await run(RENEW, "two", 0), await run(RENEW, "one", 0), await run(RENEW, "one", 0)] == [0, 1, 0]
    assert await run(ELECT, "two") == [1, 0]


async def test_change_is_extended_and_acknowledged_by_its_consumer_only(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1, b=1)

    async def run(script: Script, consumer: str, *arguments: str | float | bytes) -> Any:
        return await fleet.connection.script(script, feed._feed.group_keys("g"), ["g", consumer, *arguments])

    async with publishing(feed, lists):
        await published(feed, 2)
    lost, last, _, taken = await run(TAKE, "one", 5000, 10, 100, "0", 1)
    assert (lost, last, [number for number, _ in taken]) == (0, 2, [b"1-0", b"2-0"])
    a, _b = (Entry.read(each) for each in taken)
    assert [await run(EXTEND, "two", 1, 2), await run(EXTEND, "one", 1, 2, 3)] == [0, 2]
    assert await run(ACK, "two", 1, a.key, a.stored.key, 3, "x", "x") == [1]
    assert await run(ACK, "one", 1, "of a change that the engine has lost", a.stored.key) == []
    assert (await feed.status()).lag == {"g": 2}
    assert await run(ACK, "one", 1, a.key, a.stored.key, 1, a.key, a.stored.key) == []
    assert (await feed.status()).lag == {"g": 1}
    assert await run(EXTEND, "one", 1, 2) == 1
    assert (await run(TAKE, "one", 5000, 10, 100, "$", 0))[3] == [], "the group stays where it is"


async def test_poller_is_replaced_after_the_clock_of_the_engine_was_set_back(fleet: Fleet) -> None:
    feed = feed_of(fleet)
    await fleet.connection.command("SET", feed._feed.key("lease"), "dead", "PX", 3_600_000)
    async with publishing(feed, Lists(a=1)):
        await published(feed, 1)


async def test_changes_of_a_dead_consumer_are_passed_on_after_the_clock_was_set_back(fleet: Fleet) -> None:
    feed, run = feed_of(fleet), fleet.connection.command
    async with publishing(feed, Lists(a=1)), feed.read_group("g", start="beginning") as dead:
        await anext(dead)
        dead._keeping.cancel()
        stream, meta, *_ = feed._feed.group_keys("g")
        await run("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)
        await run("RESTORE", stream, 0, handed_out_in_an_hour(await run("DUMP", stream)), "REPLACE")
        await run("HINCRBY", meta, "taken at g", 3_600_000)
        async with feed.read_group("g") as other:
            assert await take(other, 1) == [("added", "a", 1)]


def handed_out_in_an_hour(dump: bytes) -> bytes:
    """Return the dump of a stream with all times of the last ten seconds moved an hour ahead."""
    now, changed = int(time.time() * 1000), bytearray(dump)
    for at in range(len(dump) - 8):
        (moment,) = struct.unpack_from("<q", dump, at)
        if now - 10_000 <= moment <= now:
            struct.pack_into("<q", changed, at, moment + 3_600_000)
    assert changed != dump
    return bytes(changed)


async def test_reader_sees_a_gap_where_other_changes_took_the_place_of_those_it_read(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1)
    async with feed.read(start="beginning") as reader:
        async with publishing(feed, lists):
            await take(reader, 1)
        await fleet.connection.command("FLUSHALL")
        lists.rows = {"x": 1, "y": 2}
        async with publishing(feed, lists):
            await published(feed, 2)
            with pytest.raises(FeedGapError, match="2 changes"):
                await anext(reader)
            lists.rows = {"x": 3, "y": 2}
            assert await take(reader, 1) == [("changed", "x", 3)]
