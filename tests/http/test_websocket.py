"""WebSockets over aiohttp, against the simulator on a loopback port."""

import asyncio
import json
import ssl
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import AsyncMock, Mock

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.config import Secret
from brokerage_async.errors import ConfigurationError, MessageTooLargeError, RequestNotSentError, ResponseLostError
from brokerage_async.http.network import Network
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.http.websocket import MAX_MESSAGE, AiohttpWebSocket, SocketTransport, WebSocket, connect
from brokerage_async.simulator import Simulator
from brokerage_async.stream import Gap
from tests.http.calls import cancelled, raised_by
from tests.raw_server import RawServer, answer
from tests.stream.world import SMALL, buy, within
from tests.tables import for_each


@for_each("borrows", [False, True])
async def test_message_there_and_back_and_the_end(borrows: bool) -> None:
    config, ended = aiohttp.TraceConfig(), AsyncMock()
    config.on_request_end.append(ended)
    async with Simulator(**SMALL) as sim, aiohttp.ClientSession(trace_configs=[config]) as session:
        transport = AiohttpTransport(session) if borrows else AiohttpTransport(trace_configs=[config])
        assert isinstance(transport, SocketTransport)
        socket = await transport.open_socket(sim.streamer_url, user_agent="tests/1", timeout=5)
        assert [each.args[2].response.status for each in ended.await_args_list] == [101]
        await socket.send(json.dumps({"action": "heartbeat", "request-id": 4}))
        answer = json.loads(await socket.receive())
        assert (answer["status"], answer["message"]) == ("error", "Unknown domain")
        sim.streams.drop()
        await raised_by(socket.receive(), ResponseLostError, "the service closed the connection")
        await raised_by(socket.send("x"), ResponseLostError, "closed")
        await socket.close()
        await socket.close()
        await transport.close()
        assert not session.closed
        opening = transport.open_socket(sim.streamer_url, user_agent="tests/1", timeout=5)
        await raised_by(opening, ConfigurationError, "the client is closed")


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


@asynccontextmanager
async def served(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_get("/", handler)
    async with TestServer(application) as server:
        yield f"ws://127.0.0.1:{server.port}/"


async def opened(url: str, timeout: float = 5.0) -> WebSocket:
    return await connect(url, user_agent="tests/1", timeout=timeout, network=Network(), session=None)


async def test_message_beyond_the_limit_ends_the_connection() -> None:
    async def send_much(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str("x" * 1000)
        await socket.send_str("x" * (MAX_MESSAGE + 1))
        async for _ in socket:
            pass
        return socket

    async with served(send_much) as url:
        socket = await opened(url)
        assert len(await socket.receive()) == 1000
        await raised_by(socket.receive(), MessageTooLargeError, "more than 16 MiB")
        await socket.close()


async def test_upgrade_that_is_refused_or_hangs_is_no_connection_and_leaves_nothing() -> None:
    release = asyncio.Event()

    async def refuse(request: web.Request) -> web.StreamResponse:
        if "slow" in request.query:
            await release.wait()
        raise web.HTTPBadGateway(text="<html>token=hush</html>")

    reason = r"no connection to 127\.0\.0\.1:[0-9]+: "
    await raised_by(opened("ws://127.0.0.1:9/"), RequestNotSentError, reason)
    async with served(refuse) as url:
        assert (await raised_by(opened(url), RequestNotSentError, f"{reason}status 502")).status == 502
        await raised_by(opened(f"{url}?slow=hush", timeout=0.05), RequestNotSentError, "timeout after 0.05 s")
        opening = asyncio.ensure_future(opened(f"{url}?slow=1"))
        await asyncio.sleep(0.02)
        await cancelled(opening)
        release.set()


@for_each(
    "sent, reason",
    [
        ((b"HTTP/1.1 101 Hi\r\nX-Echo: hush\r\n", None), "no connection to 127.0.0.1:PORT: Server disconnected"),
        (answer(b"", 302, "Location: ws://127.0.0.1:9/hush"), "127.0.0.1:PORT: it answers with a redirect, which"),
        (answer(b"", 302, "Location: http://[hush"), "127.0.0.1:PORT: it answers with a redirect, which"),
    ],
)
async def test_answer_that_is_no_upgrade_shows_nothing_of_it(sent: Any, reason: str) -> None:
    async with RawServer(sent) as server:
        error = await raised_by(opened(f"ws://127.0.0.1:{server.port}/"), RequestNotSentError)
        assert reason.replace("PORT", str(server.port)) in str(error)
        assert "hush" not in "".join(traceback.format_exception(error))


async def test_untrusted_certificate_and_a_lost_greeting_are_named_once() -> None:
    wrong = ssl.SSLCertVerificationError(1, "certificate verify failed")
    key = Mock(host="api.example.com", port=443, ssl=True)
    for error, reason in (
        (aiohttp.ClientConnectorCertificateError(key, wrong), "no connection to a.b: the certificate of api.example"),
        (aiohttp.ClientConnectorError(key, ConnectionResetError()), "no connection to api.example.com:443: Connection"),
    ):
        session = AsyncMock(ws_connect=AsyncMock(side_effect=error))
        opening = connect("wss://a.b/", user_agent="tests/1", timeout=5, network=Network(), session=session)
        assert str(await raised_by(opening, RequestNotSentError)).startswith(reason)


async def test_server_that_reads_nothing_does_not_hold_up_the_goodbye() -> None:
    release = asyncio.Event()

    async def ignore(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await release.wait()
        return socket

    async with served(ignore) as url:
        socket = await opened(url)
        start = asyncio.get_running_loop().time()
        await socket.close()
        assert asyncio.get_running_loop().time() - start < 2
        release.set()


@for_each("borrows", [False, True])
async def test_connect_redirected_address_is_refused_before_the_token_goes_out(borrows: bool) -> None:
    taken: list[str] = []

    async def take(request: web.Request) -> web.StreamResponse:
        taken.append(request.path)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        taken.extend([message.data async for message in socket])
        return socket

    async with served(take) as url, RawServer() as server:
        server.script = [answer(b"", status, f"Location: http{url.removeprefix('ws')}") for status in (301, 302, 307)]
        environment = Environment.sandbox(server.url, streamer_url=f"ws{server.url.removeprefix('http')}/")
        async with aiohttp.ClientSession() as session:
            options = {"http_session": session} if borrows else {}
            async with Client(environment, StaticToken("hush"), **options) as client:
                access = client.stream._access
                for status in (301, 302, 307):
                    opening = access.open_socket(access.account_url(), 5)
                    assert (await raised_by(opening, RequestNotSentError, "redirect")).__context__ is None, status
                async with client.stream.account(["5WT00001"]) as stream:
                    await raised_by(within(0.3, stream), TimeoutError)
                assert len(server.requests) > 3
        assert taken == []


async def test_send_cancelled_keeps_no_frame_with_the_message() -> None:
    class Stuck:
        async def send_str(self, message: str) -> None:
            await asyncio.sleep(60)

    message = Secret('{"auth-token": "hush"}')
    sending = asyncio.ensure_future(AiohttpWebSocket(Stuck(), None).send(message))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await sending
    _, *frames = traceback.walk_tb(caught.tb)
    assert not any("hush" in repr(frame.f_locals) for frame, _ in frames)
