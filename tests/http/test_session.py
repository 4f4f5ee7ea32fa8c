"""A call around its attempts: the request, checks before any I/O, and the details of errors."""

import asyncio
import logging
from typing import Any
from unittest.mock import AsyncMock

import attrs
import pytest

from brokerage_async import errors
from brokerage_async._generated.operations import MARGIN_REQUIREMENTS, MARKET_METRICS_DIVIDENDS, ORDERS_LIVE
from brokerage_async.auth.manager import ProvidedTokens
from brokerage_async.client import Client
from brokerage_async.config import Environment, Limits, RetryPolicy, StaticToken
from brokerage_async.http.limiter import LaneName, Limiter
from brokerage_async.http.shared import Engine
from brokerage_async.observers import ObserverList
from brokerage_async.operation import Effect, Operation, Shape
from brokerage_async.protocol.response import Response
from brokerage_async.protocol.retry import RetryBudget
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit
from tests.fake_transport import FakeTransport, fail, ok
from tests.http.calls import client_of, failure, mutate, preflight, raised_by, read
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


async def test_token_does_not_show_in_a_dump_of_the_request() -> None:
    transport = FakeTransport()
    async with client_of(transport, StaticToken("s3cr3t")) as client:
        await read(client)
    assert transport.tokens_used == ["Bearer s3cr3t"]
    assert "s3cr3t" not in repr(attrs.asdict(transport.received[0], recurse=False))


class TestBeforeAnyIO:
    async def test_read_only(self) -> None:
        transport = FakeTransport(ok())
        async with client_of(transport, read_only=True) as client:
            error = await raised_by(mutate(client), errors.ConfigurationError, "read-only")
            assert error.operation == "orders.cancel"
            await read(client)
            await preflight(client)
        assert len(transport.requests) == 2

    async def test_margin_is_for_production(self) -> None:
        async def call(client: Client) -> None:
            await client.session.execute(MARGIN_REQUIREMENTS.bind(account_number="5WT1"))

        transport, reason = FakeTransport(ok()), "sandbox environment does not offer"
        await failure(errors.ConfigurationError, transport, call=call, match=reason)
        assert not transport.received
        async with client_of(transport, environment=Environment.production("https://api.example.com")) as client:
            await call(client)
        assert len(transport.requests) == 1

    async def test_host_without_an_address_or_a_wrong_argument(self) -> None:
        transport = FakeTransport()
        async with client_of(transport) as client:
            reason, execute = "address of the lab is unknown: pass hosts=", client.session.execute
            error = await raised_by(execute(LAB.bind()), errors.ConfigurationError, reason)
            for symbol in ("..", "", None):
                await raised_by(execute(MARKET_METRICS_DIVIDENDS.bind(symbol=symbol)), errors.InvalidRequestError)
        assert (error.operation, error.path, transport.received) == ("lab.list", "/tests", [])


class TestNotes:
    @for_each("status", [403, 404, 422, 400, 401, 406, 429, 503])
    @on_virtual_time
    async def test_an_answer_that_depends_on_the_arguments_names_them(self, status: int, caplog: Any) -> None:
        caplog.set_level(logging.DEBUG)
        transport = FakeTransport(fail(status, "some_code"))
        error = await failure(errors.APIError, transport, retry=RetryPolicy.none(), call=mutate)
        note = ["called as orders.cancel(account_number='5WT1', id='7')"]
        assert getattr(error, "__notes__", None) == (note if status in (403, 404, 422) else None)
        assert "5WT1" not in f"{error}{error!r}{caplog.text}"

    async def test_an_error_beside_data_names_them_too(self) -> None:
        body = b'{"data": {}, "error": {"code": "c", "message": "m"}}'
        transport = FakeTransport(fail(503), Response(status=201, body=body))
        error = await failure(errors.UnprocessableError, transport, call=preflight)
        assert error.__notes__ == ["called as orders.dry_run(account_number='5WT1', <2 bytes>)"]
        assert (error.status, error.attempts, error.body) == (201, 2, body.decode())


class TestQuotedToken:
    async def test_a_page_that_quotes_the_token_does_not_give_it_away(self) -> None:
        """As a debug page of a proxy does. The token has no form that a pattern would find."""
        body = b"<html>headers: X-Seen: short/but/secret</html>"
        transport = FakeTransport(Response(status=404, headers={"x-request-id": "r-1"}, body=body))
        error = await failure(errors.NotFoundError, transport, StaticToken("short/but/secret"))
        assert "short/but/secret" not in f"{error}{vars(error)}"
        assert error.body == "<html>headers: X-Seen: [redacted]</html>"
        assert error.headers == {"x-request-id": "r-1"}

    @for_each("status", [200, 307, 404])
    @for_each("raw", [False, True])
    @on_virtual_time
    async def test_error_of_any_status_and_its_headers_do_not_give_it_away(self, raw: bool, status: int) -> None:
        # A redirect may carry it in its address, and a success may hold an error.
        body = b'{"data": {"items": []}, "seen": "short/but/secret", "error": {"code": "invalid", "message": "no"}}'
        headers = {"Location": "https://login.example/?t=short/but/secret"}
        transport = FakeTransport(Response(status=status, headers=headers, body=body))
        async with client_of(transport, StaticToken("short/but/secret")) as client:
            error = await raised_by(client.request("GET", "/watchlists") if raw else read(client), errors.APIError)
        assert "short/but/secret" not in f"{error}{vars(error)}"
        assert (error.status, error.headers) == (status, {"location": "https://login.example/?t=[redacted]"})


LISTED: Any = {"effect": Effect.READ, "shape": Shape.BARE_MANY, "result": str, "scope": "read"}
LAB: Operation[list[str]] = Operation(name="lab.list", method="GET", path="/tests", host="lab", **LISTED)


async def test_other_host_gets_the_token_of_the_service_at_its_own_address() -> None:
    late = {"date": "Mon, 01 Jan 2001 00:00:00 GMT"}
    transport = FakeTransport(Response(status=200, headers=late, body=b'["a", "b"]'), ok(), fail(404))
    environment = Environment.sandbox("https://api.example.com/v1", hosts={"lab": "https://lab.example.com/x/"})
    async with client_of(transport, environment=environment) as client:
        assert await client.session.execute(LAB.bind()) == ["a", "b"]
        assert client.session.service_now() is None  # another host's clock is ignored
        await read(client)
        reason = "check base_url, which has the path '/x'"
        await raised_by(client.session.execute(LAB.bind()), errors.NotFoundError, reason)
    assert [request.url for request in transport.requests][::2] == ["https://lab.example.com/x/tests"] * 2
    assert transport.requests[1].url.startswith("https://api.example.com/v1/")
    assert transport.tokens_used == ["Bearer t1"] * 3
    assert [request.url for request in transport.token_requests] == ["https://api.example.com/v1/oauth/token"]


@pytest.mark.virtual_time(False)
async def test_a_list_documented_to_come_whole_is_whole_also_when_it_comes_in_pages() -> None:
    simulator = Simulator(equities=600, versions=["20261012"])
    async with simulator as brokerage, brokerage.client(accept_version="20261012") as client:
        account = brokerage.account_numbers[0]
        for _ in range(5):
            await client.orders.submit(account, limit(buy_to_open("AAPL", 1), price="1"))
        assert len(await client.orders.live("me", [account], per_page=2)) == 5
        assert len(await client.orders.live("me", [account], per_page=2, page_offset=2)) == 1
        live = ORDERS_LIVE.bind(customer_id="me", account_numbers=[account], per_page=2)
        orders, body = await client.session.fetch_if_changed(live, None) or ([], b"")
        assert (len(orders), body) == (5, None)


def engine_of(transport: FakeTransport, tokens: Any) -> Engine:
    environment, limiter = Environment.sandbox("https://a.example"), Limiter(Limits(reads=1))
    return Engine(environment, transport, limiter, tokens, RetryBudget(None), ObserverList(()))


async def test_closing_happens_once_is_final_and_turns_away_who_waits() -> None:
    transport, tokens = FakeTransport(), AsyncMock(ProvidedTokens)
    engine = engine_of(transport, tokens)
    engine.enter()
    lane = engine.limiter[LaneName.READS]
    assert lane.try_acquire(0.0)
    waiting = asyncio.create_task(lane.acquire())
    await asyncio.sleep(0)
    await engine.close()
    await engine.close()
    assert (transport.closed, tokens.close.await_count, engine.closed) == (1, 1, True)
    await raised_by(waiting, errors.RequestNotSentError, "the client was closed")
    raised(errors.ConfigurationError, engine.enter, match="the client is closed")


async def test_connections_are_released_also_when_the_tokens_fail_to_close() -> None:
    transport = FakeTransport()
    engine = engine_of(transport, AsyncMock(ProvidedTokens, **{"close.side_effect": ZeroDivisionError}))
    await raised_by(engine.close(), ZeroDivisionError)
    assert (transport.closed, engine.closed) == (1, True)
