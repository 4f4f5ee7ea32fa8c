"""Feeds of one client by list and schedule. An equal body is not decoded."""

import gc

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.operations import TRANSACTIONS_LIST, WATCHLISTS_LIST
from brokerage_async.errors import ServerError
from brokerage_async.protocol.response import Response
from brokerage_async.watch.diff import UNCHANGED
from brokerage_async.watch.fetch import ConditionalExecutor, conditional_fetch
from tests.fake_transport import FakeTransport, fail, ok

pytestmark = pytest.mark.virtual_time


async def test_feed_is_shared_by_schedule_and_let_go_without_holder() -> None:
    service = FakeTransport(ok({"items": []}))
    async with client_of(service) as client:
        watch = client.watch
        watchers = [watch.orders("me", ["A1"], interval=each) for each in (2.0, 2, 3.0)]
        assert len(watch._feeds) == 2
        assert len({id(each._source.parts[""].feed) for each in watchers}) == 2
        del watchers
        gc.collect()
        assert not watch._feeds


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
