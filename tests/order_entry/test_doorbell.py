"""Early looks: events bring them forward, and they decide nothing but that an order is there."""

import asyncio
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.errors import BrokerageError, ConfigurationError, ResponseLostError
from brokerage_async.journal import MemoryJournal
from brokerage_async.order_entry import OrderEntry, ReconcilePolicy
from brokerage_async.order_entry.decisions import SearchResult
from brokerage_async.order_entry.lists import EarlyLooks, Sighting, poll_until
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.tables import for_each
from tests.trading import Bells

pytestmark = pytest.mark.virtual_time

POLICY = ReconcilePolicy()


class Lists:
    """Order lists that show the order from a time on. Each poll takes a while and may fail."""

    def __init__(self, shown_from: float = 1e9, *, latency: float = 0.02, error: BrokerageError | None = None) -> None:
        self._shown_from = shown_from
        self._latency = latency
        self._error = error
        self.polls: list[float] = []

    async def poll(self) -> tuple[bool, Sighting[Any]]:
        loop = asyncio.get_running_loop()
        self.polls.append(round(loop.time(), 3))
        await asyncio.sleep(self._latency)
        found = loop.time() >= self._shown_from
        return found, Sighting(orders={}, complete=self._error is None, error=self._error)


async def searched(lists: Lists, *rings: float, policy: ReconcilePolicy = POLICY) -> tuple[SearchResult, float]:
    result = await poll_until(policy, lists.poll, Bells(*rings).rings)
    return result, asyncio.get_running_loop().time()


async def test_event_brings_the_find_forward() -> None:
    lists = Lists(shown_from=2.0)
    assert await searched(lists, 2.0, 2.001, 2.005) == (SearchResult.FOUND, pytest.approx(2.03))
    assert lists.polls == [0.5, 1.5, 2.01]


async def test_event_of_another_order_costs_one_look_and_changes_no_other() -> None:
    lists = Lists(shown_from=2.0)
    assert await searched(lists, 0.7, 0.701) == (SearchResult.FOUND, pytest.approx(3.52))
    assert lists.polls == [0.5, 0.71, 1.5, 3.5]


@for_each("error", [None, ResponseLostError("lost")])
@for_each("seconds", [0.01, 0.3, 1.0, 7.0])
def test_raining_events_leave_the_conclusion_and_its_time_as_they_are(
    seconds: float, error: BrokerageError | None
) -> None:
    @on_virtual_time
    async def run(*rings: float) -> tuple[tuple[SearchResult, float], list[float]]:
        lists = Lists(error=error)
        return await searched(lists, *rings), lists.polls

    alone, polls = run()
    rings = [seconds * number for number in range(1, int(200 / seconds))]
    with_push, more = run(*rings)
    assert with_push == alone
    assert set(polls) <= set(more)
    assert 0 < len(more) - len(polls) <= min(len(rings), 11 + 0.5 * alone[1])


def test_early_look_that_takes_too_long_does_not_delay_the_next_poll() -> None:
    @on_virtual_time
    async def run(*rings: float) -> tuple[tuple[SearchResult, float], list[float]]:
        lists = Lists(latency=1.2)
        return await searched(lists, *rings), lists.polls

    alone, polls = run()
    with_push, more = run(0.2, 2.0)
    assert with_push == alone
    assert more == sorted([*polls, 0.21, 2.9])  # the second came while a poll was under way


async def test_event_right_before_a_poll_causes_no_other() -> None:
    lists = Lists(shown_from=0.5)
    assert await searched(lists, 0.46, 0.495) == (SearchResult.FOUND, pytest.approx(0.52))
    assert lists.polls == [0.5]


async def test_wait_that_is_cancelled_leaves_no_timer() -> None:
    looks = EarlyLooks()
    waiting = asyncio.ensure_future(looks.before(100))
    await asyncio.sleep(1)
    looks.ring()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    looks.reset()
    assert looks._timer is None


def test_push_needs_a_client_that_can_stream() -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    with pytest.raises(ConfigurationError, match="streamer_url must be the address of the account stream"):
        client.order_entry(MemoryJournal(), push=True)
    with pytest.raises(ConfigurationError, match="push must be True or False, got 1"):
        client.order_entry(MemoryJournal(), push=1)  # type: ignore[arg-type]

    class Other:
        session, environment = client.session, client.environment

    with pytest.raises(ConfigurationError, match="push must be False: the client has no streams"):
        OrderEntry(Other(), MemoryJournal(), push=True)
