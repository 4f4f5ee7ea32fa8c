"""In-memory WebSocket, on virtual time."""

import asyncio
import json

import pytest

from brokerage_async.errors import RequestNotSentError, ResponseLostError
from brokerage_async.http.websocket import SocketTransport, WebSocket
from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL

pytestmark = pytest.mark.virtual_time

SETUP = json.dumps({"type": "SETUP", "channel": 0, "version": "0.1"})


async def opened(sim: Simulator) -> WebSocket:
    transport = sim.transport()
    assert isinstance(transport, SocketTransport)
    url = f"{sim.streamer_url.rpartition('/')[0]}/market-data"
    return await transport.open_socket(url, user_agent="tests/1", timeout=1)


async def test_messages_go_there_and_back_in_order() -> None:
    sim = Simulator(**SMALL)
    socket = await opened(sim)
    await socket.send(SETUP)
    assert [json.loads(await socket.receive())["type"] for _ in range(2)] == ["SETUP", "AUTH_STATE"]
    await socket.close()
    await socket.close()
    assert sim.streams.sessions == []


async def test_delayed_message_is_overtaken() -> None:
    sim = Simulator(**SMALL)
    socket = await opened(sim)
    sim.streams.faults.add("late(3)", kind="protocol")
    await socket.send(SETUP)
    start = asyncio.get_running_loop().time()
    assert [json.loads(await socket.receive())["type"] for _ in range(2)] == ["AUTH_STATE", "SETUP"]
    assert asyncio.get_running_loop().time() - start == pytest.approx(3)
    sim.streams.faults.add("late(3)", kind="protocol")
    await socket.send(SETUP)
    await socket.close()
    await asyncio.sleep(5)
    with pytest.raises(ResponseLostError):
        await asyncio.wait_for(drained(socket), 1)


async def drained(socket: WebSocket) -> None:
    while True:
        await socket.receive()


async def test_socket_ends_when_either_side_closes() -> None:
    sim = Simulator(**SMALL)
    socket = await opened(sim)
    [session] = sim.streams.sessions
    await socket.send(SETUP)
    await socket.close()
    await asyncio.sleep(0)
    assert not session._is_set_up  # type: ignore[attr-defined]
    sim = Simulator(**SMALL)
    socket = await opened(sim)
    waiting = asyncio.ensure_future(socket.receive())
    await asyncio.sleep(1)
    await socket.close()
    with pytest.raises(ResponseLostError):
        await waiting
    transport = Simulator(**SMALL).transport()
    assert isinstance(transport, SocketTransport)
    with pytest.raises(RequestNotSentError, match="no stream at ws://x/nowhere"):
        await transport.open_socket("ws://x/nowhere", user_agent="tests/1", timeout=1)
    await transport.close()
    with pytest.raises(RequestNotSentError, match="transport is closed"):
        await transport.open_socket("ws://x/streams/account", user_agent="tests/1", timeout=1)
    sim = Simulator(**SMALL)
    socket = await opened(sim)
    await socket.send(SETUP)
    await asyncio.sleep(0.1)
    sim.streams.drop()
    assert json.loads(await socket.receive())["type"] == "SETUP"
    assert json.loads(await socket.receive())["type"] == "AUTH_STATE"
    with pytest.raises(ResponseLostError, match="the service closed the connection"):
        await socket.receive()
    with pytest.raises(ResponseLostError, match="the connection is closed"):
        await socket.send(SETUP)
    await socket.close()
