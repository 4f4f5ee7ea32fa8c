"""Loopback server: the same brokerage behind real HTTP and WebSockets, guarded against web pages."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.transports import page_behind
from tests.simulator.harness import limit
from tests.stream.world import SMALL

HEADERS = {"User-Agent": "server-tests/1.0"}


class Web:
    def __init__(self, sim: Simulator, session: aiohttp.ClientSession) -> None:
        self.sim = sim
        self.session = session

    async def ask(self, path: str, method: str = "GET", **options: Any) -> Any:
        response = await self.session.request(method, path, **options)
        await response.read()
        return response

    async def place(self, name: str, **options: Any) -> Any:
        path = f"/accounts/{self.sim.account_numbers[0]}/orders"
        return await self.ask(path, "POST", json=limit(external_identifier=name), **options)


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession(sim.base_url, headers=HEADERS) as session:
        body = {"grant_type": "refresh_token", "refresh_token": sim.refresh_token, "client_secret": sim.client_secret}
        async with session.post("/oauth/token", json=body) as response:
            session.headers["Authorization"] = f"Bearer {(await response.json())['access_token']}"
        yield Web(sim, session)


async def test_server_listens_on_a_loopback_port(web: Web) -> None:
    assert web.sim.base_url.startswith("http://127.0.0.1:")
    response = await web.ask("/watchlists")
    assert (response.status, response.content_type) == (200, "application/json")
    assert response.headers["Date"].startswith("Wed, 10 Jun 2026 14:00:")
    assert await response.json() == {"data": {"items": []}, "context": "/watchlists"}
    assert web.sim.ledger.requests[-1].delivered is True
    assert (await web.ask("/market-metrics/historic-corporate-events/dividends/BRK%2FB")).status == 200
    response = await web.ask("/quote-alerts/x", method="DELETE")
    assert (response.status, await response.read()) == (204, b"")
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert (await web.ask("/watchlists", method="OPTIONS", headers=headers)).status == 403
    assert (await web.ask("/watchlists", headers={"Host": "localhost:1"})).status == 200
    port = int(web.sim.base_url.rpartition(":")[2])
    with pytest.raises(OSError, match="address"):
        await Simulator(port=port).__aenter__()
    web.sim.rate_limit = 0.5
    await web.session.get("/watchlists")
    response = await web.ask("/watchlists")
    assert response.status == 429
    assert not {"Retry-After", "X-RateLimit-Remaining"} & set(response.headers)
    assert await response.read() == b""


async def test_date_of_every_response_is_simulated_time(web: Web) -> None:
    for fault in (None, "status(503)", "html(502)", "garbage", "rate_limited", "truncate"):
        if fault is not None:
            web.sim.faults.add("GET", ".", fault)
        (sent,) = (await web.session.get("/watchlists")).headers.getall("Date")
        assert timedelta() <= web.sim.clock.time - parsedate_to_datetime(sent) < timedelta(seconds=2), fault


async def test_responses_are_held_back_and_dated_when_they_are_sent(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    for fault in ("hang", "delay_after(0.1)"):
        web.sim.faults.add("GET", ".", fault)
        with pytest.raises(TimeoutError):
            await web.session.get("/watchlists", timeout=aiohttp.ClientTimeout(total=0.05))
    web.sim.faults.add("POST", "/orders$", "delay(0.1)")
    with pytest.raises(TimeoutError):
        await web.place("a", timeout=aiohttp.ClientTimeout(total=0.02))
    assert web.sim.ledger.orders(external_identifier="a") == []
    await asyncio.sleep(0.15)
    assert len(web.sim.ledger.orders(external_identifier="a")) == 1
    assert [record.delivered for record in web.sim.ledger.requests[-3:]] == [False] * 3
    assert caplog.text == "", "a client that leaves is no error"
    web.sim.faults.add("GET", ".", "delay_after(0.1)")
    asyncio.get_running_loop().call_later(0.05, web.sim.clock.advance, 3600)
    headers = (await web.ask("/watchlists")).headers
    assert headers["Date"].startswith("Wed, 10 Jun 2026 15:00:")


async def test_drop_fault_closes_the_connection(web: Web) -> None:
    for fault, count in (("drop_before", 0), ("refuse", 0), ("drop_after", 1), ("truncate", 1)):
        web.sim.faults.add("POST", "/orders$", fault)
        with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientOSError)):
            await web.place(fault)
        assert len(web.sim.ledger.orders(external_identifier=fault)) == count
        assert web.sim.ledger.requests[-1].delivered is False
        assert (await web.place("b")).status == 201


async def test_restart_keeps_all_state(web: Web) -> None:
    await web.place("a")
    address = web.sim.base_url
    await web.sim.stop()
    assert web.sim.base_url == address
    with pytest.raises(aiohttp.ClientError):
        await web.session.get("/watchlists")
    await web.sim.restart()
    assert web.sim.base_url == address
    response = await web.ask(f"/accounts/{web.sim.account_numbers[0]}/orders/live")
    assert len((await response.json())["data"]["items"]) == 1


async def test_request_of_a_web_page_is_refused(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    before = len(web.sim.ledger.requests)
    for name, value in (("Host", "rebound.example"), ("Origin", "https://evil.example"), ("Origin", "null")):
        response = await web.place("a", headers={name: value})
        assert (response.status, (await response.json())["error"]["code"]) == (403, "not_permitted"), value
        assert response.headers["Date"].startswith("Wed, 10 Jun 2026 14:00:")
        assert "Access-Control-Allow-Origin" not in response.headers
        assert len(web.sim.ledger.requests) == before
        assert f"got {value}" in caplog.text
    for options, statuses in (
        ({"host": "127.1"}, {"127.1": 401, "rebound.example": 403}),
        ({"host": "LOCALHOST"}, {"LOCALHOST": 401, "rebound.example": 403}),
        ({"names": ["Api.Example"]}, {"api.example": 401, "other.example": 403}),
    ):
        async with Simulator(**options) as sim, aiohttp.ClientSession(headers=HEADERS) as http:  # type: ignore[arg-type]
            url = f"http://127.0.0.1:{sim.base_url.rpartition(':')[2]}/accounts"
            for name, status in statuses.items():
                async with http.get(url, headers={"Host": name}) as response:
                    assert (options, response.status) == (options, status)


SETUP = json.dumps({"type": "SETUP", "channel": 0, "version": "0.1"})


@asynccontextmanager
async def connected(**options: bool) -> AsyncIterator[tuple[Simulator, aiohttp.ClientWebSocketResponse]]:
    """Yield a simulator and a socket of its market data, which leave nothing behind."""
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession() as session:
        url = f"{sim.streamer_url.rpartition('/')[0]}/market-data"
        async with session.ws_connect(url, **options) as socket:
            yield sim, socket
        async with asyncio.timeout(5):
            while sim.streams.sessions:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)
        assert not any(task.get_name() == "simulator streams" for task in asyncio.all_tasks())


async def kinds(socket: aiohttp.ClientWebSocketResponse, count: int) -> list[str]:
    return [(await socket.receive_json())["type"] for _ in range(count)]


async def test_messages_go_there_and_back_and_either_side_may_leave() -> None:
    async with connected() as (sim, socket):
        sim.streams.faults.add("late(0.05)", kind="protocol")
        await socket.send_str(SETUP)
        assert await kinds(socket, 2) == ["AUTH_STATE", "SETUP"]
        await socket.send_bytes(SETUP.encode())
        assert await kinds(socket, 1) == ["SETUP"]
        assert len(sim.streams.sessions) == 1
    async with connected() as (sim, socket):
        await socket.send_str(SETUP)
        assert await kinds(socket, 2) == ["SETUP", "AUTH_STATE"]
        sim.streams.drop()
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    async with connected() as (_, socket):
        await socket.send_str(SETUP)
        socket._response.connection.transport.abort()  # without a goodbye


async def test_ping_is_answered_and_counts_as_life() -> None:
    async with connected(autoping=False) as (sim, socket):
        [opened] = sim.streams.sessions
        before = opened._heard
        await asyncio.sleep(0.01)
        await socket.ping(b"hello")
        message = await socket.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"hello")
        assert opened._heard > before


LOOPBACK = (
    *(None, "127.0.0.1:8080", "127.0.0.1", "127.9.9.9:8080", "localhost:8080", "LOCALHOST:9", "localhost.:8080"),
    *("api.localhost:8080", "[::1]:8080"),
)
FOREIGN = (
    *("evil.example:8080", "evil.example", "127.0.0.1.evil.example:8080", "localhost.evil.example:8080"),
    *("notlocalhost:8080", "192.168.0.7:8080", "0.0.0.0:8080", "user@evil.example:8080", "127.0.0.1@evil.example"),
    *("[::1", ""),
)


def test_page_behind_a_host_is_any_but_loopback_and_names_of_the_server() -> None:
    served = [(host, None, bound, set[str]()) for host in LOOPBACK for bound in ("127.0.0.1", "::1")]
    served += [(host, None, bound, set()) for bound, host in (("0.0.0.0", "sim:80"), ("::", "a.b"), ("my.host", "b:1"))]
    served += [("Api.example:443", None, "127.0.0.1", {"api.example"})]
    assert [case for case in served if page_behind(*case) is not None] == []
    refused = [(host, bound, set[str]()) for host in FOREIGN for bound in ("127.0.0.1", "localhost")]
    refused += [("evil.example", "127.0.0.1", {"api.example"})]
    expected = "Host must name this simulator, got {}"
    assert [case for case in refused if page_behind(case[0], None, *case[1:]) != expected.format(case[0])] == []


def test_page_behind_an_origin_is_any_but_the_server_itself() -> None:
    for own in ("http://127.0.0.1:8080", "https://127.0.0.1:8080"):
        assert page_behind("127.0.0.1:8080", own, "127.0.0.1") is None
    assert page_behind("api.example", "https://api.example", "127.0.0.1", {"api.example"}) is None
    assert page_behind("api.example", "https://evil.example", "127.0.0.1", {"api.example"}) is not None
    origins = ("https://evil.example", "null", "", "http://127.0.0.1:3000", "http://localhost:8080", "file://")
    for origin in (*origins, "http://127.0.0.1:8080.evil.example"):
        for bound in ("127.0.0.1", "0.0.0.0"):
            assert page_behind("127.0.0.1:8080", origin, bound) == f"Origin must be this simulator, got {origin}"


async def test_token_of_a_malformed_request_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with Simulator(control_port=0, **SMALL) as simulator:
        for address in (simulator.base_url, simulator.control_url or ""):
            for version, bad in ((b"0", b"\0"), (b"1", b"\xff")):
                reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
                sent = b"Host: a.localhost\r\nAuthorization: Bearer " + simulator.control_token.encode() + bad
                writer.write(b"GET / HTTP/1.1\r\n%b\r\n\r\n" % sent)
                assert (await reader.readline()).startswith(b"HTTP/1.%b 400" % version)
                writer.close()
                await writer.wait_closed()
    assert [record.name for record in caplog.records] == ["brokerage_async.simulator.http"] * 2
    assert simulator.control_token not in caplog.text
    assert "Authorization" not in caplog.text
