"""Every operation called through its public name over real HTTP: the bytes that arrive are the documented ones.

The server at the other end is a bare socket that records each request and answers from the vectors, so that
nothing between the call and the wire is taken on trust.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import attrs
import pytest

from brokerage_async import AuthorizationCode, Client, Environment, RefreshToken, RetryPolicy, StaticToken, errors
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Pager, Shape
from tests.loops import on_real_time
from tests.tables import for_each
from tests.vectors import EXCHANGES, REFUSALS
from tests.vectors.exchange import Exchange, differences, invoke

PUBLIC = [exchange for exchange in EXCHANGES if exchange.public]
TOKENS = [exchange for exchange in EXCHANGES if not exchange.public]


@attrs.frozen
class Received:
    """One request as it arrived."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header. None when it is missing, an error when it came twice."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1
        return values[0] if values else None


class Wire:
    """A server that writes requests down and gives every one the same answer."""

    def __init__(self, answer: Exchange) -> None:
        self.answer = answer
        self.received: list[Received] = []
        self.base_url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await self._head(reader):
                line, *fields = head.split("\r\n")
                headers = [(key, value.strip()) for key, _, value in (field.partition(":") for field in fields)]
                length = next((int(value) for key, value in headers if key.lower() == "content-length"), 0)
                self.received.append(Received(line, headers, await reader.readexactly(length)))
                writer.write(self._response())
                await writer.drain()
        finally:
            writer.close()

    async def _head(self, reader: asyncio.StreamReader) -> str:
        try:
            return (await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1")
        except asyncio.IncompleteReadError:
            return ""

    def _response(self) -> bytes:
        body = self.answer.answer.encode()
        headers = dict(self.answer.headers)
        if self.answer.status != 204:
            headers["content-length"] = str(len(body))
        fields = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        return f"HTTP/1.1 {self.answer.status} Whatever\r\n{fields}\r\n".encode() + body


@asynccontextmanager
async def wire(answer: Exchange) -> AsyncIterator[Wire]:
    record = Wire(answer)
    server = await asyncio.start_server(record.serve, "127.0.0.1", 0)
    async with server:
        record.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield record


def client_of(base_url: str, **options: Any) -> Client:
    """Production, because margin is offered there only. Nothing is repeated, so that one call is one request."""
    settings = {"user_agent": "wire-tests/2.0", "retry": RetryPolicy(max_attempts=1)} | options
    credentials = settings.pop("credentials", StaticToken("invented-access"))
    hosts = {each.host: base_url for each in OPERATIONS.values() if each.host is not None}
    return Client(Environment.production(base_url, hosts=hosts), credentials, **settings)


async def outcome(client: Client, exchange: Exchange) -> tuple[Any, Any]:
    """Return the result of a call, and the pagination block of a page."""
    called = invoke(client, exchange)
    if not isinstance(called, Pager):
        return await called, None
    async with aclosing(called.pages()) as pages:  # type: ignore[type-var]
        async for page in pages:
            return list(page.items), page.pagination
    raise AssertionError("a pager without any page")


@pytest.mark.parametrize("exchange", PUBLIC, ids=str)
async def test_a_call_sends_the_documented_bytes_and_returns_the_facts(exchange: Exchange) -> None:
    async with wire(exchange) as record, client_of(record.base_url) as client:
        value, pagination = await outcome(client, exchange)
    (request,) = record.received
    assert request.line == f"{exchange.method} {exchange.target} HTTP/1.1"
    assert request.body == (exchange.body or b"")
    assert request.header("Host") == record.base_url.removeprefix("http://")
    assert request.header("User-Agent") == "wire-tests/2.0"
    assert request.header("Authorization") == "Bearer invented-access"
    assert request.header("Accept") == "application/json"
    assert request.header("Content-Type") == ("application/json" if exchange.sent else None)
    assert request.header("Accept-Version") == OPERATIONS[exchange.operation].version
    assert request.header("Cookie") is None
    assert request.header("Expect") is None
    assert request.header("Transfer-Encoding") is None
    assert differences(value, exchange.facts) == []
    if exchange.pagination is not None:
        assert differences(pagination, exchange.pagination) == []


@pytest.mark.parametrize("exchange", [each for each in REFUSALS if each.public and not each.unsent], ids=str)
async def test_a_refusal_raises_the_error(exchange: Exchange) -> None:
    async with wire(exchange) as record, client_of(record.base_url) as client:
        with pytest.raises(errors.APIError) as caught:
            await outcome(client, exchange)
    assert type(caught.value) is getattr(errors, exchange.error or "")
    assert differences(caught.value, exchange.facts) == []
    (request,) = record.received
    assert request.line == f"{exchange.method} {exchange.target} HTTP/1.1"
    assert request.body == (exchange.body or b"")


@pytest.mark.parametrize("exchange", [each for each in REFUSALS if each.unsent], ids=str)
async def test_what_is_known_to_be_refused_is_not_sent(exchange: Exchange) -> None:
    async with wire(exchange) as record, client_of(record.base_url) as client:
        with pytest.raises(errors.InvalidRequestError) as caught:
            await outcome(client, exchange)
    assert [problem.domain for problem in caught.value.errors] == [exchange.unsent]
    assert not record.received


def test_every_operation_is_called() -> None:
    assert {exchange.operation for exchange in PUBLIC} | {"oauth.token"} == set(OPERATIONS)


GRANT = {"client_secret": "invented-secret", "refresh_token": "invented-refresh"}


@for_each(
    "exchange, credentials",
    [
        (TOKENS[0], RefreshToken(**GRANT)),
        (TOKENS[1], RefreshToken(**GRANT, client_id="invented-client", scope="read trade")),
        (
            TOKENS[2],
            AuthorizationCode(
                client_id="invented-client",
                client_secret="invented-secret",
                redirect_uri="https://app.example.com/done",
                code="invented-code",
            ),
        ),
    ],
)
@on_real_time
async def test_the_token_is_asked_for_in_the_documented_bytes(exchange: Exchange, credentials: Any) -> None:
    async with wire(exchange) as record, client_of(record.base_url, credentials=credentials) as client:
        with pytest.raises(errors.ResponseDecodeError):  # the answer to everything is a token
            await client.watchlists.list()
    token, call = record.received
    assert token.line == "POST /oauth/token HTTP/1.1"
    assert token.body == exchange.body
    assert token.header("User-Agent") == "wire-tests/2.0"
    assert token.header("Authorization") is None
    assert token.header("Accept") == "application/json"
    assert token.header("Content-Type") == "application/json"
    assert call.line == "GET /watchlists HTTP/1.1"
    assert call.header("Authorization") == "Bearer invented-access"


NOTHING = Exchange(name="an empty list", operation="watchlists.list", target="/", answer='{"data":{"items":[]}}')


async def test_a_term_of_the_wrong_type_is_a_problem_like_any_other() -> None:
    async with wire(NOTHING) as record, client_of(record.base_url) as client:
        with pytest.raises(errors.InvalidRequestError) as caught:
            await client.complex_orders.edit_pairs("5WT00001", 1, ratio_price_comparator=5)  # type: ignore[arg-type]
    assert [(problem.code, problem.domain) for problem in caught.value.errors] == [
        ("wrong_type", "ratio-price-comparator")
    ]
    assert record.received == []


def test_only_paged_reads_are_pagers() -> None:
    paged = {name for name, operation in OPERATIONS.items() if operation.shape is Shape.PAGE}
    assert paged == {exchange.operation for exchange in PUBLIC if exchange.pagination is not None}
