"""Change feeds on a real engine: one poller at a time, leases, readers, groups, losses, an engine that is away."""

import asyncio
import contextlib
import struct
import time
from datetime import UTC, datetime
from typing import Any
from unittest.mock import AsyncMock

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineUnavailableError, FeedGapError, Fleet, LeaseLostError
from brokerage_async.fleet.feed import ACK, ELECT, EXTEND, TAKE, Entry, Turn
from brokerage_async.fleet.fleet import Script
from brokerage_async.watch import StoredChange, WatchStateError, poll
from brokerage_async.watch.feed import Feed, Schedule
from brokerage_async.watch.market import MarketCursor, MarketWatcher
from brokerage_async.watch.state import ItemCodec
from tests.fleet.engines import EngineServer, engine_server, missing
from tests.fleet.watched_list import LEASE, Lags, Lists, Things, feed_of, published, publishing, run, take
from tests.http.calls import raised_by
from tests.watch.scripted_service import quiet

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


AT = "2026-03-02T12:00:00+00:00"
CHANGE = StoredChange(sequence=1, key='"a"', kind="added", at=AT, before=None, after=b"1")


async def test_publish_cancelled_while_the_fleet_closes_is_cancelled(shared_server: EngineServer) -> None:
    async with Fleet(shared_server.url, name="closing") as closing:
        publishing = asyncio.create_task(feed_of(closing).publish(Lists(a=1).watching()))
        await asyncio.sleep(LEASE)
    publishing.cancel()
    await raised_by(publishing, asyncio.CancelledError)


async def test_poller_that_lost_its_lease_publishes_nothing(feed: Things) -> None:
    first, second = Turn(feed._feed, "first"), Turn(feed._feed, "second")
    assert await first.elect() is None
    assert await first.elect() is None, "its answer may have been lost"
    wait = await second.elect()
    assert wait is not None
    assert 0 < wait <= LEASE
    await second.resign()
    assert await second.elect() is not None, "the first one still has it"
    await first.open("things")
    await asyncio.sleep(LEASE * 1.1)
    assert await second.elect() is None
    await raised_by(first.report([CHANGE], {}), LeaseLostError, "the lease of the feed 'things' was lost")
    await raised_by(first.open("things"), LeaseLostError)
    await first.resign()
    assert (await feed.status()).published == 0
    assert await first.elect() is not None, "the second one still has it"


async def test_batch_whose_answer_was_lost_is_published_once(feed: Things) -> None:
    turn = Turn(feed._feed, "first")
    await turn.elect()
    await turn.open("things")
    await turn.report([CHANGE], {"": {}})
    turn._sequence = 0  # as if the answer had not arrived
    await turn.report([CHANGE], {"": {}})
    assert (await feed.status()).published == 1
    assert (await turn.open("things")).items == {'"a"': b"1"}


async def test_turn_is_kept_until_it_is_lost(feed: Things) -> None:
    turn, other = Turn(feed._feed, "first"), Turn(feed._feed, "second")
    await turn.elect()
    keeping = asyncio.create_task(turn.keep())
    await asyncio.sleep(1.5 * LEASE)
    assert await other.elect() is not None, "it is renewed"
    assert not keeping.done()
    await run(feed, "DEL", "lease")
    await asyncio.wait_for(keeping, LEASE)
    assert await other.elect() is None


async def test_turn_is_not_kept_beyond_its_lease_while_the_engine_is_silent(feed: Things, server: EngineServer) -> None:
    turn = Turn(feed._feed, "first")
    await turn.elect()
    with server.paused():
        await asyncio.wait_for(turn.keep(), LEASE)
        await turn.resign()


async def test_publish_takes_a_function_that_makes_a_watcher_of_a_list_with_the_state(feed: Things) -> None:
    async def fetch() -> list[dict[str, Any]]:
        return [{"id": "a"}]

    def now() -> datetime:
        return datetime(2026, 3, 2, 12, tzinfo=UTC)

    sessions = Feed[Any](fetch, key=str, schedule=Schedule(interval=60.0), now=now)
    market = MarketWatcher(MarketCursor(sessions, now=now, extended=False, initial=False))
    without_state = poll(fetch, key=lambda item: str(item["id"]), interval=0.02)
    watches: list[tuple[Any, str]] = [
        (5, "must be a function, got 5"),
        (lambda _: None, "got NoneType"),
        (lambda _: without_state, "make its watcher with the state"),
        (lambda _: market, "market hours cannot be published"),
    ]
    for watch, reason in watches:
        await raised_by(asyncio.wait_for(feed.publish(watch), 10), ConfigurationError, reason)
        assert (await feed.status()).poller is None, "it has resigned"


async def test_poller_cancelled_during_its_election_leaves_no_lease(fleet: Fleet, feed: Things) -> None:
    ask, elected = fleet.connection.script, asyncio.Event()

    async def lose_answer(script: Any, *arguments: Any, **options: Any) -> Any:
        found = await ask(script, *arguments, **options)
        if script is ELECT:
            elected.set()
            await asyncio.Event().wait()
        return found

    fleet.connection.script = lose_answer  # type: ignore[method-assign]
    async with publishing(feed, Lists()):
        await elected.wait()
        assert (await feed.status()).poller is not None
    assert (await feed.status()).poller is None


async def dumped(feed: Things) -> dict[str, bytes]:
    return {name: await run(feed, "DUMP", name) for name in ("meta", "begun", "items", "revisions", "stream")}


async def restore(feed: Things, dump: dict[str, bytes]) -> None:
    for name, data in dump.items():
        await run(feed, "RESTORE", name, 0, data, "REPLACE")


async def test_idempotency_key_is_the_same_after_the_engine_lost_changes(feed: Things, lists: Lists) -> None:
    async def keys_of_next(count: int, **rows: int) -> list[str | None]:
        lists.rows = rows
        async with publishing(feed, lists), feed.read(start="beginning") as reader:
            return [(await asyncio.wait_for(anext(reader), 20)).idempotency_key for _ in range(count)]

    await keys_of_next(1, a=1)
    dump = await dumped(feed)
    before = await keys_of_next(2, a=2)
    await keys_of_next(3, a=1)
    await restore(feed, dump)
    assert await keys_of_next(2, a=2) == before
    await keys_of_next(3)
    everything = await keys_of_next(4, a=1)
    assert len(set(everything)) == 4, "an item that comes back is another change"


async def test_group_hands_changes_of_a_key_out_one_after_another(feed: Things, lists: Lists) -> None:
    async with publishing(feed, lists), feed.read_group("g", start="beginning") as one, feed.read_group("g") as two:
        first = await asyncio.wait_for(anext(one), 20)
        lists.rows = {"a": 2, "b": 1}
        assert await take(two, 1) == [("added", "b", 1)]
        lists.rows = {"a": 3, "b": 1}
        await published(feed, 4)
        await quiet(two, 2 * LEASE)
        waiting = asyncio.create_task(take(two, 2))
        await first.ack()
        assert await waiting == [("changed", "a", 2), ("changed", "a", 3)]


async def test_slow_group_keeps_changes_up_to_the_bound_and_sees_the_gap(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet, keep=3, max_length=10), Lists(a=0)

    async def change(*values: int) -> None:
        for n in values:
            lists.rows = {"a": n}
            await published(feed, n + 1)

    async with publishing(feed, lists), feed.read_group("slow", start="beginning") as slow:
        held = await asyncio.wait_for(anext(slow), 20)
        await change(*range(1, 9))
        assert await run(feed, "XLEN", "stream") == 9, "kept for the group"
        await held.ack()
        assert await take(slow, 8) == [("changed", "a", n) for n in range(1, 9)]
        held = None
        await change(*range(9, 30))
        assert await run(feed, "XLEN", "stream") <= 10
        error = await raised_by(take(slow, 1), FeedGapError, "11 changes of the feed 'things' are lost")
        assert error.lost == 11
        assert await take(slow, 10) == [("changed", "a", n) for n in range(20, 30)]
        await feed.remove_group("slow")
        await change(30)
        assert await run(feed, "XLEN", "stream") == 3, "nothing is kept for a group"
        async with feed.read(start=5) as late:
            await raised_by(take(late, 1), FeedGapError, "23 changes")
            assert await take(late, 1) == [("changed", "a", 28)]
        async with feed.read(start=500) as ahead:
            with pytest.raises(FeedGapError):  # the engine was restored from a backup
                await take(ahead, 1)


async def test_change_is_extended_and_acknowledged_by_its_consumer_only(fleet: Fleet, feed: Things) -> None:
    async def ask(script: Script, consumer: str, *arguments: str | float | bytes) -> Any:
        return await fleet.connection.script(script, feed._feed.group_keys("g"), ["g", consumer, *arguments])

    async with publishing(feed, Lists(a=1, b=1)):
        await published(feed, 2)
    lost, last, _, taken = await ask(TAKE, "one", 5000, 10, 100, "0", 1)
    assert (lost, last, [number for number, _ in taken]) == (0, 2, [b"1-0", b"2-0"])
    a, _b = (Entry.read(each) for each in taken)
    assert [await ask(EXTEND, "two", 1, 2), await ask(EXTEND, "one", 1, 2, 3)] == [0, 2]
    assert await ask(ACK, "two", 1, a.id, a.key, 3, "x", "x") == [1]
    assert await ask(ACK, "one", 1, "of a change that the engine has lost", a.key) == []
    assert (await feed.status()).lag == {"g": 2}
    assert await ask(ACK, "one", 1, a.id, a.key, 1, a.id, a.key) == []
    assert (await feed.status()).lag == {"g": 1}
    assert await ask(EXTEND, "one", 1, 2) == 1
    assert (await ask(TAKE, "one", 5000, 10, 100, "$", 0))[3] == [], "the group stays where it is"


async def test_poller_is_replaced_after_the_clock_of_the_engine_was_set_back(feed: Things, lists: Lists) -> None:
    await run(feed, "SET", "lease", "dead", "PX", 3_600_000)
    async with publishing(feed, lists):
        await published(feed, 1)


async def test_changes_of_a_dead_consumer_are_passed_on_after_the_clock_was_set_back(
    fleet: Fleet, feed: Things, lists: Lists
) -> None:
    async with publishing(feed, lists), feed.read_group("g", start="beginning") as dead:
        await anext(dead)
        dead._keeping.cancel()
        await fleet.connection.command("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)
        await restore(feed, {"stream": handed_out_in_an_hour(await run(feed, "DUMP", "stream"))})
        await run(feed, "HINCRBY", "meta", "taken at g", 3_600_000)
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


async def test_reader_sees_a_gap_where_other_changes_took_the_place_of_those_it_read(
    feed: Things, lists: Lists
) -> None:
    async with feed.read(start="beginning") as reader:
        async with publishing(feed, lists):
            await take(reader, 1)
        await feed._feed.connection.command("FLUSHALL")
        lists.rows = {"x": 1, "y": 2}
        async with publishing(feed, lists):
            await published(feed, 2)
            await raised_by(anext(reader), FeedGapError, "2 changes")
            lists.rows = {"x": 3, "y": 2}
            assert await take(reader, 1) == [("changed", "x", 3)]


async def test_another_list_under_the_same_name_is_rejected(feed: Things, lists: Lists) -> None:
    async with publishing(feed, lists):
        await published(feed, 1)
        await raised_by(feed.publish(lists.watching()), ConfigurationError, "is published by this process already")

    def other(state: Any) -> Any:
        return poll(AsyncMock(return_value=[]), key=str, interval=1.0, name="others", state=state)

    with pytest.raises(WatchStateError, match="publishes things, not others: give each its own name"):
        await asyncio.wait_for(feed.publish(other), 20)
    assert (await feed.status()).poller is None, "it has resigned"


async def test_feed_says_that_the_engine_is_away_and_heals_when_it_is_back(lists: Lists) -> None:
    with engine_server(append_only=True) as server:
        async with Fleet(server.url, name="away") as fleet:
            feed = feed_of(fleet)
            async with publishing(feed, lists), feed.read_group("g", start="beginning") as reader:
                assert await take(reader, 1) == [("added", "a", 1)]
                server.kill()
                await raised_by(take(reader, 1), EngineUnavailableError, "the engine of the fleet 'away' is away")
                await asyncio.sleep(2 * LEASE)
                count = len(lists.polls)
                await asyncio.sleep(LEASE)
                assert len(lists.polls) == count, "no polls without a lease"
                assert (await feed.status()).published is None
                lists.rows = {"a": 2}
                server.start()
                found: list[Any] = []
                async with asyncio.timeout(20):
                    while not found:
                        with contextlib.suppress(EngineUnavailableError):
                            found = await take(reader, 1)
                        await asyncio.sleep(0.1)
                assert found == [("changed", "a", 2)]


async def test_change_that_cannot_be_decoded_costs_that_change_and_no_other(feed: Things) -> None:
    items = ('{"n": 1}', "{", '{"n": 3}', '{"n": 4}')
    for number, item in enumerate(items, 1):
        fields = ("key", f'"{number % 3}"', "kind", "added", "at", CHANGE.at, "id", f"k{number}", "after", item)
        await run(feed, "XADD", "stream", f"{number}-0", *fields)
    await run(feed, "HSET", "meta", "sequence", len(items))
    async with feed.read(start="beginning") as reader, feed.read_group("g", start="beginning") as consumer:
        for each in (reader, consumer):
            assert await take(each, 1) == [("added", "1", 1)]
            with pytest.raises(FeedGapError, match="change 2 of the feed 'things' cannot be decoded") as caught:
                await asyncio.wait_for(anext(each), 20)
            assert caught.value.lost == 1
            assert await take(each, 2) == [("added", "0", 3), ("added", "1", 4)]
        await quiet(consumer, 2 * LEASE)
    assert (await feed.status()).lag == {"g": 0}, "it does not come again"


async def test_cursor_kept_across_a_failover_that_lost_writes_gets_a_gap(feed: Things, lists: Lists) -> None:
    async with publishing(feed, lists), feed.read(start="beginning") as reader:
        await take(reader, 1)
        kept = reader.cursor
    dump = await dumped(feed)
    for n in (2, 3):
        lists.rows = {"a": n}
        async with publishing(feed, lists):
            await published(feed, n)
    async with feed.read(start="beginning") as reader:
        await take(reader, 3)
        lost = reader.cursor
    await restore(feed, dump)
    lists.rows = {f"other{n}": n for n in range(5)}
    async with publishing(feed, lists):
        await published(feed, 7)
        async with feed.read(start=lost) as reader:
            await raised_by(asyncio.wait_for(anext(reader), 20), FeedGapError)
            await quiet(reader, 0.3)
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


async def test_feed_whose_script_the_engine_refuses_reaches_the_publisher(feed: Things, lists: Lists) -> None:
    await run(feed, "SET", "stream", "another type")
    with pytest.raises(EngineUnavailableError, match="WRONGTYPE: a key of this fleet holds another type") as caught:
        await asyncio.wait_for(feed.publish(lists.watching()), 10)
    assert caught.value.code == "WRONGTYPE"
    assert (await feed.status()).poller is None, "it has resigned"
    await run(feed, "DEL", "stream")
    async with publishing(feed, lists), feed.read_group("g", start="beginning") as reader:
        assert await take(reader, 1) == [("added", "a", 1)], "published by the next poller, not taken for published"


async def test_engine_that_is_away_does_not_end_the_publisher(fleet: Fleet, feed: Things, lists: Lists) -> None:
    ask, failures = fleet.connection.script, iter(["AWAY", "BUSY", "LOADING", "TRYAGAIN"])

    async def fail(*arguments: Any, **options: Any) -> Any:
        if (code := next(failures, None)) is not None:
            raise EngineUnavailableError("passing", code=code)
        return await ask(*arguments, **options)

    fleet.connection.script = fail  # type: ignore[method-assign]
    async with publishing(feed, lists):
        await published(feed, 1)


ENTRY = [b"7-0", [b"key", b'["A1",["x",2]]', b"kind", b"added", b"at", AT.encode(), b"id", b"k", b"after", b"1"]]


@pytest.mark.parametrize(("key", "expected"), [(None, ("A1", ("x", 2))), (lambda item: item + 1, 2)])
def test_restored_key_is_that_of_the_text_unless_there_is_a_function(key: object, expected: object) -> None:
    codec: ItemCodec[int] = ItemCodec(key)  # type: ignore[arg-type]
    change = codec.restore(Entry.read(ENTRY))
    assert (change.key, change.after) == (expected, 1)


def added(number: int) -> StoredChange:
    """Return a change whose poller has a clock that is months off."""
    return StoredChange(sequence=number, key=f'"{number}"', kind="added", at=AT, before=None, after=b'{"n": 1}')


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
            await quiet(new, 0.3)
            await quiet(two, 0.3)
            lists.rows = {"a": 2}
            before, after = [("added", "a", 1), ("added", "b", 1)], [("changed", "a", 2), ("removed", "b", None)]
            assert await take(new, 2) == await take(two, 2) == after
            assert await take(old, 4) == await take(one, 4) == [*before, *after]
            assert old.cursor == new.cursor
            assert str(old.cursor).startswith("4-")
            status = await feed.status()
            assert (status.is_elected, status.published, status.lag) == (True, 4, {"one": 0, "two": 0})
            assert status.poller.startswith(fleet.worker)
        async with feed.read(start=2) as later:
            assert await take(later, 1) == [("changed", "a", 2)]


async def test_lag_of_each_change_is_reported_when_it_is_handed_out(feed: Things, lags: Lags) -> None:
    turn = Turn(feed._feed, "poller")
    await turn.elect()
    await turn.open("things")
    await turn.report([added(1), added(2)], {})
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


async def test_lag_of_an_earlier_version_is_unknown_and_none_is_negative(feed: Things, lags: Lags) -> None:
    """The second change seems to be published in the future, as after the clock of the engine was set back."""
    for number, more in enumerate(((), ("published", 4_000_000_000_000_000)), 1):
        fields = ("key", '"a"', "kind", "added", "at", AT, "id", f"k{number}", "after", '{"n": 1}', *more)
        await run(feed, "XADD", "stream", f"{number}-0", *fields)
    await run(feed, "HSET", "meta", "sequence", 2)
    async with feed.read(start="beginning") as reader, feed.read_group("g", start="beginning") as consumer:
        for each in (reader, consumer):
            assert await take(each, 2) == [("added", "a", 1)] * 2
            assert [found.lag for found in lags.take()] == [0.0]


async def test_changes_of_a_dead_consumer_go_to_another_one_and_lag_from_publishing(
    feed: Things, lists: Lists, lags: Lags
) -> None:
    async with publishing(feed, lists):
        dead = feed.read_group("g", start="beginning")
        change = await asyncio.wait_for(anext(dead), 20)
        await dead.aclose()  # its leases are not renewed any more
        async with feed.read_group("g") as other:
            again = await asyncio.wait_for(anext(other), 20)
            assert again == change
            assert again.idempotency_key == change.idempotency_key
            await raised_by(change.ack(), LeaseLostError, "change 1 of the feed 'things' went to another consumer")
            await again.ack()
            await again.ack()
            await quiet(other, 2 * LEASE)
        assert (await feed.status()).lag == {"g": 0}
    first, second = lags.take()
    assert second.lag >= first.lag + LEASE * 0.9


async def test_fetched_changes_are_dropped_when_their_lease_ends(fleet: Fleet) -> None:
    feed, lists = feed_of(fleet), Lists(a=1, b=1)
    async with publishing(feed, lists):
        await published(feed, 2)
        slow = feed.read_group("g", start="beginning")
        assert (await anext(slow)).key == "a"
        slow._keeping.cancel()  # as if the engine had been away for longer than the lease
        await asyncio.sleep(LEASE * 1.1)
        async with feed.read_group("g") as other:
            assert await take(other, 2) == [("added", "a", 1), ("added", "b", 1)]
            await quiet(slow, 0.3)  # it has fetched b, too
        await slow.aclose()


async def test_consumer_closed_while_it_takes_passes_its_changes_on(fleet: Fleet) -> None:
    feed, run = feed_of(fleet), fleet.connection.script
    joining, closed = asyncio.Event(), asyncio.Event()

    async def slow(script: Any, *arguments: Any, **options: Any) -> Any:
        found = await run(script, *arguments, **options)
        if script is TAKE and not joining.is_set():
            joining.set()
            await closed.wait()
        return found

    async with publishing(feed, Lists(a=1)):
        await published(feed, 1)
        fleet.connection.script = slow  # type: ignore[method-assign]
        first = feed.read_group("g", start="beginning")
        waiting = asyncio.create_task(anext(first))  # type: ignore[arg-type]
        await joining.wait()
        await first.aclose()
        closed.set()
        await asyncio.wait({waiting})
        assert isinstance(waiting.exception(), StopAsyncIteration)
        async with feed.read_group("g") as other:
            assert await take(other, 1) == [("added", "a", 1)]
