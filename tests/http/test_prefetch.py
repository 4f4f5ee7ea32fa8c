"""Pages fetched ahead: how many at once, how far, in which order they are taken, and failures among them."""

from __future__ import annotations

import asyncio

import pytest

from brokerage_async.http.pager import Prefetcher
from brokerage_async.operation import Page
from tests.loops import on_virtual_time


class Pages:
    """A list whose pages take as many seconds as ``seconds`` says, the others one; ``broken`` pages fail."""

    def __init__(self, *, seconds: dict[int, float] | None = None, broken: int | None = None) -> None:
        self._seconds = seconds or {}
        self._broken = broken
        self.asked: list[int] = []
        self.under_way = self.most = 0

    async def fetch(self, offset: int) -> Page[int]:
        self.asked.append(offset)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self._seconds.get(offset, 1.0))
        finally:
            self.under_way -= 1
        if offset == self._broken:
            raise RuntimeError(f"page {offset} is broken")
        return Page((offset,), None, offset)


@on_virtual_time
async def test_pages_are_taken_in_order_whatever_order_they_arrive_in() -> None:
    pages = Pages(seconds={1: 5.0, 2: 0.5})
    prefetcher = Prefetcher(pages.fetch, 3, 1)
    prefetcher.extend(5)
    assert [(await prefetcher.take(offset)).items for offset in range(1, 5)] == [(1,), (2,), (3,), (4,)]
    await prefetcher.close()


@on_virtual_time
async def test_as_many_pages_are_under_way_as_there_are_workers() -> None:
    pages = Pages()
    prefetcher = Prefetcher(pages.fetch, 3, 0)
    prefetcher.extend(12)
    for offset in range(12):
        await prefetcher.take(offset)
    assert (pages.most, pages.asked) == (3, list(range(12)))
    assert asyncio.get_running_loop().time() == 4.0
    await prefetcher.close()


@on_virtual_time
async def test_finished_pages_that_nobody_takes_hold_the_workers_back() -> None:
    pages = Pages()
    prefetcher = Prefetcher(pages.fetch, 2, 0)
    prefetcher.extend(100)
    await asyncio.sleep(60)
    assert pages.asked == [0, 1, 2, 3], "two wait for the consumer for every worker, and no more"
    await prefetcher.take(0)
    await asyncio.sleep(60)
    assert pages.asked == [0, 1, 2, 3, 4]
    await prefetcher.close()


@on_virtual_time
async def test_the_failure_of_a_page_is_raised_when_its_turn_comes_and_nothing_is_fetched_behind_it() -> None:
    pages = Pages(broken=1)
    prefetcher = Prefetcher(pages.fetch, 2, 0)
    prefetcher.extend(50)
    assert (await prefetcher.take(0)).items == (0,)
    with pytest.raises(RuntimeError, match="page 1 is broken"):
        await prefetcher.take(1)
    await asyncio.sleep(60)
    asked = len(pages.asked)
    prefetcher.extend(80)
    await asyncio.sleep(60)
    assert len(pages.asked) == asked <= 4
    await prefetcher.close()


@on_virtual_time
async def test_a_page_is_in_it_once_it_was_asked_for_or_is_going_to_be() -> None:
    prefetcher = Prefetcher(Pages().fetch, 1, 3)
    assert 3 not in prefetcher
    prefetcher.extend(5)
    assert 3 in prefetcher
    assert 4 in prefetcher
    assert 5 not in prefetcher
    await prefetcher.close()


@on_virtual_time
async def test_closing_cancels_the_fetches_under_way() -> None:
    pages = Pages()
    prefetcher = Prefetcher(pages.fetch, 4, 0)
    prefetcher.extend(10)
    await asyncio.sleep(0.5)
    assert pages.under_way == 4
    await prefetcher.close()
    assert pages.under_way == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
