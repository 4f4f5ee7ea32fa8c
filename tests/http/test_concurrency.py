"""A function mapped over a source with bounded concurrency, on virtual time."""

import asyncio
import gc
import itertools
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from brokerage_async.http.concurrency import ConcurrentMap, end, outliving, result_of
from tests.http.calls import now
from tests.loops import on_virtual_time
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


class Calls:
    """A function that takes some seconds for each item and records its calls."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = itertools.cycle(seconds or (1.0,))
        self.in_flight = self.most = self.cancelled = 0

    async def __call__(self, item: int) -> int:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(next(self.seconds))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        return 10 * item


async def test_map_yields_completed_results_within_its_concurrency() -> None:
    calls = Calls(5, 1, 2)
    completed = [pair async for pair in ConcurrentMap(calls, range(3), concurrency=3)]
    assert completed == [(1, 10), (2, 20), (0, 0)]
    assert (now(), calls.most) == (5, 3)
    calls = Calls()
    assert len([pair async for pair in ConcurrentMap(calls, range(10), concurrency=4)]) == 10
    assert (calls.most, now()) == (4, 5 + 3)


async def test_map_async_source_is_read_by_one_worker_at_a_time() -> None:
    async def source() -> AsyncIterator[int]:
        for number in range(6):
            await asyncio.sleep(0.5)
            yield number

    completed = [pair async for pair in ConcurrentMap(Calls(), source(), concurrency=8)]
    assert completed == [(number, 10 * number) for number in range(6)]
    assert now() == 4


async def test_map_slow_consumer_bounds_what_is_read() -> None:
    numbers = itertools.count()
    async with aclosing(aiter(ConcurrentMap(Calls(), numbers, concurrency=3))) as completed:
        await anext(completed)
        await asyncio.sleep(100)
        assert next(numbers) == 1 + 2 * 3


async def test_map_starts_no_more_workers_than_items() -> None:
    async with aclosing(aiter(ConcurrentMap(Calls(), range(2), concurrency=10**9))) as completed:
        async for _ in completed:
            assert len(asyncio.all_tasks()) <= 1 + 2


@for_each("in_order", [False, True])
@for_each("offending", ["function", "source"])
@on_virtual_time
async def test_map_first_error_cancels_the_other_calls(offending: str, in_order: bool) -> None:
    calls = Calls(100)

    async def function(item: int) -> int:
        if item == 3 and offending == "function":
            raise LookupError(item)
        return await calls(item)

    def source() -> Iterator[int]:
        yield from range(5)
        if offending == "source":
            raise LookupError

    with pytest.raises(LookupError):
        [pair async for pair in ConcurrentMap(function, source(), concurrency=8, in_order=in_order)]
    assert calls.in_flight == 0
    assert now() == 0


async def test_aclose_before_or_during_use_ends_the_iteration() -> None:
    calls = Calls(10)
    mapped = ConcurrentMap(calls, itertools.count(), concurrency=2)

    async def consume() -> int:
        return len([pair async for pair in mapped])

    consumer = asyncio.create_task(consume())
    await asyncio.sleep(25)
    await mapped.aclose()
    assert await consumer == 4
    assert (calls.in_flight, calls.cancelled) == (0, 2)
    unused = Calls()
    mapped = ConcurrentMap(unused, range(3), concurrency=2)
    await mapped.aclose()
    assert [pair async for pair in mapped] == []
    assert unused.most == 0


@for_each("items", [range(7), range(0)])
@on_virtual_time
async def test_map_in_order_yields_the_order_of_the_items(items: range) -> None:
    calls = Calls(5, 1, 3)
    completed = [pair async for pair in ConcurrentMap(calls, items, concurrency=3, in_order=True)]
    assert completed == [(number, 10 * number) for number in items]


@for_each("turns", range(40))
@on_virtual_time
async def test_cancellation_at_any_suspension_is_raised_and_leaves_no_task(turns: int) -> None:
    calls = Calls(0.0)

    async def main() -> None:
        async with aclosing(ConcurrentMap(calls, range(6), concurrency=2)) as mapped:
            assert len([pair async for pair in mapped]) == 6
        await asyncio.sleep(1)  # a later statement that must never run after a cancellation

    task = asyncio.create_task(main())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls.in_flight == 0
    assert now() == 0


@pytest.mark.virtual_time
async def test_end_cancelled_while_it_waits_leaves_no_task_and_raises_afterwards() -> None:
    async def slow_to_leave() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)

    tasks = [asyncio.create_task(slow_to_leave()) for _ in range(2)]
    await asyncio.sleep(0)
    ending = asyncio.create_task(end(*tasks))
    await asyncio.sleep(0.5)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert [task.cancelled() for task in tasks] == [True, True]
    assert asyncio.get_running_loop().time() == 1


async def test_outliving_work_goes_on_without_its_cancelled_caller() -> None:
    done = list[float]()

    async def write() -> None:
        await asyncio.sleep(10)
        done.append(now())

    async def call() -> None:
        await result_of(outliving(write(), "write"))

    caller = asyncio.create_task(call())
    await asyncio.sleep(1)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert now() == 1
    await asyncio.sleep(20)
    assert done == [10]


async def test_outliving_work_that_nothing_refers_to_is_kept_and_its_failure_is_not_logged() -> None:
    loop, reported, waits = asyncio.get_running_loop(), list[object](), list[weakref.ref[asyncio.Future[None]]]()
    loop.set_exception_handler(lambda _, context: reported.append(context))

    async def write() -> None:
        waiter = loop.create_future()  # known to this coroutine alone
        waits.append(weakref.ref(waiter))
        await waiter

    outliving(write(), "write")
    await asyncio.sleep(0)
    gc.collect()
    waiter = waits[0]()
    assert waiter is not None
    waiter.set_exception(ConnectionError())
    await asyncio.sleep(1)
    gc.collect()
    assert reported == []
