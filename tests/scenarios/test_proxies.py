"""A client behind a proxy, over real sockets: tunnels, credentials, refusals, and their effect on order entry."""

import asyncio
import pickle
import traceback
from typing import Any

import pytest

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, StaticToken, errors
from brokerage_async.order_entry.decisions import DeliveryOutcome, delivery_of
from brokerage_async.tickets import buy_to_open, limit
from tests.http.test_network import basic
from tests.proxy_server import ProxyServer
from tests.raw_server import RawServer, answer
from tests.scenarios.test_certificates import serving, trusting
from tests.scenarios.test_error_frames import shown, waiting_in

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


class TestTunnel:
    @pytest.mark.parametrize("outer", ["http", "https"])
    async def test_calls_go_through_one_tunnel_with_the_credentials_of_the_proxy(self, outer: str) -> None:
        tls = serving("127.0.0.1") if outer == "https" else None
        async with (
            RawServer(LIST, tls=serving("api.example")) as server,
            ProxyServer(server.port, credentials=CREDENTIALS, tls=tls) as proxy,
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

    async def test_plain_http_on_loopback_sends_the_credentials_with_each_request(self) -> None:
        async with (
            RawServer((LIST, None)) as server,
            ProxyServer(server.port, credentials=CREDENTIALS) as proxy,
            client_of(proxy.url(USER), "http://127.0.0.1:8080/v1") as client,
        ):
            for _ in range(2):
                assert await client.watchlists.list() == []
        assert proxy.lines == ["GET http://127.0.0.1:8080/v1/watchlists HTTP/1.1"] * 2
        assert server.lines == ["GET /v1/watchlists HTTP/1.1"] * 2

    async def test_proxy_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with (
            RawServer(LIST, tls=serving("api.example")) as server,
            ProxyServer(server.port, credentials=CREDENTIALS) as proxy,
        ):
            monkeypatch.setenv("https_proxy", proxy.url(USER))
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            for name, value in {"BASE_URL": NAME, "CLIENT_SECRET": "s", "REFRESH_TOKEN": "r"}.items():
                monkeypatch.setenv(f"BROKERAGE_{name}", value)
            monkeypatch.setenv("BROKERAGE_TRUST_ENV", "true")
            async with Client(Environment.sandbox(NAME), TOKEN, trust_env=True, ssl=TRUSTING) as client:
                assert await client.watchlists.list() == []
            async with Client.from_env(ssl=TRUSTING, retry=RetryPolicy.none()) as client:
                with pytest.raises(errors.TokenError):  # the server answers it with a list
                    await client.watchlists.list()
        assert len(proxy.heads) == 2


UNAUTHORIZED = {
    "missing": ("", "requires a user name and password (407): pass proxy='http://user:password@host:port'"),
    "wrong": (f"me:wrong{PASSWORD}", "rejected the user name and password (407)"),
}


class TestCredentials:
    @pytest.mark.parametrize("case", UNAUTHORIZED)
    async def test_rejected_ones_are_named_in_one_sentence_and_tried_once(self, case: str) -> None:
        user, sentence = UNAUTHORIZED[case]
        async with ProxyServer(0, credentials=CREDENTIALS) as proxy, client_of(proxy.url(user)) as client:
            with pytest.raises(errors.RequestNotSentError) as caught:
                await client.watchlists.list()
        assert str(caught.value) == f"watchlists.list: not sent: the proxy {proxy.url()} {sentence}"
        assert (caught.value.status, caught.value.attempts, len(proxy.heads)) == (407, 1, 1)

    async def test_rejected_ones_end_a_token_refresh_at_once(self) -> None:
        credentials = RefreshToken(client_secret="s", refresh_token="r")
        async with ProxyServer(0, credentials=CREDENTIALS) as proxy:
            for base in (NAME, "http://127.0.0.1:8080"):
                client = Client(Environment.sandbox(base), credentials, proxy=proxy.url())
                for _ in range(3):
                    with pytest.raises(errors.TokenError, match="requires a user name and password") as caught:
                        await client.watchlists.list()
                    assert (caught.value.code, caught.value.transient) == (errors.PROXY_AUTHENTICATION, False)
                await client.aclose()
        assert len(proxy.heads) == 2

    async def test_plain_http_that_demands_them_is_named(self) -> None:
        address = "http://127.0.0.1:8080"
        async with ProxyServer(0, credentials=CREDENTIALS) as proxy, client_of(proxy.url(), address) as client:
            with pytest.raises(errors.APIError, match="the proxy requires a user name and password") as caught:
                await client.watchlists.list()
        assert (caught.value.status, caught.value.from_service, caught.value.maybe_processed) == (407, False, True)
        assert len(proxy.heads) == 1

    @pytest.mark.parametrize("base", [NAME, "http://127.0.0.1:8080"])
    @pytest.mark.parametrize("case", ["refused", "closed", "unauthorized", "unreachable"])
    async def test_password_of_the_proxy_is_in_no_error(self, case: str, base: str) -> None:
        user = f"you:{PASSWORD}" if case == "unauthorized" else USER
        page = {"refused": answer(b"", 403), "closed": b"GARBAGE\r\n\r\n"}.get(case)
        async with ProxyServer(1, credentials=CREDENTIALS, refusal=lambda line: page) as proxy:
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
    async def test_password_of_the_proxy_is_in_no_frame_of_a_cancelled_call(self, place: str) -> None:
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
        ProxyServer(0, refusal=lambda line: answer(b"<html>blocked</html>", status)) as proxy,
        client_of(proxy.url(), retry=RetryPolicy(base_delay=0.01)) as client,
    ):
        with pytest.raises(errors.RequestNotSentError) as caught:
            await client.orders.submit("5WT1", limit(buy_to_open("AAPL", 1), price="1.00"))
    assert caught.value.maybe_processed is False
    assert delivery_of(caught.value) is DeliveryOutcome.NOT_SENT
    assert len(proxy.heads) == (1 if status == 407 else 4)
