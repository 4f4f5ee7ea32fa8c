"""Push as a doorbell: when events cause an early poll."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from operator import itemgetter
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.errors import ConfigurationError
from brokerage_async.watch import Watch
from brokerage_async.watch.feed import Cursor, Feed
from brokerage_async.watch.poll import Watcher
from brokerage_async.watch.schedule import Schedule
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.tables import for_each

WATCHES: list[Any] = [
    lambda watch: watch.orders("me", ["A"], push=True),
    lambda watch: watch.quote_alerts(push=True),
    lambda watch: watch.positions(["A"], push=True),
    lambda watch: watch.balances(["A"], push=True),
]


@for_each("make", WATCHES)
def test_push_without_an_address_is_an_error_at_once(make: Any) -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    with pytest.raises(ConfigurationError, match="streamer_url must be the address of the account stream"):
        make(client.watch)
    with pytest.raises(ConfigurationError, match="made without the streams of a client"):
        make(Watch(client))


@for_each("moment", range(40))
@on_virtual_time
async def test_change_around_a_poll_is_reported_once_and_costs_one_poll_more_at_most(moment: int) -> None:
    """A poll takes 10 ms and reads the list after 5. The change and its burst of events come at any of its moments."""
    state, polls, rings = "Live", list[float](), list[Callable[[], None]]()
    loop = asyncio.get_running_loop()

    async def fetch() -> list[tuple[str, str]]:
        polls.append(loop.time())
        await asyncio.sleep(0.005)
        items = [("1", state)]
        await asyncio.sleep(0.005)
        return items

    @asynccontextmanager
    async def doorbell(ring: Callable[[], None]) -> AsyncIterator[None]:
        rings.append(ring)
        yield

    feed = Feed(fetch, key=itemgetter(0), schedule=Schedule(interval=30.0), doorbell=doorbell)
    async with Watcher[Any]({"": Cursor(feed)}) as watcher:
        reported: list[tuple[str, float]] = []

        async def report() -> None:
            async for change in watcher:
                reported.append((change.item[1], loop.time()))

        task = asyncio.ensure_future(report())
        await asyncio.sleep(0)
        await asyncio.sleep(29.98 + moment / 1000)
        state, changed = "Filled", loop.time()
        for pause in (0.0, 0.001, 0.002):
            await asyncio.sleep(pause)
            rings[0]()
        await asyncio.sleep(20)
        assert [status for status, _ in reported] == ["Live", "Filled"]
        assert reported[-1][1] <= changed + 0.035
        assert len(polls) <= 3
        task.cancel()
        await asyncio.wait({task})


def test_push_is_a_flag() -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    with pytest.raises(ConfigurationError, match="push must be True or False, got 'yes'"):
        client.watch.orders("me", ["A"], push="yes")  # type: ignore[arg-type]
