"""Loopback WebSocket of the simulator, driven by a plain aiohttp client."""

import asyncio
import json

import aiohttp

from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL

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
