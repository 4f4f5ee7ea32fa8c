"""Arguments, addresses, symbols and caps of the streams of one client."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken, errors, models
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.stream import Conflate, DropOldest, Gap, Snapshot, UnknownEvent
from brokerage_async.stream.api import candle_symbol, streamer_symbols
from brokerage_async.stream.link import StreamAccess
from tests.fake_transport import FakeTransport
from tests.http.calls import raised_by
from tests.stream.world import drain, in_world, ready
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


@pytest.fixture
def unconnected() -> Client:
    return Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())


@for_each("accounts", [[], "5WT00001", [7], [""], [[]], None, ["5WT\ud800"], ["5" * 1001]])
def test_arguments_of_account_are_checked(unconnected: Client, accounts: Any) -> None:
    with pytest.raises(InvalidRequestError, match="account_numbers must"):
        unconnected.stream.account(accounts)
    assert unconnected.stream is unconnected.stream
    with pytest.raises(ConfigurationError, match="limit must be an integer of at least 1, got 0"):
        unconnected.stream.account(["A"], limit=0)
    with pytest.raises(ConfigurationError, match="alerts must be True or False"):
        unconnected.stream.account(["A"], alerts="yes")  # type: ignore[arg-type]


@for_each(
    "options, reason",
    [
        ({"events": []}, "at least one event type"),
        ({"events": ["Qoute"]}, "event type must be one of Quote, Trade, .*, got 'Qoute'"),
        ({"events": [models.Order]}, "event type must be one of"),
        ({"events": "Quote"}, "events must be a list of event types"),
        ({"events": models.Quote}, "events must be a list of event types"),
        ({"events": None}, "events must be a list of event types, got None"),
        ({"events": [["Quote"]]}, "event type must be one of"),
        ({"symbols": None}, "symbols must be a list of symbols, got None"),
        ({"symbols": ["AAPL", None]}, "symbols must hold strings, got None"),
        ({"symbols": ["AAPL", "\udc80"]}, r"symbols must be valid Unicode, got a lone surrogate in '\\udc80'"),
        ({"symbols": ["AAPL," * 201]}, "symbols must have at most 1000 characters each, got 'AAPL,"),
        ({"policies": [Conflate()]}, "policies must map event types to policies"),
        ({"symbols": "AAPL"}, "symbols must be a list of symbols, got the str 'AAPL'"),
        ({"start": datetime(2026, 1, 1)}, "start must be a datetime with a time zone"),  # noqa: DTZ001
        ({"period": "soon"}, "period must be a number and a unit"),
        ({"policies": {"Quote": Conflate()}}, "policies must have market events as keys, such as models.Quote"),
        ({"policies": {models.Quote: None}}, "policy of Quote must be Conflate or DropOldest or Fail, got None"),
        ({"policies": {Snapshot: Conflate()}}, "policy of Snapshot must be DropOldest or Fail, got Conflate()"),
        ({"regular_hours": 1}, "regular_hours must be True or False"),
        ({"contract": "HISTORY"}, "contract"),
        ({"aggregation_period": -1}, "aggregation_period"),
        ({"aggregation_period": "0"}, "aggregation_period"),
    ],
)
def test_arguments_of_quotes_are_checked(unconnected: Client, options: dict[str, Any], reason: str) -> None:
    with pytest.raises((InvalidRequestError, ConfigurationError), match=reason):
        unconnected.stream.quotes(**{"symbols": ["AAPL"], **options})


@for_each(
    "address, reason",
    [
        (None, "streamer_url must be the address of the account stream"),
        ("wss://streamer.example.com", "transport must have a method open_socket"),
    ],
)
async def test_stream_without_address_or_sockets_raises(address: str | None, reason: str) -> None:
    environment = Environment.sandbox("https://api.example.com", streamer_url=address)
    async with Client(environment, StaticToken("t"), transport=FakeTransport()) as client:
        await raised_by(anext(client.stream.account(["A"])), ConfigurationError, reason)


def access(base_url: str, streamer_url: str | None) -> StreamAccess:
    environment = Environment.sandbox(base_url, streamer_url=streamer_url)
    client = Client(environment, StaticToken("t"), transport=FakeTransport(), allow_http=True)
    return StreamAccess(client.session)


def test_address_of_a_stream_is_used_as_configured_or_refused() -> None:
    for base_url, streamer_url in (
        ("https://api.example.com", "wss://streamer.example.com"),
        ("http://127.0.0.1:1", "ws://127.0.0.1:1/streams"),
        ("http://proxy.internal", "ws://proxy.internal/streams"),
    ):
        assert access(base_url, streamer_url).account_url() == streamer_url
    for base_url in ("https://api.example.com", "http://127.0.0.1:1", "http://localhost:1"):
        with pytest.raises(ConfigurationError, match="ws shows the token to anyone on the way"):
            access(base_url, "ws://streamer.example.com").account_url()
    for url in ("", "https://quotes.example.com", "wss://", "wss://[x", "ws://[::1]evil.com"):
        with pytest.raises(ConfigurationError, match="must be a wss address, got"):
            access("https://api.example.com", None).checked(url)


def test_candle_symbol_is_in_the_form_of_the_service() -> None:
    wanted = {"5m": "ACME{=5m}", "1d": "ACME{=d}", "d": "ACME{=d}", "1mo": "ACME{=mo}", "12h": "ACME{=12h}"}
    assert {period: candle_symbol("ACME", period) for period in wanted} == wanted
    assert candle_symbol("ACME", "5m", regular_hours=True) == "ACME{=5m,tho=true}"
    invalid: list[Any] = ["", "0m", "5", "5x", "05m", "5 m", 5, None]
    for period in invalid:
        with pytest.raises(ConfigurationError, match="period must be a number and a unit such as '5m'"):
            candle_symbol("ACME", period)


async def test_symbols_that_need_no_lookup_and_a_single_str() -> None:
    given = ["BRK/B", "AAPL  260612C00110000", ".AAPL260612C110", "/ESU26:XCME", "./OGN26P2095:XCEC", "BTC/USD:CXTALP"]
    found = await streamer_symbols(None, [*given, "/ESU6"], {"/ESU6": "/ESU26:XCME"})  # type: ignore[arg-type]
    assert list(found.values()) == ["BRK/B", ".AAPL260612C110", *given[2:], "/ESU26:XCME"]
    with pytest.raises(InvalidRequestError, match="symbols must be a list of symbols, got the str 'AAPL'"):
        await streamer_symbols(None, "AAPL", {})  # type: ignore[arg-type]


class Text(str):
    """A str of another type, as numpy has."""


class Seconds(float):
    """A float of another type, as numpy has."""


class Kind(str, Enum):  # noqa: UP042 - the str() of a StrEnum is its value
    """An enumeration, of which str() gives the name."""

    QUOTE = "Quote"


@in_world
async def test_subclasses_of_plain_types_are_sent(sim: Simulator, client: Client) -> None:
    """They ended the connection, which every other stream shares."""
    options: dict[str, Any] = {"contract": Text("TICKER"), "aggregation_period": Seconds(0.5)}
    for kind in (Text("Quote"), Kind.QUOTE):
        async with ready(client.stream.quotes([Text("AAPL")], [kind], **options)) as stream:
            assert isinstance(await anext(stream), models.Quote)
    async with ready(client.stream.account([Text(sim.account_numbers[0])])):
        pass


@in_world
async def test_events_lead_back_to_the_symbols_that_were_given(sim: Simulator, client: Client) -> None:
    given = ["AAPL", "AAPL  260619C00200000", ".AAPL260619C200", "/ESU6", "BTC/USD"]
    start = sim.clock.time - timedelta(minutes=5)
    async with client.stream.quotes(given, ["Quote", "Candle"], period="5m", start=start) as stream:
        found = {stream.symbol_of(event) for event in await drain(stream)}
        await stream.remove(["AAPL"])
        assert stream.symbol_of(models.Quote(event_symbol="AAPL")) == "AAPL"
    assert found == {"AAPL", "AAPL  260619C00200000", "/ESU6", "BTC/USD"}
    assert stream.symbol_of(UnknownEvent(type="New", fields={"eventSymbol": "/ESU26:XCME"})) == "/ESU6"
    assert stream.symbol_of(models.Quote(event_symbol="SPY")) == "SPY"
    assert stream.symbol_of(Gap(since=None, reason="lost")) is None


@in_world
async def test_sixth_session_of_a_login_is_named(sim: Simulator, client: Client) -> None:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(sim.client()) for _ in range(6)]
        streams = [each.stream.quotes(["SPY"]) for each in clients]
        for stream in streams[:5]:
            await stream.ready()
        with pytest.raises(errors.StreamRefusedError, match="BAD_ACTION: simulated: a login has at most 5 sessions"):
            await asyncio.wait_for(streams[5].ready(), 60)
        await streams[0].aclose()
        async with ready(clients[5].stream.quotes(["SPY"])):
            pass


@in_world
async def test_subscriptions_beyond_the_caps_are_queued_and_none_is_refused(sim: Simulator, client: Client) -> None:
    names = [f"S{number}" for number in range(11_000)]
    stream = client.stream.quotes(names)
    started = asyncio.get_running_loop().time()
    await asyncio.wait_for(stream.ready(), 600)
    assert 60 <= asyncio.get_running_loop().time() - started < 70
    candles = client.stream.quotes(names[:150], [models.Candle])
    await candles.ready()
    [session] = sim.streams.sessions
    assert isinstance(session, DxLinkSession)
    kinds = [kind for channel in session._channels.values() for kind, _ in channel.subscriptions]
    assert (kinds.count("Quote"), kinds.count("Candle")) == (11_000, 100)
    await candles.remove(names[:100])
    await asyncio.sleep(70)
    assert await drain(candles) == await drain(stream) == []  # nothing was refused, and no symbol is known
    symbols = {symbol for channel in session._channels.values() for kind, symbol in channel.subscriptions
               if kind == "Candle"}  # fmt: skip
    assert symbols == {f"{name}{{=d}}" for name in names[100:150]}
    await stream.aclose()
    await candles.aclose()


@in_world
async def test_contract_and_aggregation_period_are_the_choice_of_the_caller(sim: Simulator, client: Client) -> None:
    keep = {models.Quote: DropOldest()}
    async with (
        ready(client.stream.quotes(["SPY"], aggregation_period=5, policies=keep)) as slow,
        ready(client.stream.quotes(["SPY"], contract="STREAM", aggregation_period=0, policies=keep)) as every,
    ):
        await drain(slow, 10)
        await drain(every, 10)
        for price in range(101, 111):
            sim.set_price("SPY", price)
            await asyncio.sleep(0.5)
        bids = [[round(event.bid_price) for event in await drain(stream, 10)] for stream in (slow, every)]
    assert (bids[0][0], bids[0][-1], len(bids[0])) == (101, 110, 2)
    assert bids[1][:10] == list(range(101, 111))
