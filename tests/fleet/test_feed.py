"""Change feeds as a whole on a real engine: one list per name, and an engine that goes away and comes back."""

import asyncio
import contextlib
from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineUnavailableError, Fleet
from brokerage_async.watch import WatchStateError, poll
from tests.fleet.engines import engine_server, missing
from tests.fleet.watched_list import LEASE, Lists, feed_of, published, publishing, take

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
