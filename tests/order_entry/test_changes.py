"""Cancelling, replacing and editing: when no answer comes, the order itself shows the outcome."""

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import models
from brokerage_async.errors import ConfigurationError
from brokerage_async.journal import EntryState
from brokerage_async.order_entry import ChangeOutcome, OrderChange, OrderEntry
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.loops import VirtualLoop, run_in
from tests.partial_listings import altered
from tests.tables import for_each
from tests.trading import (
    TIMEOUT,
    UNLISTED,
    Floor,
    HookedJournal,
    bracket_order,
    edit,
    floor,
    on_floor,
    order,
    place_unknown,
)

pytestmark = pytest.mark.virtual_time

SUBMIT, ONE_ORDER = r"/orders$", r"/orders/\d+$"

UNTOUCHED = ["drop_before", "hang", "status(500)", "status(503)", "html(502)"]
DONE: list[Any] = ["drop_after", "hang_after", "after_status(500)", "after_html(502)", "truncate", "garbage"]
DONE += [faults.body(each) for each in (b"", b'{"maintenance": true}')]
DONE += [faults.delay(TIMEOUT + 5), faults.delay_after(TIMEOUT + 5)]


async def working(here: Floor) -> str:
    """Place an order that works at the exchange. Return its id."""
    number = (await here.entry.place(here.account, order("original"))).order_id
    await asyncio.sleep(30)
    return number


async def fill(here: Floor, number: str, quantity: int | None = None, *, after: float = 1.5) -> None:
    await asyncio.sleep(after)
    here.sim.fill_order(number, quantity)
    here.sim.settle()


async def status_of(here: Floor, order_id: str | None) -> str:
    await asyncio.sleep(30)
    here.sim.settle()
    return next(record.status for record in here.sim.ledger.orders() if record.order_id == order_id)


REQUESTS = {
    "cancel": ("DELETE", ONE_ORDER),
    "replace": ("PUT", ONE_ORDER),
    "edit": ("PATCH", ONE_ORDER),
    "edit_pairs": ("PATCH", r"/complex-orders/\d+$"),
}
"""Method and path of the request of each change."""

RATIO = Decimal("1.75")


async def changed(kind: str, action: Any, *, hidden: int = 0, times: int | None = 1) -> tuple[OrderChange, bool]:
    """Make a change whose request meets ``action``. Return it, and whether the books have it."""
    async with floor() as here:
        account, number = here.sim.account_numbers[1], here.sim.complex_order_ids["PAIRS"]
        if kind != "edit_pairs":
            account, number = here.account, await working(here)
        if action is not None:
            here.sim.faults.add(*REQUESTS[kind], action, times=times)
        if hidden:
            here.on_lists(UNLISTED, times=hidden)
        terms: dict[str, Any] = {"edit": edit()}
        if kind == "edit_pairs":
            terms = {"ratio_price_comparator": models.Comparator.LTE, "ratio_price_threshold": RATIO}
        make: Any = getattr(here.entry, kind)
        change: OrderChange = await make(account, number, **({} if kind == "cancel" else terms))
        here.sim.faults.clear()
        return change, await is_done(here, kind, account, number, change)


async def is_done(here: Floor, kind: str, account: str, number: str, change: OrderChange) -> bool:
    """Return whether the books have a change, once its request has arrived."""
    status = await status_of(here, number) if kind != "edit_pairs" else ""
    await asyncio.sleep(60)
    if kind == "cancel":
        return status == "Cancelled"
    if kind == "edit_pairs":
        return (await here.client.complex_orders.get(account, number)).ratio_price_threshold == RATIO
    (dry,), (sent, *more) = here.wire.bodies["orders.edit_dry_run"], here.wire.bodies[f"orders.{kind}"]
    assert {dry} == {sent, *more}
    successors = [each.order_id for each in here.sim.ledger.orders() if each.replaces_order_id == number]
    assert change.outcome is not ChangeOutcome.APPLIED or [change.order.id] == successors
    return bool(successors)


OUTCOMES: list[tuple[Any, ChangeOutcome]] = [
    *((action, ChangeOutcome.APPLIED) for action in (None, *DONE)),
    *((action, ChangeOutcome.UNKNOWN) for action in (*UNTOUCHED, faults.html(200))),  # the last is a captive portal's
    ("refuse", ChangeOutcome.NOT_SENT),
]


@for_each("kind", REQUESTS)
@for_each("action, outcome", OUTCOMES)
def test_change_has_the_outcome_that_the_order_shows(kind: str, action: Any, outcome: ChangeOutcome) -> None:
    is_applied = outcome is ChangeOutcome.APPLIED
    for hidden in (0, 5) if is_applied and kind in ("cancel", "replace") else (0,):
        times = None if outcome is ChangeOutcome.NOT_SENT else 1
        change, done = run_in(VirtualLoop(), changed(kind, action, hidden=hidden, times=times))
        assert (change.outcome, done) == (outcome, is_applied)
        assert is_applied or change.error is not None
        if outcome is ChangeOutcome.UNKNOWN:
            assert (change.complex_order if kind == "edit_pairs" else change.order) is not None
        if kind == "cancel" and change.order is not None:
            assert change.order.status in (("Cancel Requested", "Cancelled") if is_applied else ("Live",))
        if action is None and kind in ("replace", "edit"):
            assert (change.order.price, change.preview is not None) == (11, True)


@for_each("price, outcome", [("10", ChangeOutcome.UNKNOWN), ("200", ChangeOutcome.REFUSED)])
@on_floor()
async def test_order_not_touched_for_long_is_still_read_back(here: Floor, price: str, outcome: ChangeOutcome) -> None:
    ticket = attrs.evolve(order("old"), time_in_force=models.TimeInForce.GTC, price=Decimal(price))
    number = (await here.entry.place(here.account, ticket)).order_id
    await asyncio.sleep(60)
    for _ in range(8):
        here.sim.clock.advance(86_400)
    for _ in range(210):  # more than a page of newer ones
        await here.client.orders.submit(here.account, order())
    here.sim.faults.add("DELETE", ONE_ORDER, "drop_before")
    change = await here.entry.cancel(here.account, number)
    assert (change.outcome, change.order.id) == (outcome, number)


async def held(here: Floor) -> str:
    """Return the id of an order that the exchange holds back from its replacement."""
    number = await working(here)
    here.sim.hold_order(number, "Replace Requested")
    return number


@for_each("quantity", [None, 4])
@on_floor()
async def test_place_after_an_ended_replacement_returns_the_original(here: Floor, quantity: int | None) -> None:
    number = await held(here)
    await asyncio.gather(fill(here, number, quantity), here.entry.replace(here.account, number, edit()))
    again = await here.another_entry().place(here.account, order("original"))
    assert (again.order_id, again.order.status) == (number, "Live" if quantity else "Filled")


async def test_ended_replacement_whose_original_is_not_listed_is_no_absence(here: Floor) -> None:
    placing = asyncio.ensure_future(place_unknown(here, "original", resubmit=1, fault="drop_after"))
    await asyncio.sleep(0.45)
    (record,) = here.orders("original")

    def ended(document: Any) -> Any:
        """Show only an order that was rejected before it could replace the requested one."""
        items = document["data"]["items"]
        for each in items:
            each |= {"id": "9", "status": "Rejected", "replaces-order-id": record.order_id, "live-at": None}
        return document

    here.on_lists(altered("only its replacement", ended))
    assert (await placing).code == "identifier_conflict"
    assert len(here.orders("original")) == 1


async def test_unanswered_replacement_is_not_judged_by_that_of_someone_else(here: Floor) -> None:
    number = await held(here)
    await here.client.orders.replace(here.account, number, edit("12"))
    here.sim.faults.add("PUT", ONE_ORDER, "drop_before")
    accepted = json.dumps({"data": {"order": {"status": "Received", "account-number": here.account}}}).encode()
    dry_run = faults.Fault(name="accepted before", answer=lambda _: Response(status=200, body=accepted))
    here.sim.faults.add("POST", r"/orders/\d+/dry-run$", dry_run)
    _, change = await asyncio.gather(fill(here, number, 4), here.entry.replace(here.account, number, edit()))
    assert change.outcome is ChangeOutcome.UNKNOWN


@on_floor(without=("replacements_wait_for_the_cancel",))
async def test_replacement_that_reads_received_waits_for_the_end_of_its_original(here: Floor) -> None:
    number = await held(here)
    _, change = await asyncio.gather(fill(here, number), here.entry.replace(here.account, number, edit()))
    assert (change.outcome, change.order_id) == (ChangeOutcome.FILLED, number)


async def test_original_that_cannot_be_read_is_said_in_the_log(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    number = await working(here)
    here.sim.faults.add("GET", ONE_ORDER, "status(500)", times=None)
    assert (await here.entry.replace(here.account, number, edit())).outcome is ChangeOutcome.APPLIED
    assert "is sent without an external identifier" in caplog.text


async def test_cancellation_of_a_bracket_that_could_not_be_read_first_blames_no_earlier_fill(here: Floor) -> None:
    placed = await here.entry.place_complex(here.account, bracket_order("mine"))
    await fill(here, str(placed.complex_order.trigger_order.id), after=30)
    await asyncio.sleep(3600)
    here.sim.faults.add("GET", r"/complex-orders/\d+$", "status(500)", times=4)
    change = await here.entry.cancel_complex(here.account, placed.order_id, wait=True)
    assert change.outcome is ChangeOutcome.APPLIED


@for_each("given", [None, "another"])
@for_each("method", ["replace", "edit"])
@on_floor()
async def test_replacement_carries_identifier_and_dry_run_no_rules(here: Floor, method: str, given: str | None) -> None:
    rules = models.NewOrderRules(cancel_at=datetime(2026, 6, 10, 19, tzinfo=UTC))
    terms = attrs.evolve(edit(), external_identifier=given, rules=rules)
    change = await getattr(here.entry, method)(here.account, await working(here), terms)
    assert change.order.external_identifier == (given or "original")
    (dry_run,), (sent,) = here.wire.bodies["orders.edit_dry_run"], here.wire.bodies[f"orders.{method}"]
    expected = {"external-identifier": given or "original", "price": "11"}
    checked, done = json.loads(dry_run or b""), json.loads(sent or b"")
    assert checked | expected == checked
    assert done == checked | {"rules": {"cancel-at": "2026-06-10T19:00:00Z"}}
    assert here.wire.bodies["orders.get"].count(None) == 1  # for its identifier, or its label


async def test_replacement_whose_client_is_closed_before_it_is_sent_leaves_no_open_entry(here: Floor) -> None:
    number = await working(here)

    async def close_the_client(open_: Any, *names: Any, **values: Any) -> Any:
        await here.client.aclose()
        return await open_(*names, **values)

    journal = HookedJournal(open=close_the_client)
    with pytest.raises(ConfigurationError):
        await OrderEntry(here.client, journal).replace(here.account, number, edit())
    assert [entry.state for entry in await journal.entries()] == [EntryState.NOT_SENT]
