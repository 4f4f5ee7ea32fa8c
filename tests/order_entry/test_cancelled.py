"""A caller that is cancelled, at any of its awaits, learns the fate of its order."""

import asyncio
import contextlib
from collections.abc import Awaitable, Generator
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import EntryState, JournalEntry, MemoryJournal
from brokerage_async.order_entry import OrderEntry, OrderGuard
from brokerage_async.simulator import faults
from tests import trading
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.trading import Floor, edit, order

pytestmark = pytest.mark.virtual_time

ONE_ORDER = r"/orders/\d+$"
GUARD = OrderGuard(halt_after_unknown=(1, 60.0), halt_after_refusals=(1, 60.0), max_orders_per_day=100)
UNSENT, MAY_EXIST = "was not sent", "may have been placed: recover() will look for it"
CHANGE = "may have been applied: the order shows it"
PLACED, REFUSED, HALTED = "was placed (placed)", "was refused (refused)", ", and orders are halted"
KNOWN, LEFT = "is in the journal as placed", "was placed, and is left as it is (placed)"
NOT_CHANGED = "ended as refused"
CHANGE_REFUSED = {UNSENT, CHANGE, "was refused for now and is not applied", NOT_CHANGED, NOT_CHANGED + HALTED}


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

    async def run(self) -> Any:
        return await self


async def slowly(call: Any, *names: Any, **values: Any) -> Any:
    await asyncio.sleep(0.001)
    result = await call(*names, **values)
    await asyncio.sleep(0.001)
    return result


async def call(here: Floor, entry: OrderEntry, name: str) -> Any:
    number = next((each.order_id for each in here.orders("first")), "")
    terms: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "place": ((order("mine"),), {}),
        "place_complex": ((trading.bracket_order("mine"),), {}),
        "work": ((order("mine"), [Decimal(10), Decimal(11)]), {"every": 1}),
        "replace": ((number, edit(external_identifier="mine")), {}),
        "edit": ((number, edit(external_identifier="mine")), {}),
        "cancel": ((number,), {"wait": True}),
    }
    values, options = terms[name]
    return await getattr(entry, name)(here.account, *values, **options)


async def first(here: Floor, entry: OrderEntry) -> None:
    """Leave an order at work that can be changed."""
    await entry.place(here.account, order("first"))
    await asyncio.sleep(5)


async def recovered(here: Floor, entry: OrderEntry) -> None:
    """Leave an order at work whose entry is closed."""
    await trading.cancelled(call(here, entry, "work"), 1)
    await entry.recover()


CASES: list[tuple[str, Any, tuple[Any, ...], set[str]]] = [
    ("place", None, (), {UNSENT, MAY_EXIST, PLACED}),
    ("place", None, ("POST", trading.DRY_RUN, faults.body(trading.FAILED)), {UNSENT, REFUSED + HALTED}),
    ("place", None, ("POST", trading.SUBMIT, "status(422)"), {UNSENT, MAY_EXIST, REFUSED, REFUSED + HALTED}),
    ("place", None, ("POST", trading.SUBMIT, "refuse"), {UNSENT, MAY_EXIST, f"{UNSENT} (not_sent)"}),
    ("place", None, ("POST", trading.SUBMIT, "drop_after"), {UNSENT, MAY_EXIST, PLACED}),
    ("place", None, ("POST", trading.SUBMIT, "drop_before"),
     {UNSENT, MAY_EXIST, f"{MAY_EXIST} (unknown)", MAY_EXIST + HALTED}),
    ("place_complex", None, (), {UNSENT, MAY_EXIST, PLACED}),
    ("place_complex", None, ("POST", trading.COMPLEX.submit, "status(422)"),
     {UNSENT, MAY_EXIST, REFUSED, REFUSED + HALTED}),
    ("place", lambda here, entry: call(here, entry, "place"), (), {UNSENT, KNOWN}),
    ("replace", first, (), {UNSENT, CHANGE, "ended as applied"}),
    ("edit", first, (), {UNSENT, CHANGE, "ended as applied"}),
    ("replace", first, ("PUT", ONE_ORDER, "status(422)"), CHANGE_REFUSED),
    ("edit", first, ("PATCH", ONE_ORDER, "status(422)"), CHANGE_REFUSED),
    ("cancel", first, ("DELETE", ONE_ORDER, "drop_after"), {CHANGE}),
    ("work", recovered, (), {UNSENT, KNOWN, LEFT}),
]  # fmt: skip
"""Call, what came before it, its fault, and all that its caller may be told."""


def check(here: Floor, gone: Any, entries: list[JournalEntry]) -> str:
    """Check that the books, the journal and the caller agree. Return what it was told, and of its placement."""
    assert gone.account_number == here.account
    changed = [each.order_id for each in here.orders("first")]
    assert gone.order_id in changed if changed else gone.external_identifier == "mine"
    assert [each.owner for each in entries if each.owner] == []
    told, _, number = gone.__notes__[-1].partition(f"{here.account} ")[2].partition(" (order ")
    told = told.replace(" by this call", "")
    assert not number or number == f"{(here.orders('mine') or here.orders('first'))[-1].order_id})"
    mine = [each.state for each in entries if "mine" in (each.key.external_identifier, each.replaces and "mine")]
    exists = bool(here.orders("mine"))
    assert {EntryState.OPEN, EntryState.PLACED} & set(mine) if exists else EntryState.PLACED not in mine
    if told == UNSENT:
        assert EntryState.OPEN not in mine
    placement = getattr(gone, "placement", None)
    if placement is not None:
        trading.check_agreement(placement, here.orders("mine"))
        assert mine[:1] == [trading.STATE_OF[placement.outcome]] * bool(entries)
        told += f" ({placement.outcome})"
    elif told == MAY_EXIST:
        assert mine == [EntryState.OPEN]
    assert len(gone.__notes__) == 1 or told == LEFT
    return str(told)


async def test_caller_cancelled_at_any_await_is_told_what_books_and_journal_say() -> None:
    for name, before, fault, expected in CASES:
        told, number, is_over = set[str](), 0, False
        while not is_over:
            number += 1
            async with trading.floor() as here:
                methods = ("now", "open", "find", "claim", "renew", "release", "close", "trip")
                journal = trading.HookedJournal(clock=here.sim.clock.now, **dict.fromkeys(methods, slowly))
                entry = OrderEntry(here.client, journal, guard=GUARD)
                if before is not None:
                    await before(here, entry)
                if fault:
                    here.sim.faults.add(*fault, times=None)
                stepped = CancelledAt(call(here, entry, name), number)
                try:
                    with contextlib.suppress(OrderOutcomeUnknownError):
                        await asyncio.create_task(stepped.run())
                except asyncio.CancelledError as gone:
                    told.add(check(here, gone, await journal.entries()) + HALTED * bool(await journal.halts()))
                is_over = stepped.left > 0
        assert told == expected, (name, fault)


def threaded() -> trading.HookedJournal:
    """Return a journal that works in a thread: a cancelled caller leaves, and the statement still takes effect."""

    async def in_thread(call: Any, *names: Any, **values: Any) -> Any:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def run() -> None:
            error = raised(StopIteration, call(*names, **values).send, None)
            if not done.done():
                done.set_result(error.value)

        loop.call_later(0.01, run)
        return await done

    return trading.HookedJournal(**dict.fromkeys(("open", "claim", "release", "close"), in_thread))


async def place_until_shutdown(here: Floor, journal: MemoryJournal, after: float) -> Any:
    """Cancel every task of the loop at once, as `asyncio.run` does at its end. None if the order was placed before."""
    placing = asyncio.create_task(OrderEntry(here.client, journal).place(here.account, order("mine")))
    await asyncio.sleep(after)
    if placing.done():
        return None
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    error = await raised_by(placing, asyncio.CancelledError)
    await asyncio.sleep(1)
    return error


async def test_place_cancelled_with_every_task_of_the_loop_reports_as_if_cancelled_alone() -> None:
    told = set()
    for step in range(1, 200):
        async with trading.floor() as here:
            journal = threaded()
            gone = await place_until_shutdown(here, journal, step * 0.003)
            if gone is None:
                break
            told.add(check(here, gone, await journal.entries()))
    assert told == {UNSENT, MAY_EXIST, PLACED}


async def test_place_cancelled_with_every_task_while_it_claims_an_entry_leaves_no_claim(here: Floor) -> None:
    journal = threaded()
    await trading.place_unknown(here, entry=OrderEntry(here.client, journal), fault="drop_before")
    (before,) = await journal.entries()
    gone = await place_until_shutdown(here, journal, 0.005)
    (after,) = await journal.entries()
    assert check(here, gone, [after]) == MAY_EXIST
    assert after.looked_at == before.looked_at  # this one has not looked for it
