"""Where credentials may go, and what failed sends say: plain http, proxies, certificates, how far a request got."""

import asyncio
import pickle
import ssl
import traceback
from base64 import b64encode
from typing import Any
from unittest.mock import AsyncMock, Mock

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.config import Secret
from brokerage_async.errors import PROXY_AUTHENTICATION, ConfigurationError, RequestNotSentError, ResponseLostError
from brokerage_async.http.failures import failure_of, harmless, mismatch_of
from brokerage_async.http.network import Network, Proxy, configure_network, is_loopback
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.protocol.request import Request
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.raw_server import RawServer, answer
from tests.tables import for_each

TOKEN, API = StaticToken("made-up"), Environment.sandbox("https://api.example.com")
PASSWORD = "hunter2zq81jfkd02mx"
LOOPBACK = ["http://127.0.0.1:8080", "http://127.9.8.7", "http://localhost", "http://LOCALHOST:80", "http://[::1]:8080"]


@pytest.fixture(autouse=True)
def _no_proxies_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def shows_password(error: BaseException) -> bool:
    """Return whether the text of an error, or a variable in a frame of the library, has the password."""
    stack = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    frames = [frame.locals for frame in stack if frame.filename != __file__]
    return PASSWORD in repr(frames) + "".join(traceback.format_exception(error))


def complete(monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    settings = {"BASE_URL": "https://a.example", "CLIENT_SECRET": "s", "REFRESH_TOKEN": "r"}
    for name, value in (settings | more).items():
        monkeypatch.setenv(f"BROKERAGE_{name}", value)


def basic(credentials: str) -> str:
    return f"Basic {b64encode(credentials.encode()).decode()}"


class TestPlainHttp:
    def test_https_and_loopback_are_accepted_without_a_warning(self, caplog: Any) -> None:
        for address in ("https://api.example.com", *LOOPBACK):
            Client(Environment.production(address), TOKEN)
        Client(API, TOKEN, proxy="http://proxy.example:3128")
        assert caplog.messages == []

    @for_each("options", [{}, {"transport": AsyncMock(["send", "close"])}])
    @for_each("host", [
            "api.example.com", "10.0.0.1:8080", "127.0.0.1.example.com", "localhost.example.com", "128.0.0.1",
            "0.0.0.0:8080", "[::ffff:127.0.0.1]", "[::2]", "127.1", "2130706433", "0x7f.0.0.1", "localhost.",
            "127.0.0.1.:80",
        ])  # fmt: skip
    def test_elsewhere_is_refused_or_warned_about(self, host: str, options: dict[str, Any], caplog: Any) -> None:
        address = f"http://{host}"
        caplog.clear()
        reason = "must be an https address, got http://.*allow_http=True"
        other = Environment.sandbox("https://api.example.com", hosts={"lab": address})
        for each, named in ((Environment.sandbox(address), "base_url"), (other, "lab")):
            raised(ConfigurationError, Client, each, TOKEN, **options, match=f"^{named} {reason}")
            for _ in range(2):
                Client(each, TOKEN, allow_http=True, **options)
        assert caplog.messages == [f"allow_http: credentials travel unencrypted to {address}"] * 4

    @for_each("address", LOOPBACK)
    def test_loopback_through_a_proxy_elsewhere_is_refused(self, address: str) -> None:
        local, proxy = Environment.sandbox(address), "http://proxy.example:3128"
        raised(ConfigurationError, Client, local, TOKEN, proxy=proxy, match=f"through {proxy}")
        Client(local, TOKEN, proxy="http://localhost:3128")

    @for_each("value, accepted", [("true", True), ("True", True), ("false", False), ("", False)])
    def test_variable(self, value: str, accepted: bool, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
        caplog.clear()
        complete(monkeypatch, BASE_URL="http://10.0.0.1", ALLOW_HTTP=value)
        if accepted:
            Client.from_env()
            assert len(caplog.messages) == 1
        else:
            raised(ConfigurationError, Client.from_env, match="BROKERAGE_ALLOW_HTTP=true")
        Client.from_env(allow_http=True)

    @for_each("name", ["allow_http", "trust_env"])
    def test_flags_and_their_variables_are_true_or_false(self, name: str) -> None:
        raised(ConfigurationError, Client, API, TOKEN, **{name: "true"}, match=f"{name} must be True or False")
        with pytest.MonkeyPatch.context() as patch:
            complete(patch, **{name.upper(): "yes please"})
            reason = f"BROKERAGE_{name.upper()}: must be true or false"
            raised(ConfigurationError, Client.from_env, match=reason)


class TestProxy:
    @for_each(
        "address, url, authorization",
        [
            ("http://proxy.example:3128", "http://proxy.example:3128", None),
            ("http://proxy.example/", "http://proxy.example:80", None),
            ("https://proxy.example", "https://proxy.example:443", None),
            ("HTTP://Me:Pw@Proxy.Example:1", "http://proxy.example:1", basic("Me:Pw")),
            ("http://me@[::1]:3128", "http://[::1]:3128", basic("me:")),
            ("http://me:p%40ss%3A%2Fw%25@10.0.0.1:80", "http://10.0.0.1:80", basic("me:p@ss:/w%")),
            ("http://m%C3%BCller:p%C3%A4ss@p.example:80", "http://p.example:80", basic("müller:päss")),
        ],
    )
    def test_credentials_are_taken_out_of_the_address(self, address: str, url: str, authorization: str | None) -> None:
        proxy = Proxy.parse("proxy", address)
        assert (proxy.url, proxy.authorization) == (url, authorization and Secret(authorization))
        assert authorization is None or authorization.removeprefix("Basic ") not in repr(proxy)

    @for_each(
        "address",
        ["", "proxy.example:3128", "//proxy.example", "ftp://proxy.example", "http://", f"http://:{PASSWORD}@",
         f"http://me:{PASSWORD}@proxy.example:port", f"http://me:{PASSWORD}/@proxy.example", "http://p.example:0",
         f"http://me:{PASSWORD}#@proxy.example", f"http://me:{PASSWORD}?@proxy.example", "http://p.example:70000",
         f"http://me:{PASSWORD} @proxy.example", f"http://me:{PASSWORD}@proxy.example\n", f"http://{PASSWORD}@[::1",
         f"http://me:{PASSWORD}@p.example/path", "http://p.example\udc80", 3128, b"http://proxy.example", True],
    )  # fmt: skip
    def test_anything_else_is_refused_and_not_repeated(self, address: Any) -> None:
        with pytest.raises(ConfigurationError, match=r"^proxy must be the http or https address of a proxy") as caught:
            Client(API, TOKEN, proxy=address)
        assert not shows_password(caught.value)
        reason = "HTTP proxy; for SOCKS lend an http_session"
        raised(ConfigurationError, Proxy.parse, "proxy", "socks5://127.0.0.1:1080", match=reason)

    @for_each("owner", ["http_session", "transport"])
    def test_belongs_to_connections_of_the_client_itself(self, owner: str) -> None:
        for option in ({"proxy": "http://p.example"}, {"ssl": ssl.create_default_context()}, {"trust_env": True}):
            options: dict[str, Any] = option | {owner: AsyncMock(["send", "close"])}
            raised(ConfigurationError, Client, API, TOKEN, **options, match=f"set them on {owner}")

    def test_unusable_variable_is_named_and_not_repeated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        complete(monkeypatch, PROXY=f"http://me:{PASSWORD}@")
        assert not shows_password(raised(ConfigurationError, Client.from_env, match="^proxy must be"))
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}@")
        reason = "^the proxy of the environment must be"
        assert not shows_password(raised(ConfigurationError, configure_network, API, trust_env=True, match=reason))


class TestProxyOfTheEnvironment:
    def configured(self, address: str = "https://api.example.com", **options: Any) -> str | None:
        network = configure_network(Environment.sandbox(address), **{"trust_env": True, "allow_http": True} | options)
        return None if network.proxy is None else network.proxy.url

    @for_each(
        "variables, url",
        [
            ({}, None),
            ({"https_proxy": "http://a.example:1"}, "http://a.example:1"),
            ({"HTTPS_PROXY": "http://a.example:1"}, "http://a.example:1"),
            ({"HTTPS_PROXY": "a.example:1"}, "http://a.example:1"),
            ({"ALL_PROXY": "http://b.example:2"}, "http://b.example:2"),
            ({"HTTPS_PROXY": "http://a.example:1", "ALL_PROXY": "http://b.example:2"}, "http://a.example:1"),
            ({"HTTP_PROXY": "http://a.example:1"}, None),
            ({"HTTPS_PROXY": "http://a.example:1", "NO_PROXY": "other.example,.example.com"}, None),
            ({"HTTPS_PROXY": "http://a.example:1", "NO_PROXY": "*"}, None),
            ({"HTTPS_PROXY": "http://a.example:1", "NO_PROXY": "other.example"}, "http://a.example:1"),
        ],
    )
    def test_variables(self, variables: dict[str, str], url: str | None) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            assert self.configured() == url
            assert self.configured(trust_env=False) is None

    def test_argument_comes_first_and_loopback_is_always_direct(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.setenv(name, "http://a.example:1")
        assert self.configured(proxy="http://b.example:2") == "http://b.example:2"
        assert self.configured("http://10.0.0.1") == "http://a.example:1"
        assert [address for address in LOOPBACK if self.configured(address) is not None] == []


class TestCertificates:
    @for_each("wrong", [False, True, "ca.pem", ssl.SSLContext, ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)])
    def test_must_be_a_context_for_clients(self, wrong: Any) -> None:
        reason = r"ssl must be an ssl\.SSLContext for clients"
        raised(ConfigurationError, Client, API, TOKEN, ssl=wrong, match=reason)

    def test_context_that_verifies_nothing_warns(self, caplog: Any) -> None:
        context = ssl.create_default_context()
        counts = []
        for change in ({}, {"check_hostname": False}, {"verify_mode": ssl.CERT_NONE}):
            for name, value in change.items():
                setattr(context, name, value)
            configure_network(API, ssl=context)
            counts.append(len(caplog.messages))
        assert counts == [0, 1, 2]


def test_network_has_no_other_loopback_and_no_settings_by_default() -> None:
    hosts = [None, "", "localhost.", "::ffff:7f00:1", "::1%eth0", "fe80::1"]
    assert [host for host in hosts if is_loopback(host)] == []
    assert configure_network(API) == Network()


REQUEST = Request(method="POST", url="https://api.example.com/thing", timeout=2.5)
PLAIN = Proxy.parse("proxy", "http://p.example:3128")
KNOWN = Proxy.parse("proxy", f"http://me:{PASSWORD}@p.example:3128")
KEY = ConnectionKey("api.example.com", 443, True, True, None, None, None)
UNTRUSTED = ssl.SSLCertVerificationError(1, "certificate verify failed")
UNTRUSTED.verify_message = "self-signed certificate"
VIA = ConnectionKey("proxy.example", 3128, False, True, None, None, None)


def refused(status: int, *offered: str) -> aiohttp.ClientHttpProxyError:
    headers = CIMultiDictProxy(CIMultiDict([("Proxy-Authenticate", scheme) for scheme in offered]))
    return aiohttp.ClientHttpProxyError(Mock(), (), status=status, message="No", headers=headers)


@for_each("written", [False, True])
@for_each(
    "proxy, status, offered, sentence",
    [
        (PLAIN, 403, [], "the proxy http://p.example:3128 refused to connect (status 403)"),
        (None, 502, [], "the proxy of http_session refused to connect (status 502)"),
        *((PLAIN, 407, offered, "the proxy http://p.example:3128 requires a user name and password (407): "
           "pass proxy='http://user:password@host:port'") for offered in (['Basic realm="x"'], [])),
        (None, 407, [], "the proxy of http_session requires another user name and password (407)"),
        (KNOWN, 407, ["Negotiate", "Basic realm=x"],
         "the proxy http://p.example:3128 rejected the user name and password (407)"),
        (KNOWN, 407, ["Negotiate", "NTLM"],
         "the proxy http://p.example:3128 does not accept a user name and password (407), only 'Negotiate'"),
    ],
)  # fmt: skip
def test_refusal_of_a_proxy_is_one_sentence_and_none_of_the_service(
    proxy: Any, status: int, offered: list[str], sentence: str, written: bool
) -> None:
    error = failure_of(REQUEST, refused(status, *offered), written, None, proxy)
    assert isinstance(error, RequestNotSentError)
    code = PROXY_AUTHENTICATION if status == 407 else None
    assert (error.status, error.code, error.maybe_processed) == (status, code, False)
    assert str(error) == f"not sent: {sentence}"
    assert PASSWORD.encode() not in pickle.dumps(error)


@for_each("error, text", [
        (aiohttp.ClientProxyConnectionError(VIA, OSError(111, "refused")),
         "could not reach https://api.example.com: no connection to the proxy proxy.example:3128: [Errno 111] refused"),
        (aiohttp.ClientConnectorCertificateError(KEY, UNTRUSTED),
         "could not reach https://api.example.com: the certificate of api.example.com is not trusted "
         "(self-signed certificate): to trust its authority, pass ssl=ssl.create_default_context(cafile=...)"),
        (aiohttp.ClientConnectorError(KEY, ConnectionResetError()),
         "could not reach https://api.example.com: no connection to api.example.com:443: ConnectionResetError"),
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


async def failure_at(url: str, kind: type[Exception]) -> Any:
    transport = AiohttpTransport()
    try:
        return await raised_by(transport.send(Request(method="GET", url=url, timeout=5)), kind)
    finally:
        await transport.close()


async def test_https_asked_of_an_http_port() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)  # of the greeting, which is not HTTP
        writer.write(answer(b"", 400))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        error = await failure_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", RequestNotSentError)
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
        error = await failure_at(server.url, ResponseLostError)
    assert error.message.endswith(sentence)


def test_mismatch_of_any_other_failure_is_none() -> None:
    for reason, is_mismatch in (("WRONG_VERSION_NUMBER", True), ("CERTIFICATE_VERIFY_FAILED", False)):
        broken = ssl.SSLError(1, reason)
        broken.reason = reason
        error = aiohttp.ClientConnectorSSLError(Mock(host="a", port=1, ssl=True), broken)
        assert (mismatch_of(error, "https://a") is not None) is is_mismatch
    assert mismatch_of(aiohttp.ServerDisconnectedError(), "https://a") is None
    assert mismatch_of(TimeoutError(), "http://a") is None
