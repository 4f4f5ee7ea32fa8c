"""Addresses that may receive a token."""

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.errors import ConfigurationError
from brokerage_async.stream.access import StreamAccess
from tests.fake_transport import FakeTransport


def access(base_url: str, streamer_url: str | None) -> StreamAccess:
    environment = Environment.sandbox(base_url, streamer_url=streamer_url)
    client = Client(environment, StaticToken("t"), transport=FakeTransport(), allow_http=True)
    return StreamAccess(client.session)


@pytest.mark.parametrize(
    ("base_url", "streamer_url"),
    [("https://api.example.com", "wss://streamer.example.com"), ("http://127.0.0.1:1", "ws://127.0.0.1:1/streams"),
     ("http://proxy.internal", "ws://proxy.internal/streams")],
)  # fmt: skip
def test_address_is_used_as_configured(base_url: str, streamer_url: str) -> None:
    assert access(base_url, streamer_url).account_url() == streamer_url


@pytest.mark.parametrize("base_url", ["https://api.example.com", "http://127.0.0.1:1", "http://localhost:1"])
def test_plain_address_beyond_loopback_is_refused_where_base_url_shows_no_token_either(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="ws shows the token to anyone on the way"):
        access(base_url, "ws://streamer.example.com").account_url()


@pytest.mark.parametrize("url", ["", "https://quotes.example.com", "wss://", "wss://[x", "ws://[::1]evil.com"])
def test_address_that_is_not_of_a_websocket_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must be a wss address, got"):
        access("https://api.example.com", None).checked(url)


@pytest.mark.parametrize("url", ["https://x.example", "wss://user@x.example", "wss://", "wss://a b", 7])
def test_environment_rejects_other_addresses(url: object) -> None:
    with pytest.raises(ConfigurationError, match="streamer_url must be"):
        Environment.sandbox("https://api.example.com", streamer_url=url)  # type: ignore[arg-type]
