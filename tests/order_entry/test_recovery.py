"""Recovery of orders that earlier runs left open, with several workers, dead workers, and clocks that are set."""

import asyncio
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async.journal import EntryKey, EntryState, JournalError, MemoryJournal
from brokerage_async.operation import BoundCall
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.simulator import faults
from tests import trading
from tests.http.calls import raised_by
from tests.tables import for_each
from tests.trading import Floor, HookedJournal, cancelled, leave_listed, on_floor, order

pytestmark = pytest.mark.virtual_time


async def test_recovery_with_nothing_open_in_its_environment_asks_nobody(here: Floor) -> None:
    assert await here.entry.recover() == []
    await here.journal.open(attrs.evolve(here.key("mine"), environment="production"), b"{}", owner="dead", lease=0)
    assert await here.entry.recover() == []
    assert not here.sim.ledger.requests


async def test_recovery_sorts_out_everything_that_is_open_and_sends_nothing(here: Floor) -> None:
    for name, action in [("arrived", "drop_after"), ("never", "drop_before")]:
        await trading.leave_open(here, name, action)
    reads = here.sim.ledger.count("orders.list_live")
    found, missing = await here.another_entry().recover()
    assert (found.external_identifier, found.outcome, found.order is None) == ("arrived", Outcome.PLACED, False)
    assert (missing.external_identifier, missing.outcome) == ("never", Outcome.UNKNOWN)
    assert (missing.account_number, missing.attempts, missing.opened_at is None) == (here.account, 1, False)
    assert b"never" in missing.body
    assert "not listed" in missing.note
    assert here.sim.ledger.count("orders.submit") == 2
    assert here.sim.ledger.count("orders.list_live") - reads <= 8  # one look serves both
    (still,) = await here.another_entry().recover()
    assert still.external_identifier == "never"


@for_each("lists, code", [("", "absent"), ("live", "undetermined")])
@on_floor()
async def test_conflict_of_one_order_says_nothing_about_the_others(here: Floor, lists: str, code: str) -> None:
    for name in ("taken", "never"):
        await trading.leave_open(here, name, "drop_before")
    await here.client.orders.submit(here.account, order("taken", 11))
    if lists:
        here.sim.faults.add("GET", lists, faults.status(503), times=None)
    taken, never = await here.another_entry().recover()
    assert (taken.external_identifier, taken.code) == ("taken", "identifier_conflict")
    assert "differs in its legs" in taken.note
    assert (never.external_identifier, never.code) == ("never", code)
    assert ("not listed in" in never.note) == (code == "absent")


@for_each("ahead, later", [(0, 0), (150, 150), (-150, -150), (500, 0)])
@on_floor()
async def test_recover_days_later_finds_the_order_whatever_the_clock_says(here: Floor, ahead: int, later: int) -> None:
    """The journal's clock is days ahead of the brokerage's: when the order was journaled, and at the recovery."""
    days = [ahead]
    journal = MemoryJournal(clock=lambda: here.sim.clock.now() + days[-1] * 86_400.0)
    await trading.leave_open(here, entry=OrderEntry(here.client, journal))
    days.append(later)
    for _ in range(3):
        here.sim.clock.advance(86_400)
        await here.client.orders.submit(here.account, order())
    (found,) = await OrderEntry(here.client, journal).recover()
    assert found.outcome is Outcome.PLACED


async def test_a_clock_that_is_set_back_during_recovery_makes_it_no_longer(here: Floor) -> None:
    off = 0.0
    entry = OrderEntry(here.client, MemoryJournal(clock=lambda: here.sim.clock.now() + off))
    await trading.place_unknown(here, entry=entry, fault="drop_before")
    began = asyncio.get_running_loop().time()
    recovering = asyncio.create_task(entry.recover())
    await asyncio.sleep(5)
    off = -3600.0
    assert [each.outcome for each in await recovering] == [Outcome.UNKNOWN]
    assert asyncio.get_running_loop().time() - began < 60


async def test_an_order_is_told_once_by_a_recovery_that_cannot_note_it(here: Floor) -> None:
    failures = [JournalError("disk full")]

    async def forget(release: Any, *names: Any, looked: bool = True, **values: Any) -> Any:
        if looked and failures:
            raise failures.pop()
        return await release(*names, looked=looked, **values)

    journal = HookedJournal(clock=here.sim.clock.now, release=forget)
    await journal.open(here.key("mine"), b"{}", owner="dead", lease=1)
    assert [each.outcome for each in await OrderEntry(here.client, journal).recover()] == [Outcome.UNKNOWN]


@for_each("method", ["entries", "claim"])
@on_floor()
async def test_order_that_was_handled_a_moment_ago_is_left_to_who_did_it(here: Floor, method: str) -> None:
    """Another worker searches for it in vain after we list the open entries, or right before we claim this one."""

    async def overtaken(call: Any, *names: Any, **values: Any) -> Any:
        listed = await call(*names, **values) if method == "entries" else None
        if (await journal.find(key)).owner == "dead":
            assert await journal.release(key, owner="dead", note="not listed")
        return await call(*names, **values) if listed is None else listed

    journal, key = HookedJournal(clock=here.sim.clock.now, **{method: overtaken}), here.key("mine")
    await journal.open(key, b"{}", owner="dead", lease=0)
    assert await OrderEntry(here.client, journal).recover() == []
    entry = await journal.find(key)
    assert (entry.state, entry.owner, entry.note) == (EntryState.OPEN, None, "not listed")
    assert here.sim.ledger.count("orders.list_live") == 0


async def test_recovery_waits_for_the_claim_of_another_worker_and_is_cancelled_at_once(here: Floor) -> None:
    here.on_submit("hang_after")
    placing = asyncio.create_task(here.entry.place(here.account, order("placed")))
    await asyncio.sleep(1)
    assert await here.another_entry().recover() == []
    assert placing.done()
    assert (await placing).outcome is Outcome.PLACED
    await here.journal.open(here.key("mine"), b'{"external-identifier":"mine"}', owner="dead", lease=30)
    began = asyncio.get_running_loop().time()
    (found,) = await here.entry.recover()
    assert (found.outcome, found.external_identifier) == (Outcome.UNKNOWN, "mine")
    assert asyncio.get_running_loop().time() - began > 30 + trading.POLICY.visibility_delay
    await here.journal.open(here.key("other"), b"{}", owner="dead", lease=0)
    await raised_by(asyncio.wait_for(here.entry.recover(), 5), TimeoutError)
    entry = (await here.journaled())[-1]
    assert (entry.state, entry.owner, entry.looked_at) == (EntryState.OPEN, None, None)


@for_each("end", ["cancelled", "journal"])
@on_floor()
async def test_what_was_handled_before_a_recovery_ended_early_is_told(here: Floor, end: str) -> None:
    """One order is found at once. The other one is still being looked for when the caller or the journal gives up."""
    await leave_listed(here, "listed")
    for name, lease in [("missing", 0), ("held", 40)]:
        await here.journal.open(here.key(name), b"{}", owner="dead", lease=lease)
    recovering = asyncio.create_task(here.entry.recover())
    await asyncio.sleep(5 if end == "cancelled" else 35)
    if end == "cancelled":
        recovering.cancel()
    else:
        here.journal.entries = trading.failing_journal("entries").entries  # type: ignore[method-assign]
    error = await raised_by(recovering, (asyncio.CancelledError, JournalError))
    told = [(placement.external_identifier, placement.outcome) for placement in error.placements]  # type: ignore[union-attr]
    missing = [] if end == "cancelled" else [("missing", Outcome.UNKNOWN)]
    assert told == [("listed", Outcome.PLACED), *missing]


async def test_recover_cancelled_while_it_records_an_outcome_returns_what_the_journal_said(here: Floor) -> None:
    journal = trading.slow_journal("close", 2)
    await leave_listed(here, "mine", journal=journal)
    recovering = asyncio.create_task(OrderEntry(here.client, journal).recover())
    await asyncio.sleep(2)
    assert await journal.abandon(here.key("mine"), note="by hand")
    (placement,) = (await cancelled(recovering, 0)).placements
    assert placement.outcome is Outcome.PLACED
    assert "this worker no longer holds the journal entry" in placement.note


async def slow_claims(here: Floor, orders: int, most: int = 1000) -> HookedJournal:
    """Leave orders of a dead worker open in a journal that takes a second for each claim, and fails after ``most``."""
    left = iter(range(most))

    async def claim(call: Any, key: EntryKey, **values: Any) -> Any:
        if next(left, None) is None:
            raise JournalError("disk full")
        claimed = await call(key, **values)
        await asyncio.sleep(1)
        return claimed

    journal = HookedJournal(clock=here.sim.clock.now, claim=claim)
    for number in range(orders):
        await journal.open(here.key(f"order-{number}"), b"{}", owner="dead", lease=0)
    return journal


async def claims_in(journal: MemoryJournal) -> int:
    now = await journal.now()
    return sum(entry.claimed_until is not None and entry.claimed_until > now for entry in await journal.entries())


@for_each("most, error", [(1000, TimeoutError), (9, JournalError)])
@on_floor()
async def test_recover_ended_while_it_claims_leaves_orders_free(here: Floor, most: int, error: type[Exception]) -> None:
    """The caller or the journal gives up."""
    journal = await slow_claims(here, 20, most)
    await raised_by(asyncio.wait_for(OrderEntry(here.client, journal).recover(), 9.5), error)
    assert await claims_in(journal) == 0


async def test_claims_that_take_longer_than_a_lease_are_renewed_from_the_first_one_on(here: Floor) -> None:
    journal = await slow_claims(here, 60)
    recovering = asyncio.create_task(OrderEntry(here.client, journal, lease=30).recover())
    await asyncio.sleep(59.5)
    assert await claims_in(journal) == 60
    assert len(await recovering) == 60


@for_each("trouble", ["status(403)", "refuse", "drop_before"])
@on_floor()
async def test_recover_that_cannot_read_the_account_leaves_the_entry(here: Floor, trouble: str) -> None:
    await leave_listed(here, "mine")
    here.on_lists(trouble)
    (unread,) = await here.another_entry().recover(reconcile=attrs.evolve(trading.POLICY, give_up=30))
    assert (unread.outcome, unread.code) == (Outcome.UNKNOWN, "undetermined")
    assert unread.note == f"the order lists could not be read: {unread.error}"
    assert (await here.journaled())[0].looked_at is None
    here.sim.faults.clear()
    (found,) = await here.entry.recover()
    assert found.outcome is Outcome.PLACED


async def test_recover_of_one_account_that_fails_recovers_the_others(here: Floor) -> None:
    first, second = here.sim.account_numbers[:2]
    await leave_listed(here, "mine")
    await here.client.orders.submit(second, order("other"))
    await here.journal.open(attrs.evolve(here.key("other"), account_number=second), b"{}", owner="dead", lease=0)
    session = here.client.session

    def broken(call: BoundCall[Any]) -> Any:
        if call.path["account_number"] == first:
            raise OverflowError("date value out of range")
        return session.paginate(call)

    executor = SimpleNamespace(execute=session.execute, paginate=broken)
    here.entry._context.executor = executor
    error = await raised_by(here.entry.recover(), OverflowError)
    told = [(each.external_identifier, each.outcome) for each in error.placements]  # type: ignore[attr-defined]
    assert told == [("other", Outcome.PLACED)]
    states = {each.key.external_identifier: (each.state, each.owner) for each in await here.journal.entries()}
    assert states == {"mine": (EntryState.OPEN, None), "other": (EntryState.PLACED, None)}


async def test_recover_names_orders_of_other_origins_to_adopt(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    origin = "http://127.0.0.1:8080"
    await here.client.orders.submit(here.account, order("mine"))
    elsewhere = attrs.evolve(here.key("mine"), origin=origin)
    await here.journal.open(elsewhere, b"{}", owner="dead", lease=0)
    for _ in range(2):  # named each time, and never searched for
        reads = here.sim.ledger.count("orders.list_live")
        (named,) = await here.entry.recover()
        assert (named.outcome, named.code) == (Outcome.UNKNOWN, "other_origin")
        assert origin in named.note
        assert here.sim.ledger.count("orders.list_live") == reads
    assert "open order mine" in caplog.text
    assert not await here.entry.adopt(here.account, "mine", origin="https://third.example.com")
    assert await here.entry.adopt(here.account, "mine", origin=origin)
    (found,) = await here.entry.recover()
    assert found.outcome is Outcome.PLACED


async def test_place_whose_journal_fails_says_that_the_order_may_exist_even_if_it_is_cancelled(here: Floor) -> None:
    """The journal fails when the search begins, and takes its time to release the entry."""
    journal = trading.slow_journal("release", 2)
    journal.now = trading.failing_journal("now").now  # type: ignore[method-assign]
    entry = OrderEntry(here.client, journal)
    await trading.place_unknown(here, entry=entry, fault="drop_before")
    failed = await raised_by(entry.place(here.account, order("mine")), JournalError)
    error = await cancelled(entry.place(here.account, order("mine")), 1)
    assert isinstance(error.__cause__, JournalError)
    assert all("may have been placed" in each.__notes__[0] for each in (error, failed))
    await asyncio.sleep(3)  # the release goes on in the background
    assert (await journal.entries())[0].owner is None
