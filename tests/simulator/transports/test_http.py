"""Loopback server: the same brokerage behind real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from email.utils import parsedate_to_datetime

import aiohttp
import pytest
import pytest_asyncio

from brokerage_async.simulator import Simulator
from tests.simulator.harness import limit

HEADERS = {"User-Agent": "server-tests/1.0"}


@pytest_asyncio.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(equities=50, equity_options=20, chain_rows=20) as running:
        yield running


@pytest_asyncio.fixture
async def http(sim: Simulator) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers=HEADERS) as session:
        body = {
            "grant_type": "refresh_token",
            "refresh_token": sim.refresh_token,
            "client_secret": sim.client_secret,
        }
        async with session.post(f"{sim.base_url}/oauth/token", json=body) as response:
            token = (await response.json())["access_token"]
        session.headers["Authorization"] = f"Bearer {token}"
        yield session


async def place(sim: Simulator, http: aiohttp.ClientSession, external_identifier: str) -> aiohttp.ClientResponse:
    url = f"{sim.base_url}/accounts/{sim.account_numbers[0]}/orders"
    response = await http.post(url, json=limit(external_identifier=external_identifier))
    await response.read()
    return response


async def test_server_listens_on_a_loopback_port(sim: Simulator, http: aiohttp.ClientSession) -> None:
    assert sim.base_url.startswith("http://127.0.0.1:")
    async with http.get(f"{sim.base_url}/watchlists") as response:
        assert response.status == 200
        assert response.content_type == "application/json"
        assert response.headers["Date"].startswith("Wed, 10 Jun 2026 14:00:")
        assert await response.json() == {"data": {"items": []}, "context": "/watchlists"}
    assert sim.ledger.requests[-1].delivered is True
    from yarl import URL

    url = URL(f"{sim.base_url}/market-metrics/historic-corporate-events/dividends/BRK%2FB", encoded=True)
    async with http.get(url) as response:
        assert response.status == 200
    async with http.delete(f"{sim.base_url}/quote-alerts/x") as response:
        assert (response.status, await response.read()) == (204, b"")
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    async with http.options(f"{sim.base_url}/watchlists", headers=headers) as response:
        assert response.status == 403
    async with http.get(f"{sim.base_url}/watchlists", headers={"Host": "localhost:1"}) as response:
        assert response.status == 200
    port = int(sim.base_url.rpartition(":")[2])
    with pytest.raises(OSError, match="address"):
        await Simulator(port=port).__aenter__()
    sim.rate_limit = 0.5
    await http.get(f"{sim.base_url}/watchlists")
    async with http.get(f"{sim.base_url}/watchlists") as response:
        assert response.status == 429
        assert not {"Retry-After", "X-RateLimit-Remaining"} & set(response.headers)
        assert await response.read() == b""


@pytest.mark.parametrize("fault", [None, "status(503)", "html(502)", "garbage", "rate_limited", "truncate"])
async def test_date_of_every_response_is_simulated_time(
    sim: Simulator, http: aiohttp.ClientSession, fault: str | None
) -> None:
    if fault is not None:
        sim.faults.add("GET", ".", fault)
    async with http.get(f"{sim.base_url}/watchlists") as response:
        (sent,) = response.headers.getall("Date")
    assert timedelta() <= sim.clock.time - parsedate_to_datetime(sent) < timedelta(seconds=2)


async def test_responses_are_held_back_or_replaced_and_dated_when_they_are_sent(
    sim: Simulator, http: aiohttp.ClientSession
) -> None:
    sim.faults.add("GET", ".", "html(502)")
    sim.faults.add("GET", ".", "garbage")
    async with http.get(f"{sim.base_url}/watchlists") as response:
        assert (response.status, response.content_type) == (502, "text/html")
    async with http.get(f"{sim.base_url}/watchlists") as response:
        assert response.status == 200
        with pytest.raises(ValueError, match=r"codec|Expecting"):
            json.loads(await response.read())
    sim.faults.add("GET", ".", "hang")
    with pytest.raises(TimeoutError):
        await http.get(f"{sim.base_url}/watchlists", timeout=aiohttp.ClientTimeout(total=0.05))
    sim.faults.add("POST", "/orders$", "delay(0.1)")
    url = f"{sim.base_url}/accounts/{sim.account_numbers[0]}/orders"
    with pytest.raises(TimeoutError):
        await http.post(url, json=limit(external_identifier="a"), timeout=aiohttp.ClientTimeout(total=0.02))
    assert sim.ledger.orders(external_identifier="a") == []
    await asyncio.sleep(0.15)
    assert len(sim.ledger.orders(external_identifier="a")) == 1
    assert sim.ledger.requests[-1].delivered is False
    sim.faults.add("GET", ".", "delay_after(0.1)")
    asyncio.get_running_loop().call_later(0.05, sim.clock.advance, 3600)
    async with http.get(f"{sim.base_url}/watchlists") as response:
        assert response.headers["Date"].startswith("Wed, 10 Jun 2026 15:00:")


@pytest.mark.parametrize(("fault", "count"), [("drop_before", 0), ("refuse", 0), ("drop_after", 1), ("truncate", 1)])
async def test_drop_fault_closes_the_connection(
    sim: Simulator, http: aiohttp.ClientSession, fault: str, count: int
) -> None:
    sim.faults.add("POST", "/orders$", fault)
    with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientOSError)):
        await place(sim, http, "a")
    assert len(sim.ledger.orders(external_identifier="a")) == count
    assert sim.ledger.requests[-1].delivered is False
    assert (await place(sim, http, "b")).status == 201


async def test_restart_keeps_all_state(sim: Simulator, http: aiohttp.ClientSession) -> None:
    await place(sim, http, "a")
    address = sim.base_url
    await sim.stop()
    assert sim.base_url == address
    with pytest.raises(aiohttp.ClientError):
        await http.get(f"{address}/watchlists")
    await sim.restart()
    assert sim.base_url == address
    async with http.get(f"{address}/accounts/{sim.account_numbers[0]}/orders/live") as response:
        assert len((await response.json())["data"]["items"]) == 1


@pytest.mark.parametrize(
    ("pattern", "met"), [(r"per-page=7", True), (r"/equities\?per-page=7$", True), (r"/equities$", False)]
)
async def test_fault_pattern_matches_the_query(
    sim: Simulator, http: aiohttp.ClientSession, pattern: str, met: bool
) -> None:
    sim.faults.add("GET", pattern, "status(503)")
    async with http.get(f"{sim.base_url}/instruments/equities?per-page=7") as response:
        assert (response.status == 503) is met


@pytest.mark.parametrize("fault", ["delay_after(0.1)", "delay(0.1)"])
async def test_client_disconnect_leaves_no_traceback(
    sim: Simulator, http: aiohttp.ClientSession, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    sim.faults.add("GET", "/watchlists", fault)
    with pytest.raises(TimeoutError):
        await http.get(f"{sim.base_url}/watchlists", timeout=aiohttp.ClientTimeout(total=0.02))
    await asyncio.sleep(0.2)
    assert sim.ledger.requests[-1].delivered is False
    assert caplog.text == ""
    async with http.get(f"{sim.base_url}/watchlists") as response:
        assert response.status == 200


@pytest.mark.parametrize(
    ("name", "value"), [("Host", "rebound.example"), ("Origin", "https://evil.example"), ("Origin", "null")]
)
async def test_request_of_a_web_page_is_refused(
    sim: Simulator, http: aiohttp.ClientSession, name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"{sim.base_url}/accounts/{sim.account_numbers[0]}/orders"
    before = len(sim.ledger.requests)
    async with http.post(url, json=limit(external_identifier="a"), headers={name: value}) as response:
        assert response.status == 403
        assert (await response.json())["error"]["code"] == "not_permitted"
        assert response.headers["Date"].startswith("Wed, 10 Jun 2026 14:00:")
        assert "Access-Control-Allow-Origin" not in response.headers
    assert len(sim.ledger.requests) == before
    assert f"got {value}" in caplog.text


@pytest.mark.parametrize("host", ["127.1", "LOCALHOST"])
async def test_guard_holds_on_a_host_that_names_loopback_in_another_way(host: str, http: aiohttp.ClientSession) -> None:
    async with Simulator(host=host) as sim:
        url = f"http://127.0.0.1:{sim.base_url.rpartition(':')[2]}/accounts"
        for name, status in [("rebound.example", 403), (host, 401)]:
            async with http.get(url, headers={"Host": name, "Authorization": "none"}) as response:
                assert response.status == status


async def test_request_by_a_further_name_is_served() -> None:
    async with Simulator(names=["Api.Example"]) as sim, aiohttp.ClientSession(headers=HEADERS) as http:
        for name, status in (("api.example", 401), ("other.example", 403)):
            async with http.get(f"{sim.base_url}/watchlists", headers={"Host": name}) as response:
                assert response.status == status
