"""WebSockets over aiohttp, against the simulator on a loopback port."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from brokerage_async.errors import ConfigurationError, RequestNotSentError, ResponseLostError
from brokerage_async.http.network import Network
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.http.websocket import SocketTransport, connect
from brokerage_async.simulator import Simulator
from brokerage_async.stream import Gap
from tests.loops import on_real_time
from tests.stream.world import SMALL, buy, within


async def test_message_there_and_back_and_the_end() -> None:
    async with Simulator(**SMALL) as sim:
        transport = AiohttpTransport()
        assert isinstance(transport, SocketTransport)
        socket = await transport.open_socket(sim.streamer_url, user_agent="tests/1", timeout=5)
        await socket.send(json.dumps({"action": "heartbeat", "request-id": 4}))
        answer = json.loads(await socket.receive())
        assert (answer["status"], answer["message"]) == ("error", "failed")
        sim.streams.drop()
        with pytest.raises(ResponseLostError, match="the service closed the connection"):
            await socket.receive()
        with pytest.raises(ResponseLostError, match="closed"):
            await socket.send("x")
        await socket.close()
        await socket.close()
        await transport.close()
        with pytest.raises(ConfigurationError, match="the client is closed"):
            await transport.open_socket(sim.streamer_url, user_agent="tests/1", timeout=5)


async def test_borrowed_session_is_used_and_left_open() -> None:
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession() as session:
        transport = AiohttpTransport(session)
        socket = await transport.open_socket(sim.streamer_url, user_agent="tests/1", timeout=5)
        await socket.close()
        assert not session.closed


@pytest.mark.parametrize("path", ["http", "/nowhere"])
async def test_no_connection_is_an_error_without_secrets(path: str) -> None:
    async with Simulator(**SMALL) as sim:
        url = f"ws{sim.base_url.removeprefix('http')}{path}" if path.startswith("/") else "ws://127.0.0.1:9/"
        with pytest.raises(RequestNotSentError, match=r"no connection to 127\.0\.0\.1"):
            await connect(url, user_agent="tests/1", timeout=5, network=Network(), session=None)


@on_real_time
async def test_streams_over_a_real_connection() -> None:
    async with Simulator(**SMALL) as sim, sim.client() as client:
        account = sim.account_numbers[0]
        async with client.stream.account([account]) as events, client.stream.quotes(["AAPL"]) as quotes:
            await events.ready()
            await quotes.ready()
            await client.orders.submit(account, buy())
            while (event := await within(5, events)).type != "CurrentPosition":
                pass
            assert event.data.symbol == "AAPL"
            assert (await within(5, quotes)).event_symbol == "AAPL"
            await sim.restart()
            while not isinstance(await within(10, events), Gap):
                pass  # a balance may have come before
        await asyncio.sleep(0.05)
        assert sim.streams.sessions == []
