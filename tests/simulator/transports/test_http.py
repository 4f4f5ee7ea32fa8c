"""Loopback server: the same brokerage behind real HTTP and WebSockets, guarded against web pages."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from email.utils import parsedate_to_datetime

import aiohttp
import pytest
import pytest_asyncio

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.transports.http import page_behind
from tests.simulator.harness import limit
from tests.stream.world import SMALL

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


SETUP = json.dumps({"type": "SETUP", "channel": 0, "version": "0.1"})


def address(sim: Simulator) -> str:
    return f"{sim.streamer_url.rpartition('/')[0]}/market-data"


async def test_messages_go_there_and_back_and_the_client_may_leave() -> None:
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession() as session:
        async with session.ws_connect(address(sim)) as socket:
            await socket.send_str(SETUP)
            assert [(await socket.receive_json())["type"] for _ in range(2)] == ["SETUP", "AUTH_STATE"]
            await socket.send_bytes(SETUP.encode())
            assert (await socket.receive_json())["type"] == "SETUP"
            assert len(sim.streams.sessions) == 1
        await left(sim)


async def test_server_closes_the_connection() -> None:
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession() as session:
        async with session.ws_connect(address(sim)) as socket:
            sim.streams.drop()
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        await left(sim)


async def test_ping_is_answered_and_counts_as_life() -> None:
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession() as session:
        async with session.ws_connect(address(sim), autoping=False) as socket:
            [opened] = sim.streams.sessions
            before = opened.expires
            await asyncio.sleep(0.01)
            await socket.ping(b"hello")
            message = await socket.receive()
            assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"hello")
            assert opened.expires > before
        await left(sim)


async def test_delayed_message_is_overtaken() -> None:
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession() as session:
        async with session.ws_connect(address(sim)) as socket:
            sim.streams.faults.add("late(0.05)", kind="protocol")
            await socket.send_str(SETUP)
            assert [(await socket.receive_json())["type"] for _ in range(2)] == ["AUTH_STATE", "SETUP"]
        await left(sim)


async def test_connection_that_breaks_off_leaves_nothing() -> None:
    async with Simulator(**SMALL) as sim:
        session = aiohttp.ClientSession()
        socket = await session.ws_connect(address(sim))
        await socket.send_str(SETUP)
        transport = socket.get_extra_info("socket")
        assert transport is not None
        await session.close()  # without a goodbye
        await left(sim)
        assert not any(task.get_name() == "simulator streams" for task in asyncio.all_tasks())


async def left(sim: Simulator) -> None:
    """Wait until no connection is left."""
    async with asyncio.timeout(5):
        while sim.streams.sessions:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "127.0.0.1:8080",
        "127.0.0.1",
        "127.9.9.9:8080",
        "localhost:8080",
        "LOCALHOST:9",
        "localhost.:8080",
        "api.localhost:8080",
        "[::1]:8080",
    ],
)
def test_loopback_host_is_served(host: str | None) -> None:
    assert page_behind(host, None, "127.0.0.1") is None
    assert page_behind(host, None, "::1") is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8080",
        "evil.example",
        "127.0.0.1.evil.example:8080",
        "localhost.evil.example:8080",
        "notlocalhost:8080",
        "192.168.0.7:8080",
        "0.0.0.0:8080",
        "user@evil.example:8080",
        "127.0.0.1@evil.example",
        "[::1",
        "",
    ],
)
def test_foreign_host_is_refused(host: str) -> None:
    assert page_behind(host, None, "127.0.0.1") == f"Host must name this simulator, got {host}"
    assert page_behind(host, None, "localhost") is not None


def test_host_by_a_further_name_is_served() -> None:
    assert page_behind("Api.example:443", None, "127.0.0.1", {"api.example"}) is None
    assert page_behind("api.example", "https://api.example", "127.0.0.1", {"api.example"}) is None
    assert page_behind("evil.example", None, "127.0.0.1", {"api.example"}) is not None
    assert page_behind("api.example", "https://evil.example", "127.0.0.1", {"api.example"}) is not None


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8080", "https://127.0.0.1:8080"])
def test_own_origin_is_served(origin: str) -> None:
    assert page_behind("127.0.0.1:8080", origin, "127.0.0.1") is None


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1:3000",
        "http://localhost:8080",
        "file://",
        "http://127.0.0.1:8080.evil.example",
    ],
)
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_foreign_origin_is_refused(origin: str, bound: str) -> None:
    assert page_behind("127.0.0.1:8080", origin, bound) == f"Origin must be this simulator, got {origin}"


@pytest.mark.parametrize(("bound", "host"), [("0.0.0.0", "simulator:8080"), ("::", "a.example"), ("my.host", "b:1")])
def test_server_on_other_interfaces_has_any_name(bound: str, host: str) -> None:
    assert page_behind(host, None, bound) is None


async def test_token_of_a_malformed_request_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with Simulator(control_port=0, **SMALL) as simulator:
        for address in (simulator.base_url, simulator.control_url or ""):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
            writer.write(f"GET / HTTP/1.1\r\nAuthorization: Bearer {simulator.control_token}\0\r\n\r\n".encode())
            assert (await reader.readline()).startswith(b"HTTP/1.0 400")
            writer.close()
            await writer.wait_closed()
    assert [record.name for record in caplog.records] == ["brokerage_async.simulator.http"] * 2
    assert simulator.control_token not in caplog.text
    assert "Authorization" not in caplog.text
