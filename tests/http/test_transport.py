"""One send is one request, and a failed send reports how far the request got; pooled connections are guarded."""

import asyncio
import functools
import gc
import gzip
import inspect
import pickle
import socket
import ssl
import traceback
import tracemalloc
import warnings
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import Mock

import aiohttp
import brotli
import pytest
from aiohttp import client_exceptions

from brokerage_async.config import Secret
from brokerage_async.errors import ConfigurationError, RequestNotSentError, ResponseDecodeError, ResponseLostError
from brokerage_async.http.failures import classify
from brokerage_async.http.pool import guard_connector
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.protocol.retry import Processed
from tests.fleet.engines import free_port
from tests.http.calls import cancelled, raised_by
from tests.loops import on_real_time
from tests.raw_server import RawServer, answer
from tests.tables import for_each

VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
PLAIN = b'{"a": 1}'


def request_for(server: RawServer | str, method: str = "GET", *, timeout: Any = 5.0, **changes: Any) -> Request:
    base = server if isinstance(server, str) else server.url
    body = b'{"a":1}' if method in {"POST", "PUT", "PATCH"} else None
    changes = {"url": f"{base}/thing", "body": body, "headers": {"User-Agent": "tests/1"}} | changes
    return Request(method=method, timeout=timeout, **changes)


@asynccontextmanager
async def open_transport(*, borrowed: bool = False, **options: Any) -> AsyncIterator[AiohttpTransport]:
    """Open a transport with a connector of its own, or of a borrowed session, which it must not close."""
    connector = aiohttp.TCPConnector(limit=options.get("connections", 100))
    async with aiohttp.ClientSession(connector=connector) as session:
        transport = AiohttpTransport(session if borrowed else None, **options)
        try:
            yield transport
        finally:
            await transport.close()
            assert not session.closed


async def exchange(sent: Any, method: str = "GET", *, max_body: int = 4 << 20, **changes: Any) -> Response:
    """Return what a new transport makes of one answer, which it asks for once."""
    async with RawServer(sent) as server, open_transport(max_body=max_body) as transport:
        try:
            return await transport.send(request_for(server, method, **changes))
        finally:
            assert len(server.requests) == 1


class TestOneSend:
    @for_each("borrowed", [False, True])
    @for_each("warm", [False, True])
    @for_each("method", VERBS)
    @on_real_time
    async def test_dropped_connection_is_never_sent_again(self, method: Any, warm: bool, borrowed: bool) -> None:
        script = [answer(), None, answer()] if warm else [None, answer()]
        async with RawServer(*script) as server, open_transport(borrowed=borrowed) as transport:
            if warm:
                await transport.send(request_for(server))
            await raised_by(transport.send(request_for(server, method)), ResponseLostError)
            await asyncio.sleep(0.05)
            assert (len(server.requests), server.connections) == (1 + warm, 1)

    async def test_request_goes_out_as_built_whatever_surrounds_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        async with RawServer(answer(b"{}", 200, "Set-Cookie: a=b")) as server, open_transport() as transport:
            url = f"{server.url}/chains/.%2FESZ6%20EW3U6%20260918P9100?status[]=Cancel%20Requested&a=b%2Bc"
            await transport.send(request_for(server, url=url))
            await transport.send(request_for(server, "POST", body=b'{"quantity" : "1.0"}'))
            await transport.send(request_for(server, "POST", body=None))
        assert server.lines[0] == url.replace(server.url, "GET ") + " HTTP/1.1"
        assert server.requests[1].endswith(b'\r\n\r\n{"quantity" : "1.0"}')
        assert b"\r\nUser-Agent: tests/1\r\n" in server.requests[0]
        assert not any(b"cookie" in request.lower() for request in server.requests)
        assert b"\r\nContent-Length: 0\r\n" in server.requests[2]
        assert b"content-type" not in server.requests[2].lower()


NEVER, MAYBE, ANSWERED = Processed.NO, Processed.MAYBE, Processed.YES
AFTER_WRITING = {
    NEVER: {
        "ClientConnectorError", "ClientConnectorDNSError", "ClientConnectorSSLError", "ClientConnectorCertificateError",
        "ClientProxyConnectionError", "ClientSSLError", "UnixClientConnectorError", "ConnectionTimeoutError",
        "ServerFingerprintMismatch", "ClientHttpProxyError", "InvalidURL", "InvalidUrlClientError",
        "NonHttpUrlClientError", "InvalidUrlRedirectClientError", "NonHttpUrlRedirectClientError",
    },
    MAYBE: {
        "ClientError", "ClientConnectionError", "ClientConnectionResetError", "ClientOSError", "SocketTimeoutError",
        "ServerConnectionError", "ServerTimeoutError", "ServerDisconnectedError", "UploadAbortedError",
        "RedirectClientError", "WSMessageTypeError",
    },
    ANSWERED: {
        "ClientResponseError", "WSServerHandshakeError", "ContentTypeError", "TooManyRedirects", "ClientPayloadError",
    },
}  # fmt: skip


def test_classify_every_exception_of_aiohttp_and_of_others() -> None:
    for name, kind in vars(client_exceptions).items():
        if inspect.isclass(kind) and issubclass(kind, aiohttp.ClientError):
            error = kind.__new__(kind)  # only the class counts
            assert name in AFTER_WRITING[classify(error, written=True)]
            assert classify(error, written=False) is NEVER, name
    for error in (TimeoutError(), ConnectionResetError(), ssl.SSLError(), OSError(), ValueError(), RuntimeError()):
        assert [classify(error, written=written) for written in (True, False)] == [MAYBE, NEVER], error


class TestFailures:
    async def test_refused_connection_names_the_address(self) -> None:
        address = f"http://127.0.0.1:{free_port()}"
        async with open_transport() as transport:
            error = await raised_by(transport.send(request_for(address, "POST")), RequestNotSentError, address)
        assert error.maybe_processed is False

    async def test_timeout_while_connecting_was_not_sent(self) -> None:
        with socket.socket() as listener:  # a full backlog: the handshake never ends
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(listener.getsockname())
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            async with open_transport() as transport:
                sending = transport.send(request_for(address, "DELETE", timeout=0.2))
                await raised_by(sending, RequestNotSentError, r"timeout after 0\.2 s")
            for filler in fillers:
                filler.close()

    @for_each("method, sent", [*((verb, "stall") for verb in VERBS), ("GET", answer(b"{", length=100))])
    @on_real_time
    async def test_timeout_after_sending_may_have_been_processed(self, method: Any, sent: Any) -> None:
        """It covers the body as well."""
        error = await raised_by(exchange(sent, method, timeout=0.1), ResponseLostError, r"timeout after 0\.1 s")
        assert error.maybe_processed is True

    @for_each(
        "sent, known",
        [
            ((answer(b"{", length=100), None), None),
            ((answer(b"abc", length=6), None), b"abc"),
            ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", None), None),
            ((b"HTTP/1.1 200 OK\r\nContent-Le", None), None),
            ((b"GARBAGE\r\n\r\n", None), None),
            ((b"HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n", None), None),
            (answer(b"this is no gzip", 200, "Content-Encoding: gzip"), None),
        ],
    )
    @on_real_time
    async def test_broken_answers(self, sent: Any, known: bytes | None) -> None:
        await raised_by(exchange(sent, "PUT", previous_body=known), ResponseLostError)

    async def test_secrets_stay_out_of_errors(self) -> None:
        secret = "tok-123456"
        token = Secret(f"Bearer {secret}")
        half = b"HTTP/1.1 200 OK\r\nX-Echo: tok-123456\r\n"
        script: Any = [(b"GARBAGE\r\n\r\n", None), (half, None), None, "stall"]
        async with RawServer(*script) as server, open_transport() as transport:
            for _ in range(4):
                sending = transport.send(request_for(server, authorization=token, timeout=0.1))
                error = await raised_by(sending, ResponseLostError)
                texts = [str(error), repr(error), repr(vars(error)), repr(error.args), repr(error.__cause__)]
                texts += traceback.format_exception(error)
                assert secret not in "".join(texts)
                assert secret.encode() not in pickle.dumps(error)
        assert secret.encode() in server.requests[0]


class TestBodies:
    @for_each(
        "sent, status, body",
        [
            *((answer(b"", status, "Location: /elsewhere"), status, b"") for status in (301, 302, 303, 307, 308)),
            ((answer(b"{", 503, length=100), None), 503, b""),  # the status of a broken error answer still counts
            (answer(b"x", 429, "Content-Encoding: gzip"), 429, b""),
            (answer(b"x" * 2000, 500), 500, b""),  # too large
            (answer(PLAIN, 200, "X: y"), 200, PLAIN),
            (answer(gzip.compress(PLAIN), 200, "Content-Encoding: gzip"), 200, PLAIN),
            (answer(zlib.compress(PLAIN), 200, "Content-Encoding: deflate"), 200, PLAIN),
            (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        ],
    )
    @on_real_time
    async def test_answer_is_decompressed_and_nothing_else(self, sent: Any, status: int, body: bytes) -> None:
        response = await exchange(sent, "POST", max_body=1000)
        assert (response.status, response.body) == (status, body)
        assert status == 204 or response.headers.get("content-type") == "application/json"

    async def test_chunks_are_joined(self) -> None:
        sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n1\r\n \r\n0\r\n\r\n"
        async with RawServer(sent) as server, open_transport() as transport:
            for _ in range(2):
                assert (await transport.send(request_for(server))).body == b"{}\n "
        assert server.connections == 1

    @for_each("encoding", ["plain", "gzip"])
    @for_each(
        "body, known",
        [
            *((b"abc", known) for known in (b"abc", b"abd", b"abcdef", b"")),
            (b"abcdef", b"abc"),
            (b"", b"abc"),
            (b"x" * 500_000 + b"a", b"x" * 500_000 + b"b"),
            (b"x" * 500_000, b"x" * 500_000),
        ],
    )
    @on_real_time
    async def test_known_body_changes_nothing_but_who_holds_it(self, body: Any, known: Any, encoding: str) -> None:
        sent = answer(gzip.compress(body), 200, "Content-Encoding: gzip") if encoding == "gzip" else answer(body)
        async with RawServer(sent) as server, open_transport() as transport:
            for _ in range(2):
                response = await transport.send(request_for(server, previous_body=known))
                assert response.body == body
                assert (response.body is known) is (body == known)
        assert server.connections == 1

    @for_each("known", [None, b"x" * 2000])
    @for_each(
        "sent",
        [
            answer(b"x" * 2000),
            answer(gzip.compress(b"x" * 1_000_000), 200, "Content-Encoding: gzip"),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"x" * 2000 + b"\r\n0\r\n\r\n",
        ],
    )
    @on_real_time
    async def test_size_is_capped(self, sent: Any, known: Any) -> None:
        reading = exchange(sent, max_body=1000, previous_body=known)
        assert (await raised_by(reading, ResponseDecodeError, "larger than 1000 bytes")).status == 200


class TestLife:
    async def test_close_twice_and_before_use(self) -> None:
        transport = AiohttpTransport()
        await transport.close()
        await transport.close()
        await raised_by(transport.send(request_for("http://127.0.0.1:9")), ConfigurationError, "closed")

    def test_borrowed_session_with_own_settings_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="trace_configs"):
            AiohttpTransport(Mock(spec=aiohttp.ClientSession), trace_configs=[aiohttp.TraceConfig()])
        with pytest.raises(ConfigurationError, match="auth"):
            AiohttpTransport(Mock(spec=aiohttp.ClientSession, auth="Basic"))

    async def test_settings_of_a_borrowed_session_change_no_answer(self) -> None:
        packed = answer(gzip.compress(PLAIN), 200, "Content-Encoding: gzip")
        script = [answer(b"{}", 429), answer(b"{}", 422), packed]
        async with (
            RawServer(*script) as server,
            aiohttp.ClientSession(raise_for_status=True, auto_decompress=False) as session,
        ):
            transport = AiohttpTransport(session)
            found = [await transport.send(request_for(server, "POST")) for _ in script]
        assert [response.status for response in found] == [429, 422, 200]
        assert found[-1].body == PLAIN

    @for_each("borrowed", [False, True])
    @on_real_time
    async def test_closing_turns_away_who_waits_for_a_connection(self, borrowed: bool) -> None:
        async with RawServer("stall") as server:
            session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) if borrowed else None
            transport = AiohttpTransport(session, connections=1)
            first = asyncio.create_task(transport.send(request_for(server, "POST")))
            await server.arrived.wait()
            others = [asyncio.create_task(transport.send(request_for(server, "POST"))) for _ in range(3)]
            others[0].cancel()
            await asyncio.sleep(0.01)
            others[1].cancel()
            await (transport if session is None else session).close()
            found = await asyncio.gather(first, *others, return_exceptions=True)
            kinds = [ResponseLostError, asyncio.CancelledError, asyncio.CancelledError, RequestNotSentError]
            assert [type(error) for error in found] == kinds
            assert len(server.requests) == 1

    async def test_cancelled_send_closes_its_connection(self) -> None:
        async with RawServer("stall") as server, open_transport() as transport:
            sending = asyncio.create_task(transport.send(request_for(server)))
            await server.arrived.wait()
            await cancelled(sending)

    async def test_forgotten_transport_warns_once(self) -> None:
        async with RawServer() as server:
            transport = AiohttpTransport()
            await transport.send(request_for(server))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                del transport
                gc.collect()
                await asyncio.sleep(0.01)
        [warning] = caught
        assert str(warning.message) == "unclosed Client: use `async with`, or `await client.aclose()`"


MIB = 1 << 20
CODECS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": functools.partial(brotli.compress, quality=5)}


@for_each("codec", CODECS)
@on_real_time
async def test_decompression_stops_at_the_size_cap_with_bounded_memory(codec: str) -> None:
    packed = CODECS[codec](bytes(64 * MIB))
    script = [answer(packed, status, f"Content-Encoding: {codec}") for status in (200, 422)]
    async with RawServer(*script) as server, open_transport(max_body=4 * MIB) as transport:
        tracemalloc.start()
        try:
            sending = transport.send(request_for(server, timeout=60))
            await raised_by(sending, ResponseDecodeError, "larger than 4194304 bytes")
            assert (await transport.send(request_for(server, timeout=60))).body == b""
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(packed) < MIB
    assert peak < 24 * MIB


@for_each("borrowed", [False, True])
@for_each("unsolicited", [answer(b"{}", 422), answer(b"{}", 429), answer(b"{}")[:-1], b"junk"])
@for_each("method", ["POST", "GET", "DELETE"])
@on_real_time
async def test_unsolicited_answer_is_not_the_next_answer(method: str, unsolicited: Any, borrowed: bool) -> None:
    async with RawServer() as server, open_transport(borrowed=borrowed) as transport:
        for number in range(3):
            assert (await transport.send(request_for(server, method))).status == 200
            assert len(server.requests) == number + 1
            await server.say(unsolicited)
    assert server.connections == 3


@for_each("idle", [True, False])
@on_real_time
async def test_earlier_and_later_requests_of_the_owner_of_the_session_are_guarded_as_well(idle: bool) -> None:
    async with RawServer() as server, aiohttp.ClientSession() as session:
        response = await session.get(server.url)
        if idle:
            await response.read()
        transport = AiohttpTransport(session)
        await response.read()
        await server.say(answer(b"{}", 429))
        assert (await transport.send(request_for(server, "POST"))).status == 200
        assert server.connections == 2
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

    async with (
        await asyncio.start_server(full, "127.0.0.1", 0) as server,
        open_transport(borrowed=borrowed) as transport,
    ):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for _ in range(2):
            assert (await transport.send(request_for(url))).status == 429


@for_each("borrowed", [False, True])
@on_real_time
async def test_request_whose_guard_objects_while_it_waits_for_a_connection_is_withheld(borrowed: bool) -> None:
    async with RawServer("stall", answer()) as server, open_transport(borrowed=borrowed, connections=1) as transport:
        objection: str | None = None
        asked: list[int] = []
        occupying = asyncio.create_task(transport.send(request_for(server, "GET")))
        await server.arrived.wait()
        waiting = asyncio.create_task(transport.send(request_for(server, "POST", guard=lambda: objection)))
        await asyncio.sleep(0.02)  # it stands in line for the only connection
        objection = "the claim is over"
        occupying.cancel()
        error = await raised_by(waiting, RequestNotSentError, "withheld: the claim is over")
        assert (error.code, len(server.requests)) == ("withheld", 1)
        # The connection is free again, and a guard that agrees lets a request go.
        assert (await transport.send(request_for(server, "POST", guard=lambda: asked.append(1)))).status == 200
        assert (bool(asked), len(server.requests)) == (True, 2)


async def test_connector_is_guarded_once_however_many_clients_share_it() -> None:
    async with aiohttp.ClientSession() as session:
        connector = session.connector
        guard_connector(connector)
        guarded = connector.connect
        for _ in range(3):
            AiohttpTransport(session)
        assert connector.connect is guarded
    AiohttpTransport(session)  # closed already
