"""The account stream: who gets which events, and watchers with push.

Push is sooner than polling, as good as polling when the stream is down, and never with more polls.
"""

import asyncio
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest

from brokerage_async import Client, errors
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.session import AccountSession
from brokerage_async.stream import AccountEvent, Gap
from brokerage_async.stream.account import ringing
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.stream.latency import dead_socket
from tests.stream.world import alert, buy, drain, in_world, ready, within, world


@in_world
async def test_fill_comes_as_order_position_and_balance(sim: Simulator, client: Client, account: str) -> None:
    async with ready(client.stream.account([account])) as stream:
        placed = await client.orders.submit(account, buy(quantity=7))
        last: dict[str, AccountEvent] = {event.type: event for event in await drain(stream)}
        assert (last["Order"].data.id, last["Order"].data.status) == (placed.order.id, "Filled")
        assert (last["CurrentPosition"].data.symbol, last["CurrentPosition"].data.quantity) == ("AAPL", Decimal(7))
        [balance] = await client.balances.list(account)
        assert last["AccountBalance"].data.cash_balance == balance.cash_balance
        assert last["Order"].timestamp is not None
        assert sim.clock.time - last["Order"].timestamp < timedelta(seconds=60)


@in_world
async def test_consumers_get_the_events_of_their_accounts_over_one_connection(sim: Simulator, client: Client) -> None:
    one, two = sim.account_numbers[:2]
    async with ready(client.stream.account([one])) as first:
        async with ready(client.stream.account([two])) as second:
            await client.orders.submit(two, buy())
            assert {event.account_number for event in await drain(second)} == {two}
            assert await drain(first) == []
            assert len(sim.streams.sessions) == 1
        await client.orders.submit(one, buy())
        assert {event.account_number for event in await drain(first)} == {one}


@in_world
async def test_alerts_come_to_those_who_want_them(sim: Simulator, client: Client) -> None:
    accounts = sim.account_numbers[:1]
    async with client.stream.account(accounts, alerts=True) as wants, client.stream.account(accounts) as others:
        await wants.ready()
        created = await client.quote_alerts.create(alert("AAPL", 500))
        sim.set_price("AAPL", 501)
        [event] = await drain(wants)
        assert (event.type, event.data.alert_external_id) == ("QuoteAlert", created.alert_external_id)
        assert event.data.triggered_at is not None
        assert await drain(others) == []


@in_world
async def test_foreign_account_ends_its_stream_and_no_other(sim: Simulator, client: Client, account: str) -> None:
    async with ready(client.stream.account([account])) as good:
        bad = client.stream.account([sim.account_numbers[1], sim.foreign_account_number])
        await raised_by(within(30, bad), errors.StreamRefusedError, f"did not accept {sim.foreign_account_number}")
        await client.orders.submit(account, buy())
        assert "Order" in [event.type for event in await drain(good)]


@in_world
async def test_slow_consumer_leaves_and_gets_an_error_after_its_events(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with client.stream.account([account], limit=3) as slow:
        async with client.stream.account([account]) as fast:
            await slow.ready()
            await client.orders.submit(account, buy())
            assert len(await drain(fast)) > 3
        assert sim.streams.sessions == []
        assert slow.waiting == 3
        for _ in range(3):
            assert isinstance(await anext(slow), AccountEvent)
        error = await raised_by(anext(slow), errors.SlowConsumerError, r"^3 events wait .*, or raise limit$")
        assert error.since is not None


@in_world
async def test_faults_of_messages_reach_the_consumer_as_they_are(sim: Simulator, client: Client, account: str) -> None:
    async with ready(client.stream.account([account])) as stream:
        now, send = sim.clock.now(), sim.streams.send_account_event
        for number, name in enumerate(("duplicate", "lose", "unknown", "garbage", "reorder", "late(2)"), 1):
            sim.streams.faults.add(name, kind="Order")
            send(account, "Order", {"id": number, "account-number": account}, now)
        send(account, "Order", {"id": 7, "account-number": account}, now)
        found = [getattr(event.data, "id", event.type) for event in await drain(stream, 5)]
        assert found == ["1", "1", "Weather", "3", "4", "5", "7", "6"]


@in_world
async def test_every_message_has_a_token_that_is_valid_for_hours(
    sim: Simulator, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, tokens = AccountSession.receive, list[tuple[str, bool]]()

    def note(session: AccountSession, data: str | bytes, now: float) -> None:
        token = json.loads(data)["auth-token"]
        tokens.append(
            (token, session._state.authorization_server.identify(token.removeprefix("Bearer "), now) is not None)
        )
        receive(session, data, now)

    monkeypatch.setattr(AccountSession, "receive", note)
    async with client.stream.account(sim.account_numbers[:1], alerts=True) as stream:
        await stream.ready()
        await asyncio.sleep(3 * 3600)
        assert len(tokens) > 3 * 180
        assert [token for token, is_valid in tokens if not is_valid or not token.startswith("Bearer ")] == []
        assert len(set(tokens)) > 10, "a token lives for 15 minutes"
        assert not any(isinstance(event, Gap) for event in await drain(stream))


async def until(watcher: Any, **fields: Any) -> Any:
    """Return the first change whose item has these fields."""
    async for change in watcher:
        if change.after is not None and all(getattr(change.after, name) == value for name, value in fields.items()):
            return change
    raise AssertionError("the watcher ended")


async def time_to_fill(client: Client, sim: Simulator, *, push: bool, interval: float = 30.0) -> float:
    account, loop = sim.account_numbers[0], asyncio.get_running_loop()
    async with client.watch.orders("me", [account], interval=interval, push=push) as watcher:
        waiting = asyncio.ensure_future(until(watcher, status="Filled"))
        await asyncio.sleep(1)
        sim.set_price("AAPL", 100)
        placed = await client.orders.submit(account, buy(price="90.00"))
        await asyncio.sleep(20)
        sim.set_price("AAPL", 89)
        while not any(event.order_id == placed.order.id and event.after == "Filled" for event in sim.ledger.events):
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
async def test_quiet_hour_costs_no_more_polls_and_events_one_each(sim: Simulator, client: Client, account: str) -> None:
    async with client.watch.orders("me", [account], interval=60, push=True) as watcher:
        draining = asyncio.ensure_future(drain(watcher, 10_000))
        await asyncio.sleep(3600)
        quiet = sim.ledger.count("orders.live")
        assert quiet <= 61
        for events in (["Order", "Order"], ["AccountBalance"]):
            for event in events:
                sim.streams.send_account_event(account, event, {}, sim.clock.now())
            await asyncio.sleep(0.5)
            assert sim.ledger.count("orders.live") == quiet + 1
        draining.cancel()
    await asyncio.sleep(1)
    assert sim.streams.sessions == []


@in_world
async def test_positions_balances_and_alerts_ring_too(sim: Simulator, client: Client, account: str) -> None:
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
async def test_wait_for_one_order_uses_push(client: Client, account: str) -> None:
    placed = await client.orders.submit(account, buy())
    waiting = client.watch.order("me", account, str(placed.order.id), interval=600, push=True)
    assert (await asyncio.wait_for(waiting, 5)).status == "Filled"


@in_world
async def test_stream_that_is_refused_leaves_polling_alone(
    sim: Simulator, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    sim.streams.faults.refusals = 3
    assert await time_to_fill(client, sim, push=True, interval=2) < 4
    assert "push is not available, polling goes on alone" in caplog.text


@in_world
async def test_accounts_of_the_user_are_asked_for_once(sim: Simulator, client: Client) -> None:
    async with client.watch.quote_alerts(interval=600, push=True) as watcher:
        sim.streams.faults.refusals = 30
        assert await drain(watcher, 1200) == []
        assert sim.streams.faults.refusals < 20, "push was tried again and again"
        assert sim.ledger.count("accounts.list") == 1


@in_world
async def test_transport_without_sockets_leaves_polling_alone_and_says_so(
    sim: Simulator, caplog: pytest.LogCaptureFixture
) -> None:
    transport = sim.transport()

    class Requests:
        send, close = transport.send, transport.close

    async with sim.client(transport=Requests()) as client:
        assert await time_to_fill(client, sim, push=True, interval=2) < 4
    reason = "transport must have a method open_socket for streams, got Requests: see "
    assert [record.message for record in caplog.records if "push is not available" in record.message] == [
        f"push is not available, polling goes on alone: {reason}brokerage_async.http.websocket.SocketTransport"
    ]


@in_world
async def test_closing_the_client_ends_push_without_a_warning(
    client: Client, account: str, caplog: pytest.LogCaptureFixture
) -> None:
    draining = asyncio.ensure_future(drain(client.watch.orders("me", [account], push=True), 100))
    await asyncio.sleep(5)
    await client.aclose()
    await raised_by(draining, errors.ConfigurationError, "the client is closed")
    assert caplog.text == ""


class FailingStream:
    """A stream that raises other errors when it is cancelled, and when it is left."""

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
async def test_stream_that_answers_a_cancellation_with_an_error_holds_nothing_up(client: Client) -> None:
    make, access, accounts = Mock(return_value=FailingStream()), client.stream._access, frozenset({"A1"})
    async with asyncio.timeout(5), ringing(make, print, access, accounts, frozenset(), print):
        await asyncio.sleep(1)


def test_hour_with_a_dead_socket_is_exactly_an_hour_without_push() -> None:
    reports, late, polls, more = dead_socket(30.0)
    assert reports > 35
    assert late <= 0.001
    assert more == polls
