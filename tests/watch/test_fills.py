"""The watcher of fills, on the simulator and virtual time."""

import asyncio
import contextlib
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest

from brokerage_async import Client, errors
from brokerage_async.observers import FillSeen
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, market
from brokerage_async.watch import Discrepancy, Fill, WatchStateError
from brokerage_async.watch.lists import FILL_TYPES
from brokerage_async.watch.state import OwnCodec
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.stream.world import in_world, world
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import NOON, Service, client_of


async def fill(client: Client, sim: Simulator, quantity: int = 10) -> str:
    """Fill an order at 100 dollars, and return its identifier."""
    account = sim.account_numbers[0]
    placed = (await client.orders.submit(account, limit(buy_to_open("AAPL", quantity), price="100"))).order
    await asyncio.sleep(3)
    sim.fill_order(placed.id, price=100)
    return placed.id


async def reports(client: Client, sim: Simulator, seconds: float, *, ack: bool = True, **options: Any) -> list[Any]:
    """Return what a watcher reports within ``seconds``."""
    found: list[Any] = []
    async with client.watch.fills([sim.account_numbers[0]], **options) as fills:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for each in fills:
                    found.append(each)
                    if ack:
                        await each.ack()
    return found


@in_world
async def test_watcher_without_a_state_begins_with_the_call(sim: Simulator, client: Client) -> None:
    await fill(client, sim, 3)
    await asyncio.sleep(5)
    watcher = client.watch.fills([sim.account_numbers[0]])
    order_id = await fill(client, sim, 4)
    async with watcher:
        first = await anext(watcher)
    assert isinstance(first, Fill)
    assert (str(first.kind), first.order_id, first.terms[1:]) == ("fill", order_id, (Decimal(4), Decimal(100)))
    assert (first.symbol, first.action, first.leg, first.venue) == ("AAPL", "Buy to Open", 0, "SIMULATED")
    assert first.idempotency_key is None
    async with first:  # harmless
        pass


@in_world
async def test_fill_while_the_machine_slept_before_the_first_poll_is_reported(sim: Simulator, client: Client) -> None:
    async with client.watch.fills([sim.account_numbers[0]]) as watcher:
        order_id = await fill(client, sim, 4)
        sim.clock.advance(3600)  # the loop's clock stands still
        first = await asyncio.wait_for(anext(watcher), 60)
    assert isinstance(first, Fill)
    assert first.order_id == order_id


@in_world
async def test_restart_reports_what_is_not_acknowledged_and_what_came_meanwhile(sim: Simulator, client: Client) -> None:
    state = MemoryState()
    assert await reports(client, sim, 60, state=state) == []
    await fill(client, sim, 3)
    [first] = await reports(client, sim, 60, state=state, ack=False)
    [again] = await reports(client, sim, 60, state=state)
    assert again == first
    assert again.idempotency_key == first.idempotency_key is not None
    await fill(client, sim, 4)
    await asyncio.sleep(40 * 3600)  # it left the list of today
    sim.faults.add("GET", "/transactions", "status(503)", times=1000)
    [second] = await reports(client, sim, 120, state=state)
    assert (second.quantity, second.kind) == (4, "fill")
    assert await reports(client, sim, 120, state=state) == []
    other = client.watch.fills(sim.account_numbers, state=state)
    await raised_by(anext(other), WatchStateError, "belongs to")
    await other.aclose()


@in_world
async def test_fill_is_seen_while_positions_fail_and_a_denied_account_is_given_up(
    sim: Simulator, client: Client
) -> None:
    failures: list[Exception] = []
    watcher = client.watch.fills(
        [sim.account_numbers[0], sim.foreign_account_number], on_error=failures.append, interval=5
    )
    sim.faults.add("GET", f"{sim.account_numbers[0]}/positions", "status(503)", times=1000)
    first = asyncio.ensure_future(anext(watcher))
    await asyncio.sleep(200)
    await fill(client, sim)
    assert isinstance(await asyncio.wait_for(first, 6), Fill)
    await watcher.aclose()
    assert list(watcher.failed) == [sim.foreign_account_number]
    assert {type(each) for each in failures} == {errors.ServerError, type(watcher.failed[sim.foreign_account_number])}


@in_world
async def test_discrepancy_is_acknowledged_and_not_repeated_after_a_restart(sim: Simulator, client: Client) -> None:
    state = MemoryState()
    await reports(client, sim, 60, state=state)
    await fill(client, sim)
    account = sim.brokerage.state.accounts.get(sim.account_numbers[0])
    account.positions["AAPL"].quantity += 1
    found = await reports(client, sim, 200, state=state)
    assert [type(each) for each in found] == [Fill, Discrepancy]
    off = found[1]
    assert (off.kind, off.symbol, off.expected, off.seen) == ("position", "AAPL", 10, 11)
    assert (off.orders, [each.fill_id for each in off.fills]) == ((found[0].order_id,), [found[0].fill_id])
    assert await reports(client, sim, 200, state=state) == []
    account.positions["AAPL"].quantity -= 1
    assert await reports(client, sim, 200, state=state) == []
    assert not any("discrepancy" in key for key in state.items)


TRADE = {"transaction-type": "Trade", "transaction-sub-type": "Buy to Open", "action": "Buy to Open"}
TRADE |= {"symbol": "AAPL", "quantity": "3", "executed-at": NOON.isoformat()}


@on_virtual_time
async def test_order_that_the_service_refuses_to_show_is_an_unknown_execution() -> None:
    rows = [{**TRADE, "id": each, "order-id": each} for each in ("..", 403, 404, 422)]
    service = Service()
    service.answers = {f"/accounts/A1/orders/{status}": status for status in (403, 404, 422)}
    service.answers |= {"A1": [], "/accounts/A1/transactions": rows}
    async with client_of(service) as client, client.watch.fills(["A1"]) as fills:
        assert [(await anext(fills)).kind for _ in rows] == ["unknown_execution"] * 4


@on_virtual_time
async def test_refused_order_is_remembered_while_a_transaction_names_it() -> None:
    service, rows = Service(), [{**TRADE, "id": 1, "order-id": 403}]
    service.answers = {"/accounts/A1/orders/403": 403, "A1": []}
    async with client_of(service) as client, client.watch.fills(["A1"]) as fills:
        found = asyncio.ensure_future(anext(fills))
        for shown, times in ((rows, 1), ([], 1), (rows, 2)):
            service.answers["/accounts/A1/transactions"] = shown
            await asyncio.sleep(200)
            assert len(service.times_of("/accounts/A1/orders/403")) == times, shown
        assert (await found).kind == "unknown_execution"


@on_virtual_time
async def test_delay_of_each_fill_is_observed() -> None:
    observer = Mock(on_event=Mock())  # from Python 3.12 on, protocols look for attributes that exist
    async with world(observers=[observer]) as (sim, client):
        watching = asyncio.create_task(reports(client, sim, 60, interval=8.0))
        await asyncio.sleep(10)
        await fill(client, sim)
        [found] = await watching
    seen = [call.args[0] for call in observer.on_event.call_args_list if isinstance(call.args[0], FillSeen)]
    assert [(each.source, each.delay > 0, each.delay <= 8) for each in seen] == [("orders", True, True)]
    assert found.kind == "fill"


@in_world
async def test_silent_changes_do_not_make_a_stream_look_mute(
    sim: Simulator, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    account = sim.account_numbers[0]
    watching = asyncio.create_task(reports(client, sim, 600, push=True, interval=2.0))
    await asyncio.sleep(120)
    await client.orders.submit(account, limit(buy_to_open("AAPL", 1), price="1"))
    books = sim.brokerage.state.accounts.get(account)
    await client.orders.submit(account, market(buy_to_open("AAPL", 1)))
    await asyncio.sleep(100)
    books.positions["AAPL"].quantity += 1
    assert [type(each) for each in await watching] == [Fill, Discrepancy]
    assert "without an event" not in caplog.text


def test_damaged_state_is_named() -> None:
    for key, data in (('["A","books"]', b"{"), ('["A","nothing"]', b"{}"), ("[1]", b"{}"), ('["A","fill"]', b"{}")):
        raised(WatchStateError, OwnCodec(lambda key: FILL_TYPES[key[1]]).read, key, data, match="cannot be read")
