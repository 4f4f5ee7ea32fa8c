"""Entries as the engine returns them, and their way to readers and groups."""

import asyncio
from typing import Any

import pytest

from brokerage_async.fleet import Fleet, LeaseLostError
from brokerage_async.fleet.feed import TAKE, Entry, Turn
from brokerage_async.watch import StoredChange
from brokerage_async.watch.state import ItemCodec
from tests.fleet.engines import missing
from tests.fleet.watched_list import LEASE, Lags, Lists, Things, feed_of, published, publishing, run, take
from tests.watch.scripted_service import quiet

AT = "2026-03-02T12:00:00+00:00"
ENTRY = [b"7-0", [b"key", b'["A1",["x",2]]', b"kind", b"added", b"at", AT.encode(), b"id", b"k", b"after", b"1"]]


@pytest.mark.parametrize(("key", "expected"), [(None, ("A1", ("x", 2))), (lambda item: item + 1, 2)])
def test_restored_key_is_that_of_the_text_unless_there_is_a_function(key: object, expected: object) -> None:
    codec: ItemCodec[int] = ItemCodec(key)  # type: ignore[arg-type]
    change = codec.restore(Entry.read(ENTRY))
    assert (change.key, change.after) == (expected, 1)


def added(number: int) -> StoredChange:
    """Return a change whose poller has a clock that is months off."""
    return StoredChange(sequence=number, key=f'"{number}"', kind="added", at=AT, before=None, after=b'{"n": 1}')


async def write_change(feed: Things, *more: str | int) -> None:
    """Write the first change of a feed as an earlier version did, with ``more`` fields."""
    fields = ("key", '"a"', "kind", "added", "at", AT, "id", "k", "after", '{"n": 1}', *more)
    await run(feed, "XADD", "stream", "1-0", *fields)
    await run(feed, "HSET", "meta", "sequence", 1)


@pytest.mark.redis
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
class TestReaders:
    async def test_readers_and_groups_get_every_change_from_where_they_start(self, fleet: Fleet) -> None:
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

    async def test_lag_of_each_change_is_reported_when_it_is_handed_out(self, feed: Things, lags: Lags) -> None:
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

    async def test_change_published_by_an_earlier_version_has_no_lag(self, feed: Things, lags: Lags) -> None:
        await write_change(feed)
        async with feed.read(start="beginning") as reader, feed.read_group("g", start="beginning") as consumer:
            for each in (reader, consumer):
                assert await take(each, 1) == [("added", "a", 1)]
        assert lags.take() == []

    async def test_lag_is_not_negative_after_the_engine_was_set_back(self, feed: Things, lags: Lags) -> None:
        await write_change(feed, "published", 4_000_000_000_000_000)
        async with feed.read(start="beginning") as reader:
            await take(reader, 1)
        assert [found.lag for found in lags.take()] == [0.0]

    async def test_changes_of_a_dead_consumer_go_to_another_one_and_lag_from_publishing(
        self, feed: Things, lists: Lists, lags: Lags
    ) -> None:
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
        first, second = lags.take()
        assert second.lag >= first.lag + LEASE * 0.9

    async def test_fetched_changes_are_dropped_when_their_lease_ends(self, fleet: Fleet) -> None:
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

    async def test_consumer_closed_while_it_takes_passes_its_changes_on(self, fleet: Fleet) -> None:
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
