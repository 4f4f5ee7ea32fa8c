"""Client and simulator against the published document of the market-data stream."""

import asyncio
import json
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async._secrets import Secret, revealed
from brokerage_async.protocol.streams.dxlink import DxLinkConnection, Subscription
from brokerage_async.protocol.streams.events import MARKET_EVENTS
from brokerage_async.simulator.transports import MemorySocket
from tests.protocol.streams.dxlink_server import CLIENT, SERVER, DxLinkServer, problems
from tests.stream.world import drain, world
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


def converse(link: DxLinkConnection, server: DxLinkServer, now: float) -> list[Any]:
    """Exchange messages until neither side has one. Return the events."""
    found: list[Any] = []
    while messages := [message.reveal() for message in link.send(now)]:
        for message in messages:
            for answer in server.receive(message, now):
                assert problems(answer, SERVER) == []
                found += link.receive(answer, now)
    return found


@for_each("needs_token", [True, False])
def test_client_keeps_to_the_document(needs_token: bool) -> None:
    link, server = DxLinkConnection(Secret("token"), now=0.0), DxLinkServer(silence=12.0, needs_token=needs_token)
    plain = [Subscription(kind, "ACME") for kind in MARKET_EVENTS if kind not in ("Candle", "TimeAndSale")]
    series = [Subscription("Candle", "ACME{=m}", 7, "HISTORY"), Subscription("TimeAndSale", "ACME", 7)]
    chosen = [Subscription("Quote", "ACME", None, "TICKER", 0), Subscription("Trade", "ACME", None, "STREAM", 2.5)]
    link.add([*plain, *series, *chosen])
    found = converse(link, server, 1.0)
    assert {type(event) for event in found} == set(MARKET_EVENTS.values())
    assert link.is_ready
    link.remove([*series, plain[0], chosen[0]])
    link.add([Subscription("Candle", "ACME{=m}", 9, "AUTO"), Subscription("Quote", "OTHER")])
    converse(link, server, 2.0)
    for second in range(3, 60):
        link.receive('{"type":"KEEPALIVE","channel":0}', float(second))
        converse(link, server, float(second))
    assert server.broken == []
    assert {server.contracts[key[0]] for key in server.subscriptions if key[1] == "Candle"} == {"AUTO"}
    assert sorted(server.periods.values())[:2] == [0, 0.1]


def test_document_refuses_what_breaks_it() -> None:
    server = DxLinkServer()
    for text in (
        '{"type":"AUTH","channel":0,"token":"t"}', '{"type":"CHANNEL_REQUEST","channel":2,"service":"FEED",'
        '"parameters":{"contract":"AUTO"}}', '{"type":"FEED_SUBSCRIPTION","channel":2,"add":[]}',
        '{"type":"SETUP","channel":1}', '{"type":"WEATHER","channel":0}',
    ):  # fmt: skip
        before = len(server.broken)
        server.receive(text, 0.0)
        assert len(server.broken) > before, text
    removal = json.dumps({"type": "FEED_SUBSCRIPTION", "channel": 1, "remove": [{"type": "Candle", "symbol": "A"}]})
    assert problems(removal, CLIENT, "HISTORY")
    assert not problems(removal, CLIENT, "TICKER")


async def test_messages_of_client_and_simulator_keep_to_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, received = list[str](), list[str]()
    send, receive = MemorySocket.send, MemorySocket.receive

    async def checked_send(self: MemorySocket, message: str) -> None:
        sent.append(revealed(message))
        await send(self, message)

    async def checked_receive(self: MemorySocket) -> str | bytes:
        received.append(str(await receive(self)))
        return received[-1]

    monkeypatch.setattr(MemorySocket, "send", checked_send)
    monkeypatch.setattr(MemorySocket, "receive", checked_receive)
    async with world() as (sim, client):
        start = sim.clock.time.replace(hour=0)
        symbols = ["AAPL", "SPX", ".AAPL260717C200"]
        stream = client.stream.quotes(symbols, MARKET_EVENTS, start=start, period="5m")
        await stream.ready()
        kinds = {type(event) for event in await drain(stream, 5)}
        await client.stream.history(["AAPL"], "1h", start)
        await stream.remove(["AAPL"])
        await asyncio.sleep(300)
        sim.streams.drop()
        await asyncio.sleep(60)
        await stream.aclose()
    for messages, side in ((sent, CLIENT), (received, SERVER)):
        assert [problem for message in messages for problem in problems(message, side)] == []
        assert len(messages) > 20
    assert kinds >= {models.Quote, models.Greeks, models.Underlying}
