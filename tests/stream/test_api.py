"""Arguments of the streams."""

from datetime import datetime
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken, models
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.stream import Conflate, Snapshot
from tests.fake_transport import FakeTransport

pytestmark = pytest.mark.virtual_time


@pytest.fixture
def client() -> Client:
    return Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())


@pytest.mark.parametrize("accounts", [[], "5WT00001", [7], [""], None])
def test_account_numbers_are_checked(client: Client, accounts: Any) -> None:
    with pytest.raises(InvalidRequestError, match="account_numbers must"):
        client.stream.account(accounts)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"events": []}, "at least one event type"),
        ({"events": ["Qoute"]}, "event type must be one of Quote, Trade, .*, got 'Qoute'"),
        ({"events": [models.Order]}, "event type must be one of"),
        ({"events": "Quote"}, "events must be a list of event types"),
        ({"events": models.Quote}, "events must be a list of event types"),
        ({"symbols": "AAPL"}, "symbols must be a list of symbols, got the str 'AAPL'"),
        ({"start": datetime(2026, 1, 1)}, "start must be a datetime with a time zone"),  # noqa: DTZ001
        ({"period": "soon"}, "period must be a number and a unit"),
        ({"policies": {"Quote": Conflate()}}, "policies must have market events as keys, such as models.Quote"),
        ({"policies": {models.Quote: None}}, "policy of Quote must be Conflate or DropOldest or Fail, got None"),
        ({"policies": {Snapshot: Conflate()}}, "policy of Snapshot must be DropOldest or Fail, got Conflate()"),
        ({"regular_hours": 1}, "regular_hours must be True or False"),
    ],
)
def test_arguments_of_quotes_are_checked(client: Client, options: dict[str, Any], reason: str) -> None:
    with pytest.raises((InvalidRequestError, ConfigurationError), match=reason):
        client.stream.quotes(**{"symbols": ["AAPL"], **options})


def test_limit_and_flags_of_account_are_checked(client: Client) -> None:
    with pytest.raises(ConfigurationError, match="limit must be an integer of at least 1, got 0"):
        client.stream.account(["A"], limit=0)
    with pytest.raises(ConfigurationError, match="alerts must be True or False"):
        client.stream.account(["A"], alerts="yes")  # type: ignore[arg-type]


def test_streams_of_one_client_are_one_object(client: Client) -> None:
    assert client.stream is client.stream


async def test_environment_without_address_cannot_stream() -> None:
    async with Client(
        Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport()
    ) as client:
        with pytest.raises(ConfigurationError, match="streamer_url must be the address of the account stream"):
            await anext(client.stream.account(["A"]))


async def test_transport_without_sockets_cannot_stream() -> None:
    environment = Environment.sandbox("https://api.example.com", streamer_url="wss://streamer.example.com")
    async with Client(environment, StaticToken("t"), transport=FakeTransport()) as client:
        with pytest.raises(ConfigurationError, match="transport must have a method open_socket"):
            await anext(client.stream.account(["A"]))
