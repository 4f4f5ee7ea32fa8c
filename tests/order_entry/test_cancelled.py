"""A caller that is cancelled, at any of its awaits, learns the fate of its order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.journal import EntryState, JournalEntry
from brokerage_async.order_entry import OrderEntry, OrderGuard
from brokerage_async.simulator import faults
from tests.trading import (
    DRY_RUN,
    FAILED,
    POLICY,
    SUBMIT,
    Floor,
    HookedJournal,
    bracket_order,
    cancelled,
    check_agreement,
    edit,
    floor,
    order,
)

pytestmark = pytest.mark.virtual_time

ONE_ORDER = r"/orders/\d+$"
GUARD = OrderGuard(halt_after_unknown=(50, 60.0), halt_after_refusals=(50, 60.0), max_orders_per_day=100)
UNSENT, MAY_EXIST = "was not sent", "may have been placed: recover() will look for it"
CHANGE = "may have been applied: the order shows it"
Call = Callable[[Floor, OrderEntry], Awaitable[Any]]


class CancelledAt:
    """Runs an awaitable, and cancels its task while it waits for the time of this ``number``."""

    def __init__(self, work: Awaitable[Any], number: int) -> None:
        self._work = work
        self.left = number

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, answer = self._work.__await__(), None
        while True:
            try:
                waited_for = steps.send(None) if answer is None else steps.throw(answer)
            except StopIteration as end:
                return end.value
            self.left -= 1
            task = asyncio.current_task()
            if self.left == 0 and task is not None:
                asyncio.get_running_loop().call_soon(task.cancel)
            answer = None
            try:
                yield waited_for
            except BaseException as error:
                answer = error


async def slowly(call: Any, *names: Any, **values: Any) -> Any:
    await asyncio.sleep(0.001)
    result = await call(*names, **values)
    await asyncio.sleep(0.001)
    return result


async def place(here: Floor, entry: OrderEntry) -> Any:
    return await entry.place(here.account, order("mine"))


async def place_complex(here: Floor, entry: OrderEntry) -> Any:
    return await entry.place_complex(here.account, bracket_order("mine"))


async def work(here: Floor, entry: OrderEntry) -> Any:
    return await entry.work(here.account, order("mine"), [Decimal(10), Decimal(11)], every=1)


async def replace(here: Floor, entry: OrderEntry) -> Any:
    return await entry.replace(here.account, here.orders("first")[0].order_id, edit(external_identifier="mine"))


async def edit_it(here: Floor, entry: OrderEntry) -> Any:
    return await entry.edit(here.account, here.orders("first")[0].order_id, edit(external_identifier="mine"))


async def cancel(here: Floor, entry: OrderEntry) -> Any:
    return await entry.cancel(here.account, here.orders("first")[0].order_id, wait=True)


async def first_placed(here: Floor, entry: OrderEntry) -> None:
    await entry.place(here.account, order("first"))
    await asyncio.sleep(5)


async def recovered(here: Floor, entry: OrderEntry) -> None:
    """Leave an order at work whose entry is closed."""
    await cancelled(work(here, entry), 1)
    await entry.recover()


CASES: list[tuple[Call, Call | None, tuple[Any, ...], set[str]]] = [
    (place, None, (), {UNSENT, MAY_EXIST, "was placed"}),
    (place, None, ("POST", DRY_RUN, faults.body(FAILED)), {UNSENT, "was refused"}),
    (place, None, ("POST", SUBMIT, "status(422)"), {UNSENT, MAY_EXIST, "was refused"}),
    (place, None, ("POST", SUBMIT, "drop_after"), {UNSENT, MAY_EXIST, "was placed"}),
    (place_complex, None, (), {UNSENT, MAY_EXIST, "was placed"}),
    (place, place, (), {UNSENT, "is in the journal as placed"}),
    (replace, first_placed, (), {UNSENT, CHANGE, "ended as applied"}),
    (edit_it, first_placed, (), {UNSENT, CHANGE, "ended as applied"}),
    (replace, first_placed, ("PUT", ONE_ORDER, "status(422)"),
     {UNSENT, CHANGE, "was refused for now and is not applied", "ended as refused"}),
    (cancel, first_placed, ("DELETE", ONE_ORDER, "drop_after"), {CHANGE}),
    (work, recovered, (), {UNSENT, "is in the journal as placed", "was placed, and is left as it is"}),
]  # fmt: skip


def check(here: Floor, gone: Any, entries: list[JournalEntry]) -> str:
    """Check that the books, the journal and the caller agree. Return what the caller was told."""
    assert gone.account_number == here.account
    changed = [each.order_id for each in here.orders("first")]
    assert gone.order_id in changed if changed else gone.external_identifier == "mine"
    assert [each.owner for each in entries if each.owner] == []
    told = gone.__notes__[-1].partition(f"{here.account} ")[2].partition(" (order")[0].replace(" by this call", "")
    mine = [each.state for each in entries if "mine" in (each.key.external_identifier, each.replaces and "mine")]
    exists = bool(here.orders("mine"))
    assert {EntryState.OPEN, EntryState.PLACED} & set(mine) if exists else EntryState.PLACED not in mine
    if told == UNSENT:
        assert EntryState.OPEN not in mine
    if getattr(gone, "placement", None) is not None:
        check_agreement(gone.placement, here.orders("mine"))
    elif told == MAY_EXIST:
        assert mine == [EntryState.OPEN]
    return str(told)


async def test_caller_cancelled_at_any_await_is_told_what_books_and_journal_say() -> None:
    for call, before, fault, expected in CASES:
        told, number, is_over = set[str](), 0, False
        while not is_over:
            number += 1
            async with floor() as here:
                methods = ("now", "open", "find", "claim", "renew", "release", "close", "trip")
                journal = HookedJournal(clock=here.sim.clock.now, **dict.fromkeys(methods, slowly))
                entry = OrderEntry(here.client, journal, reconcile=POLICY, guard=GUARD)
                if before is not None:
                    await before(here, entry)
                if fault:
                    here.sim.faults.add(*fault)
                stepped = CancelledAt(call(here, entry), number)
                try:
                    await asyncio.create_task(waited(stepped))
                except asyncio.CancelledError as gone:
                    told.add(check(here, gone, await journal.entries()))
                is_over = stepped.left > 0
        assert told == expected, (call.__name__, fault)


async def waited(stepped: CancelledAt) -> Any:
    return await stepped
