"""Recovery of orders that earlier runs left open, with several workers, dead workers, and clocks that are set."""

import asyncio
from typing import Any

import attrs
import pytest

from brokerage_async.journal import EntryKey, EntryState, JournalEntry, JournalError, MemoryJournal
from brokerage_async.operation import BoundCall
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.simulator import faults
from tests.tables import for_each
from tests.trading import (
    LISTS,
    POLICY,
    SUBMIT,
    Bells,
    Floor,
    HookedJournal,
    cancelled,
    failing_journal,
    leave_open,
    on_floor,
    order,
    place_unknown,
    slow_journal,
)

pytestmark = pytest.mark.virtual_time


async def leave_listed(here: Floor, name: str = "mine") -> None:
    """Leave an open entry of a dead worker, whose order is listed."""
    await here.client.orders.submit(here.account, order(name))
    await here.journal.open(here.key(name), b"{}", owner="dead", lease=0)


async def test_recovery_with_nothing_open_asks_nobody(here: Floor) -> None:
    assert await here.entry.recover() == []
    assert not here.sim.ledger.requests


async def test_recovery_sorts_out_everything_that_is_open_and_sends_nothing(here: Floor) -> None:
    for name, action in [("arrived", "drop_after"), ("never", "drop_before")]:
        await leave_open(here, name, action)
    reads = here.sim.ledger.count("orders.list_live")
    found, missing = await here.another_entry().recover()
    assert (found.external_identifier, found.outcome) == ("arrived", Outcome.PLACED)
    assert found.order is not None
    assert (missing.external_identifier, missing.outcome) == ("never", Outcome.UNKNOWN)
    assert (missing.account_number, missing.attempts) == (here.account, 1)
    assert b"never" in missing.body
    assert missing.opened_at is not None
    assert "not listed" in missing.note
    assert here.sim.ledger.count("orders.submit") == 2
    assert here.sim.ledger.count("orders.list_live") - reads <= 8  # one look serves both
    (still,) = await here.another_entry().recover()
    assert still.external_identifier == "never"


@for_each("lists, code", [("", "absent"), ("live", "undetermined")])
@on_floor()
async def test_conflict_of_one_order_says_nothing_about_the_others(here: Floor, lists: str, code: str) -> None:
    for name in ("taken", "never"):
        await leave_open(here, name, "drop_before")
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
async def test_recover_days_later_finds_the_order_whatever_the_journals_clock_says(
    here: Floor, ahead: int, later: int
) -> None:
    """The journal's clock is days ahead of the brokerage's: when the order was journaled, and at the recovery."""
    days = [ahead]
    journal = MemoryJournal(clock=lambda: here.sim.clock.now() + days[-1] * 86_400.0)
    await leave_open(here, entry=OrderEntry(here.client, journal, reconcile=POLICY))
    days.append(later)
    for _ in range(3):
        here.sim.clock.advance(86_400)
        await here.client.orders.submit(here.account, order())
    (found,) = await OrderEntry(here.client, journal, reconcile=POLICY).recover()
    assert found.outcome is Outcome.PLACED


async def test_a_clock_that_is_set_back_during_recovery_makes_it_no_longer(here: Floor) -> None:
    off = 0.0
    journal = MemoryJournal(clock=lambda: here.sim.clock.now() + off)
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    await place_unknown(here, entry=entry)
    began = asyncio.get_running_loop().time()
    recovering = asyncio.create_task(entry.recover())
    await asyncio.sleep(5)
    off = -3600.0
    (missing,) = await recovering
    assert missing.outcome is Outcome.UNKNOWN
    assert asyncio.get_running_loop().time() - began < 60


async def test_an_order_is_told_once_by_a_recovery_that_cannot_note_it(here: Floor) -> None:
    failures = [JournalError("disk full")]

    async def forget(release: Any, *names: Any, looked: bool = True, **values: Any) -> Any:
        if looked and failures:
            raise failures.pop()
        return await release(*names, looked=looked, **values)

    journal = HookedJournal(clock=here.sim.clock.now, release=forget)
    await journal.open(here.key("mine"), b"{}", owner="dead", lease=1)
    (missing,) = await OrderEntry(here.client, journal, reconcile=POLICY).recover()
    assert missing.outcome is Outcome.UNKNOWN


async def test_an_order_that_was_handled_a_moment_ago_is_left_to_who_did_it(here: Floor) -> None:
    """Another worker searches for the order in vain after we list the open entries and before we claim this one."""

    async def entries(call: Any, *names: Any, **values: Any) -> list[JournalEntry]:
        before: list[JournalEntry] = await call(*names, **values)
        for entry in before:
            if entry.looked_at is None and entry.owner == "dead":
                assert await journal.release(entry.key, owner="dead", note="not listed")
        return before

    journal = HookedJournal(clock=here.sim.clock.now, entries=entries)
    await journal.open(here.key("mine"), b"{}", owner="dead", lease=0)
    assert await OrderEntry(here.client, journal, reconcile=POLICY).recover() == []
    entry = await journal.find(here.key("mine"))
    assert (entry.owner, entry.note) == (None, "not listed")


async def test_an_order_that_was_handled_just_before_it_is_claimed_is_given_back_as_it_is(here: Floor) -> None:
    """Another worker searches for it in vain at that moment."""

    async def claim(call: Any, key: EntryKey, **values: Any) -> Any:
        entry = await journal.find(key)
        if entry is not None and entry.looked_at is None:
            assert await journal.release(key, owner="dead", note="not listed")
        return await call(key, **values)

    journal = HookedJournal(clock=here.sim.clock.now, claim=claim)
    await journal.open(here.key("mine"), b"{}", owner="dead", lease=0)
    assert await OrderEntry(here.client, journal, reconcile=POLICY).recover() == []
    (entry,) = await journal.entries()
    assert (entry.state, entry.owner, entry.note) == (EntryState.OPEN, None, "not listed")
    assert here.sim.ledger.count("orders.list_live") == 0


async def test_recovery_waits_for_an_order_that_another_worker_is_placing(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "hang_after")
    placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
    await asyncio.sleep(1)
    assert await here.another_entry().recover() == []
    assert placing.done()
    assert (await placing).outcome is Outcome.PLACED


async def test_the_orders_of_a_worker_that_died_are_free_when_its_claim_ends(here: Floor) -> None:
    body = b'{"external-identifier":"mine"}'
    await here.journal.open(here.key("mine"), body, owner="dead", lease=30)
    began = asyncio.get_running_loop().time()
    (found,) = await here.entry.recover()
    assert (found.outcome, found.external_identifier) == (Outcome.UNKNOWN, "mine")
    assert asyncio.get_running_loop().time() - began > 30 + POLICY.visibility_delay


async def test_a_recovery_that_is_cancelled_leaves_its_orders_to_the_next_one_at_once(here: Floor) -> None:
    await here.journal.open(here.key("mine"), b"{}", owner="dead", lease=0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await here.entry.recover()
    (entry,) = await here.journaled()
    assert (entry.state, entry.owner, entry.looked_at) == (EntryState.OPEN, None, None)


@for_each("end", ["cancelled", "journal"])
@on_floor()
async def test_what_was_handled_before_a_recovery_ended_early_is_told(here: Floor, end: str) -> None:
    """One order is found at once. The other one is still being looked for when the caller or the journal gives up."""
    await here.client.orders.submit(here.account, order("listed"))
    for name, lease in [("listed", 0), ("missing", 0), ("held", 40)]:
        key = here.key(name)
        await here.journal.open(key, b"{}", owner="dead", lease=lease)
    recovering = asyncio.create_task(here.entry.recover())
    if end == "cancelled":
        await asyncio.sleep(5)
        recovering.cancel()
    else:
        await asyncio.sleep(35)
        here.journal.entries = failing_journal("entries").entries  # type: ignore[method-assign]
    with pytest.raises((asyncio.CancelledError, JournalError)) as caught:
        await recovering
    told = [(placement.external_identifier, placement.outcome) for placement in caught.value.placements]  # type: ignore[union-attr]
    missing = [] if end == "cancelled" else [("missing", Outcome.UNKNOWN)]
    assert told == [("listed", Outcome.PLACED), *missing]


async def test_recover_cancelled_while_it_records_an_outcome_returns_what_the_journal_said(here: Floor) -> None:
    await here.client.orders.submit(here.account, order("mine"))
    journal = slow_journal("close", 2)
    await journal.open(here.key("mine"), b"{}", owner="dead", lease=0)
    recovering = asyncio.create_task(OrderEntry(here.client, journal, reconcile=POLICY).recover())
    await asyncio.sleep(2)
    assert await journal.abandon(here.key("mine"), note="by hand")
    recovering.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await recovering
    (placement,) = caught.value.placements  # type: ignore[attr-defined]
    assert placement.outcome is Outcome.PLACED
    assert "this worker no longer holds the journal entry" in placement.note


class SlowClaims(MemoryJournal):
    """Takes a second for each claim, and fails after ``most`` claims."""

    most = 1000

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        if self.most == 0:
            raise JournalError("disk full")
        self.most -= 1
        claimed = await super().claim(key, owner=owner, lease=lease)
        await asyncio.sleep(1)
        return claimed

    async def held(self) -> int:
        """Return the number of entries under a current claim."""
        now = await self.now()
        return sum(entry.claimed_until is not None and entry.claimed_until > now for entry in await self.entries())


async def left_open(here: Floor, orders: int) -> SlowClaims:
    """Return a journal with this many orders that a dead worker left open."""
    journal = SlowClaims(clock=here.sim.clock.now)
    for number in range(orders):
        await journal.open(here.key(f"order-{number}"), b"{}", owner="dead", lease=0)
    return journal


@for_each("most, error", [(1000, TimeoutError), (9, JournalError)])
@on_floor()
async def test_recover_that_ends_while_it_claims_leaves_its_orders_free(
    here: Floor, most: int, error: type[Exception]
) -> None:
    """The caller or the journal gives up."""
    journal = await left_open(here, 20)
    journal.most = most
    with pytest.raises(error):
        async with asyncio.timeout(9.5):
            await OrderEntry(here.client, journal, reconcile=POLICY).recover()
    assert await journal.held() == 0


async def test_claims_that_take_longer_than_a_lease_are_renewed_from_the_first_one_on(here: Floor) -> None:
    journal = await left_open(here, 60)
    recovering = asyncio.create_task(OrderEntry(here.client, journal, reconcile=POLICY, lease=30).recover())
    await asyncio.sleep(59.5)
    assert await journal.held() == 60
    assert len(await recovering) == 60


async def test_recovery_leaves_the_entries_of_the_other_environment_alone(here: Floor) -> None:
    await here.journal.open(
        EntryKey(here.client.environment.origin, "production", here.account, "mine"), b"{}", owner="dead", lease=1
    )
    await asyncio.sleep(2)
    assert await here.entry.recover() == []


async def test_recover_with_push_finds_an_order_as_soon_as_its_event_comes(here: Floor) -> None:
    lazy = attrs.evolve(POLICY, first=10.0)
    await leave_listed(here)
    entry = OrderEntry(here.client, here.journal, reconcile=lazy)
    object.__setattr__(entry._context, "doorbells", Bells(0.5))
    began = asyncio.get_running_loop().time()
    (found,) = await entry.recover()
    assert found.outcome is Outcome.PLACED
    assert asyncio.get_running_loop().time() - began < 2


@for_each("trouble", ["status(403)", "refuse", "drop_before"])
@on_floor()
async def test_recover_that_cannot_read_the_account_leaves_the_entry(here: Floor, trouble: str) -> None:
    await leave_listed(here)
    here.sim.faults.add("GET", LISTS, trouble, times=None)
    (unread,) = await here.another_entry().recover(reconcile=attrs.evolve(POLICY, give_up=30))
    assert (unread.outcome, unread.code) == (Outcome.UNKNOWN, "undetermined")
    assert unread.note == f"the order lists could not be read: {unread.error}"
    assert (await here.journaled())[0].looked_at is None
    here.sim.faults.clear()
    (found,) = await here.entry.recover()
    assert found.outcome is Outcome.PLACED


async def test_recover_of_one_account_that_fails_recovers_the_others(here: Floor) -> None:
    first, second = here.sim.account_numbers[:2]
    for account, name in ((first, "mine"), (second, "other")):
        await here.client.orders.submit(account, order(name))
        key = attrs.evolve(here.key(name), account_number=account)
        await here.journal.open(key, b"{}", owner="dead", lease=0)
    session = here.client.session
    paginate = session.paginate

    def broken(call: BoundCall[Any]) -> Any:
        if call.path["account_number"] == first:
            raise OverflowError("date value out of range")
        return paginate(call)

    entry = OrderEntry(here.client, here.journal, reconcile=POLICY)
    object.__setattr__(entry._context, "executor", Stand(session, broken))
    with pytest.raises(OverflowError) as caught:
        await entry.recover()
    told = [(each.external_identifier, each.outcome) for each in caught.value.placements]  # type: ignore[attr-defined]
    assert told == [("other", Outcome.PLACED)]
    states = {each.key.external_identifier: (each.state, each.owner) for each in await here.journal.entries()}
    assert states == {"mine": (EntryState.OPEN, None), "other": (EntryState.PLACED, None)}


class Stand:
    """An executor with a replaced `paginate`."""

    def __init__(self, session: Any, paginate: Any) -> None:
        self.execute = session.execute
        self.paginate = paginate


async def test_recover_names_the_orders_of_other_origins_and_adopt_brings_them_over(
    here: Floor, caplog: pytest.LogCaptureFixture
) -> None:
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


async def test_place_cancelled_while_it_tidies_up_after_an_error_ends_cancelled(here: Floor) -> None:
    """The journal fails when the search begins, and takes its time to release the entry."""
    journal = slow_journal("release", 2)
    journal.now = failing_journal("now").now  # type: ignore[method-assign]
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    await place_unknown(here, entry=entry)
    error = await cancelled(entry.place(here.account, order("mine")), 1)
    assert isinstance(error.__cause__, JournalError)
    assert "may have been placed" in error.__notes__[0]
    await asyncio.sleep(3)  # the release goes on in the background
    assert (await journal.entries())[0].owner is None
