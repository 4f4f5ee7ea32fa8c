"""Order entry with push: an event brings the next look forward, and nothing else changes."""

import asyncio

import pytest

from brokerage_async.order_entry import OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.simulator import faults
from brokerage_async.simulator.transports.memory import MemorySocket
from tests.trading import SUBMIT, Floor, floor, order

pytestmark = pytest.mark.virtual_time

LAZY = ReconcilePolicy(first=4.0, max_interval=10.0)


def entry_of(here: Floor, *, push: bool) -> OrderEntry:
    return OrderEntry(here.client, here.journal, reconcile=LAZY, push=push)


def looks(here: Floor) -> int:
    return sum(record.operation == "orders.list_live" for record in here.sim.ledger.requests)


async def placed_late(here: Floor, *, push: bool) -> tuple[float, int]:
    """Place an order whose request is slow: the caller gives up, and it arrives and is listed two seconds later."""
    here.sim.faults.add("POST", SUBMIT, faults.delay(7.0))  # the client waits for 5
    async with here.client.stream.account([here.account]) as stream:
        await stream.ready()
        start = asyncio.get_running_loop().time()
        placement = await entry_of(here, push=push).place(here.account, order("late"))
        assert (placement.outcome, len(here.orders("late"))) == (Outcome.PLACED, 1)
        return asyncio.get_running_loop().time() - start, looks(here)


async def test_order_that_arrives_late_is_found_as_soon_as_its_event_comes() -> None:
    async with floor() as here:
        alone, polls = await placed_late(here, push=False)
    async with floor() as here:
        with_push, more = await placed_late(here, push=True)
    assert alone > 9.0
    assert with_push < 7.6
    assert more <= polls + 1


async def test_result_does_not_wait_for_the_end_of_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    close = MemorySocket.close

    async def close_slowly(socket: MemorySocket) -> None:
        await asyncio.sleep(60)
        await close(socket)

    monkeypatch.setattr(MemorySocket, "close", close_slowly)
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        start = asyncio.get_running_loop().time()
        placement = await entry_of(here, push=True).place(here.account, order("dropped"))
        assert placement.outcome is Outcome.PLACED
        assert len(here.sim.streams.sessions) == 1, "the connection closes afterwards"
        assert asyncio.get_running_loop().time() - start < 5
