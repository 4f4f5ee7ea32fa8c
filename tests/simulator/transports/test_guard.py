"""Requests that an untrusted web page sends through a browser."""

import pytest

from brokerage_async.simulator.transports.http import page_behind


@pytest.mark.parametrize(
    "host",
    [
        None,
        "127.0.0.1:8080",
        "127.0.0.1",
        "127.9.9.9:8080",
        "localhost:8080",
        "LOCALHOST:9",
        "localhost.:8080",
        "api.localhost:8080",
        "[::1]:8080",
    ],
)
def test_loopback_host_is_served(host: str | None) -> None:
    assert page_behind(host, None, "127.0.0.1") is None
    assert page_behind(host, None, "::1") is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8080",
        "evil.example",
        "127.0.0.1.evil.example:8080",
        "localhost.evil.example:8080",
        "notlocalhost:8080",
        "192.168.0.7:8080",
        "0.0.0.0:8080",
        "user@evil.example:8080",
        "127.0.0.1@evil.example",
        "[::1",
        "",
    ],
)
def test_foreign_host_is_refused(host: str) -> None:
    assert page_behind(host, None, "127.0.0.1") == f"Host must name this simulator, got {host}"
    assert page_behind(host, None, "localhost") is not None


def test_host_by_a_further_name_is_served() -> None:
    assert page_behind("Api.example:443", None, "127.0.0.1", {"api.example"}) is None
    assert page_behind("api.example", "https://api.example", "127.0.0.1", {"api.example"}) is None
    assert page_behind("evil.example", None, "127.0.0.1", {"api.example"}) is not None
    assert page_behind("api.example", "https://evil.example", "127.0.0.1", {"api.example"}) is not None


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8080", "https://127.0.0.1:8080"])
def test_own_origin_is_served(origin: str) -> None:
    assert page_behind("127.0.0.1:8080", origin, "127.0.0.1") is None


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1:3000",
        "http://localhost:8080",
        "file://",
        "http://127.0.0.1:8080.evil.example",
    ],
)
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_foreign_origin_is_refused(origin: str, bound: str) -> None:
    assert page_behind("127.0.0.1:8080", origin, bound) == f"Origin must be this simulator, got {origin}"


@pytest.mark.parametrize(("bound", "host"), [("0.0.0.0", "simulator:8080"), ("::", "a.example"), ("my.host", "b:1")])
def test_server_on_other_interfaces_has_any_name(bound: str, host: str) -> None:
    assert page_behind(host, None, bound) is None
