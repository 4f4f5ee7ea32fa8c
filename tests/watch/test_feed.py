"""One polling loop: it runs as long as someone listens, and ends with its client."""

import asyncio
import gc
import itertools
import threading
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.errors import ConfigurationError, NotFoundError
from brokerage_async.watch import Watcher
from brokerage_async.watch.feed import Cursor, Feed
from brokerage_async.watch.poll import poll
from brokerage_async.watch.schedule import Schedule
from tests.fake_transport import FakeTransport, ok
from tests.loops import on_virtual_time
from tests.tables import for_each
from tests.watch.memory_state import MemoryState

pytestmark = pytest.mark.virtual_time


def one_row(latency: float = 0.0) -> FakeTransport:
    """Return a service that answers every list with one row."""
    return FakeTransport(ok({"items": [{"id": 1, "status": "Live", "alert-external-id": "x"}]}), latency=latency)


def client_of(service: FakeTransport) -> Client:
    return Client(Environment.sandbox("https://api.example.com"), StaticToken("token"), transport=service)


def polls() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "brokerage_async poll"]


async def three_rows() -> list[int]:
    return [1, 2, 3]


STREAMS: dict[str, Callable[[Client], Watcher[Any]]] = {
    "orders": lambda client: client.watch.orders("me", ["A1"], interval=3600),
    "quote_alerts": lambda client: client.watch.quote_alerts(interval=3600),
    "view": lambda client: client.with_options(timeout=5).watch.orders("me", ["A1"], interval=3600),
}
OTHER_STREAMS: dict[str, Callable[[Client], Watcher[Any]]] = {
    "positions": lambda client: client.watch.positions(["A1", "B2"], interval=3600),
    "market": lambda client: client.watch.market(initial=True),
    "poll": lambda client: poll(three_rows, key=int, interval=3600),
    "durable": lambda client: client.watch.orders("me", ["A1"], interval=3600, state=MemoryState()),
}


async def break_off(watcher: Callable[[], Watcher[Any]]) -> None:
    async for _ in watcher():
        break


async def forget(watcher: Callable[[], Watcher[Any]]) -> None:
    held = watcher()
    await anext(held)
    del held


async def cancel(watcher: Callable[[], Watcher[Any]]) -> None:
    async def consume() -> None:
        async for _ in watcher():
            pass

    consumer = asyncio.create_task(consume())
    await asyncio.sleep(1)
    consumer.cancel()
    await asyncio.wait({consumer})
    kept.append(consumer)  # with its exception, whose traceback has the frames


kept: list[asyncio.Task[None]] = []


async def close(watcher: Callable[[], Watcher[Any]]) -> None:
    async with watcher() as held:
        await anext(held)


async def take_one(watcher: Callable[[], Watcher[Any]]) -> None:
    await asyncio.create_task(anext(watcher()))  # type: ignore[arg-type]


async def cancel_at_once(watcher: Callable[[], Watcher[Any]]) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(watcher()), 0)


async def never_use(watcher: Callable[[], Watcher[Any]]) -> None:
    watcher()


LEAVING = {break_off: 1, forget: 1, cancel: 1, close: 0, take_one: 0, cancel_at_once: 0, never_use: 0}
"""Ways to leave a watcher, with the number of warnings."""


@for_each("stream, leave", itertools.product({**STREAMS, **OTHER_STREAMS}, LEAVING))
@on_virtual_time
async def test_watcher_left_stops_its_polls_at_once_and_warns_unless_closed(
    stream: str, leave: Callable[[Callable[[], Watcher[Any]]], Awaitable[None]]
) -> None:
    row = {"id": 1, "status": "Live", "alert-external-id": "x", "symbol": "AAPL", "account-number": "A1"}
    day = {"session-date": "2026-06-10", "open-at": "2026-06-10T13:30:00Z", "close-at": "2026-06-10T20:00:00Z"}
    gc.disable()  # reference counts must do
    try:
        async with client_of(service := FakeTransport(ok({"items": [row | day]}))) as client:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                await leave(lambda: {**STREAMS, **OTHER_STREAMS}[stream](client))
                for _ in range(3):
                    await asyncio.sleep(0)
            assert polls() == []
            assert len(service.requests) <= 2
            assert [each.category for each in caught] == [ResourceWarning] * LEAVING[leave]
            kept.clear()
    finally:
        gc.enable()


async def test_other_watchers_keep_the_poll_task_running() -> None:
    async with client_of(service := one_row()) as client:
        staying = client.watch.orders("me", ["A1"], interval=10)
        leaving = client.watch.orders("me", ["A1"], interval=10)
        await anext(staying)
        await anext(leaving)
        with pytest.warns(ResourceWarning, match="close it with `async with`"):
            del leaving
        await asyncio.sleep(25)
        assert len(service.requests) == 3
        await staying.aclose()


@pytest.mark.parametrize("stream", STREAMS.values(), ids=list(STREAMS))
async def test_closed_client_ends_every_watcher_with_an_error(stream: Callable[[Client], Watcher[Any]]) -> None:
    async with client_of(one_row()) as client:
        waiting, idle, unused = stream(client), stream(client), stream(client)
        await anext(waiting)
        await anext(idle)
        pending = asyncio.ensure_future(anext(waiting))
        await asyncio.sleep(1)
    assert polls() == []
    with pytest.raises(ConfigurationError, match="the client is closed"):
        await pending
    for watcher in (idle, unused):
        with pytest.raises(ConfigurationError, match="the client is closed"):
            [change async for change in watcher]
        with pytest.raises(StopAsyncIteration):
            await anext(watcher)


async def test_closed_client_cancels_a_poll_under_way() -> None:
    service = one_row(latency=1000)
    async with client_of(service) as client:
        market = client.watch.market()
        single = asyncio.create_task(client.watch.order("me", "A1", 1))
        other = asyncio.ensure_future(anext(market))
        await asyncio.sleep(1)
        assert len(polls()) == 2
    assert asyncio.get_running_loop().time() == 1
    assert polls() == []
    for waiting in (single, other):
        with pytest.raises(ConfigurationError, match="the client is closed"):
            await waiting


async def test_watcher_made_after_closing_gets_the_error() -> None:
    client = client_of(one_row())
    async with client:
        pass
    with pytest.raises(ConfigurationError, match="the client is closed"):
        await anext(client.watch.orders("me", ["A1"]))


async def test_closed_client_error_comes_after_due_changes() -> None:
    async with client_of(one_row()) as client:
        watcher = client.watch.orders("me", ["A1"])
        other = client.watch.orders("me", ["A1"])
        await anext(other)
    assert (await anext(watcher)).kind == "added"
    with pytest.raises(ConfigurationError):
        await anext(watcher)


@pytest.mark.parametrize("turns", range(12))
async def test_cancellation_at_any_suspension_is_raised(turns: int) -> None:
    """Cancelled while it waits, ends or closes: the task ends there, and no poll survives."""

    async def main() -> None:
        async with client_of(one_row()) as client, client.watch.orders("me", ["A1"], interval=5) as watcher:
            await anext(watcher)
        await asyncio.sleep(1)  # never reached by a cancelled task

    task = asyncio.create_task(main())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(3):
        await asyncio.sleep(0)
    assert polls() == []
    assert asyncio.get_running_loop().time() == 0


@pytest.mark.virtual_time(False)
async def test_watcher_collected_in_another_thread_wakes_the_loop() -> None:
    async def fetch() -> list[int]:
        return [1]

    held = [poll(fetch, key=int, interval=3600)]
    await anext(held[0])
    timer = threading.Timer(0.05, held.clear)
    started = asyncio.get_running_loop().time()
    asyncio.get_running_loop().call_soon(timer.start)  # within the block

    async def ended() -> None:
        await asyncio.wait(polls(), timeout=5)
        timer.join()  # the other thread warns after it has woken the loop

    with pytest.warns(ResourceWarning, match="dropped"):
        await ended()
    assert asyncio.get_running_loop().time() - started < 4


@pytest.mark.parametrize("turns", range(8))
async def test_watcher_that_asks_while_the_loop_ends_gets_its_error(turns: int) -> None:
    async def fetch() -> list[int]:
        raise NotFoundError("gone")

    feed = Feed(fetch, key=int, schedule=Schedule(interval=1.0))
    watcher = Watcher[int]({"": Cursor(feed)})
    feed.begin()
    for _ in range(turns):
        await asyncio.sleep(0)
    with pytest.raises(NotFoundError):
        await anext(watcher)


async def watchlists(client: Client) -> list[str]:
    return [str(each.name) for each in await client.watchlists.list()]


FETCHES: dict[str, Callable[[Client], Callable[[], Awaitable[Any]]]] = {
    "method": lambda client: client.watchlists.list,
    "closure": lambda client: lambda: watchlists(client),
    "view": lambda client: client.with_options(timeout=5).watchlists.list,
    "subtask": lambda client: lambda: asyncio.ensure_future(watchlists(client)),
}


@pytest.mark.parametrize("fetch", FETCHES.values(), ids=list(FETCHES))
async def test_closed_client_ends_poll_with_an_error(fetch: Callable[[Client], Callable[[], Awaitable[Any]]]) -> None:
    async with client_of(FakeTransport(ok({"items": [{"name": "Tech"}]}))) as client:
        changes = poll(fetch(client), key=str, interval=3600)
        assert (await anext(changes)).kind == "added"
        pending = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(1)
        assert len(polls()) == 1
    assert polls() == []
    assert asyncio.get_running_loop().time() == 1
    with pytest.raises(ConfigurationError, match="the client is closed"):
        await pending
    with pytest.raises(StopAsyncIteration):
        await anext(changes)


async def test_closed_client_ends_poll_paced_by_it() -> None:
    async def fetch() -> list[int]:
        return [1]

    async with client_of(FakeTransport(ok({"items": []}))) as client:
        changes = poll(fetch, key=int, interval=client.watch.market_hours(trading=3600, resting=3600))
        await anext(changes)
        await asyncio.sleep(1)
    assert polls() == []
    with pytest.raises(ConfigurationError, match="the client is closed"):
        await anext(changes)


async def test_closed_client_cancels_the_fetch_of_poll_under_way() -> None:
    async with client_of(one_row(latency=1000)) as client:
        pending = asyncio.ensure_future(anext(poll(client.watchlists.list, key=str, interval=3600)))
        await asyncio.sleep(1)
    assert polls() == []
    assert asyncio.get_running_loop().time() == 1
    with pytest.raises(ConfigurationError, match="the client is closed"):
        await pending


async def test_poll_over_a_client_of_its_own_goes_on_when_that_is_closed() -> None:
    async def fetch() -> list[str]:
        async with client_of(FakeTransport(ok({"items": [{"name": f"at {len(fetched)}"}]}))) as own:
            fetched.append(1)
            return await watchlists(own)

    fetched: list[int] = []
    async with poll(fetch, key=str, interval=10) as changes:
        kinds = [(await anext(changes)).kind for _ in range(3)]
    assert kinds == ["added", "added", "removed"]


async def test_poll_that_never_called_a_client_survives_its_end() -> None:
    async def fetch() -> list[int]:
        return [int(asyncio.get_running_loop().time())]

    async with poll(fetch, key=int, interval=1) as changes:
        async with client_of(one_row()) as client:
            await client.watchlists.list()
            await anext(changes)
        await asyncio.sleep(5)
        assert (await anext(changes)).kind == "added"


async def test_hasten_polls_now_and_keeps_the_grid_from_there() -> None:
    times: list[float] = []

    async def fetch() -> list[int]:
        times.append(asyncio.get_running_loop().time())
        return [1]

    feed: Feed[int] = Feed(fetch, key=int, schedule=Schedule(interval=100.0))
    async with Watcher[int]({"": Cursor(feed)}) as watcher:
        await anext(watcher)
        woken = asyncio.create_task(feed.wait())
        await asyncio.sleep(30)
        assert not woken.done()
        feed.hasten()
        await asyncio.sleep(1)
        assert woken.done()  # although nothing has changed
        await asyncio.sleep(200)
    assert times == [0, 30, 130, 230]
