"""Polling loops: schedules, watchers that listen, the end of a client, and polls at once after an event."""

import asyncio
import gc
import itertools
import logging
import math
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from operator import itemgetter
from typing import Any
from unittest.mock import AsyncMock

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import Client, StaticToken, errors
from brokerage_async._generated.endpoints import Endpoints
from brokerage_async._generated.operations import TRANSACTIONS_LIST, WATCHLISTS_LIST
from brokerage_async.errors import ConfigurationError, NotFoundError, ServerError
from brokerage_async.http.session import BrokerageSession
from brokerage_async.protocol.response import Response
from brokerage_async.watch import Watch, Watcher
from brokerage_async.watch.diff import UNCHANGED
from brokerage_async.watch.feed import MAX_LATENESS, MAX_RETRY_AFTER, Cursor, Feed, Schedule
from brokerage_async.watch.lists import ConditionalExecutor
from brokerage_async.watch.poll import poll
from tests.fake_transport import FakeTransport, fail, ok
from tests.http import calls
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import quiet

pytestmark = pytest.mark.virtual_time


seconds = st.floats(0.01, 100)


@given(seconds, st.lists(st.floats(0, 300), min_size=1, max_size=30))
def test_next_due_is_on_the_grid_and_skips_missed_polls(interval: float, durations: list[float]) -> None:
    schedule = Schedule(interval=interval)
    due = now = 1000.0
    for polls, duration in enumerate(durations, start=1):
        now = max(now, due) + duration  # a poll starts when it is due, or at once when that has passed
        following = schedule.next_due(due, interval, now)
        steps = (following - 1000.0) / interval
        assert steps == pytest.approx(round(steps), abs=1e-6)
        assert round(steps) >= polls
        assert following > due
        assert now - following <= MAX_LATENESS + 1e-9
        assert following <= max(due + interval, now + interval) + 1e-9
        due = following


@given(st.integers(1, 2000), seconds, st.none() | st.floats(0, 500))
def test_backoff_grows_to_its_bound_and_honours_retry_after(
    failures: int, interval: float, retry_after: float | None
) -> None:
    schedule = Schedule(interval=interval, max_backoff=60)
    wait = schedule.backoff(failures, interval, retry_after)
    assert wait >= max(interval, retry_after or 0)  # as long as that is a patience that one may ask for
    assert wait <= max(interval, 60, retry_after or 0)
    assert schedule.backoff(failures + 1, interval, retry_after) >= wait
    assert [schedule.backoff(failures, 1.0) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert schedule.backoff(1, 1.0, 86_400.0) == MAX_RETRY_AFTER


@for_each("wrong", [0, -1, math.nan, math.inf, None, "1", True])
async def test_current_invalid_result_of_pacing_raises(wrong: Any) -> None:
    with pytest.raises(errors.ConfigurationError, match="result of the pacing function must be a number of seconds"):
        await Schedule(interval=AsyncMock(return_value=wrong), min_interval=1.0).current()


async def test_plain_functions_in_place_of_coroutine_functions_are_named() -> None:
    with pytest.raises(errors.ConfigurationError, match=r"interval must be a coroutine function, .* of type float"):
        await Schedule(interval=lambda: 2.0).current()
    with pytest.raises(errors.ConfigurationError, match=r"fetch must be a coroutine function, .* of type list"):
        await anext(poll(lambda: [1], key=str, interval=1.0))


async def test_current_min_interval_bounds_numbers_and_pacing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "brokerage_async.watch"):
        assert await Schedule(interval=0.1, min_interval=1.0).current() == 1.0
    assert "below the minimum" in caplog.text
    assert await Schedule(interval=lambda: asyncio.sleep(0, 0.1), min_interval=1.0).current() == 1.0


NAMES = ["interval", "min_interval", "jitter", "max_backoff"]
WRONG = [*itertools.product(NAMES, [None, "1", True, -1, math.nan, math.inf]), ("interval", 0)]


@for_each("name, wrong", [*WRONG, ("jitter", -0.1), ("jitter", 1.1)])
def test_schedule_invalid_seconds_raise(name: str, wrong: object) -> None:
    raised(errors.ConfigurationError, Schedule, match=name, **{"interval": 1.0} | {name: wrong})


def one_row(latency: float = 0.0) -> FakeTransport:
    """Return a service that answers every list with one row."""
    row = {"id": 1, "status": "Live", "alert-external-id": "x", "symbol": "AAPL", "account-number": "A1"}
    day = {"session-date": "2026-06-10", "open-at": "2026-06-10T13:30:00Z", "close-at": "2026-06-10T20:00:00Z"}
    return FakeTransport(ok({"items": [row | day]}), latency=latency)


client_of = partial(calls.client_of, credentials=StaticToken("token"))


def polls() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "brokerage_async poll"]


async def one_item() -> list[int]:
    return [1]


STREAMS: dict[str, Callable[[Client], Watcher[Any]]] = {
    "orders": lambda client: client.watch.orders("me", ["A1"], interval=3600),
    "quote_alerts": lambda client: client.watch.quote_alerts(interval=3600),
    "view": lambda client: client.with_options(timeout=5).watch.orders("me", ["A1"], interval=3600),
    "positions": lambda client: client.watch.positions(["A1"], interval=3600),
    "market": lambda client: client.watch.market(initial=True),
    "durable": lambda client: client.watch.orders("me", ["A1"], interval=3600, state=MemoryState()),
}


async def leave(watcher: Callable[[], Watcher[Any]], way: str) -> object:
    """Leave a new watcher, and return what the caller may hold on to."""

    async def consume() -> None:
        async for _ in watcher():
            if way == "break":
                break

    match way:
        case "break":
            await consume()
        case "forget":
            await anext(watcher())
        case "take one":
            await asyncio.create_task(anext(watcher()))  # type: ignore[arg-type]
        case "close":
            async with watcher() as held:
                await anext(held)
        case "cancel":
            consumer = asyncio.create_task(consume())
            await asyncio.sleep(1)
            consumer.cancel()
            await asyncio.wait({consumer})
            return consumer  # with its exception, whose traceback has the frames
        case "cancel at once":
            await raised_by(asyncio.wait_for(anext(watcher()), 0), TimeoutError)
        case _:
            watcher()
    return None


LEAVING = {"break": 1, "forget": 1, "cancel": 1, "close": 0, "take one": 1, "cancel at once": 0, "never use": 0}
"""Ways to leave a watcher, with the number of warnings."""


@for_each("stream, way", itertools.product([*STREAMS.values(), lambda _: hourly(one_item)], LEAVING))
@on_virtual_time
async def test_watcher_left_stops_its_polls_at_once_and_warns_unless_closed(
    stream: Callable[[Client], Watcher[Any]], way: str
) -> None:
    gc.disable()  # reference counts must do
    try:
        async with client_of(service := one_row()) as client:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                held = await leave(lambda: stream(client), way)
                for _ in range(3):
                    await asyncio.sleep(0)
            assert polls() == []
            assert len(service.requests) <= 2
            assert [each.category for each in caught] == [ResourceWarning] * LEAVING[way]
            del held
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


async def test_closed_client_cancels_a_poll_under_way() -> None:
    service = one_row(latency=1000)
    async with client_of(service) as client:
        market = client.watch.market()
        own = poll(client.watchlists.list, key=str, interval=3600)
        single = asyncio.create_task(client.watch.order("me", "A1", 1))
        others = [asyncio.ensure_future(anext(market)), asyncio.ensure_future(anext(own))]
        await asyncio.sleep(1)
        assert len(polls()) == 3
    assert asyncio.get_running_loop().time() == 1
    assert polls() == []
    for waiting in (single, *others):
        await raised_by(waiting, ConfigurationError, "the client is closed")


@for_each("turns", range(12))
@on_virtual_time
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
    await raised_by(task, asyncio.CancelledError)
    for _ in range(3):
        await asyncio.sleep(0)
    assert polls() == []
    assert asyncio.get_running_loop().time() == 0


@pytest.mark.virtual_time(False)
async def test_watcher_collected_in_another_thread_wakes_the_loop() -> None:
    held = [poll(one_item, key=int, interval=3600)]
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


@for_each("turns", range(8))
async def test_watcher_that_asks_while_the_loop_ends_gets_its_error(turns: int) -> None:
    feed = Feed(AsyncMock(side_effect=NotFoundError("gone")), key=int, schedule=Schedule(interval=1.0))
    watcher = Watcher[int]({"": Cursor(feed)})
    feed.begin()
    for _ in range(turns):
        await asyncio.sleep(0)
    await raised_by(anext(watcher), NotFoundError)


async def watchlists(client: Client) -> list[str]:
    return [str(each.name) for each in await client.watchlists.list()]


def hourly(fetch: Callable[[], Awaitable[Any]]) -> Watcher[Any]:
    return poll(fetch, key=str, interval=3600)


POLLS: list[Callable[[Client], Watcher[Any]]] = [
    lambda client: hourly(client.watchlists.list),
    lambda client: hourly(lambda: watchlists(client)),
    lambda client: hourly(client.with_options(timeout=5).watchlists.list),
    lambda client: hourly(lambda: asyncio.ensure_future(watchlists(client))),
    lambda client: poll(one_item, key=int, interval=client.watch.market_hours(trading=3600, resting=3600)),
]


@for_each("make", [*STREAMS.values(), *POLLS])
@on_virtual_time
async def test_closed_client_ends_every_watcher_with_an_error(make: Callable[[Client], Watcher[Any]]) -> None:
    async with client_of(one_row()) as client:
        waiting, idle, unused = make(client), make(client), make(client)
        await anext(waiting)
        await anext(idle)
        pending = asyncio.ensure_future(anext(waiting))
        await asyncio.sleep(1)
    assert polls() == []
    assert asyncio.get_running_loop().time() == 1
    await raised_by(pending, ConfigurationError, "the client is closed")
    is_poll = make in POLLS
    for watcher in (idle, *([] if is_poll else [unused, make(client)])):
        with pytest.raises(ConfigurationError, match="the client is closed"):
            [change async for change in watcher]
    for watcher in (waiting, idle):
        await raised_by(anext(watcher), StopAsyncIteration)


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
        woken = asyncio.create_task(watcher._listener.wait())
        await asyncio.sleep(30)
        assert not woken.done()
        feed.hasten()
        await asyncio.sleep(1)
        assert woken.done()  # although nothing has changed
        await asyncio.sleep(200)
    assert times == [0, 30, 130, 230]


async def test_feed_is_shared_by_schedule_and_let_go_without_holder() -> None:
    service = FakeTransport(ok({"items": []}))
    async with client_of(service) as client:
        watch = client.watch
        watchers = [watch.orders("me", ["A1"], interval=each) for each in (2.0, 2, 3.0)]
        assert len(watch._feeds) == 2
        assert len({id(each._parts[""].feed) for each in watchers}) == 2
        del watchers
        gc.collect()
        assert not watch._feeds


def listed(*names: str) -> Response:
    return ok({"items": [{"name": name} for name in names]})


async def test_conditional_executor_decodes_changed_bodies_only(monkeypatch: pytest.MonkeyPatch) -> None:
    read, decoded = BrokerageSession._read, list[object]()

    async def counted(self: Any, *arguments: Any) -> Any:
        decoded.append(arguments)
        return await read(self, *arguments)

    monkeypatch.setattr(BrokerageSession, "_read", counted)
    down = [fail(500)] * 4
    transport = FakeTransport(listed("a"), listed("a"), listed("b"), *down, listed("b"), listed("a"), listed("a"))
    async with client_of(transport) as client:
        fetch, other = (Endpoints(ConditionalExecutor(client.session)).watchlists.list for _ in range(2))
        found: list[Any] = [await fetch() for _ in range(3)]
        await raised_by(fetch(), ServerError)
        found += [await fetch(), await fetch(), await other()]
    names = [each if each is UNCHANGED else [entry.name for entry in each] for each in found]
    assert names == [["a"], UNCHANGED, ["b"], UNCHANGED, ["a"], ["a"]]
    assert len(decoded) == 4
    a, b = listed("a").body, listed("b").body
    assert [request.previous_body for request in transport.requests] == [None, a, a, *[b] * 6, None]


async def test_conditional_executor_delegates_other_reads() -> None:
    async with client_of(FakeTransport(listed("a"))) as client:
        executor = ConditionalExecutor(client.session)
        await executor.execute(WATCHLISTS_LIST.bind())
        assert await executor.fetch_if_changed(WATCHLISTS_LIST.bind(), b"other") is not None
        pager = executor.paginate(TRANSACTIONS_LIST.bind(account_number="A1"))
        assert [each.extra["name"] for each in await pager.collect(1)] == ["a"]


@attrs.define
class Pace:
    """A pacing function that compares its values, and is not hashable for that."""

    seconds: list[float]

    async def __call__(self) -> float:
        return self.seconds[0]


@attrs.frozen
class FrozenPace(Pace):
    """One that has a hash, but for a value that has none."""


@for_each("kind", [Pace, FrozenPace])
@on_virtual_time
async def test_pacing_objects_need_not_be_hashable(kind: type[Pace]) -> None:
    pace = kind([1.0])
    assert Schedule(interval=pace) == Schedule(interval=pace) != Schedule(interval=kind([1.0]))
    assert hash(Schedule(interval=pace)) == hash(Schedule(interval=pace))
    async with client_of(FakeTransport(listed("a"))) as client:
        for interval in (pace, pace):
            async with client.watch.quote_alerts(interval=interval) as alerts:
                await quiet(alerts, 3.0)


@for_each(
    "make",
    [
        lambda watch, push: watch.orders("me", ["A"], push=push),
        lambda watch, push: watch.quote_alerts(push=push),
        lambda watch, push: watch.positions(["A"], push=push),
        lambda watch, push: watch.balances(["A"], push=push),
    ],
)
def test_push_is_a_flag_and_without_an_address_an_error_at_once(make: Any) -> None:
    client = client_of(FakeTransport())
    raised(ConfigurationError, make, client.watch, "yes", match="push must be True or False, got 'yes'")
    raised(ConfigurationError, make, client.watch, True, match="streamer_url must be the address of the account stream")
    raised(ConfigurationError, make, Watch(client), True, match="made without the streams of a client")


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
