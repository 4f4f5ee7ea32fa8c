"""Life of a connection: losses, refusals, silence, cancellation and the end of the client, on virtual time."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from brokerage_async import errors
from brokerage_async.stream import AccountEvent, Gap
from tests.loops import on_virtual_time
from tests.stream.world import buy, drain, within, world


def orders(events: list[Any]) -> list[str]:
    return [event.data.status for event in events if isinstance(event, AccountEvent) and event.type == "Order"]


@on_virtual_time
async def test_lost_connection_is_opened_again_with_a_gap_and_the_subscriptions() -> None:
    async with world() as (sim, client):
        account = sim.account_numbers[0]
        async with client.stream.account([account]) as stream:
            await stream.ready()
            sim.clock.advance(5)
            before = sim.clock.time
            sim.streams.drop()
            gap = await within(2, stream)
            assert isinstance(gap, Gap)
            assert gap.since is not None
            assert abs((gap.since - before).total_seconds()) <= 6
            assert "closed the connection" in gap.reason
            await client.orders.submit(account, buy())
            assert orders(await drain(stream))[-1] == "Filled"


@on_virtual_time
async def test_silent_connection_is_given_up_after_a_minute() -> None:
    async with world() as (sim, client), client.stream.account(sim.account_numbers[:1]) as stream:
        await stream.ready()
        sim.streams.faults.is_half_open = True
        start = asyncio.get_running_loop().time()
        waiting = asyncio.ensure_future(within(200, stream))
        await asyncio.sleep(65)
        sim.streams.faults.is_half_open = False
        gap = await waiting
        assert isinstance(gap, Gap)
        assert "did not answer heartbeat in 10 s" in gap.reason
        assert asyncio.get_running_loop().time() - start < 120


@on_virtual_time
async def test_connection_lives_on_heartbeats_for_hours() -> None:
    async with world() as (sim, client):
        stream, quotes = client.stream.account(sim.account_numbers[:1]), client.stream.quotes(["SPY"])
        await stream.ready()
        await quotes.ready()
        await asyncio.sleep(4 * 3600)
        assert not any(isinstance(event, Gap) for event in await drain(stream) + await drain(quotes))
        assert len(sim.streams.sessions) == 2
        await stream.aclose()
        await quotes.aclose()


@on_virtual_time
async def test_refused_token_is_replaced_and_a_fourth_refusal_ends_the_stream() -> None:
    async with world() as (sim, client):
        sim.streams.faults.refusals = 2
        async with client.stream.account(sim.account_numbers[:1]) as stream:
            await stream.ready()
        sim.streams.faults.refusals = 3
        stream = client.stream.account(sim.account_numbers[:1])
        with pytest.raises(errors.StreamRefusedError, match="refused connect: failed"):
            await within(60, stream)
        assert sim.streams.sessions == []
        sim.streams.faults.refusals = 0
        async with client.stream.account(sim.account_numbers[:1]) as stream:
            await stream.ready()


@on_virtual_time
async def test_revoked_grant_ends_the_stream() -> None:
    async with world() as (sim, client):
        stream = client.stream.account(sim.account_numbers[:1])
        await stream.ready()
        sim.revoke()
        with pytest.raises(errors.TokenError):
            await within(3600, stream)


@on_virtual_time
async def test_closing_the_client_ends_every_stream() -> None:
    async with world() as (sim, client):
        streams = [client.stream.account(sim.account_numbers[:1]), client.stream.quotes(["SPY"])]
        tasks = [asyncio.ensure_future(drain(stream, 100)) for stream in streams]
        await asyncio.sleep(10)
        await client.aclose()
        for task in tasks:
            with pytest.raises(errors.ConfigurationError, match="the client is closed"):
                await task
        with pytest.raises(errors.ConfigurationError, match="the client is closed"):
            await anext(client.stream.account(sim.account_numbers[:1]))


@on_virtual_time
async def test_last_stream_closes_the_connection_and_another_opens_it() -> None:
    async with world() as (sim, client):
        accounts = sim.account_numbers[:1]
        first, second = client.stream.account(accounts), client.stream.account(accounts)
        await first.ready()
        await second.ready()
        assert len(sim.streams.sessions) == 1
        await first.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(first)
        assert len(sim.streams.sessions) == 1
        await second.aclose()
        await second.aclose()
        assert sim.streams.sessions == []
        async with client.stream.account(accounts) as third:
            await third.ready()
            assert len(sim.streams.sessions) == 1


@on_virtual_time
async def test_stream_opened_while_the_connection_closes_gets_its_own() -> None:
    async with world() as (sim, client):
        first = client.stream.account(sim.account_numbers[:1])
        await first.ready()
        closing = asyncio.ensure_future(first.aclose())
        await asyncio.sleep(0)
        async with client.stream.account(sim.account_numbers[:1]) as second:
            await second.ready()
            await closing
            assert len(sim.streams.sessions) == 1


@on_virtual_time
async def test_dropped_stream_closes_the_connection() -> None:
    async with world() as (sim, client):
        stream = client.stream.quotes(["SPY"])
        await stream.ready()
        del stream
        gc.collect()
        await asyncio.sleep(1)
        assert sim.streams.sessions == []


@on_virtual_time
async def test_cancelled_consumer_loses_no_event_and_leaves_nothing() -> None:
    async with world() as (sim, client):
        account = sim.account_numbers[0]
        stream = client.stream.account([account])
        task = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.orders.submit(account, buy())
        assert orders(await drain(stream))[-1] == "Filled"
        await stream.aclose()
        assert sim.streams.sessions == []


@pytest.mark.parametrize("turns", range(0, 40, 3))
def test_consumer_cancelled_at_any_turn_leaves_no_connection(turns: int) -> None:
    @on_virtual_time
    async def run() -> None:
        async with world() as (sim, client):
            quotes = client.stream.quotes(["SPY"])
            tasks = [asyncio.ensure_future(quotes.ready()), asyncio.ensure_future(anext(quotes))]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await quotes.aclose()
            assert sim.streams.sessions == []

    run()


@on_virtual_time
async def test_service_that_is_away_is_tried_ever_more_rarely() -> None:
    async with world() as (sim, client):
        stream = client.stream.account(sim.account_numbers[:1])
        await stream.ready()
        sim.streams.faults.is_half_open = True
        sim.streams.drop()
        waiting = asyncio.ensure_future(within(4000, stream))
        attempts = []
        known = len(sim.streams.sessions)
        for second in range(1200):
            await asyncio.sleep(1)
            if len(sim.streams.sessions) > known:
                attempts.append(second)
            known = len(sim.streams.sessions)
        assert 20 <= len(attempts) <= 60
        sim.streams.faults.is_half_open = False
        assert isinstance(await waiting, Gap)
        await stream.aclose()
