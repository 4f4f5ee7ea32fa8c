"""Raw answers of the endpoints of a client."""

import json
from typing import Any

import pytest

from brokerage_async import RawResponse, errors
from brokerage_async.client import Client
from brokerage_async.models import NewWatchlist, NewWatchlistEntry
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.fake_transport import LOST, FakeTransport, fail
from tests.http.calls import client_of
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

WARRANT = {"symbol": "AAPLW"}
TECH = NewWatchlist(name="tech", watchlist_entries=(NewWatchlistEntry(symbol="AAPL"),))


def answer(status: int = 200, data: Any = None, **headers: str) -> Response:
    return Response(status=status, headers=headers, body=json.dumps({"data": data}).encode())


async def by_name(client: Client, symbol: str) -> RawResponse[Any]:
    return await client.with_raw_response.instruments.warrant(symbol)


async def by_method(client: Client, symbol: str) -> RawResponse[Any]:
    return await client.with_raw_response(client.instruments.warrant)(symbol)


both_forms = for_each("form", [by_name, by_method])
BOTH = b'{"data": {}, "error": {"code": "record_not_found", "message": "no"}}'


@both_forms
async def test_answer_has_status_headers_body_and_result(form: Any) -> None:
    transport = FakeTransport(answer(203, WARRANT, etag="7"))
    async with client_of(transport) as client:
        raw = await form(client, "BRK/B")
        assert (raw.status, raw.headers, raw.body) == (203, {"etag": "7"}, json.dumps({"data": WARRANT}).encode())
        assert raw.parse() == await client.instruments.warrant("BRK/B")
    first, second = transport.requests
    assert (first.url, first.headers) == (second.url, second.headers)


@both_forms
async def test_errors_are_those_of_an_ordinary_call(form: Any) -> None:
    async with client_of(FakeTransport(fail(404, "record_not_found"), Response(status=200, body=BOTH))) as client:
        with pytest.raises(errors.NotFoundError) as caught:
            await form(client, "NOPE")
        assert caught.value.operation == "instruments.warrant"
        assert caught.value.__notes__ == ["called as instruments.warrant(symbol='NOPE')"]
        with pytest.raises(errors.NotFoundError) as caught:  # at once, though the status is that of a success
            await form(client, "NOPE")
        assert caught.value.attempts == 1
    transport = FakeTransport()
    async with client_of(transport) as client:
        with pytest.raises(errors.InvalidRequestError):
            await form(client, "..")
    assert not transport.requests


@both_forms
async def test_body_is_parsed_only_when_asked_and_as_strictly_as_the_client(form: Any) -> None:
    async with client_of(FakeTransport(Response(status=200, body=b"<html>"))) as client:
        raw = await form(client, "AAPLW")
    assert raw.body == b"<html>"
    with pytest.raises(errors.ResponseDecodeError):
        raw.parse()
    async with client_of(FakeTransport(answer(200, {"symbol": ["A"]}))) as client:
        assert (await form(client, "A")).parse().extra == {"symbol": ["A"]}
    async with client_of(FakeTransport(answer(200, {"symbol": ["A"]})), strict=True) as client:
        raw = await form(client, "A")
    with pytest.raises(errors.ResponseDecodeError):
        raw.parse()


@both_forms
async def test_view_has_the_options_of_its_client(form: Any) -> None:
    async with client_of(FakeTransport(10.0)) as client:
        with pytest.raises(errors.DeadlineExceededError):
            await form(client.with_options(deadline=1.0), "A")


async def test_paginated_list_is_one_page() -> None:
    body = {"data": {"items": [{"symbol": "A"}]}, "pagination": {"total-pages": 9, "page-offset": 3}}
    transport = FakeTransport(Response(status=200, body=json.dumps(body).encode()))
    async with client_of(transport) as client:
        raw = await client.with_raw_response.instruments.equities(is_etf=True, page_offset=3)
        same = await client.with_raw_response(client.instruments.equities)(is_etf=True, page_offset=3)
    assert [equity.symbol for equity in raw.parse()] == ["A"]
    assert same.body == raw.body
    assert ["page-offset=3" in request.url for request in transport.requests] == [True, True]


async def test_read_is_repeated_and_a_mutation_sent_once_if_at_all() -> None:
    transport = FakeTransport(LOST, answer(200, WARRANT), LOST)
    async with client_of(transport) as client:
        assert (await client.with_raw_response.instruments.warrant("A")).status == 200
        with pytest.raises(errors.ResponseLostError):
            await client.with_raw_response.watchlists.create(TECH)
    assert len(transport.requests) == 3
    async with client_of(transport, read_only=True) as client:
        with pytest.raises(errors.ConfigurationError, match="read-only"):
            await client.with_raw_response.watchlists.create(TECH)
    assert len(transport.requests) == 3


async def test_names_are_those_of_this_client() -> None:
    """A method of another client could send to another environment."""
    async with client_of(FakeTransport()) as client, client_of(FakeTransport()) as other:
        assert {"instruments", "orders"} <= set(dir(client.with_raw_response))
        for name in ("session", "nope", "__wrapped__"):
            assert not hasattr(client.with_raw_response, name)
        assert not hasattr(client.with_raw_response.orders, "nope")
        for wrong in (other.instruments.warrant, client.request, client.authorize, print, None):
            anything: Any = wrong
            with pytest.raises(errors.ConfigurationError, match="method of this client"):
                client.with_raw_response(anything)


@pytest.mark.virtual_time(False)
async def test_answers_of_the_simulator_have_the_same_result_raw() -> None:
    async with Simulator() as brokerage, brokerage.client() as client:
        account = brokerage.account_numbers[0]
        raw = await client.with_raw_response.orders.live("me", [account])
        assert raw.parse() == await client.orders.live("me", [account])
        page = await client.with_raw_response.instruments.equities(per_page=5)
        assert page.parse() == await client.instruments.equities(per_page=5).collect(5)
        assert page.headers["content-type"].startswith("application/json")
        assert (await client.with_raw_response.watchlists.create(TECH)).status == 201
