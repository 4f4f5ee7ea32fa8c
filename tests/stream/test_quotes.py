"""The market-data stream: subscriptions of several consumers over one connection."""

import asyncio
import copy
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import Client, errors, models
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.stream import Conflate, DropOldest, Gap, Snapshot
from brokerage_async.symbols import parse_occ
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.stream.world import drain, gap_within, in_world, ready, within, world
from tests.tables import for_each


def symbols(events: list[Any]) -> set[str]:
    return {event.event_symbol for event in events}


def waiting(stream: Any, kind: type[Any]) -> int:
    """Return how many events of a type wait for a consumer, without taking them."""
    buffer = copy.deepcopy(stream._sink.buffer)
    return sum(isinstance(buffer.get(), kind) for _ in range(len(buffer)))


@in_world
async def test_symbols_of_the_rest_api_are_translated_or_refused(client: Client) -> None:
    [future] = [each for each in await client.instruments.futures().collect() if each.symbol == "/ESU6"]
    given = ["AAPL  260619C00200000", "BTC/USD", "/ESU6", "AAPL", ".SPY260619P600"]
    async with ready(client.stream.quotes(given)) as stream:
        assert stream.symbols == {
            "AAPL  260619C00200000": ".AAPL260619C200", "BTC/USD": "BTC/USD:CXTALP", "AAPL": "AAPL",
            "/ESU6": future.streamer_symbol, ".SPY260619P600": ".SPY260619P600",
        }  # fmt: skip
        assert symbols(await drain(stream)) >= {"AAPL", "BTC/USD:CXTALP", future.streamer_symbol}
    with pytest.raises(errors.InvalidRequestError, match="unknown symbols, or without a streamer symbol: /NOPEZ6"):
        await anext(client.stream.quotes(["/NOPEZ6"]))
    closed = client.stream.quotes(["/NOPEZ6"])
    await closed.aclose()
    await raised_by(anext(closed), StopAsyncIteration)  # nothing is looked up


@in_world
async def test_symbols_are_added_and_removed_also_before_the_first_use(sim: Simulator, client: Client) -> None:
    stream = client.stream.quotes(["AAPL", "QQQ"])
    await stream.remove(["QQQ"])
    await raised_by(stream.remove("AAPL"), errors.InvalidRequestError, "symbols must be a list of symbols")
    async with ready(stream):
        assert symbols(await drain(stream)) == {"AAPL"}
        await stream.add(["SPY", "MSFT"])
        await stream.remove(["AAPL"])
        await stream.ready()
        await drain(stream)
        for symbol in ("AAPL", "QQQ", "SPY", "MSFT"):
            sim.set_price(symbol, 99)
        assert symbols(await drain(stream)) == {"SPY", "MSFT"}
        assert dict(stream.symbols) == {"SPY": "SPY", "MSFT": "MSFT"}


@in_world
async def test_symbol_that_is_removed_while_it_is_looked_up_is_not_subscribed(sim: Simulator, client: Client) -> None:
    first, second, *_ = [future.symbol async for future in client.instruments.futures()]
    sim.latency = 1
    stream = client.stream.quotes([first])
    for symbol, change in ((first, stream.ready()), (second, stream.add([second]))):
        changing = asyncio.ensure_future(change)
        await asyncio.sleep(0.5)
        await stream.remove([symbol])
        await changing
        assert not stream.symbols, symbol
    await stream.aclose()


@in_world
async def test_symbol_that_is_removed_before_a_waiting_task_begins_is_not_subscribed(
    sim: Simulator, client: Client
) -> None:
    future, *_ = [each.symbol async for each in client.instruments.futures()]
    sim.latency = 1
    stream, wanted = client.stream.quotes([future, "AAPL"]), ["MSFT"]
    changes = [stream.ready(), stream.remove([future, "AAPL"]), stream.ready(), stream.add(wanted)]
    tasks = [asyncio.ensure_future(change) for change in changes]
    await asyncio.sleep(0.5)
    wanted.clear()  # the caller's list is free after the call
    await asyncio.gather(*tasks)
    assert dict(stream.symbols) == {"MSFT": "MSFT"}
    await stream.aclose()


@in_world
async def test_later_consumer_gets_the_last_quote_at_once(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.quotes(["AAPL", "SPY"])) as first:
        await drain(first)
        async with client.stream.quotes(["AAPL"]) as second:
            assert symbols([await within(0.001, second)]) == {"AAPL"}
            assert await drain(first) == []
        sim.set_price("AAPL", 50)
        assert symbols(await drain(first)) == {"AAPL"}
        await first.add(["AAPL"])
        assert await drain(first) == [], "it has had that quote"
        assert len(sim.streams.sessions) == 1


@in_world
async def test_later_consumer_gets_no_quote_of_a_lost_connection(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.quotes(["AAPL"])) as first:
        assert symbols(await drain(first)) == {"AAPL"}
        sim.streams.faults.is_half_open = True
        sim.streams.drop()
        await asyncio.sleep(1)
        sim.set_price("AAPL", "77.00")
        async with client.stream.quotes(["AAPL"]) as second:
            assert await drain(second, 60) == []
            sim.streams.faults.is_half_open = False
            assert abs((await within(60, second)).bid_price - 77) < 1


@for_each("turns", range(0, 30, 3))
@on_virtual_time
async def test_consumer_that_leaves_early_does_not_hold_up_the_others(turns: int) -> None:
    async with world() as (_, client), client.stream.quotes(["AAPL"]) as first:
        for _ in range(turns):
            await asyncio.sleep(0)
        async with client.stream.quotes(["AAPL"], [models.Trade]):
            pass
        await asyncio.wait_for(first.ready(), 5)


@in_world
async def test_symbol_with_two_names_is_subscribed_until_both_are_removed(sim: Simulator, client: Client) -> None:
    option = sim.brokerage.state.catalogue.equity_options.definitions[0].symbol
    translated = parse_occ(option).streamer_symbol
    async with ready(client.stream.quotes([option, translated])) as stream:
        await drain(stream)
        await stream.remove([option])
        sim.set_price(parse_occ(option).root, 99)
        assert symbols(await drain(stream)) == {translated}
        await stream.remove([translated])
        sim.set_price(parse_occ(option).root, 98)
        assert await drain(stream) == []


@in_world
async def test_consumer_that_never_reads_is_bounded_over_any_number_of_connections(
    sim: Simulator, client: Client
) -> None:
    start = sim.clock.time - timedelta(minutes=10)
    kinds = ["Quote", "Trade", "Candle", "Greeks"]
    async with client.stream.quotes(["AAPL", "SPY"], kinds, period="1m", start=start) as stream:
        for _ in range(60):
            await stream.ready()
            sim.streams.drop()
            await asyncio.sleep(31)
            assert waiting(stream, Snapshot) <= 4
        assert waiting(stream, Gap) > 10


@in_world
async def test_candles_begin_with_a_snapshot_from_the_start(sim: Simulator, client: Client) -> None:
    start = sim.clock.time - timedelta(minutes=10)
    async with client.stream.quotes(["AAPL"], [models.Candle], period="1m", start=start) as stream:
        snapshot = await within(1, stream)
        assert isinstance(snapshot, Snapshot)
        assert (snapshot.type, snapshot.symbol) == (models.Candle, "AAPL{=m}")
        times = [candle.time for candle in snapshot.events]
        assert times == sorted(times)
        assert len(times) == 11
        sim.set_price("AAPL", 77)
        candle = await within(1, stream)
        assert isinstance(candle, models.Candle)
        assert (candle.index, candle.close) == (snapshot.events[-1].index, Decimal("77.0"))
        earlier = sim.clock.time - timedelta(minutes=30)
        async with client.stream.quotes(["AAPL"], ["Candle"], period="m", start=earlier) as second:
            whole = await within(1, second)
            assert isinstance(whole, Snapshot)
            assert len(whole.events) == 31


@in_world
async def test_slow_consumer_skips_quotes_and_counts_dropped_trades(sim: Simulator, client: Client) -> None:
    policies = {models.Trade: DropOldest(limit=2)}
    async with ready(client.stream.quotes(["AAPL"], ["Quote", "Trade"], policies=policies)) as stream:
        await asyncio.sleep(0.1)
        for price in range(100, 110):
            sim.set_price("AAPL", price)
            await asyncio.sleep(0.1)
        events = await drain(stream)
        assert [type(event).__name__ for event in events].count("Quote") == 1
        assert [event.price for event in events if isinstance(event, models.Trade)] == [108, 109]
        assert stream.dropped == 9


@in_world
async def test_quote_token_is_renewed_before_its_day_ends(sim: Simulator, client: Client) -> None:
    loop, gaps = asyncio.get_running_loop(), []
    async with client.stream.quotes(["BTC/USD"], policies={models.Quote: Conflate()}) as stream:
        while loop.time() < 24 * 3600:
            event = await within(3600, stream)
            if isinstance(event, Gap):
                gaps.append((event.reason, loop.time() // 3600))
    assert gaps == [("the token was renewed", 23)]
    assert sim.ledger.count("market_data.quote_token") == 2


@in_world
async def test_quote_token_that_is_refused_or_not_granted_ends_the_stream(sim: Simulator, client: Client) -> None:
    sim.streams.faults.refusals = 3
    await raised_by(within(100, client.stream.quotes(["AAPL"])), errors.StreamRefusedError, "refused the quote token")
    sim.faults.add("GET", "/api-quote-tokens", "status(503)", times=20)
    sim.faults.add("GET", "/api-quote-tokens", "status(403)")
    await raised_by(within(1000, client.stream.quotes(["AAPL"])), errors.PermissionDeniedError)


def refuse(channel: int = 1) -> dict[str, Any]:
    return {"type": "ERROR", "channel": channel, "error": "BAD_ACTION", "message": "no"}


@in_world
async def test_refused_channel_ends_its_streams_and_a_later_one_asks_again(client: Client) -> None:
    process = DxLinkSession._process

    def refuse_channels(session: DxLinkSession, message: dict[str, Any] | None, now: float) -> None:
        if message is not None and message.get("type") == "CHANNEL_REQUEST":
            session.push(refuse(message["channel"]))
        else:
            process(session, message, now)

    async with ready(client.stream.quotes(["SPY"], ["Trade"])) as other:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DxLinkSession, "_process", refuse_channels)
            for use in ("ready", "__anext__"):
                async with client.stream.quotes(["AAPL", "SPY"]) as refused:
                    with pytest.raises(errors.StreamRefusedError, match="Quote of AAPL, SPY: BAD_ACTION: no") as caught:
                        await asyncio.wait_for(getattr(refused, use)(), 30)
                    assert caught.value.code == "BAD_ACTION"
        async with ready(client.stream.quotes(["AAPL"])) as later:
            assert symbols(await drain(later)) == {"AAPL"}
        assert not any(isinstance(event, Gap) for event in await drain(other))


@in_world
async def test_refused_subscription_ends_its_stream_and_the_others_of_the_type_get_a_gap(
    sim: Simulator, client: Client
) -> None:
    async with ready(client.stream.quotes(["SPY"])) as other:
        assert symbols(await drain(other)) == {"SPY"}
        async with ready(client.stream.quotes(["ZZZZ"])) as refused:
            sim.streams.sessions[0].push(refuse())
            await raised_by(within(30, refused), errors.StreamRefusedError, "refused Quote of ZZZZ: BAD_ACTION: no")
        assert (await gap_within(5, other)).reason == "BAD_ACTION: no"
        await asyncio.sleep(20)
        sim.streams.sessions[0].push(refuse())  # long after the last subscription: it concerns none of them
        assert isinstance((await drain(other))[-1], Gap)
        sim.set_price("SPY", 99)
        assert symbols(await drain(other)) == {"SPY"}


@in_world
async def test_channel_that_the_service_closes_is_opened_again_with_a_gap_for_its_type_alone(
    sim: Simulator, client: Client
) -> None:
    async with (
        ready(client.stream.quotes(["SPY"])) as quotes,
        ready(client.stream.quotes(["SPY"], ["Trade"])) as trades,
    ):
        await drain(quotes)
        await drain(trades)
        before = sim.clock.time
        sim.streams.sessions[0].push({"type": "CHANNEL_CLOSED", "channel": 1})
        gap = await gap_within(1, quotes)
        assert gap.reason == "the service closed the channel of Quote"
        assert gap.since is not None
        assert abs(gap.since - before) < timedelta(seconds=1)
        assert symbols(await drain(quotes)) == {"SPY"}
        assert await drain(trades) == []


@in_world
async def test_each_connection_goes_to_the_address_that_came_with_its_token(sim: Simulator, client: Client) -> None:
    tokens, opened, open_session = sim.brokerage.state.quote_tokens, [], sim.streams.open

    def note(path: str, now: float) -> Any:
        opened.append(path)
        return open_session("/streams/market-data", now)

    sim.streams.open = note  # type: ignore[method-assign]
    known = tokens.url
    async with ready(client.stream.quotes(["SPY"])):
        for path in ("/moved", "/moved/again"):
            tokens.url = f"{known.removesuffix('/streams/market-data')}{path}"
            sim.streams.drop()
            await asyncio.sleep(2)
    assert opened == ["/streams/market-data", "/moved", "/moved/again"]
    assert sim.ledger.count("market_data.quote_token") == 3


@in_world
async def test_symbols_without_any_event_are_named_once_in_a_warning(
    sim: Simulator, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(client.stream.quotes(["AAPL", "ZZZZ"], ["Quote", "Trade"])) as stream:
        await asyncio.sleep(9)
        assert "no event" not in caplog.text
        await asyncio.sleep(11)
        assert "no event within 10 s: ZZZZ (unknown, or not traded?)" in caplog.text
        caplog.clear()
        names = [f"ZZ{number:02}" for number in range(12)]
        await stream.add(["SPY", "QQQ", *names])
        await stream.remove(["ZZ11"])
        await asyncio.sleep(300)
        [warning] = caplog.messages
        assert warning.endswith(f"no event within 10 s: {', '.join(names[:10])} and 1 more (unknown, or not traded?)")
        caplog.clear()
        sim.streams.faults.is_half_open = True
        sim.streams.drop()
        await asyncio.sleep(1)
        async with client.stream.quotes(["MSFT"]):
            await asyncio.sleep(120)
        assert "no event" not in caplog.text, "nothing can be said while the connection is away"
