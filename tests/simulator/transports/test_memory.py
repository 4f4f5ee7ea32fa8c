"""In-memory transport, its WebSocket, and the pump that runs events without a request, on virtual time."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async.errors import RequestNotSentError, ResponseLostError
from brokerage_async.http.websocket import SocketTransport, WebSocket
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.simulator.harness import Harness, limit
from tests.stream.world import SMALL
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


def loop_time() -> float:
    return asyncio.get_running_loop().time()


class Caller:
    def __init__(self, **options: Any) -> None:
        self.harness = Harness(**options).login()
        self.sim: Simulator = self.harness.sim
        self.sim.clock.speed = 1
        self.transport = self.sim.transport()

    async def get(self, target: str = "/watchlists") -> Response:
        return await self.send(method="GET", url=f"{self.sim.base_url}{target}")

    async def place(self, external_identifier: str, timeout: float | None = None) -> Response:
        url = f"{self.sim.base_url}{self.harness.target('orders.submit')}"
        body = json.dumps(limit(external_identifier=external_identifier)).encode()
        return await self.send(method="POST", url=url, body=body, timeout=timeout)

    async def send(self, **request: Any) -> Response:
        return await self.transport.send(Request(headers=self.harness.headers, **request))

    def placed(self, external_identifier: str) -> int:
        return len(self.sim.ledger.orders(external_identifier=external_identifier))


async def test_send_returns_the_response_until_the_transport_is_closed() -> None:
    caller = Caller()
    assert (await caller.get()).status == 200
    assert caller.sim.ledger.requests[-1].delivered is True
    caller.sim.faults.add("GET", ".", "hang")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await caller.get()
    await caller.transport.close()
    with pytest.raises(RequestNotSentError):
        await caller.get()


async def test_latency_is_halved_around_the_processing_and_may_depend_on_the_request() -> None:
    caller = Caller(latency=1.0)
    began = loop_time()
    await caller.get()
    assert loop_time() - began == pytest.approx(1.0)
    assert caller.harness.now - caller.sim.ledger.requests[-1].at == pytest.approx(0.5)
    caller = Caller(latency=lambda request: 2.0 if request.method == "POST" else 0.0)
    began = loop_time()
    await caller.get()
    assert loop_time() == began
    await caller.place("a")
    assert loop_time() - began == pytest.approx(2.0)


async def test_date_of_every_response_is_simulated_time() -> None:
    caller = Caller(latency=10.0, start=datetime(2031, 7, 7, 14, 30, tzinfo=UTC))
    caller.sim.clock.advance(60)
    assert (await caller.get()).headers["date"] == "Mon, 07 Jul 2031 14:31:10 GMT"
    caller.sim.faults.add("GET", ".", "status(503)")
    assert (await caller.get()).headers["date"] == "Mon, 07 Jul 2031 14:31:20 GMT"


async def test_cancelled_request_on_its_way_is_still_processed() -> None:
    caller = Caller(latency=2.0)
    task = asyncio.create_task(caller.place("a"))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert caller.placed("a") == 0
    await asyncio.sleep(1)
    assert caller.placed("a") == 1
    assert caller.sim.ledger.requests[-1].delivered is False


@for_each(
    "fault, error, placed, later",
    [
        ("delay(5)", ResponseLostError, 0, 1),
        ("delay_after(5)", ResponseLostError, 1, 1),
        ("hang", ResponseLostError, 0, 0),
        ("hang_after", ResponseLostError, 1, 1),
        ("refuse", RequestNotSentError, 0, 0),
        ("drop_before", ResponseLostError, 0, 0),
        ("drop_after", ResponseLostError, 1, 1),
        ("truncate", ResponseLostError, 1, 1),
    ],
)
async def test_faults_of_the_connection_lose_the_request_or_the_response(
    fault: str, error: type[Exception], placed: int, later: int
) -> None:
    caller = Caller()
    caller.sim.faults.add("POST", "/orders", fault)
    began = loop_time()
    with pytest.raises(error) as caught:
        await caller.place("a", timeout=1.0)
    assert caught.value.maybe_processed is (error is ResponseLostError)  # type: ignore[attr-defined]
    waits = fault.startswith(("delay", "hang"))
    assert (loop_time() - began, caller.placed("a")) == (pytest.approx(1.0 if waits else 0.0), placed)
    await asyncio.sleep(5)
    assert caller.placed("a") == later
    assert [entry.delivered for entry in caller.sim.ledger.requests if entry.fault] == [False]


async def test_fault_pattern_matches_the_query() -> None:
    caller = Caller()
    for pattern, status in ((r"per-page=7", 503), (r"/equities\?per-page=7$", 503), (r"/equities$", 200)):
        caller.sim.faults.add("GET", pattern, "status(503)")
        response = await caller.get("/instruments/equities?per-page=7")
        assert (pattern, response.status) == (pattern, status)


SETUP = json.dumps({"type": "SETUP", "channel": 0, "version": "0.1"})


async def opened(sim: Simulator | None = None) -> tuple[Simulator, WebSocket]:
    sim = sim or Simulator(**SMALL)
    transport = sim.transport()
    assert isinstance(transport, SocketTransport)
    url = f"{sim.streamer_url.rpartition('/')[0]}/market-data"
    return sim, await transport.open_socket(url, user_agent="tests/1", timeout=1)


async def kinds(socket: WebSocket, count: int) -> list[str]:
    return [json.loads(await socket.receive())["type"] for _ in range(count)]


async def test_messages_arrive_in_order_but_for_delayed_ones_which_are_lost_with_their_socket() -> None:
    sim, socket = await opened()
    await socket.send(SETUP)
    assert await kinds(socket, 2) == ["SETUP", "AUTH_STATE"]
    await socket.close()
    await socket.close()
    assert sim.streams.sessions == []
    sim, socket = await opened()
    sim.streams.faults.add("late(3)", kind="protocol")
    await socket.send(SETUP)
    began = loop_time()
    assert await kinds(socket, 2) == ["AUTH_STATE", "SETUP"]
    assert loop_time() - began == pytest.approx(3)
    sim.streams.faults.add("late(3)", kind="protocol")
    await socket.send(SETUP)
    await socket.close()
    await asyncio.sleep(5)
    with pytest.raises(ResponseLostError):
        await asyncio.wait_for(kinds(socket, 100), 1)


async def test_socket_ends_when_either_side_closes() -> None:
    sim, socket = await opened()
    [session] = sim.streams.sessions
    await socket.send(SETUP)
    await socket.close()
    await asyncio.sleep(0)
    assert not session._is_set_up  # type: ignore[attr-defined]
    sim, socket = await opened()
    waiting = asyncio.gather(socket.receive(), socket.receive(), return_exceptions=True)
    await asyncio.sleep(1)
    await socket.close()
    assert [type(each) for each in await waiting] == [ResponseLostError] * 2
    sim, socket = await opened()
    await socket.send(SETUP)
    await asyncio.sleep(0.1)
    sim.streams.drop()
    assert await kinds(socket, 2) == ["SETUP", "AUTH_STATE"]
    with pytest.raises(ResponseLostError, match="the service closed the connection"):
        await socket.receive()
    with pytest.raises(ResponseLostError, match="the connection is closed"):
        await socket.send(SETUP)
    await socket.close()


async def test_streams_run_on_time_after_a_restore_and_at_once_when_the_clock_is_advanced() -> None:
    sim, old = await opened()
    await asyncio.sleep(1)
    sim.restore(sim.snapshot())
    _, socket = await opened(sim)
    await old.close()
    await asyncio.sleep(0.1)
    began = loop_time()
    await socket.send(SETUP.replace("}", ', "keepaliveTimeout": 2}'))
    assert await kinds(socket, 3) == ["SETUP", "AUTH_STATE", "KEEPALIVE"]
    assert loop_time() - began == pytest.approx(1)
    sim.clock.advance(4000)
    began = loop_time()
    with pytest.raises(ResponseLostError, match="the service closed the connection"):
        await kinds(socket, 10_000)
    assert loop_time() - began < 1
    await socket.close()


async def test_socket_opens_at_an_address_of_a_stream_until_the_transport_is_closed() -> None:
    transport = Simulator(**SMALL).transport()
    assert isinstance(transport, SocketTransport)
    with pytest.raises(RequestNotSentError, match="no stream at ws://x/nowhere"):
        await transport.open_socket("ws://x/nowhere", user_agent="tests/1", timeout=1)
    await transport.close()
    with pytest.raises(RequestNotSentError, match="transport is closed"):
        await transport.open_socket("ws://x/streams/account", user_agent="tests/1", timeout=1)
