"""Cancelling, replacing and editing: when no answer comes, the order itself tells."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import (
    Comparator,
    NewOrderRules,
    Order,
    OrderEdit,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from brokerage_async.errors import (
    InvalidRequestError,
    OrderNotCancellableError,
    OrderOutcomeUnknownError,
    PreflightError,
)
from brokerage_async.order_entry import ChangeOutcome, OrderChange, ReconcilePolicy
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.loops import VirtualLoop, on_virtual_time, run_in
from tests.partial_listings import altered
from tests.tables import for_each
from tests.trading import LISTS, NOTHING_LISTED, TIMEOUT, Floor, bracket_order, floor, order

SUBMIT, ONE_ORDER = r"/orders$", r"/orders/\d+$"
PAIRS = r"/complex-orders/\d+$"

UNTOUCHED = [
    "drop_before",
    "hang",
    "status(500)",
    "status(503)",
    "html(502)",
]
DONE = [
    "drop_after",
    "hang_after",
    "after_status(500)",
    "after_html(502)",
    "truncate",
    "garbage",
    faults.body(b""),
    faults.body(b'{"maintenance": true}'),
    faults.delay(TIMEOUT + 5),
    faults.delay_after(TIMEOUT + 5),
]
NAMES = [*DONE[:6], "empty body", "other JSON", "processed later", "answered too late"]


def edit(price: str = "11") -> OrderEdit:
    return OrderEdit(
        order_type=OrderType.LIMIT,
        time_in_force=TimeInForce.DAY,
        price=Decimal(price),
        price_effect=PriceEffect.DEBIT,
    )


async def working(here: Floor) -> Order:
    """An order at the exchange."""
    placement = await here.entry.place(here.account, order("original"))
    assert placement.order is not None
    await asyncio.sleep(30)
    return placement.order


async def status_of(here: Floor, order_id: str | None) -> str:
    await asyncio.sleep(30)
    here.sim.settle()
    return next(record.status for record in here.sim.ledger.orders() if record.order_id == order_id)


# --- cancelling


async def cancel(action: faults.Fault | str | None, *, hidden: int = 0, times: int | None = 1) -> tuple[Any, str]:
    async with floor() as here:
        target = await working(here)
        if action is not None:
            here.sim.faults.add("DELETE", ONE_ORDER, action, times=times)
        if hidden:
            here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=hidden)
        change = await here.entry.cancel(here.account, str(target.id))
        here.sim.faults.clear()
        return change, await status_of(here, target.id)


def test_a_cancelled_order_is_asked_once() -> None:
    change, status = run_in(VirtualLoop(), cancel(None))
    assert (change.outcome, change.order.status, status) == (ChangeOutcome.APPLIED, "Cancel Requested", "Cancelled")


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("action", DONE, ids=NAMES)
def test_a_cancellation_without_an_answer_is_read_from_the_order(action: Any, hidden: int) -> None:
    change, status = run_in(VirtualLoop(), cancel(action, hidden=hidden))
    assert (change.outcome, status) == (ChangeOutcome.APPLIED, "Cancelled")
    assert change.order is None or change.order.status in ("Cancel Requested", "Cancelled")


@pytest.mark.parametrize("action", UNTOUCHED, ids=str)
def test_a_cancellation_that_never_arrived_is_unknown_and_shows_the_order(action: Any) -> None:
    change, status = run_in(VirtualLoop(), cancel(action))
    assert (change.outcome, change.order.status, status) == (ChangeOutcome.UNKNOWN, "Live", "Live")
    assert change.error is not None


def test_a_cancellation_that_was_never_sent_says_so() -> None:
    change, status = run_in(VirtualLoop(), cancel("refuse", times=None))
    assert (change.outcome, status) == (ChangeOutcome.NOT_SENT, "Live")


@on_virtual_time
async def test_a_finished_order_cannot_be_cancelled_and_is_shown() -> None:
    async with floor() as here:
        target = await working(here)
        await here.entry.cancel(here.account, str(target.id))
        await asyncio.sleep(30)
        change = await here.entry.cancel(here.account, str(target.id))
        assert change.outcome is ChangeOutcome.REFUSED
        assert isinstance(change.error, OrderNotCancellableError)
        assert change.order is not None
        assert change.order.status == "Cancelled"


@on_virtual_time
async def test_an_order_that_filled_before_a_lost_cancellation_is_refused() -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.set_price("AAPL", "9")
        await asyncio.sleep(60)
        here.sim.faults.add("DELETE", ONE_ORDER, "drop_before")
        change = await here.entry.cancel(here.account, str(target.id))
        assert change.outcome is ChangeOutcome.REFUSED
        assert change.order is not None
        assert change.order.status == "Filled"


@on_virtual_time
async def test_a_cancellation_is_sent_once_whatever_happens() -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.faults.add("DELETE", ONE_ORDER, "drop_before", times=None)
        await here.entry.cancel(here.account, str(target.id))
        assert here.sim.ledger.count("orders.cancel") == 1


@pytest.mark.parametrize("action", ["rate_limited", "unauthorized"])
@on_virtual_time
async def test_a_cancellation_that_was_turned_away_can_still_be_made(action: str) -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.faults.add("DELETE", ONE_ORDER, action, times=None)
        change = await here.entry.cancel(here.account, str(target.id))
        assert change.outcome is ChangeOutcome.NOT_SENT
        assert change.error is not None
        here.sim.faults.clear()
        assert (await here.entry.cancel(here.account, str(target.id))).outcome is ChangeOutcome.APPLIED


@pytest.mark.parametrize("shown", ['"status":"Filled"', '"status":"Live"', '"id":1,"status":"Cancel Requested"'])
@pytest.mark.parametrize(
    ("done", "outcome", "status"),
    [(True, ChangeOutcome.APPLIED, "Cancelled"), (False, ChangeOutcome.UNKNOWN, "Live")],
)
def test_an_answer_that_does_not_show_the_order_cancelled_proves_nothing(
    shown: str, done: bool, outcome: ChangeOutcome, status: str
) -> None:
    answer = faults.body(b'{"data":{' + shown.encode() + b"}}")
    change, found = run_in(VirtualLoop(), cancel(attrs.evolve(answer, processed=done)))
    assert (change.outcome, found) == (outcome, status)


@pytest.mark.parametrize(
    "action", ["drop_before", faults.body(b'{"data":{"status":"Cancelled","replacing-order-id":9}}')]
)
@on_virtual_time
async def test_an_order_that_was_replaced_meanwhile_is_not_taken_for_cancelled(action: Any) -> None:
    """It reads `Cancelled`, but the one that took its place works."""
    async with floor() as here:
        target = await working(here)
        successor = await here.client.orders.replace(here.account, str(target.id), edit())
        await asyncio.sleep(30)
        here.sim.faults.add("DELETE", ONE_ORDER, action)
        change = await here.entry.cancel(here.account, str(target.id))
        assert change.outcome is ChangeOutcome.REFUSED
        assert change.order is not None
        assert (change.order.status, change.order.replacing_order_id) == ("Cancelled", successor.id)
        assert await status_of(here, successor.id) == "Live"


@pytest.mark.parametrize(("price", "outcome"), [("10", ChangeOutcome.UNKNOWN), ("200", ChangeOutcome.REFUSED)])
@on_virtual_time
async def test_an_order_that_was_not_touched_for_long_is_still_read_back(price: str, outcome: ChangeOutcome) -> None:
    async with floor() as here:
        ticket = attrs.evolve(order("old"), time_in_force=TimeInForce.GTC, price=Decimal(price))
        placement = await here.entry.place(here.account, ticket)
        assert placement.order is not None
        await asyncio.sleep(60)
        for _ in range(8):
            here.sim.clock.advance(86_400)
        for _ in range(210):  # more than a page of newer ones
            await here.client.orders.submit(here.account, order())
        here.sim.faults.add("DELETE", ONE_ORDER, "drop_before")
        change = await here.entry.cancel(here.account, str(placement.order.id))
        assert change.outcome is outcome
        assert change.order is not None
        assert change.order.id == placement.order.id


# --- replacing


async def replace(
    action: faults.Fault | str | None, *, method: str = "replace", hidden: int = 0, times: int | None = 1
) -> tuple[OrderChange, list[str]]:
    async with floor() as here:
        target = await working(here)
        if action is not None:
            here.sim.faults.add("PUT" if method == "replace" else "PATCH", ONE_ORDER, action, times=times)
        if hidden:
            here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=hidden)
        change = await getattr(here.entry, method)(here.account, str(target.id), edit())
        here.sim.faults.clear()
        (dry,), (sent, *more) = here.wire.bodies["orders.edit_dry_run"], here.wire.bodies[f"orders.{method}"]
        assert {dry} == {sent, *more}
        await asyncio.sleep(60)
        here.sim.settle()
        successors = [r.order_id for r in here.sim.ledger.orders() if r.replaces_order_id == target.id]
        return change, successors


@pytest.mark.parametrize("method", ["replace", "edit"])
def test_a_replaced_order_is_the_new_one(method: str) -> None:
    change, (successor,) = run_in(VirtualLoop(), replace(None, method=method))
    assert change.outcome is ChangeOutcome.APPLIED
    assert change.order is not None
    assert (change.order.id, change.order.price) == (successor, 11)
    assert change.preview is not None


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("action", DONE, ids=NAMES)
def test_a_replacement_without_an_answer_is_read_from_the_original(action: Any, hidden: int) -> None:
    change, (successor,) = run_in(VirtualLoop(), replace(action, hidden=hidden))
    assert change.outcome is ChangeOutcome.APPLIED
    assert change.order is not None
    assert change.order.id == successor


@pytest.mark.parametrize("action", UNTOUCHED, ids=str)
def test_a_replacement_that_never_arrived_is_unknown(action: Any) -> None:
    change, successors = run_in(VirtualLoop(), replace(action))
    assert (change.outcome, successors) == (ChangeOutcome.UNKNOWN, [])


def test_a_replacement_that_was_never_sent_says_so() -> None:
    change, successors = run_in(VirtualLoop(), replace("refuse", times=None))
    assert (change.outcome, successors) == (ChangeOutcome.NOT_SENT, [])


@on_virtual_time
async def test_a_replacement_by_somebody_else_is_not_taken_for_ours() -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.faults.add("PUT", ONE_ORDER, faults.delay(TIMEOUT + 5))
        ours = asyncio.create_task(here.entry.replace(here.account, str(target.id), edit("11")))
        await asyncio.sleep(1)
        theirs = await here.client.orders.replace(here.account, str(target.id), edit("9"))
        change = await ours
        assert change.outcome is ChangeOutcome.UNKNOWN
        assert change.order is not None
        assert (change.order.id, change.order.price) == (theirs.id, 9)


@on_virtual_time
async def test_an_order_that_was_edited_in_place_is_shown_by_its_own_id() -> None:
    """Also when it has itself replaced another one before."""
    async with floor() as here:
        target = await working(here)
        answer = faults.body(b'{"data":{"id":' + str(target.id).encode() + b',"replaces-order-id":98}}')
        here.sim.faults.add("PATCH", ONE_ORDER, attrs.evolve(answer, processed=False))
        change = await here.entry.edit(here.account, str(target.id), edit())
        assert change.outcome is ChangeOutcome.APPLIED


@on_virtual_time
async def test_an_answer_that_replaces_another_order_proves_nothing() -> None:
    async with floor() as here:
        target = await working(here)
        answer = faults.body(b'{"data":{"id":99,"replaces-order-id":98}}')
        here.sim.faults.add("PUT", ONE_ORDER, attrs.evolve(answer, processed=False))
        change = await here.entry.replace(here.account, str(target.id), edit())
        assert change.outcome is ChangeOutcome.UNKNOWN
        assert change.order is not None
        assert change.order.id == target.id


@on_virtual_time
async def test_a_replacement_that_fails_its_dry_run_is_never_sent() -> None:
    async with floor() as here:
        target = await working(here)
        await here.entry.cancel(here.account, str(target.id))
        await asyncio.sleep(30)
        change = await here.entry.replace(here.account, str(target.id), edit())
        assert change.outcome is ChangeOutcome.REFUSED
        assert change.error is not None
        assert here.sim.ledger.count("orders.replace") == 0


@on_virtual_time
async def test_a_replacement_that_is_refused_shows_the_original() -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.faults.add("PUT", ONE_ORDER, faults.status(422))
        change = await here.entry.replace(here.account, str(target.id), edit())
        assert change.outcome is ChangeOutcome.REFUSED
        assert change.order is not None
        assert (change.order.id, change.order.status) == (target.id, "Live")


@pytest.mark.parametrize(("allowed", "outcome"), [(False, ChangeOutcome.REFUSED), (True, ChangeOutcome.APPLIED)])
def test_warnings_stop_a_replacement_unless_they_are_allowed(allowed: bool, outcome: ChangeOutcome) -> None:
    @on_virtual_time
    async def run() -> None:
        async with floor() as here:
            target = await working(here)
            warned = b'{"data":{"warnings":[{"code":"w","message":"m"}]},"context":"/"}'
            here.sim.faults.add("POST", r"/orders/\d+/dry-run$", faults.body(warned))
            change = await here.entry.replace(here.account, str(target.id), edit(), allow_warnings=allowed)
            assert (change.outcome, [w.code for w in change.warnings]) == (outcome, ["w"])
            assert isinstance(change.error, PreflightError) is (not allowed)

    run()


@on_virtual_time
async def test_an_edit_that_breaks_the_rules_is_told_before_anything_is_sent() -> None:
    async with floor() as here:
        with pytest.raises(InvalidRequestError, match="price"):
            await here.entry.replace(here.account, "1", attrs.evolve(edit(), price=None))
        with pytest.raises(InvalidRequestError):
            await here.entry.cancel(here.account, "..")
        assert not here.sim.ledger.requests


# --- editing a pair


async def edit_pairs(action: faults.Fault | str | None, *, times: int | None = 1) -> tuple[OrderChange, Any]:
    async with floor() as here:
        account, pair = here.sim.account_numbers[1], here.sim.complex_order_ids["PAIRS"]
        if action is not None:
            here.sim.faults.add("PATCH", PAIRS, action, times=times)
        change = await here.entry.edit_pairs(
            account, pair, ratio_price_comparator=Comparator.LTE, ratio_price_threshold=Decimal("1.75")
        )
        here.sim.faults.clear()
        await asyncio.sleep(2 * TIMEOUT)
        pairs = await here.client.complex_orders.get(account, pair)
        return change, pairs.ratio_price_threshold


@pytest.mark.parametrize("action", [None, *DONE], ids=["no fault", *NAMES])
def test_an_edited_pair_is_read_back_when_no_answer_comes(action: Any) -> None:
    change, threshold = run_in(VirtualLoop(), edit_pairs(action))
    assert (change.outcome, threshold) == (ChangeOutcome.APPLIED, Decimal("1.75"))


@pytest.mark.parametrize("action", UNTOUCHED, ids=str)
def test_an_edit_of_a_pair_that_never_arrived_is_unknown(action: Any) -> None:
    change, threshold = run_in(VirtualLoop(), edit_pairs(action))
    assert change.outcome is ChangeOutcome.UNKNOWN
    assert change.complex_order is not None
    assert threshold != Decimal("1.75")


@on_virtual_time
async def test_a_pair_that_cannot_be_read_back_is_unknown() -> None:
    async with floor() as here:
        account, pair = here.sim.account_numbers[1], here.sim.complex_order_ids["PAIRS"]
        here.sim.faults.add("PATCH", PAIRS, "drop_after")
        here.sim.faults.add("GET", PAIRS, faults.status(503), times=None)
        change = await here.entry.edit_pairs(account, pair, ratio_price_threshold=Decimal(2))
        assert (change.outcome, change.complex_order) == (ChangeOutcome.UNKNOWN, None)


@pytest.mark.parametrize("errors", [b'[{"code":"no","message":"No"}]', b'"no"', b'{"code":"no"}'])
@pytest.mark.parametrize(("done", "outcome"), [(False, ChangeOutcome.REFUSED), (True, ChangeOutcome.UNKNOWN)])
def test_an_edit_of_a_pair_that_is_answered_with_errors_is_not_applied(
    errors: bytes, done: bool, outcome: ChangeOutcome
) -> None:
    answer = faults.body(b'{"data":{"order":{"id":"1"},"errors":' + errors + b"}}")
    change, _ = run_in(VirtualLoop(), edit_pairs(attrs.evolve(answer, processed=done)))
    assert change.outcome is outcome
    assert isinstance(change.error, PreflightError)
    assert change.preview is not None


PORTAL = faults.html(200)


def test_a_change_that_a_captive_portal_answered_is_not_applied() -> None:
    changes = [run_in(VirtualLoop(), work)[0] for work in (cancel(PORTAL), replace(PORTAL), edit_pairs(PORTAL))]
    assert [change.outcome for change in changes] == [ChangeOutcome.UNKNOWN] * 3
    assert all(change.error is not None for change in changes)


def test_an_edit_of_a_pair_that_was_never_sent_says_so() -> None:
    change, threshold = run_in(VirtualLoop(), edit_pairs("refuse", times=None))
    assert change.outcome is ChangeOutcome.NOT_SENT
    assert threshold != Decimal("1.75")


@on_virtual_time
async def test_what_is_no_pair_is_refused_and_shown() -> None:
    async with floor() as here:
        account, other = here.sim.account_numbers[1], here.sim.complex_order_ids["OCO"]
        change = await here.entry.edit_pairs(account, other, ratio_price_threshold=Decimal(2))
        assert change.outcome is ChangeOutcome.REFUSED
        assert change.complex_order is not None
        assert change.complex_order.type == "OCO"


# --- orders on their way, and orders that are filled first


def fills_of(change: OrderChange) -> list[int]:
    return [int(fill.quantity or 0) for fill in change.fills]


async def soon(here: Floor, *steps: Any, every: float = 1.5) -> None:
    for step in steps:
        await asyncio.sleep(every)
        step()
        here.sim.settle()


@for_each("held", ["Routed", "In Flight"])
@on_virtual_time
async def test_change_of_an_order_on_its_way_waits_until_it_is_live(held: str) -> None:
    async with floor() as here:
        here.sim.hold_order("*", held)
        first, second = [(await here.entry.place(here.account, order(name))).order_id for name in ("x", "y")]
        releasing = asyncio.create_task(soon(here, lambda: here.sim.release_order("*"), every=10))
        cancelled, replaced = await asyncio.gather(
            here.entry.cancel(here.account, first, wait=True), here.entry.replace(here.account, second, edit())
        )
        await releasing
        assert (cancelled.outcome, await status_of(here, first)) == (ChangeOutcome.APPLIED, "Cancelled")
        assert (replaced.outcome, await status_of(here, replaced.order_id)) == (ChangeOutcome.APPLIED, "Live")
        assert len([each for each in here.sim.ledger.orders() if each.replaces_order_id == second]) == 1


@on_virtual_time
async def test_order_that_stays_on_its_way_is_refused_and_shown_working() -> None:
    async with floor() as here:
        here.sim.hold_order("*", "Routed")
        placed = await here.entry.place(here.account, order())
        change = await here.entry.cancel(here.account, placed.order_id, reconcile=ReconcilePolicy(give_up=20.0))
        assert change.outcome is ChangeOutcome.REFUSED
        assert isinstance(change.error, OrderNotCancellableError)
        assert change.order is not None
        assert change.order.status == "Routed"


@for_each("quantity, outcome, fills", [(None, ChangeOutcome.FILLED, [10]), (4, ChangeOutcome.APPLIED, [4])])
@on_virtual_time
async def test_cancellation_that_waits_has_the_end_and_the_fills(
    quantity: int | None, outcome: ChangeOutcome, fills: list[int]
) -> None:
    async with floor() as here:
        target = await working(here)
        number = str(target.id)
        here.sim.hold_order(number, "Cancel Requested")
        filling = asyncio.create_task(
            soon(here, lambda: here.sim.fill_order(number, quantity), lambda: here.sim.release_order(number))
        )
        change = await here.entry.cancel(here.account, number, wait=True)
        await filling
        assert (change.outcome, fills_of(change)) == (outcome, fills)


@on_virtual_time
async def test_cancellation_of_a_bracket_whose_entry_is_filled_first_says_so() -> None:
    async with floor() as here:
        placed = await here.entry.place_complex(here.account, bracket_order("mine"))
        await asyncio.sleep(30)
        assert placed.complex_order is not None
        assert placed.complex_order.trigger_order is not None
        number = str(placed.complex_order.trigger_order.id)
        here.sim.hold_order(number, "Cancel Requested")
        filling = asyncio.create_task(soon(here, lambda: here.sim.fill_order(number)))
        change = await here.entry.cancel_complex(here.account, placed.order_id, wait=True)
        await filling
        assert (change.outcome, fills_of(change)) == (ChangeOutcome.FILLED, [10])


@for_each("quantity", [None, 4])
@for_each("action", [None, "drop_after"])
@on_virtual_time
async def test_replacement_ended_by_a_fill_of_its_original_says_so(quantity: int | None, action: str | None) -> None:
    async with floor() as here:
        target = await working(here)
        number = str(target.id)
        here.sim.hold_order(number, "Replace Requested")
        if action is not None:
            here.sim.faults.add("PUT", ONE_ORDER, action)
        filling = asyncio.create_task(soon(here, lambda: here.sim.fill_order(number, quantity)))
        change = await here.entry.replace(here.account, number, edit())
        await filling
        assert (change.outcome, change.order_id, fills_of(change)) == (ChangeOutcome.FILLED, number, [quantity or 10])
        successors = [each for each in here.sim.ledger.orders() if each.replaces_order_id == number]
        assert [each.status for each in successors] != ["Live"]


@for_each("quantity", [None, 4])
@on_virtual_time
async def test_place_and_recover_after_an_ended_replacement_return_the_original(quantity: int | None) -> None:
    async with floor() as here:
        target = await working(here)
        number = str(target.id)
        here.sim.hold_order(number, "Replace Requested")
        filling = asyncio.create_task(soon(here, lambda: here.sim.fill_order(number, quantity)))
        await here.entry.replace(here.account, number, edit())
        await filling
        again = await here.another_entry().place(here.account, order("original"))
        assert again.order is not None
        assert (again.order_id, again.order.status) == (number, "Live" if quantity else "Filled")


@on_virtual_time
async def test_ended_replacement_whose_original_is_not_listed_is_no_absence() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        placing = asyncio.ensure_future(here.entry.place(here.account, order("original"), resubmit=1))
        await asyncio.sleep(0.45)
        (record,) = here.orders("original")

        def ended(document: Any) -> Any:
            """The list shows only an order that was rejected before it could replace the one asked for."""
            items = document["data"]["items"]
            for each in items:
                each |= {"id": "9", "status": "Rejected", "replaces-order-id": record.order_id, "live-at": None}
            return document

        here.sim.faults.add("GET", LISTS, altered("only its replacement", ended), times=None)
        with pytest.raises(OrderOutcomeUnknownError) as caught:
            await placing
        assert caught.value.code == "identifier_conflict"
        assert len(here.orders("original")) == 1


@for_each("filled", [None, 4])
@on_virtual_time
async def test_replacement_that_is_rejected_when_the_original_is_gone_is_applied(filled: int | None) -> None:
    async with floor() as here:
        target = await working(here)
        number = str(target.id)
        if filled:
            here.sim.fill_order(number, filled)
            here.sim.settle()
            await asyncio.sleep(600)
        change = await here.entry.replace(here.account, number, edit("11.005"), allow_warnings=True)
        assert change.order is not None
        assert (change.outcome, change.order.status) == (ChangeOutcome.APPLIED, "Rejected")
        assert await status_of(here, number) == "Cancelled"


@on_virtual_time
async def test_unanswered_replacement_is_not_judged_by_that_of_someone_else() -> None:
    async with floor() as here:
        target = await working(here)
        number = str(target.id)
        here.sim.hold_order(number, "Replace Requested")
        await here.client.orders.replace(here.account, number, edit("12"))
        filling = asyncio.create_task(soon(here, lambda: here.sim.fill_order(number, 4)))
        here.sim.faults.add("PUT", ONE_ORDER, "drop_before")
        accepted = json.dumps({"data": {"order": {"status": "Received", "account-number": here.account}}}).encode()
        dry_run = faults.Fault(name="accepted before", answer=lambda _: Response(status=200, body=accepted))
        here.sim.faults.add("POST", r"/orders/\d+/dry-run$", dry_run)
        change = await here.entry.replace(here.account, number, edit())
        await filling
        assert change.outcome is ChangeOutcome.UNKNOWN


@on_virtual_time
async def test_replacement_that_reads_received_waits_for_the_end_of_its_original() -> None:
    async with floor(without=("replacements_wait_for_the_cancel",)) as here:
        target = await working(here)
        number = str(target.id)
        here.sim.hold_order(number, "Replace Requested")
        filling = asyncio.create_task(soon(here, lambda: here.sim.fill_order(number)))
        change = await here.entry.replace(here.account, number, edit())
        await filling
        assert (change.outcome, change.order_id) == (ChangeOutcome.FILLED, number)


@for_each("shown", [{"id": "5"}, {"id": "5", "external-identifier": "other"}])
@on_virtual_time
async def test_answer_that_names_neither_original_nor_identifier_is_not_believed(shown: dict[str, str]) -> None:
    async with floor() as here:
        target = await working(here)
        answer = {"order-type": "Limit", "time-in-force": "Day", "price": "11", "status": "Live"} | shown
        here.sim.faults.add("PUT", ONE_ORDER, faults.body(json.dumps({"data": answer}).encode()))
        change = await here.entry.replace(here.account, str(target.id), edit())
        (successor,) = [each for each in here.sim.ledger.orders() if each.replaces_order_id == target.id]
        assert (change.outcome, change.order_id) == (ChangeOutcome.APPLIED, successor.order_id)


@on_virtual_time
async def test_original_that_cannot_be_read_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.faults.add("GET", ONE_ORDER, "status(500)", times=None)
        change = await here.entry.replace(here.account, str(target.id), edit())
        assert change.outcome is ChangeOutcome.APPLIED
        assert "is sent without an external identifier" in caplog.text


@on_virtual_time
async def test_cancellation_of_an_order_that_is_being_cancelled_is_under_way() -> None:
    async with floor() as here:
        target = await working(here)
        number = str(target.id)
        here.sim.hold_order(number, "Cancel Requested")
        first, second = [await here.entry.cancel(here.account, number) for _ in range(2)]
        assert (first.outcome, second.outcome) == (ChangeOutcome.APPLIED, ChangeOutcome.APPLIED)
        assert len(here.wire.bodies["orders.cancel"]) == 2
        releasing = asyncio.create_task(soon(here, lambda: here.sim.release_order(number), every=10))
        last = await here.entry.cancel(here.account, number, wait=True)
        await releasing
        assert last.order is not None
        assert (last.outcome, last.order.status) == (ChangeOutcome.APPLIED, "Cancelled")


@on_virtual_time
async def test_cancellation_of_a_bracket_that_could_not_be_read_first_blames_no_earlier_fill() -> None:
    async with floor() as here:
        placed = await here.entry.place_complex(here.account, bracket_order("mine"))
        await asyncio.sleep(30)
        assert placed.complex_order is not None
        assert placed.complex_order.trigger_order is not None
        here.sim.fill_order(str(placed.complex_order.trigger_order.id))
        here.sim.settle()
        await asyncio.sleep(3600)
        here.sim.faults.add("GET", r"/complex-orders/\d+$", "status(500)", times=4)
        change = await here.entry.cancel_complex(here.account, placed.order_id, wait=True)
        assert change.outcome is ChangeOutcome.APPLIED


@on_virtual_time
async def test_waiting_for_a_cancellation_ends_at_its_bound() -> None:
    async with floor() as here:
        target = await working(here)
        here.sim.hold_order(str(target.id), "Cancel Requested")
        began = asyncio.get_running_loop().time()
        await here.entry.cancel(here.account, str(target.id), wait=True, reconcile=ReconcilePolicy(give_up=2.0))
        assert asyncio.get_running_loop().time() - began < 5


@pytest.mark.parametrize("given", [None, "another"])
@pytest.mark.parametrize("method", ["replace", "edit"])
@on_virtual_time
async def test_replacement_carries_the_identifier_and_its_dry_run_no_rules(method: str, given: str | None) -> None:
    async with floor() as here:
        target = await working(here)
        rules = NewOrderRules(cancel_at=datetime(2026, 6, 10, 19, tzinfo=UTC))
        terms = attrs.evolve(edit(), external_identifier=given, rules=rules)
        change = await getattr(here.entry, method)(here.account, str(target.id), terms)
        assert change.order is not None
        assert change.order.external_identifier == (given or "original")
        (dry_run,), (sent,) = here.wire.bodies["orders.edit_dry_run"], here.wire.bodies[f"orders.{method}"]
        expected = {"external-identifier": given or "original", "price": "11"}
        checked, done = json.loads(dry_run or b""), json.loads(sent or b"")
        assert checked | expected == checked
        assert done == checked | {"rules": {"cancel-at": "2026-06-10T19:00:00Z"}}
        assert here.wire.bodies["orders.get"].count(None) == (given is None)


# --- cancelled callers


@pytest.mark.parametrize("call", ["cancel", "replace", "edit"])
@pytest.mark.parametrize(("request_of", "fate"), [("dry-run", "was not sent"), ("change", "may have been applied")])
@on_virtual_time
async def test_change_that_is_cancelled_names_the_order(call: str, request_of: str, fate: str) -> None:
    if (call, request_of) == ("cancel", "dry-run"):
        return  # has none
    async with floor() as here:
        placed = await here.entry.place(here.account, order("mine"))
        await asyncio.sleep(2)  # until it is live: nothing changes it on its way
        pattern = r"/orders/\d+/dry-run$" if request_of == "dry-run" else r"/orders/\d+$"
        here.sim.faults.add({"cancel": "DELETE", "replace": "PUT", "edit": "PATCH"}[call], pattern, "hang")
        here.sim.faults.add("POST", pattern, "hang")
        terms = OrderEdit(
            order_type=OrderType.LIMIT,
            time_in_force=TimeInForce.DAY,
            price=Decimal(11),
            price_effect=PriceEffect.DEBIT,
        )
        edit = () if call == "cancel" else (terms,)
        changing = asyncio.create_task(getattr(here.entry, call)(here.account, placed.order_id, *edit))
        await asyncio.sleep(2)
        changing.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await changing
        assert (caught.value.account_number, caught.value.order_id) == (here.account, placed.order_id)  # type: ignore[attr-defined]
        assert f"the change of order {placed.order_id} of account {here.account} {fate}" in caught.value.__notes__[0]
