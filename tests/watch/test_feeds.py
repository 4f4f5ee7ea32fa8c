"""Feeds of one client by list and schedule. An equal body is not decoded."""

import gc
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.operations import TRANSACTIONS_LIST, WATCHLISTS_LIST
from brokerage_async.errors import ServerError
from brokerage_async.protocol.response import Response
from brokerage_async.watch.diff import UNCHANGED
from brokerage_async.watch.feed import ConditionalExecutor, Feed, Feeds, conditional_fetch
from brokerage_async.watch.schedule import Schedule
from tests.fake_transport import FakeTransport, fail, ok

pytestmark = pytest.mark.virtual_time

SCHEDULE = Schedule(interval=2.0)


class Session:
    """Records the feeds that are to be closed with the client."""

    def __init__(self) -> None:
        self.closing: list[Feed[Any]] = []

    def close_with_client(self, resource: Feed[Any]) -> None:
        self.closing.append(resource)


async def read(api: Any) -> list[Any]:
    raise AssertionError("not polled")


def get(feeds: Feeds, name: str = "list", schedule: Schedule = SCHEDULE) -> Feed[Any]:
    return feeds.get(name, schedule, read, str)


def test_get_same_list_and_schedule_is_one_feed() -> None:
    session: Any = Session()
    feeds = Feeds(session, lambda: datetime.now(UTC))
    first = get(feeds)
    assert get(feeds, schedule=Schedule(interval=2.0)) is first
    assert get(feeds, "other") is not first
    assert get(feeds, schedule=Schedule(interval=3.0)) is not first
    assert session.closing[0] is first
    assert len(session.closing) == 3


@pytest.mark.virtual_time(False)
async def test_get_feed_that_has_ended_is_replaced() -> None:
    session: Any = Session()
    feeds = Feeds(session, lambda: datetime.now(UTC))
    first = get(feeds)
    await first.aclose()
    assert first.ended
    assert get(feeds) is not first


def test_get_feed_without_holder_is_let_go() -> None:
    class Forgetful(Session):
        def close_with_client(self, resource: Feed[Any]) -> None:
            made.append(id(resource))

    made: list[int] = []
    session: Any = Forgetful()
    feeds = Feeds(session, lambda: datetime.now(UTC))
    get(feeds)
    gc.collect()
    assert not feeds._running


def listed(*names: str) -> Response:
    return ok({"items": [{"name": name} for name in names]})


def client_of(transport: FakeTransport) -> Client:
    return Client(Environment.sandbox("https://api.example.com"), StaticToken("token"), transport=transport)


class TestConditionalFetch:
    async def test_equal_body_is_unchanged(self) -> None:
        transport = FakeTransport(listed("a"), listed("a"), listed("b"), listed("b"), listed("a"))
        async with client_of(transport) as client:
            fetch = conditional_fetch(client.session, lambda api: api.watchlists.list())
            found = [await fetch() for _ in range(5)]
        names = [each if each is UNCHANGED else [entry.name for entry in each] for each in found]
        assert names == [["a"], UNCHANGED, ["b"], UNCHANGED, ["a"]]

    async def test_previous_body_is_passed_to_the_transport(self) -> None:
        transport = FakeTransport(listed("a"), listed("b"), listed("b"))
        async with client_of(transport) as client:
            fetch = conditional_fetch(client.session, lambda api: api.watchlists.list())
            for _ in range(3):
                await fetch()
        assert [request.previous_body for request in transport.requests] == [None, listed("a").body, listed("b").body]

    async def test_failure_in_between_keeps_the_previous_body(self) -> None:
        transport = FakeTransport(listed("a"), fail(500), fail(500), fail(500), fail(500), listed("a"))
        async with client_of(transport) as client:
            fetch = conditional_fetch(client.session, lambda api: api.watchlists.list())
            await fetch()
            with pytest.raises(ServerError):
                await fetch()
            assert await fetch() is UNCHANGED

    async def test_two_fetches_are_independent(self) -> None:
        async with client_of(FakeTransport(listed("a"))) as client:
            for _ in range(2):
                fetch = conditional_fetch(client.session, lambda api: api.watchlists.list())
                assert await fetch() is not UNCHANGED


class TestConditionalExecutor:
    async def test_reread_and_pages_are_delegated(self) -> None:
        async with client_of(FakeTransport(listed("a"))) as client:
            executor = ConditionalExecutor(client.session)
            await executor.execute(WATCHLISTS_LIST.bind())
            assert await executor.fetch_if_changed(WATCHLISTS_LIST.bind(), b"other") is not None
            pager = executor.paginate(TRANSACTIONS_LIST.bind(account_number="A1"))
            assert [each.extra["name"] for each in await pager.collect(1)] == ["a"]
