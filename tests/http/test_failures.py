"""Failed sends as errors: how far they got, problems of proxies and certificates, http taken for https."""

import asyncio
import pickle
import ssl
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy

from brokerage_async.errors import PROXY_AUTHENTICATION, BrokerageError, RequestNotSentError, ResponseLostError
from brokerage_async.http.failures import failure_of, harmless, mismatch_of
from brokerage_async.http.network import Proxy
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.protocol.request import Request
from tests.raw_server import RawServer, answer
from tests.tables import for_each

REQUEST = Request(method="POST", url="https://api.example.com/thing", timeout=2.5)
PROXY = Proxy.parse("proxy", "http://me:hunter2@proxy.example:3128")
KEY = ConnectionKey("api.example.com", 443, True, True, None, None, None)
UNTRUSTED = ssl.SSLCertVerificationError(1, "certificate verify failed")
UNTRUSTED.verify_message = "self-signed certificate"
VIA = ConnectionKey("proxy.example", 3128, False, True, None, None, None)


def refused(status: int, *offered: str) -> aiohttp.ClientHttpProxyError:
    headers = CIMultiDictProxy(CIMultiDict([("Proxy-Authenticate", scheme) for scheme in offered]))
    return aiohttp.ClientHttpProxyError(Mock(), (), status=status, message="No", headers=headers)


@for_each("written", [False, True])
def test_proxy_that_demands_credentials_is_named_and_nothing_was_sent(written: bool) -> None:
    error = failure_of(REQUEST, refused(407, "Negotiate", "Basic realm=x"), written, None, PROXY)
    assert isinstance(error, RequestNotSentError)
    assert (error.status, error.code, error.maybe_processed) == (407, PROXY_AUTHENTICATION, False)
    assert str(error) == "not sent: the proxy http://proxy.example:3128 rejected the user name and password (407)"
    assert b"hunter2" not in pickle.dumps(error)


@for_each("status", [403, 502])
def test_proxy_that_refuses_to_connect_is_no_refusal_of_the_service(status: int) -> None:
    error = failure_of(REQUEST, refused(status), False)
    assert isinstance(error, RequestNotSentError)
    assert (error.status, error.code) == (status, None)
    assert str(error) == f"not sent: the proxy of http_session refused to connect (status {status})"


@for_each("error, text", [
        (aiohttp.ClientProxyConnectionError(VIA, OSError(111, "refused")),
         "could not reach https://api.example.com: no connection to the proxy proxy.example:3128: [Errno 111] refused"),
        (aiohttp.ClientConnectorCertificateError(KEY, UNTRUSTED),
         "could not reach https://api.example.com: the certificate of api.example.com is not trusted "
         "(self-signed certificate): to trust its authority, pass ssl=ssl.create_default_context(cafile=...)"),
        (TimeoutError(), "could not reach https://api.example.com: timeout after 2.5 s"),
    ])  # fmt: skip
def test_reason_of_what_was_never_sent(error: Exception, text: str) -> None:
    found = failure_of(REQUEST, error, False)
    assert isinstance(found, RequestNotSentError)
    assert str(found) == text


def test_what_leads_to_headers_is_no_cause() -> None:
    assert [error for error in (refused(407), RequestNotSentError("x")) if harmless(error) is not None] == []


@for_each("error", [TimeoutError(), aiohttp.ClientPayloadError("cut short")])
def test_response_that_broke_off_has_the_status_that_had_arrived(error: Exception) -> None:
    assert failure_of(REQUEST, error, True, 200).status == 200
    assert failure_of(REQUEST, error, True).status is None


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


def test_mismatch_of_any_other_failure_is_none() -> None:
    for reason, is_mismatch in (("WRONG_VERSION_NUMBER", True), ("CERTIFICATE_VERIFY_FAILED", False)):
        broken = ssl.SSLError(1, reason)
        broken.reason = reason
        error = aiohttp.ClientConnectorSSLError(Mock(host="a", port=1, ssl=True), broken)
        assert (mismatch_of(error, "https://a") is not None) is is_mismatch
    assert mismatch_of(aiohttp.ServerDisconnectedError(), "https://a") is None
    assert mismatch_of(TimeoutError(), "http://a") is None
