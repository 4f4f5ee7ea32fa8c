"""Work that is cancelled, or outlives its cancelled caller, on virtual time.

`tests/bulk/test_fetch.py` and `test_pager.py` test what a function mapped over a source yields, reads and cancels.
"""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from brokerage_async.http.concurrency import ConcurrentMap, end, outliving, result_of
from tests.http.calls import cancelled, now
from tests.loops import on_virtual_time
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


@for_each("offending", ["function", "source"])
@on_virtual_time
async def test_map_first_error_cancels_the_other_calls(offending: str) -> None:
    async def call(item: int) -> None:
        if item == 3 and offending == "function":
            raise LookupError(item)
        await asyncio.sleep(100)

    def source() -> Iterator[int]:
        yield from range(5)
        if offending == "source":
            raise LookupError

    with pytest.raises(LookupError):
        [pair async for pair in ConcurrentMap(call, source(), concurrency=8)]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert now() == 0


@for_each("turns", range(40))
@on_virtual_time
async def test_cancellation_at_any_suspension_is_raised_and_leaves_no_task(turns: int) -> None:
    async def call(_: int) -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        async with aclosing(ConcurrentMap(call, range(6), concurrency=2)) as mapped:
            assert len([pair async for pair in mapped]) == 6
        await asyncio.sleep(1)  # a later statement that must never run after a cancellation

    task = asyncio.create_task(main())
    for _ in range(turns):
        await asyncio.sleep(0)
    await cancelled(task)
    assert now() == 0


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
    await cancelled(ending)
    assert ([task.cancelled() for task in tasks], now()) == ([True, True], 1)


async def test_outliving_work_goes_on_without_its_cancelled_caller() -> None:
    done = list[float]()

    async def write() -> None:
        await asyncio.sleep(10)
        done.append(now())

    async def call() -> None:
        await result_of(outliving(write(), "write"))

    caller = asyncio.create_task(call())
    await asyncio.sleep(1)
    await cancelled(caller)
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
