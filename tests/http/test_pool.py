"""Guard on the pool of a borrowed session: unsolicited answers, and the last check before a send."""

import asyncio
from typing import Any

import aiohttp
import pytest

from brokerage_async.errors import RequestNotSentError
from brokerage_async.http.pool import guard_connector
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.protocol.request import Request
from tests.loops import on_real_time
from tests.raw_server import RawServer, answer
from tests.tables import for_each

UNSOLICITED = [answer(b"{}", 422), answer(b"{}", 429), answer(b"{}")[:-1], b"junk"]


def request_for(server: RawServer, method: str = "POST", **changes: Any) -> Request:
    return Request(method=method, url=f"{server.url}/thing", headers={"User-Agent": "tests/1"}, timeout=5.0, **changes)


@for_each("borrowed", [False, True])
@for_each("unsolicited", UNSOLICITED)
@for_each("method", ["POST", "GET", "DELETE"])
@on_real_time
async def test_unsolicited_answer_is_not_the_next_answer(method: str, unsolicited: Any, borrowed: bool) -> None:
    async with RawServer() as server, aiohttp.ClientSession() as session:
        transport = AiohttpTransport(session if borrowed else None)
        for number in range(3):
            assert (await transport.send(request_for(server, method))).status == 200
            assert len(server.requests) == number + 1
            await server.say(unsolicited)
        await transport.close()
    assert server.connections == 3


@for_each("idle", [True, False])
@on_real_time
async def test_connection_of_earlier_requests_of_the_session_is_guarded_as_well(idle: bool) -> None:
    async with RawServer() as server, aiohttp.ClientSession() as session:
        response = await session.get(server.url)
        if idle:
            await response.read()
        transport = AiohttpTransport(session)
        await response.read()
        await server.say(answer(b"{}", 429))
        assert (await transport.send(request_for(server))).status == 200
    assert server.connections == 2


async def test_requests_of_the_owner_are_guarded_as_well() -> None:
    async with RawServer() as server, aiohttp.ClientSession() as session:
        transport = AiohttpTransport(session)
        assert (await transport.send(request_for(server))).status == 200
        await server.say(answer(b"{}", 429))
        async with session.get(server.url) as response:
            assert response.status == 200


@for_each("borrowed", [False, True])
@on_real_time
async def test_service_that_answers_before_it_is_asked_is_heard(borrowed: bool) -> None:
    async def full(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"{}", 429, "Connection: close"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(full, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, aiohttp.ClientSession() as session:
        transport = AiohttpTransport(session if borrowed else None)
        for _ in range(2):
            assert (await transport.send(Request(method="GET", url=url, timeout=5.0))).status == 429
        await transport.close()


@for_each("borrowed", [False, True])
@on_real_time
async def test_request_whose_guard_objects_while_it_waits_for_a_connection_is_withheld(borrowed: bool) -> None:
    async with RawServer("stall", answer()) as server:
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) if borrowed else None
        transport = AiohttpTransport(session, connections=1)
        objection: str | None = None
        asked: list[int] = []
        occupying = asyncio.create_task(transport.send(request_for(server, "GET")))
        await server.arrived.wait()
        waiting = asyncio.create_task(transport.send(request_for(server, guard=lambda: objection)))
        await asyncio.sleep(0.02)  # it stands in line for the only connection
        objection = "the claim is over"
        occupying.cancel()
        with pytest.raises(RequestNotSentError, match="withheld: the claim is over") as caught:
            await waiting
        assert caught.value.code == "withheld"
        assert len(server.requests) == 1
        # The connection is free again, and a guard that agrees lets a request go.
        assert (await transport.send(request_for(server, guard=lambda: asked.append(1)))).status == 200
        assert (bool(asked), len(server.requests)) == (True, 2)
        await (transport.close() if session is None else session.close())


async def test_connector_is_guarded_once_however_many_clients_share_it() -> None:
    async with aiohttp.ClientSession() as session:
        connector = session.connector
        guard_connector(connector)
        guarded = connector.connect
        for _ in range(3):
            AiohttpTransport(session)
        assert connector.connect is guarded
    AiohttpTransport(session)  # closed already
