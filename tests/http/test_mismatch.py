"""http and https mistaken for each other: the error says so, over real sockets."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest

from brokerage_async.errors import BrokerageError, RequestNotSentError, ResponseLostError
from brokerage_async.http.mismatch import mismatch_of
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.protocol.request import Request
from tests.raw_server import RawServer, answer
from tests.tables import for_each


async def failure_at(url: str) -> BrokerageError:
    transport = AiohttpTransport()
    try:
        with pytest.raises(BrokerageError) as caught:
            await transport.send(Request(method="GET", url=url, timeout=5))
        return caught.value
    finally:
        await transport.close()


async def test_https_asked_of_an_http_port() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)  # of the greeting, which is not HTTP
        writer.write(answer(b"", 400))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        error = await failure_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert isinstance(error, RequestNotSentError)
    assert "the port does not speak https: check the port, or let base_url start with http://" in error.message


@for_each(
    "reaction, sentence",
    [
        (b"\x15\x03\x01\x00\x02\x02\x46", "the port expects https: base_url must start with https://"),
        (None, "Server disconnected (if the port expects https, base_url must start with https://)"),
    ],
)
async def test_http_asked_of_an_https_port(reaction: Any, sentence: str) -> None:
    async with RawServer((reaction, None) if reaction else None) as server:
        error = await failure_at(server.url)
    assert isinstance(error, ResponseLostError)
    assert error.message.endswith(sentence)


def handshake(reason: str) -> aiohttp.ClientConnectorError:
    broken = ssl.SSLError(1, reason)
    broken.reason = reason
    return aiohttp.ClientConnectorSSLError(Mock(host="a", port=1, ssl=True), broken)


def test_mismatch_of_any_other_failure_is_none() -> None:
    assert mismatch_of(handshake("WRONG_VERSION_NUMBER"), "https://a") is not None
    assert mismatch_of(handshake("CERTIFICATE_VERIFY_FAILED"), "https://a") is None
    assert mismatch_of(aiohttp.ServerDisconnectedError(), "https://a") is None
    assert mismatch_of(TimeoutError(), "http://a") is None
