"""Published caps of the market-data stream, and the caller's choice of contract and aggregation period."""

import asyncio
from typing import Any

import pytest

from brokerage_async import Client, errors, models
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.stream import DropOldest
from tests.stream.world import drain, in_world, world

KEEP = DropOldest()


@in_world
async def test_sixth_session_of_a_login_is_named(sim: Simulator, client: Client) -> None:
    clients = [sim.client() for _ in range(6)]
    streams: list[Any] = []
    for client in clients:
        await client.__aenter__()
        streams.append(client.stream.quotes(["SPY"]))
    for stream in streams[:5]:
        await stream.ready()
    with pytest.raises(errors.StreamRefusedError, match="BAD_ACTION: simulated: a login has at most 5 sessions"):
        await asyncio.wait_for(streams[5].ready(), 60)
    await streams[0].aclose()
    async with clients[5].stream.quotes(["SPY"]) as again:
        await again.ready()
    for client in clients:
        await client.aclose()


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
    slow = client.stream.quotes(["SPY"], aggregation_period=5, policies={models.Quote: KEEP})
    every = client.stream.quotes(["SPY"], contract="STREAM", aggregation_period=0, policies={models.Quote: KEEP})
    await slow.ready()
    await every.ready()
    await drain(slow, 10)
    await drain(every, 10)
    for price in range(101, 111):
        sim.set_price("SPY", price)
        await asyncio.sleep(0.5)
    bids = [[round(event.bid_price) for event in await drain(stream, 10)] for stream in (slow, every)]
    assert (bids[0][0], bids[0][-1], len(bids[0])) == (101, 110, 2)
    assert bids[1][:10] == list(range(101, 111))
    await slow.aclose()
    await every.aclose()


async def test_contract_and_aggregation_period_are_checked() -> None:
    async with world() as (_, client):
        for arguments in ({"contract": "HISTORY"}, {"aggregation_period": -1}, {"aggregation_period": "0"}):
            with pytest.raises((errors.InvalidRequestError, errors.ConfigurationError), match=next(iter(arguments))):
                client.stream.quotes(["SPY"], **arguments)  # type: ignore[arg-type]
