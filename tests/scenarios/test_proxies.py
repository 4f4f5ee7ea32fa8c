"""Private authorities, client certificates and proxies, over real sockets."""

import asyncio
import contextlib
import pickle
import ssl
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, StaticToken, errors
from brokerage_async.order_entry.decisions import DeliveryOutcome, delivery_of
from brokerage_async.tickets import buy_to_open, limit
from tests.http.calls import raised_by
from tests.http.test_network import basic
from tests.processes import run_program
from tests.raw_server import HARMLESS, LoopbackServer, RawServer, Streams, answer, read_request
from tests.scenarios.test_error_frames import shown, waiting_in


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(*HARMLESS):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
    sink.close()


class ProxyServer(LoopbackServer):
    """HTTP proxy whose every destination is the port ``target`` of this machine, whatever name it is asked for.

    It may ask for `CREDENTIALS`, or answer with a ``refusal``. With ``tls``, the proxy itself is reached by https.
    """

    def __init__(
        self, target: int, *, asks: bool = False, refusal: bytes | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(tls)
        self.heads: list[bytes] = []
        self._target, self._asks, self._refusal = target, asks, refusal

    @property
    def lines(self) -> list[str]:
        return [head.split(b"\r\n", 1)[0].decode() for head in self.heads]

    def url(self, user: str = "") -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{user}{'@' if user else ''}127.0.0.1:{self.port}"

    async def serve(self, client: Streams) -> None:
        reader, writer = client
        while True:
            head, body = await read_request(reader)
            self.heads.append(head)
            refusal = self._refusal
            if self._asks and f"\r\nProxy-Authorization: Basic {CREDENTIALS}\r\n".encode() not in head:
                refusal = answer(b"", 407, 'Proxy-Authenticate: Basic realm="office"')
            if refusal is None and head.startswith(b"CONNECT "):
                target = await self.connect(self._target)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(pump(reader, target[1]), pump(target[0], writer))
                return
            writer.write(await self._forward(head, body) if refusal is None else refusal)
            await writer.drain()

    async def _forward(self, head: bytes, body: bytes) -> bytes:
        method, address, rest = head.split(b" ", 2)
        parts = urlsplit(address.decode())
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        fields = [field for field in rest.split(b"\r\n") if not field.lower().startswith((b"proxy-", b"connection:"))]
        reader, writer = await self.connect(self._target)
        rest = b"\r\n".join([fields[0], b"Connection: close", *fields[1:]])
        writer.write(b"%s %s %s%s" % (method, path.encode(), rest, body))
        answer = await reader.read()
        writer.close()
        return answer


AUTHORITY = trustme.CA()


def serving(*names: str, demanding: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert(*names).configure_cert(context)
    if demanding:
        context.verify_mode = ssl.CERT_REQUIRED
        AUTHORITY.configure_trust(context)
    return context


def trusting(*, presenting: trustme.LeafCert | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    if presenting is not None:
        presenting.configure_cert(context)
    return context


TOKEN = StaticToken("made-up")
PASSWORD = "hunter2zq81jfkd02mx"
USER = f"me:{PASSWORD}"
CREDENTIALS = basic(USER).removeprefix("Basic ")
LIST = answer(b'{"data":{"items":[]}}')
NAME = "https://api.example"
"""An address that only the proxy can resolve."""

TRUSTING = trusting()


def client_of(proxy: str, base: str = NAME, **options: Any) -> Client:
    return Client(Environment.sandbox(base), TOKEN, proxy=proxy, ssl=TRUSTING, **options)


@pytest.mark.parametrize("outer", ["http", "https"])
async def test_calls_go_through_one_tunnel_with_the_credentials_of_the_proxy(outer: str) -> None:
    tls = serving("127.0.0.1") if outer == "https" else None
    async with (
        RawServer(LIST, tls=serving("api.example")) as server,
        ProxyServer(server.port, asks=True, tls=tls) as proxy,
        client_of(proxy.url(USER)) as client,
    ):
        for _ in range(2):
            assert await client.watchlists.list() == []
    assert proxy.lines == ["CONNECT api.example:443 HTTP/1.1"]
    assert len(server.requests) == 2
    seen = b"".join(server.requests).lower()
    assert b"proxy-authorization" not in seen
    assert b"authorization: bearer made-up" in seen
    assert b"made-up" not in b"".join(proxy.heads)


async def test_plain_http_on_loopback_sends_the_credentials_with_each_request() -> None:
    async with (
        RawServer((LIST, None)) as server,
        ProxyServer(server.port, asks=True) as proxy,
        client_of(proxy.url(USER), "http://127.0.0.1:8080/v1") as client,
    ):
        for _ in range(2):
            assert await client.watchlists.list() == []
    assert proxy.lines == ["GET http://127.0.0.1:8080/v1/watchlists HTTP/1.1"] * 2
    assert server.lines == ["GET /v1/watchlists HTTP/1.1"] * 2


async def test_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        RawServer(LIST, tls=serving("api.example")) as server,
        ProxyServer(server.port, asks=True) as proxy,
    ):
        monkeypatch.setenv("https_proxy", proxy.url(USER))
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"BASE_URL": NAME, "CLIENT_SECRET": "s", "REFRESH_TOKEN": "r", "TRUST_ENV": "true"}.items():
            monkeypatch.setenv(f"BROKERAGE_{name}", value)
        async with Client(Environment.sandbox(NAME), TOKEN, trust_env=True, ssl=TRUSTING) as client:
            assert await client.watchlists.list() == []
        async with Client.from_env(ssl=TRUSTING, retry=RetryPolicy.none()) as client:
            with pytest.raises(errors.TokenError):  # the server answers it with a list
                await client.watchlists.list()
    assert len(proxy.heads) == 2


MISSING = "requires a user name and password (407): pass proxy='http://user:password@host:port'"
WRONG = "rejected the user name and password (407)"


@pytest.mark.parametrize(
    ("user", "sentence"), [("", MISSING), (f"me:wrong{PASSWORD}", WRONG)], ids=["missing", "wrong"]
)
async def test_rejected_credentials_are_named_in_one_sentence_and_tried_once(user: str, sentence: str) -> None:
    async with ProxyServer(0, asks=True) as proxy, client_of(proxy.url(user)) as client:
        error = await raised_by(client.watchlists.list(), errors.RequestNotSentError)
    assert str(error) == f"watchlists.list: not sent: the proxy {proxy.url()} {sentence}"
    assert (error.status, error.attempts, len(proxy.heads)) == (407, 1, 1)


async def test_rejected_credentials_end_a_token_refresh_at_once() -> None:
    credentials = RefreshToken(client_secret="s", refresh_token="r")
    async with ProxyServer(0, asks=True) as proxy:
        for base in (NAME, "http://127.0.0.1:8080"):
            client = Client(Environment.sandbox(base), credentials, proxy=proxy.url())
            for _ in range(3):
                with pytest.raises(errors.TokenError, match="requires a user name and password") as caught:
                    await client.watchlists.list()
                assert (caught.value.code, caught.value.transient) == (errors.PROXY_AUTHENTICATION, False)
            await client.aclose()
    assert len(proxy.heads) == 2


async def test_plain_http_that_demands_credentials_is_named() -> None:
    address = "http://127.0.0.1:8080"
    async with ProxyServer(0, asks=True) as proxy, client_of(proxy.url(), address) as client:
        with pytest.raises(errors.APIError, match="the proxy requires a user name and password") as caught:
            await client.watchlists.list()
    assert (caught.value.status, caught.value.from_service, caught.value.maybe_processed) == (407, False, True)
    assert len(proxy.heads) == 1


@pytest.mark.parametrize("base", [NAME, "http://127.0.0.1:8080"])
@pytest.mark.parametrize("case", ["refused", "closed", "unauthorized", "unreachable"])
async def test_password_of_the_proxy_is_in_no_error(case: str, base: str) -> None:
    user = f"you:{PASSWORD}" if case == "unauthorized" else USER
    page = {"refused": answer(b"", 403), "closed": b"GARBAGE\r\n\r\n"}.get(case)
    async with ProxyServer(1, asks=True, refusal=page) as proxy:
        address = proxy.url(user) if case != "unreachable" else f"http://{USER}@127.0.0.1:1"
        client = client_of(address, base, retry=RetryPolicy.none())
        assert PASSWORD not in repr(client)
        with pytest.raises(errors.BrokerageError) as caught:
            await client.watchlists.list()
        await client.aclose()
    error = caught.value
    error.with_traceback(error.__traceback__.tb_next)  # the test's own frame holds the password
    assert [where for where, text in shown(error, set()) if PASSWORD in text or CREDENTIALS in text] == []
    assert PASSWORD.encode() not in pickle.dumps(error)


@pytest.mark.parametrize("place", ["_create_proxy_connection", "_start_tls_connection", "start"])
async def test_password_of_the_proxy_is_in_no_frame_of_a_cancelled_call(place: str) -> None:
    async with (
        RawServer("stall", tls=serving("api.example")) as server,
        RawServer("stall") as silent,
        ProxyServer(silent.port if place == "_start_tls_connection" else server.port) as proxy,
    ):
        port = silent.port if place == "_create_proxy_connection" else proxy.port
        async with client_of(f"http://{USER}@127.0.0.1:{port}") as client:
            task = asyncio.ensure_future(client.watchlists.list())
            await (server.arrived.wait() if place == "start" else asyncio.sleep(0.1))
            assert place in {frame.f_code.co_name for frame in waiting_in(task)}
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]  # without the test's own
    shown = repr([frame.f_locals for frame in frames])
    assert PASSWORD not in shown
    assert CREDENTIALS not in shown


@pytest.mark.parametrize("status", [400, 401, 403, 404, 407, 422, 502])
async def test_tunnel_that_is_refused_proves_that_no_order_was_sent(status: int) -> None:
    async with (
        ProxyServer(0, refusal=answer(b"<html>blocked</html>", status)) as proxy,
        client_of(proxy.url(), retry=RetryPolicy(base_delay=0.01)) as client,
    ):
        with pytest.raises(errors.RequestNotSentError) as caught:
            await client.orders.submit("5WT1", limit(buy_to_open("AAPL", 1), price="1.00"))
    assert caught.value.maybe_processed is False
    assert delivery_of(caught.value) is DeliveryOutcome.NOT_SENT
    assert len(proxy.heads) == (1 if status == 407 else 4)


def client_at(server: RawServer, context: ssl.SSLContext | None) -> Client:
    return Client(Environment.sandbox(server.url), StaticToken("made-up"), ssl=context, retry=RetryPolicy.none())


@pytest.mark.parametrize(
    ("name", "context", "reason"),
    [
        ("127.0.0.1", None, "unable to get local issuer certificate"),
        ("other.example", trusting(), "certificate is not valid for '127.0.0.1'"),
    ],
    ids=["unknown authority", "wrong name"],
)
async def test_untrusted_certificate_is_named_and_nothing_was_sent(name: str, context: Any, reason: str) -> None:
    async with RawServer(LIST, tls=serving(name)) as server, client_at(server, context) as client:
        error = await raised_by(client.watchlists.list(), errors.RequestNotSentError)
        assert "the certificate of 127.0.0.1 is not trusted" in str(error)
        assert reason in str(error)
        assert "ssl.create_default_context(cafile=...)" in str(error)
        assert server.requests == []


async def test_client_certificate_is_presented_where_it_is_demanded() -> None:
    """The context trusts the private authority of the server, too."""
    presenting = trusting(presenting=AUTHORITY.issue_cert("me@example.com"))
    async with RawServer(LIST, tls=serving("127.0.0.1", demanding=True)) as server:
        async with client_at(server, presenting) as client:
            assert await client.watchlists.list() == []
        async with client_at(server, trusting()) as client:
            await raised_by(client.watchlists.list(), errors.TransportError)
    assert len(server.requests) == 1


PROGRAM = """
import asyncio, sys
from brokerage_async import Client, Environment, StaticToken

async def main():
    async with Client(Environment.sandbox(sys.argv[1]), StaticToken("made-up")) as client:
        print(await client.watchlists.list())

asyncio.run(main())
"""


async def test_private_authority_of_the_variable_that_openssl_reads(tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    AUTHORITY.cert_pem.write_to_path(file)
    async with RawServer(LIST, tls=serving("127.0.0.1")) as server:
        assert await run_program("-c", PROGRAM, server.url, env={"SSL_CERT_FILE": str(file)}) == (0, "[]\n")
    assert server.lines == ["GET /watchlists HTTP/1.1"]
