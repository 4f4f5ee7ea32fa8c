"""Pages of lists: walks, prefetching, and lists that change while their pages are read."""

import asyncio
import gc
import json
import logging
import math
from collections.abc import Callable
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async import Client, Environment, StaticToken, errors
from brokerage_async.http.pager import OffsetPager
from brokerage_async.models import Pagination
from brokerage_async.operation import BoundCall, Effect, Operation, Shape
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.fake_transport import FakeTransport
from tests.http.calls import cancelled, now, raised_by
from tests.loops import on_real_time, on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each
from tests.watch.scripted_service import quiet

pytestmark = pytest.mark.virtual_time


@attrs.frozen
class Row:
    id: str | None = None
    text: str | None = None


@attrs.frozen
class Nameless:
    text: str


def operation(model: Any = Row) -> Any:
    identity = ("id",) if model is Row else ()
    common: Any = {"effect": Effect.READ, "shape": Shape.PAGE, "result": model, "identity": identity}
    return Operation(name="rows.list", method="GET", path="/rows", **common)


def rows(count: Any, start: Any = 0) -> Any:
    return [Row(str(number)) for number in range(start, start + count)]


@attrs.define(slots=False)
class Service:
    """Serves ``content`` in pages, each after a second of the loop's clock. To a `client` the rows are orders.

    ``block`` selects the pagination block: complete, missing, or without the totals.
    """

    content: list[Any] = attrs.field(converter=list)
    block: str = "full"
    most: int = 10_000
    ignores_offset: bool = False
    model: Any = Row
    latency: Callable[[int], float] = lambda offset: 1.0
    asked: list[int] = attrs.Factory(list)
    failures: dict[int, list[Exception]] = attrs.Factory(dict)
    in_flight: int = 0
    max_in_flight: int = 0
    cancelled: int = 0
    before_answer: Callable[[int], object] = lambda offset: None

    def pager(self, **query: Any) -> Any:
        wire = {key.replace("_", "-"): value for key, value in query.items()}
        return OffsetPager(self.fetch, BoundCall(operation(self.model), query=wire))

    async def fetch(self, call: Any) -> Any:
        offset, size = call.query["page-offset"], min(call.query.get("per-page") or 10, self.most)
        self.asked.append(offset)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency(offset))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        if self.failures.get(offset):
            raise self.failures[offset].pop(0)
        self.before_answer(offset)
        return self.answer(0 if self.ignores_offset else offset, size)

    def client(self) -> Client:
        def respond(request: Request) -> Response:
            query = {"page-offset": ["0"], "per-page": ["100"]} | parse_qs(urlsplit(request.url).query)
            offset, size = (int(query[name][0]) for name in ("page-offset", "per-page"))
            self.before_answer(offset)
            self.asked.append(offset)
            found = self.answer(0 if self.ignores_offset else offset, size)
            body: dict[str, Any] = {"data": {"items": [{"id": row.id, "status": "Live"} for row in found.value]}}
            if found.pagination is not None:
                body["pagination"] = {key.replace("_", "-"): value for key, value in vars(found.pagination).items()}
            return Response(status=200, body=json.dumps(body).encode())

        transport = FakeTransport(respond, latency=0.01)
        return Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=transport)

    def answer(self, offset: Any, size: Any) -> Any:
        items = self.content[offset * size : (offset + 1) * size]
        block = SimpleNamespace(
            per_page=size, page_offset=offset, item_offset=offset * size, current_item_count=len(items),
            total_items=len(self.content), total_pages=math.ceil(len(self.content) / size),
        )  # fmt: skip
        if self.block == "counts":
            block.total_items = block.total_pages = None
        return SimpleNamespace(value=items, pagination=None if self.block == "none" else block)


async def test_pages_say_what_they_are_and_a_walk_goes_on_from_a_page_offset() -> None:
    service = Service(rows(12))
    pages = [page async for page in service.pager(per_page=5).pages()]
    assert [(len(page.items), page.page_offset) for page in pages] == [(5, 0), (5, 1), (2, 2)]
    assert pages[0].pagination.total_items == 12
    service = Service(rows(100))
    assert [row async for row in service.pager(per_page=10, page_offset=7).prefetch(2)] == rows(30, 70)
    assert service.asked == [7, 8, 9]


async def test_nothing_is_asked_before_it_is_needed() -> None:
    service = Service(rows(50))
    pager = service.pager(per_page=10).prefetch(3)
    aiter(pager)
    pager.pages()
    assert await pager.collect(0) == []
    await asyncio.sleep(5)
    assert service.asked == []


BLOCKS = st.sampled_from(["full", "counts", "none"])


@given(st.integers(0, 60), st.none() | st.integers(0, 70), st.integers(1, 12), st.integers(0, 9), BLOCKS)
@example(count=25, most=None, size=None, ahead=8, block="none")
@on_virtual_time
async def test_items_come_once_in_order_and_no_page_in_vain(
    count: int, most: Any, size: Any, ahead: int, block: str
) -> None:
    service = Service(rows(count), block=block)
    assert await service.pager(per_page=size).prefetch(ahead).collect(most) == rows(count)[:most]
    assert (service.asked, service.cancelled) == (sorted(set(service.asked)), 0)
    assert block == "full" or service.max_in_flight <= 1, "pages are read ahead by the total alone"
    # Without a total, only a short page shows the end, and without a size only an empty one.
    pages = max(1, math.ceil(count / size)) if block == "full" else count // size + 1 if size else 4
    assert len(service.asked) == (pages if most is None else min(math.ceil(most / size), pages))


async def test_pages_ahead_hide_the_latency_and_are_asked_for_as_soon_as_a_lane_is_free() -> None:
    service = Service(rows(1000))
    await service.pager(per_page=10).prefetch(8).collect()
    assert (now(), service.max_in_flight) == (1 + math.ceil(99 / 8), 8)
    service, finished = Service(rows(200)), list[int]()
    service.before_answer = lambda offset: finished.append(len(service.asked))
    await service.pager(per_page=10).prefetch(4).collect()
    # Four pages come in the same moment. None waits for the others, or for the consumer, to be followed by the next.
    assert finished[:5] == [1, 5, 6, 7, 8]


async def test_a_consumer_that_takes_its_time_has_a_bounded_number_of_pages_before_it() -> None:
    service = Service(rows(500))
    async with aclosing(service.pager(per_page=10).prefetch(4).pages()) as pages:
        async for page in pages:
            await asyncio.sleep(10)
            assert len(service.asked) <= page.page_offset + 1 + 2 * 4
            if page.page_offset == 5:
                break


async def test_pages_that_overtake_wait_for_their_turn() -> None:
    service = Service(rows(50), latency=lambda offset: 11.0 - offset)
    assert [row async for row in service.pager(per_page=5).prefetch(20)] == rows(50)


async def test_leaving_the_loop_or_cancelling_the_caller_cancels_what_is_in_flight() -> None:
    service = Service(rows(500))
    async for _ in service.pager(per_page=10).prefetch(5):
        await asyncio.sleep(0.5)
        break
    gc.collect()
    await asyncio.sleep(0.5)
    assert (service.in_flight, service.cancelled) == (0, 5)

    service = Service(rows(500))
    walk = asyncio.create_task(service.pager(per_page=10).prefetch(5).collect())
    await asyncio.sleep(2.5)
    await cancelled(walk)
    assert (service.in_flight, service.cancelled) == (0, 5)


@for_each("wrong", [-1, "5", 1.5, True, None])
async def test_the_most_items_and_the_pages_ahead_are_numbers(wrong: Any) -> None:
    service = Service(rows(3))
    pager = service.pager()
    for read in (pager.collect, pager.to_arrow) if wrong is not None else ():
        await raised_by(read(wrong), errors.ConfigurationError, "max_items")
    raised(errors.ConfigurationError, pager.prefetch, wrong, match=f"pages must be .*{wrong}")
    assert service.asked == []


@for_each("ahead", [0, 4])
async def test_a_page_that_fails_for_good_says_where_to_go_on(ahead: int) -> None:
    service = Service(rows(100))
    service.failures[4] = [errors.ServerError("broken", status=500)]
    got = []

    async def walk() -> None:
        async for item in service.pager(per_page=10).prefetch(ahead):
            got.append(item)

    assert (await raised_by(walk(), errors.ServerError)).__notes__ == ["the walk can go on from page_offset=4"]
    assert (got, service.in_flight) == (rows(40), 0)
    assert max(service.asked) <= 4 + ahead
    got += await service.pager(per_page=10, page_offset=4).prefetch(ahead).collect()
    assert got == rows(100)


@for_each("ahead", [0, 4])
@for_each("block", ["full", "none"])
@for_each("model", [Row, Nameless])
async def test_service_that_ignores_the_offset_keeps_no_walk_going(ahead: int, block: str, model: Any) -> None:
    content = rows(100) if model is Row else [Nameless(str(number)) for number in range(100)]
    service = Service(content, block=block, ignores_offset=True, model=model)
    reading = service.pager(per_page=10).prefetch(ahead).collect()
    if block == "full":
        await raised_by(reading, errors.ResponseDecodeError, "the list has more pages than were read: page 2 repeats")
    else:
        items = await reading
        assert items[:10] == content[:10]
        if model is Row:
            assert items == content[:10]
    assert len(service.asked) <= 3 + 2 * ahead


@for_each("has_total", [True, False])
@for_each("content", [rows(10), [Nameless("x")] * 10])
async def test_a_list_without_an_end_is_an_error(has_total: bool, content: Any) -> None:
    """Every answer is the first page, labelled as the requested one, with more to follow."""
    service = Service(content, model=type(content[0]))

    def answer(offset: int, size: int) -> Any:
        shown = {"page_offset": offset, "total_pages": offset + 2 if has_total else None}
        return SimpleNamespace(value=content, pagination=Pagination(per_page=size, current_item_count=10, **shown))

    service.answer = answer  # type: ignore[method-assign]
    reading = service.pager(per_page=10).collect()
    await raised_by(reading, errors.ResponseDecodeError, "100 pages in a row held nothing new")
    assert len(service.asked) == 101


@for_each("block", ["full", "counts"])
@for_each("ahead", [0, 4])
async def test_a_service_that_sends_smaller_pages_loses_nothing(block: str, ahead: int) -> None:
    service = Service(rows(45), most=7, block=block)
    assert [row async for row in service.pager(per_page=100).prefetch(ahead)] == rows(45)


async def test_list_that_grows_or_shrinks_is_walked_to_its_end() -> None:
    for ahead in (0, 4):
        service = Service(rows(60))
        service.before_answer = lambda offset, content=service.content: offset == 1 and content.insert(0, Row("new"))
        items = [row async for row in service.pager(per_page=10).prefetch(ahead)]
        assert set(rows(60)) <= set(items)
        assert len({row.id for row in items}) == len(items), "rows that move to the next page come once"

    service = Service(rows(100))
    service.before_answer = lambda offset: offset == 3 and service.content.__delitem__(slice(45, None))
    assert [row async for row in service.pager(per_page=10).prefetch(4)] == rows(45)
    assert service.in_flight == 0


async def test_repeats_are_those_of_the_latest_walk() -> None:
    service = Service([*rows(10), Row("3"), *rows(5, 20), Row("4", "b")])
    pager = service.pager(per_page=8)
    assert pager.repeats == 0
    for _ in range(2):
        assert len(await pager.collect()) == 16
        assert pager.repeats == 1
    assert await pager.collect(5) == rows(5)
    assert pager.repeats == 0


async def test_each_iteration_asks_anew_and_awaiting_a_pager_says_what_to_do() -> None:
    service = Service(rows(5))
    pager = service.pager()
    await raised_by(pager, TypeError, r"use `await pager.collect\(\)` or `async for item in pager`")
    assert service.asked == []
    assert [row async for row in pager] == [row async for row in pager]
    assert service.asked == [0, 0]


@for_each("wrong", ["5", 1.5, [], b"1"])
@on_real_time
async def test_a_page_offset_that_is_none_goes_out_to_be_refused(wrong: Any) -> None:
    async with Simulator(equities=20, equity_options=1, chain_rows=1) as sim, sim.client() as client:
        reading = client.instruments.equities(page_offset=wrong, per_page="x").collect()
        error = await raised_by(reading, errors.InvalidRequestError)
    assert {problem.domain for problem in error.errors} == {"page-offset", "per-page"}


@for_each("joins, expected", [([], {("removed", "50")}), (rows(1, 900), {("added", "900"), ("removed", "50")})])
@on_virtual_time
async def test_orders_watcher_an_order_slips_between_two_pages_reports_only_what_left(
    joins: Any, expected: Any
) -> None:
    """An order that joins at the same time leaves the total as it was, so that no total shows the slip."""
    service = Service(rows(250))

    def leave(offset: int) -> None:
        if len(service.asked) == 4 and offset == 1:  # the second poll has read its first page
            service.content.remove(Row("50"))  # so that 100 moves to the page that was read
            service.content.extend(joins)

    service.before_answer = leave
    async with service.client() as client, client.watch.orders("me", ["A1"], interval=5) as watcher:
        assert {(await anext(watcher)).key for _ in range(250)} == {str(number) for number in range(250)}
        async with asyncio.timeout(60):
            changes = [await anext(watcher) for _ in expected]
        assert {(change.kind, change.key) for change in changes} == expected
        await quiet(watcher, 30)


async def test_live_n_pages_take_n_requests() -> None:
    for count, pages in [(0, [0]), (99, [0]), (100, [0]), (101, [0, 1]), (250, [0, 1, 2])]:
        service = Service(rows(count))
        async with service.client() as client:
            orders = await client.orders.live("me", ["A1"])
            options = await client.instruments.equity_options(symbols=["A"], per_page=100)
        assert [order.id for order in orders] == [str(number) for number in range(count)]
        assert len(options) == count
        assert service.asked == pages * 2


async def test_list_that_changes_is_read_again_within_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "brokerage_async.pager")
    for is_whole in (True, False):
        service = Service(rows(250))
        service.before_answer = lambda offset, service=service: service.asked == [0] and service.content.pop(50)
        async with service.client() as client:
            pager = client.orders.list_live("A1")
            orders = await (client.orders.live("me", ["A1"]) if is_whole else pager.collect())
            assert [order.id for order in orders] == [row.id for row in service.content]
            assert service.asked == [0, 1, 2, 0, 1, 2]
            assert pager.disagreement is None

            service.asked.clear()
            service.before_answer = lambda offset, service=service: offset == 1 and service.content.pop(0)
            if is_whole:
                reading = client.orders.live("me", ["A1"])
                error = await raised_by(reading, errors.ResponseDecodeError, "the list changed while it was read")
                assert (error.code, error.operation) == ("list_changed", "orders.live")
            else:
                await pager.collect()
                assert pager.disagreement is not None
                assert "a row may have slipped by between pages" in caplog.text
            assert service.asked.count(0) == 3


async def test_list_with_pages_that_cannot_be_read_raises() -> None:
    service = Service(rows(250), ignores_offset=True)
    async with service.client() as client:
        calls = (client.orders.live("me", ["A1"]), client.orders.list_live("A1").collect(), client.watchlists.list())
        for call in calls:
            await raised_by(call, errors.ResponseDecodeError, "more pages than were read")


async def test_page_operation_reads_an_unpaged_answer_whole() -> None:
    for count, requests in [(0, 1), (99, 1), (100, 3), (150, 3)]:  # a full page may have been cut off
        service = Service(rows(count))
        whole = SimpleNamespace(value=service.content, pagination=None)
        service.answer = lambda *_, whole=whole: whole  # type: ignore[method-assign]
        async with service.client() as client:
            assert len(await client.orders.list_live("A1").collect()) == count
            assert len(service.asked) == requests
            service.asked.clear()
            assert len(await client.orders.live("me", ["A1"])) == count
            assert len(service.asked) == 1
