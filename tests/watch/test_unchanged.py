"""A read that is repeated: only what has changed is decoded."""

from __future__ import annotations

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.operations import TRANSACTIONS_LIST, WATCHLISTS_LIST
from brokerage_async.errors import ServerError
from brokerage_async.protocol.response import Response
from brokerage_async.watch.poll import UNCHANGED
from brokerage_async.watch.unchanged import Rereading, SameBody, unless_same
from tests.fake_transport import FakeTransport, fail, ok
from tests.loops import on_virtual_time


def listed(*names: str) -> Response:
    return ok({"items": [{"name": name} for name in names]})


def client_of(transport: FakeTransport) -> Client:
    return Client(Environment.sandbox("https://api.example.com"), StaticToken("token"), transport=transport)


class TestUnlessSame:
    @on_virtual_time
    async def test_same_bytes_are_unchanged_until_others_come(self):
        transport = FakeTransport(listed("a"), listed("a"), listed("b"), listed("b"), listed("a"))
        async with client_of(transport) as client:
            fetch = unless_same(client.session, lambda api: api.watchlists.list())
            found = [await fetch() for _ in range(5)]
        names = [each if each is UNCHANGED else [entry.name for entry in each] for each in found]
        assert names == [["a"], UNCHANGED, ["b"], UNCHANGED, ["a"]]

    @on_virtual_time
    async def test_transport_hears_which_body_is_known(self):
        transport = FakeTransport(listed("a"), listed("b"), listed("b"))
        async with client_of(transport) as client:
            fetch = unless_same(client.session, lambda api: api.watchlists.list())
            for _ in range(3):
                await fetch()
        assert [request.known for request in transport.requests] == [None, listed("a").body, listed("b").body]

    @on_virtual_time
    async def test_failure_in_between_forgets_nothing(self):
        transport = FakeTransport(listed("a"), fail(500), fail(500), fail(500), fail(500), listed("a"))
        async with client_of(transport) as client:
            fetch = unless_same(client.session, lambda api: api.watchlists.list())
            await fetch()
            with pytest.raises(ServerError):
                await fetch()
            assert await fetch() is UNCHANGED

    @on_virtual_time
    async def test_two_fetches_know_nothing_of_each_other(self):
        async with client_of(FakeTransport(listed("a"))) as client:
            for _ in range(2):
                fetch = unless_same(client.session, lambda api: api.watchlists.list())
                assert await fetch() is not UNCHANGED


class TestRereading:
    @on_virtual_time
    async def test_same_body_is_a_signal(self):
        async with client_of(FakeTransport(listed("a"))) as client:
            rereading = Rereading(client.session)
            await rereading.execute(WATCHLISTS_LIST)
            with pytest.raises(SameBody):
                await rereading.execute(WATCHLISTS_LIST)

    @on_virtual_time
    async def test_reread_and_pages_go_through(self):
        async with client_of(FakeTransport(listed("a"))) as client:
            rereading = Rereading(client.session)
            await rereading.execute(WATCHLISTS_LIST)
            assert await rereading.reread(WATCHLISTS_LIST, b"other") is not None
            pager = rereading.paginate(TRANSACTIONS_LIST, path={"account_number": "A1"})
            assert [each.extra["name"] for each in await pager.collect(1)] == ["a"]
