"""Early looks under attack: cut off in the middle, cancelled at any await, over streams that fail."""

import asyncio
import itertools
from typing import Any
from unittest.mock import AsyncMock

import attrs
import pytest

from brokerage_async.errors import RequestNotSentError
from brokerage_async.journal import EntryKey, EntryState, MemoryJournal
from brokerage_async.order_entry import ChangeOutcome, OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.simulator import faults
from brokerage_async.simulator.transports import MemorySocket
from tests.loops import on_virtual_time
from tests.tables import for_each
from tests.trading import UNLISTED, Bells, Floor, HookedJournal, floor, leave_listed, on_floor, order, place_unknown

pytestmark = pytest.mark.virtual_time

POLICY = ReconcilePolicy(first=2.0, max_interval=4.0)


def entry_of(here: Floor, *rings: float, journal: MemoryJournal | None = None) -> OrderEntry:
    entry = OrderEntry(here.client, here.journal if journal is None else journal, reconcile=POLICY)
    entry._context.doorbells = Bells(*rings)
    return entry


def slow_to_close(here: Floor, seconds: float, records: list[str]) -> HookedJournal:
    """Return a journal that takes its time to record an outcome, and note the records."""

    async def slowly(close: Any, key: EntryKey, **outcome: Any) -> bool:
        await asyncio.sleep(seconds / 2)
        closed: bool = await close(key, **outcome)
        records.append(key.external_identifier)
        await asyncio.sleep(seconds / 2)
        return closed

    return HookedJournal(clock=here.sim.clock.now, close=slowly)


@for_each("seconds", [0.3, 3.0])
@for_each("ring", [1.2, 1.5, 1.55, 1.6, 1.65, 1.7, 1.75, 1.8, 1.85, 1.9])
@on_floor()
async def test_early_look_cut_off_while_it_records_reports_once(here: Floor, ring: float, seconds: float) -> None:
    records: list[str] = []
    journal = slow_to_close(here, seconds, records)
    await leave_listed(here, "one", "two", journal=journal)
    found = await entry_of(here, ring, journal=journal).recover()
    assert {each.external_identifier: each.outcome for each in found} == dict.fromkeys(("one", "two"), Outcome.PLACED)
    assert (len(found), sorted(records)) == (2, ["one", "two"])
    entries = await journal.entries("sandbox")
    assert [(each.state, each.owner) for each in entries] == [(EntryState.PLACED, None)] * 2


async def test_early_look_cut_off_while_it_records_the_last_order_is_the_last(here: Floor) -> None:
    journal = slow_to_close(here, 3.0, [])
    await leave_listed(here, "one", journal=journal)
    loop = asyncio.get_running_loop()
    start = loop.time()
    recovering = asyncio.ensure_future(entry_of(here, 1.2, journal=journal).recover())
    await asyncio.sleep(1.6)
    here.on_lists("status(503)")
    (found,) = await recovering
    assert found.outcome is Outcome.PLACED
    assert loop.time() - start < 6


@pytest.mark.parametrize("rings", [(), (5.0,)])
async def test_order_seen_only_before_the_delay_settles_no_cancellation(here: Floor, rings: tuple[float, ...]) -> None:
    """The cancelled order may have been replaced. Only a poll after the delay could show the replacement."""
    placed = await here.entry.place(here.account, order("one"))
    here.sim.faults.add("DELETE", r"/orders/", "drop_after")
    here.on_lists(UNLISTED, times=4)
    cancelling = asyncio.ensure_future(entry_of(here, *rings).cancel(here.account, str(placed.order_id)))
    await asyncio.sleep(4.5)
    here.sim.faults.clear()
    await asyncio.sleep(1)
    here.on_lists(UNLISTED)
    change = await cancelling
    assert change.outcome is ChangeOutcome.UNKNOWN


def lingering() -> list[str]:
    loop: Any = asyncio.get_running_loop()
    tasks = [task.get_name() for task in asyncio.all_tasks() if "doorbell" in task.get_name()]
    timers = [repr(timer) for timer in loop._scheduled if not timer.cancelled() and "Event.set" in repr(timer)]
    return tasks + timers


@pytest.mark.parametrize("kind", ["place", "recover"])
async def test_cancellation_at_any_moment_with_push_leaves_nothing_behind(kind: str) -> None:
    loop: Any = asyncio.get_running_loop()
    run_once = loop._run_once
    for turns in itertools.count(1):
        async with floor() as here:
            if kind == "recover":
                await leave_listed(here, "one")
            else:
                here.on_submit("drop_after")
            here.on_lists(UNLISTED, times=6)  # it is listed some polls later, looks of the push included
            entry = OrderEntry(here.client, here.journal, reconcile=POLICY, push=True)
            left, hit = turns, False
            raining = asyncio.ensure_future(rain(here))
            work = entry.recover() if kind == "recover" else entry.place(here.account, order("one"))
            running = asyncio.create_task(work)

            def turn(running: Any = running) -> None:
                nonlocal left, hit
                left -= 1
                if left == 0:
                    hit = running.cancel()
                run_once()

            loop._run_once = turn
            await asyncio.wait({running})
            loop._run_once = run_once
            raining.cancel()
            await asyncio.wait({raining})
            assert lingering() == []
            await asyncio.sleep(1)
            assert not here.sim.streams.sessions, "the connection is closed"
            if not hit:
                assert turns > 50
                running.result()
                return
            assert running.cancelled(), running
            await here.entry.recover()
            assert all(each.owner is None for each in await here.journaled())


async def rain(here: Floor) -> None:
    while True:
        await asyncio.sleep(0.37)
        data: dict[str, Any] = {"id": 1, "account-number": here.account, "status": "Live"}
        here.sim.streams.send_account_event(here.account, "Order", data, here.sim.clock.now())


@for_each("error", [RequestNotSentError("no route"), OSError("no route"), RuntimeError("a defect")])
@on_floor()
async def test_stream_that_cannot_connect_fails_no_call(
    here: Floor, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    here.wire.open_socket = AsyncMock(side_effect=error)  # type: ignore[method-assign]
    entry = OrderEntry(here.client, here.journal, reconcile=POLICY, push=True)
    here.on_submit("drop_after")
    assert (await entry.place(here.account, order("one"))).outcome is Outcome.PLACED
    assert (await place_unknown(here, "two", entry=entry, fault="drop_before")).code == "absent"
    (two,) = await entry.recover()
    assert (two.outcome, two.code) == (Outcome.UNKNOWN, "absent")
    warned = [record.getMessage() for record in caplog.records if "push is not available" in record.getMessage()]
    if isinstance(error, RuntimeError):  # the others are met by connecting again
        assert warned[0] == "push is not available, polling goes on alone: RuntimeError"


@for_each("account", ["", "5WX99999", "5WX 1/é"])
def test_recover_of_an_account_without_events_ends_as_it_does_without_push(account: str) -> None:
    @on_virtual_time
    async def run(push: bool) -> list[tuple[str, Outcome, str | None]]:
        async with floor() as here, here.client.stream.account([here.account]) as stream:
            await stream.ready()
            await here.journal.open(attrs.evolve(here.key("one"), account_number=account), b"{}", owner="dead", lease=0)
            await leave_listed(here, "mine")
            found = await OrderEntry(here.client, here.journal, reconcile=POLICY, push=push).recover()
            await here.client.orders.submit(here.account, order("later"))
            async for event in stream:
                if getattr(getattr(event, "data", None), "external_identifier", None) == "later":
                    break  # the stream of the caller goes on
            return [(each.external_identifier, each.outcome, each.code) for each in found]

    assert len(run(False)) == 2
    assert run(True) == run(False)


@on_virtual_time
async def placed_late(*, push: bool) -> tuple[float, int]:
    """Place an order whose request is slow: the caller gives up, and it arrives and is listed two seconds later."""
    async with floor() as here, here.client.stream.account([here.account]) as stream:
        here.on_submit(faults.delay(7.0))  # the client waits for 5
        await stream.ready()
        start = asyncio.get_running_loop().time()
        lazy = OrderEntry(here.client, here.journal, reconcile=ReconcilePolicy(first=4.0, max_interval=10.0), push=push)
        placement = await lazy.place(here.account, order("late"))
        assert (placement.outcome, len(here.orders("late"))) == (Outcome.PLACED, 1)
        return asyncio.get_running_loop().time() - start, here.sim.ledger.count("orders.list_live")


def test_order_that_arrives_late_is_found_as_soon_as_its_event_comes() -> None:
    (alone, polls), (with_push, more) = placed_late(push=False), placed_late(push=True)
    assert alone > 9.0
    assert with_push < 7.6
    assert more <= polls + 1


async def test_result_does_not_wait_for_the_end_of_the_connection(here: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    close = MemorySocket.close

    async def close_slowly(socket: MemorySocket) -> None:
        await asyncio.sleep(60)
        await close(socket)

    monkeypatch.setattr(MemorySocket, "close", close_slowly)
    here.on_submit("drop_after")
    start = asyncio.get_running_loop().time()
    entry = OrderEntry(here.client, here.journal, reconcile=POLICY, push=True)
    placement = await entry.place(here.account, order("dropped"))
    assert placement.outcome is Outcome.PLACED
    assert len(here.sim.streams.sessions) == 1, "the connection closes afterwards"
    assert asyncio.get_running_loop().time() - start < 5
    await asyncio.sleep(120)
