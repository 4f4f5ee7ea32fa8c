"""The session above aiohttp with replaced answers: the calls that reach aiohttp, and the results."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aioresponses import aioresponses
from yarl import URL

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, StaticToken, errors
from brokerage_async.tickets import buy_to_open, limit
from tests.mocked_http import http

__all__ = ["http"]

BASE = "https://api.example.com"
DIVIDENDS = f"{BASE}/market-metrics/historic-corporate-events/dividends/BRK%2FB"
ORDERS = f"{BASE}/accounts/5WT1/orders"
BODY = {"data": {"items": [{"occurred-date": "2026-03-02", "amount": 0.25}]}, "context": "/dividends"}
AT_ONCE = RetryPolicy(base_delay=0.0)


@pytest.fixture
async def client(http: aioresponses) -> AsyncIterator[Client]:
    http.post(f"{BASE}/oauth/token", payload={"access_token": "made-up", "token_type": "Bearer", "expires_in": 900})
    credentials = RefreshToken(client_secret="cs", refresh_token="rt")
    async with Client(Environment.sandbox(BASE), credentials, user_agent="shop/1.2", retry=AT_ONCE) as client:
        yield client


def calls(http: aioresponses, method: str, url: str) -> list[dict[str, object]]:
    return [call.kwargs for call in http.requests.get((method, URL(url, encoded=True)), ())]


async def test_a_read(http: aioresponses, client: Client) -> None:
    http.get(URL(DIVIDENDS, encoded=True), payload=BODY)
    (dividend,) = await client.market_metrics.dividends("BRK/B")
    assert str(dividend.amount) == "0.25"
    (call,) = calls(http, "GET", DIVIDENDS)
    headers = call["headers"]
    assert headers == {"User-Agent": "shop/1.2", "Accept": "application/json", "Authorization": "Bearer made-up"}
    assert call["allow_redirects"] is False


async def test_a_read_is_repeated_after_a_page_of_a_proxy(http: aioresponses, client: Client) -> None:
    http.get(URL(DIVIDENDS, encoded=True), status=502, body="<html>Bad Gateway</html>", content_type="text/html")
    http.get(URL(DIVIDENDS, encoded=True), payload=BODY)
    assert len(await client.market_metrics.dividends("BRK/B")) == 1
    assert len(calls(http, "GET", DIVIDENDS)) == 2


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        ({"exception": aiohttp.ServerDisconnectedError()}, errors.ResponseLostError),
        ({"exception": TimeoutError()}, errors.ResponseLostError),
        ({"status": 500, "payload": {"error": {"code": "internal_server_error"}}}, errors.ServerError),
        ({"status": 422, "payload": {"error": {"code": "preflight_check_failure"}}}, errors.PreflightError),
        ({"status": 201, "body": "<html>", "content_type": "text/html"}, errors.ResponseDecodeError),
    ],
    ids=["dropped", "late", "500", "422", "no JSON"],
)
async def test_a_submit_reaches_aiohttp_once(
    http: aioresponses, client: Client, trouble: dict[str, object], expected: type[errors.BrokerageError]
) -> None:
    http.post(ORDERS, repeat=True, **trouble)
    with pytest.raises(expected):
        await client.orders.submit("5WT1", limit(buy_to_open("AAPL", 1), price="1.00"))
    assert len(calls(http, "POST", ORDERS)) == 1


async def test_a_borrowed_session_that_is_closed_is_named() -> None:
    async with aiohttp.ClientSession() as session:
        pass
    credentials = RefreshToken(client_secret="cs", refresh_token="rt")
    async with Client(Environment.sandbox(BASE), credentials, http_session=session) as client:
        with pytest.raises(errors.TokenError, match="http_session of the client is closed"):
            await client.watchlists.list()
    async with Client(Environment.sandbox(BASE), StaticToken("made-up"), http_session=session) as client:
        with pytest.raises(errors.ConfigurationError, match="http_session of the client is closed"):
            await client.watchlists.list()
