"""Watchers with push: sooner than polling, as good as polling when the stream is down, and never with more polls."""

import asyncio
import logging
from typing import Any

import pytest

from brokerage_async import Client, errors
from brokerage_async.simulator import Simulator
from brokerage_async.stream.account import ringing
from tests.loops import on_virtual_time
from tests.stream.latency import dead_socket
from tests.stream.world import SMALL, alert, buy, drain, in_world, within, world


def polls(sim: Simulator, operation: str = "orders.live") -> int:
    return sum(record.operation == operation for record in sim.ledger.requests)


async def until(watcher: Any, **fields: Any) -> Any:
    """Return the first change whose item has these fields."""
    async for change in watcher:
        if change.after is not None and all(getattr(change.after, name) == value for name, value in fields.items()):
            return change
    raise AssertionError("the watcher ended")


async def time_to_fill(client: Client, sim: Simulator, *, push: bool, interval: float = 30.0) -> float:
    """Return the seconds from a fill to its report."""
    account, loop = sim.account_numbers[0], asyncio.get_running_loop()
    async with client.watch.orders("me", [account], interval=interval, push=push) as watcher:
        waiting = asyncio.ensure_future(until(watcher, status="Filled"))
        await asyncio.sleep(1)
        sim.set_price("AAPL", 100)
        placed = (await client.orders.submit(account, buy(price="90.00"))).order
        assert placed is not None
        await asyncio.sleep(20)
        sim.set_price("AAPL", 89)
        while not any(event.order_id == placed.id and event.after == "Filled" for event in sim.ledger.events):
            await asyncio.sleep(0.01)
            sim.settle()
        filled = loop.time()
        await waiting
        return loop.time() - filled


@on_virtual_time
async def test_fill_is_seen_at_once_where_polling_needs_its_interval() -> None:
    async with world() as (sim, client):
        assert await time_to_fill(client, sim, push=True) < 0.03
    async with world() as (sim, client):
        assert await time_to_fill(client, sim, push=False) > 1


@in_world
async def test_quiet_hour_costs_no_more_polls_and_events_one_each(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with client.watch.orders("me", [account], interval=60, push=True) as watcher:
        task = asyncio.ensure_future(drain(watcher, 10_000))
        await asyncio.sleep(3600)
        quiet = polls(sim)
        assert quiet <= 61
        sim.streams.send_account_event(account, "Order", {"id": 1}, sim.clock.now())
        sim.streams.send_account_event(account, "Order", {"id": 1}, sim.clock.now())
        await asyncio.sleep(0.5)
        assert polls(sim) == quiet + 1
        sim.streams.send_account_event(account, "AccountBalance", {}, sim.clock.now())
        await asyncio.sleep(0.5)
        assert polls(sim) == quiet + 1
        task.cancel()
    await asyncio.sleep(1)
    assert sim.streams.sessions == []


@in_world
async def test_positions_balances_and_alerts_ring_too(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    positions = client.watch.positions([account], interval=3600, push=True)
    balances = client.watch.balances([account], interval=3600, push=True)
    alerts = client.watch.quote_alerts(interval=3600, push=True)
    alerted = asyncio.ensure_future(within(60, alerts))
    held = asyncio.ensure_future(until(positions, quantity=5))
    first = await within(60, balances)
    await asyncio.sleep(1)
    await client.orders.submit(account, buy(quantity=5))
    assert (await asyncio.wait_for(held, 5)).after.symbol == "AAPL"
    assert (await within(5, balances)).after.cash_balance < first.after.cash_balance
    await client.quote_alerts.create(alert("SPY", 5000))
    sim.set_price("SPY", 5001)
    assert (await alerted).after.symbol == "SPY"
    for watcher in (positions, balances, alerts):
        await watcher.aclose()


@in_world
async def test_wait_for_one_order_uses_push(sim: Simulator, client: Client) -> None:
    account, loop = sim.account_numbers[0], asyncio.get_running_loop()
    placed = await client.orders.submit(account, buy())
    start = loop.time()
    order = await client.watch.order("me", account, str(placed.order.id), interval=600, push=True)
    assert order.status == "Filled"
    assert loop.time() - start < 5


@in_world
async def test_stream_that_is_refused_leaves_polling_alone(
    sim: Simulator, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    sim.streams.faults.refusals = 3
    with caplog.at_level(logging.WARNING, "brokerage_async.stream"):
        assert await time_to_fill(client, sim, push=True, interval=2) < 4
    assert "push is not available, polling goes on alone" in caplog.text


@in_world
async def test_accounts_of_the_user_are_asked_for_once(sim: Simulator, client: Client) -> None:
    async with client.watch.quote_alerts(interval=600, push=True) as watcher:
        sim.streams.faults.refusals = 30
        task = asyncio.ensure_future(drain(watcher, 2000))
        await asyncio.sleep(1200)
        assert sim.streams.faults.refusals < 20, "push was tried again and again"
        assert polls(sim, "accounts.list") == 1
        task.cancel()
        await asyncio.wait({task})


@on_virtual_time
async def test_transport_without_sockets_leaves_polling_alone_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    sim = Simulator(**SMALL)
    transport = sim.transport()

    class Requests:
        send, close = transport.send, transport.close

    async with sim.client(transport=Requests()) as client:
        with caplog.at_level(logging.WARNING, "brokerage_async.stream"):
            assert await time_to_fill(client, sim, push=True, interval=2) < 4
    reason = "transport must have a method open_socket for streams, got Requests: see "
    assert [record.message for record in caplog.records if "push is not available" in record.message] == [
        f"push is not available, polling goes on alone: {reason}brokerage_async.http.websocket.SocketTransport"
    ]


@on_virtual_time
async def test_closing_the_client_ends_push_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "brokerage_async.stream"):
        async with world() as (sim, client):
            watcher = client.watch.orders("me", sim.account_numbers[:1], push=True)
            task = asyncio.ensure_future(drain(watcher, 100))
            await asyncio.sleep(5)
        with pytest.raises(errors.ConfigurationError, match="the client is closed"):
            await task
    assert caplog.text == ""


class FailingStreams:
    """Streams that raise other errors when they are cancelled, and when they are left."""

    def account(self, account_numbers: Any, *, alerts: bool = False) -> Any:
        return self

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            raise OSError("the connection was cut off") from None

    def leave(self) -> None:
        raise RuntimeError("left")


@in_world
async def test_stream_that_answers_a_cancellation_with_an_error_holds_nothing_up(
    sim: Simulator, client: Client
) -> None:
    access = client.stream._access
    streams = FailingStreams()
    async with asyncio.timeout(5), ringing(streams.account, print, access, frozenset({"A1"}), frozenset(), print):
        await asyncio.sleep(1)


def test_hour_with_a_dead_socket_is_exactly_an_hour_without_push() -> None:
    reports, late, polls, more = dead_socket(30.0)
    assert reports > 35
    assert late <= 0.001
    assert more == polls
