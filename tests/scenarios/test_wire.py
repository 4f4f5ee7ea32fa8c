"""Every operation called through its public name over real HTTP: the bytes that arrive are the documented ones.

The server at the other end is a bare socket that records each request and answers from the vectors, so that
nothing between the call and the wire is taken on trust.
"""

from contextlib import aclosing
from typing import Any

import pytest

from brokerage_async import Client, Environment, RetryPolicy, StaticToken, errors
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Pager, Shape
from tests.fake_transport import FakeTransport
from tests.raw_server import RawServer
from tests.vectors import EXCHANGES
from tests.vectors.exchange import Exchange, differences, invoke

PUBLIC = [exchange for exchange in EXCHANGES if exchange.public]


def serving(exchange: Exchange) -> RawServer:
    body, headers = exchange.answer.encode(), dict(exchange.headers)
    if exchange.status != 204:
        headers["content-length"] = str(len(body))
    fields = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    return RawServer(f"HTTP/1.1 {exchange.status} Whatever\r\n{fields}\r\n".encode() + body)


def received(request: bytes) -> tuple[str, dict[str, str], bytes]:
    """Return line, headers and body of a request as it arrived. No header comes twice."""
    head, _, body = request.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    headers = {key.lower(): value.strip() for key, _, value in (field.partition(":") for field in fields)}
    assert len(headers) == len(fields)
    return line, headers, body


def client_of(base_url: str, credentials: Any) -> Client:
    """Production, because margin is offered there only. Nothing is repeated, so that one call is one request."""
    hosts = {each.host: base_url for each in OPERATIONS.values() if each.host is not None}
    environment = Environment.production(base_url, hosts=hosts)
    return Client(environment, credentials, user_agent="wire-tests/2.0", retry=RetryPolicy.none())


async def outcome(client: Client, exchange: Exchange) -> tuple[Any, Any]:
    called = invoke(client, exchange)
    if not isinstance(called, Pager):
        return await called, None
    async with aclosing(called.pages()) as pages:  # type: ignore[type-var]
        async for page in pages:
            return list(page.items), page.pagination
    raise AssertionError("a pager without any page")


@pytest.mark.parametrize("exchange", PUBLIC, ids=str)
async def test_a_call_sends_the_documented_bytes_and_returns_the_facts(exchange: Exchange) -> None:
    async with serving(exchange) as server, client_of(server.url, StaticToken("invented-access")) as client:
        value, pagination = await outcome(client, exchange)
    (request,) = server.requests
    line, headers, body = received(request)
    assert line == f"{exchange.method} {exchange.target} HTTP/1.1"
    assert body == (exchange.body or b"")
    expected = {
        "host": server.url.removeprefix("http://"), "user-agent": "wire-tests/2.0", "accept": "application/json",
        "authorization": "Bearer invented-access", "content-type": "application/json" if exchange.sent else None,
        "accept-version": OPERATIONS[exchange.operation].version,
        "cookie": None, "expect": None, "transfer-encoding": None,
    }  # fmt: skip
    assert {name: headers.get(name) for name in expected} == expected
    assert differences(value, exchange.facts) == []
    if exchange.pagination is not None:
        assert differences(pagination, exchange.pagination) == []


def test_every_operation_is_called_and_only_paged_reads_are_pagers() -> None:
    assert {exchange.operation for exchange in PUBLIC} | {"oauth.token"} == set(OPERATIONS)
    paged = {name for name, operation in OPERATIONS.items() if operation.shape is Shape.PAGE}
    assert paged == {exchange.operation for exchange in PUBLIC if exchange.pagination is not None}


async def test_a_term_of_the_wrong_type_is_a_problem_like_any_other() -> None:
    wire = FakeTransport()
    async with Client(Environment.sandbox("https://a.example"), StaticToken("t"), transport=wire) as client:
        with pytest.raises(errors.InvalidRequestError) as caught:
            await client.complex_orders.edit_pairs("5WT00001", 1, ratio_price_comparator=5)  # type: ignore[arg-type]
    (problem,) = caught.value.errors
    assert (problem.code, problem.domain) == ("wrong_type", "ratio-price-comparator")
    assert wire.requests == []
