"""Addresses of services."""

from typing import Any

import pytest

from brokerage_async.config.addresses import base_address, origin_of
from brokerage_async.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.example.com/", "https://api.example.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://gate.example/brokerage/v1//", "https://gate.example/brokerage/v1"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
    ],
)
def test_base_address_has_no_slash_at_its_end(given: str, kept: str) -> None:
    assert base_address(given) == kept


@pytest.mark.parametrize(
    "wrong",
    ["", "api.example.com", "/api", "ftp://a.example", "https://", "https://u:p@a.example", "https://a.example?x=1",
     "https://a.example/?", "https://a.example#x", "https://a.example/#", "https://a.example/a b",
     "https://bücher.example", "https://a.example:port", "https://[::1", "http://[::1]evil.example",
     "http://evil.example[::1]", "http://[::1].evil.example:80", "https://a.example\n", b"https://a.example", None,
     "https://.", "https://a.example\\.evil.example", "https://[v1.x:y]"],
)  # fmt: skip
def test_unusable_base_address_is_named(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        base_address(wrong)
    with pytest.raises(ConfigurationError, match="streamer"):
        base_address(wrong, "streamer")


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://api.example.com/", "https://api.example.com"),
        ("HTTPS://API.Example.com:443/v1", "https://api.example.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost:80", "http://localhost"),
        ("https://localhost:80/x", "https://localhost:80"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
        ("https://[2001:db8:0:0::0001]:443", "https://[2001:db8::1]"),
        ("https://[::FFFF:7f00:1]", "https://[::ffff:127.0.0.1]"),
        ("https://API.Example.com./v1", "https://api.example.com"),
        ("https://api.example.com.:8443", "https://api.example.com:8443"),
    ],
)
def test_origin_names_a_service_in_one_way(address: str, origin: str) -> None:
    assert origin_of(address) == origin
