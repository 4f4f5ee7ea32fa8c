"""The account stream: who gets which events."""

import asyncio
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import Client, errors
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.session import AccountSession
from brokerage_async.stream import AccountEvent, Gap
from tests.loops import on_virtual_time
from tests.stream.world import alert, buy, drain, in_world, ready, within, world


def kinds(events: list[Any]) -> list[str]:
    return [event.type for event in events]


@in_world
async def test_fill_comes_as_order_position_and_balance(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with ready(client.stream.account([account])) as stream:
        placed = await client.orders.submit(account, buy(quantity=7))
        events = await drain(stream)
        last: dict[str, AccountEvent] = {event.type: event for event in events if isinstance(event, AccountEvent)}
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
async def test_foreign_account_ends_its_stream_and_no_other(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.account(sim.account_numbers[:1])) as good:
        bad = client.stream.account([sim.account_numbers[1], sim.foreign_account_number])
        with pytest.raises(errors.StreamRefusedError, match=f"did not accept {sim.foreign_account_number}"):
            await within(30, bad)
        await client.orders.submit(sim.account_numbers[0], buy())
        assert "Order" in kinds(await drain(good))


@in_world
async def test_connection_whose_last_stream_is_refused_is_closed(sim: Simulator, client: Client) -> None:
    async with asyncio.timeout(60), client.stream.account([sim.account_numbers[0], sim.foreign_account_number]) as bad:
        with pytest.raises(errors.StreamRefusedError, match="did not accept"):
            await within(30, bad)
    assert sim.streams.sessions == []


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
        with pytest.raises(errors.SlowConsumerError, match="3 events wait") as caught:
            await anext(slow)
        assert caught.value.since is not None


@in_world
async def test_faults_of_messages_reach_the_consumer_as_they_are(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with ready(client.stream.account([account])) as stream:
        now, send = sim.clock.now(), sim.streams.send_account_event
        for number, name in enumerate(("duplicate", "lose", "unknown", "garbage", "reorder", "late(2)"), 1):
            sim.streams.faults.add(name, kind="Order")
            send(account, "Order", {"id": number, "account-number": account}, now)
        send(account, "Order", {"id": 7, "account-number": account}, now)
        found = [getattr(event.data, "id", event.type) for event in await drain(stream, 5)]
        assert found == ["1", "1", "Weather", "3", "4", "5", "7", "6"]


@on_virtual_time
async def test_every_message_has_a_token_that_is_valid_for_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    receive, tokens = AccountSession.receive, list[tuple[str, bool]]()

    def note(session: AccountSession, data: str | bytes, now: float) -> None:
        token = json.loads(data)["auth-token"]
        tokens.append((token, session._server.identify(token.removeprefix("Bearer "), now) is not None))
        receive(session, data, now)

    monkeypatch.setattr(AccountSession, "receive", note)
    async with world() as (sim, client), client.stream.account(sim.account_numbers[:1], alerts=True) as stream:
        await stream.ready()
        await asyncio.sleep(3 * 3600)
        assert len(tokens) > 3 * 180
        assert [token for token, is_valid in tokens if not is_valid or not token.startswith("Bearer ")] == []
        assert len(set(tokens)) > 10, "a token lives for 15 minutes"
        assert not any(isinstance(event, Gap) for event in await drain(stream))
