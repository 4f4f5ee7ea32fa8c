"""Lists that change while their pages are read: read again, never passed on as one state of the list."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from brokerage_async import Client, Environment, StaticToken, errors
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.tables import for_each
from tests.watch.scripted_service import quiet

pytestmark = pytest.mark.virtual_time

PAGE = 100


class Orders:
    """Serves ``numbers`` as orders in pages of a hundred, each after a second; ``between`` runs before each answer."""

    def __init__(self, count: int) -> None:
        self.numbers = list(range(count))
        self.asked: list[int] = []
        self.between: Callable[[int], object] = lambda offset: None
        self.blocks = True
        self.ignores_offset = False

    def answer(self, request: Request) -> Response:
        query = parse_qs(urlsplit(request.url).query)
        offset = int(query.get("page-offset", ["0"])[0])
        size = int(query.get("per-page", [str(PAGE)])[0])
        self.between(offset)
        self.asked.append(offset)
        offset = 0 if self.ignores_offset else offset
        shown = self.numbers[offset * size : (offset + 1) * size] if self.blocks else self.numbers
        total = len(self.numbers)
        block = {"per-page": size, "page-offset": offset, "item-offset": offset * size, "total-items": total,
                 "current-item-count": len(shown), "total-pages": -(-total // size)}  # fmt: skip
        rows = [{"id": number, "account-number": "A1", "status": "Live"} for number in shown]
        body = {"data": {"items": rows}, "context": "/x", **({"pagination": block} if self.blocks else {})}
        return Response(status=200, body=json.dumps(body).encode())

    def client(self, **options: Any) -> Client:
        transport = FakeTransport(self.answer, latency=0.01)
        return Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=transport, **options)


@for_each("joins, expected", [([], {("removed", "50")}), ([900], {("added", "900"), ("removed", "50")})])
@on_virtual_time
async def test_orders_watcher_an_order_slips_between_two_pages_reports_only_what_left(
    joins: list[int], expected: set[tuple[str, str]]
) -> None:
    """An order that joins at the same time leaves the total as it was, so that no total shows the slip."""
    service = Orders(250)

    def leave(offset: int) -> None:
        if len(service.asked) == 4 and offset == 1:  # the second poll has read its first page
            service.numbers.remove(50)  # so that 100 moves to the page that was read
            service.numbers.extend(joins)

    service.between = leave
    async with service.client() as client, client.watch.orders("me", ["A1"], interval=5) as watcher:
        assert {(await anext(watcher)).key for _ in range(250)} == {str(number) for number in range(250)}
        async with asyncio.timeout(60):
            changes = [await anext(watcher) for _ in expected]
        assert {(change.kind, change.key) for change in changes} == expected
        await quiet(watcher, 30)


async def test_live_n_pages_take_n_requests() -> None:
    for count, pages in [(0, [0]), (99, [0]), (100, [0]), (101, [0, 1]), (250, [0, 1, 2])]:
        service = Orders(count)
        async with service.client() as client:
            orders = await client.orders.live("me", ["A1"])
            options = await client.instruments.equity_options(symbols=["A"], per_page=100)
        assert [order.id for order in orders] == [str(number) for number in range(count)]
        assert len(options) == count
        assert service.asked == pages * 2


async def test_live_of_a_list_that_changes_is_read_again_within_a_bound() -> None:
    service = Orders(250)
    service.between = lambda offset: service.asked == [0] and service.numbers.remove(50)
    async with service.client() as client:
        orders = await client.orders.live("me", ["A1"])
    assert [order.id for order in orders] == [str(number) for number in service.numbers]
    assert service.asked == [0, 1, 2, 0, 1, 2]

    service = Orders(250)
    service.between = lambda offset: offset == 1 and service.numbers.pop(0)
    async with service.client() as client:
        with pytest.raises(errors.ResponseDecodeError, match="the list changed while it was read") as raised:
            await client.orders.live("me", ["A1"])
    assert (raised.value.code, raised.value.operation) == ("list_changed", "orders.live")
    assert service.asked.count(0) == 3


async def test_collect_of_a_list_that_changes_is_read_again_within_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    service = Orders(250)
    service.between = lambda offset: service.asked == [0] and service.numbers.remove(50)
    async with service.client() as client:
        pager = client.orders.list_live("A1")
        orders = await pager.collect()
        assert pager.disagreement is None
    assert [order.id for order in orders] == [str(number) for number in service.numbers]
    assert service.asked == [0, 1, 2, 0, 1, 2]

    service = Orders(250)
    service.between = lambda offset: offset == 1 and service.numbers.pop(0)
    with caplog.at_level(logging.WARNING, "brokerage_async.pager"):
        async with service.client() as client:
            pager = client.orders.list_live("A1")
            await pager.collect()
    assert service.asked.count(0) == 3
    assert pager.disagreement is not None
    assert "a row may have slipped by between pages" in caplog.text


async def test_list_with_pages_that_cannot_be_read_raises() -> None:
    service = Orders(250)
    service.ignores_offset = True
    async with service.client() as client:
        for call in (
            client.orders.live("me", ["A1"]),
            client.orders.list_live("A1").collect(),
            client.watchlists.list(),
        ):
            with pytest.raises(errors.ResponseDecodeError, match="more pages than were read"):
                await call


async def test_page_operation_reads_an_unpaged_answer_whole() -> None:
    for count, requests in [(0, 1), (99, 1), (100, 3), (150, 3)]:  # a full page may have been cut off
        service = Orders(count)
        service.blocks = False
        async with service.client() as client:
            assert len(await client.orders.list_live("A1").collect()) == count
            assert len(service.asked) == requests
            service.asked.clear()
            assert len(await client.orders.live("me", ["A1"])) == count
            assert len(service.asked) == 1
