"""Submission of an order: the answer, the search for the order, and when it is sent again."""

import asyncio
import json
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import TimeInForce
from brokerage_async.journal import EntryState
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.tables import for_each
from tests.trading import (
    LISTS,
    NOTHING_LISTED,
    POLICY,
    SUBMIT,
    Floor,
    HookedJournal,
    edit,
    leave_open,
    on_floor,
    order,
    place_unknown,
)

pytestmark = pytest.mark.virtual_time


@for_each(
    "data",
    [
        b'{"order":{"id":"1"}},"error":{"code":"preflight_check_failure"}',
        b'{},"error":{"code":"internal_server_error"}',
        b'{},"error":{"code":"odd"}',
        b'{"order":{"id":1,"external-identifier":"another"}}',
        b'{"order":{"id":1,"account-number":"another"}}',
        b'{"order":{"id":1,"order-type":"Market"}}',
        b'{"order":{"id":1,"legs":[{"symbol":"MSFT","action":"Buy to Open","quantity":10}]}}',
    ],
)
@on_floor()
async def test_submit_answered_with_an_error_or_another_order_is_looked_into_and_not_sent_again(
    here: Floor, data: bytes
) -> None:
    answer = faults.body(b'{"data":' + data + b"}")
    here.sim.faults.add("POST", SUBMIT, attrs.evolve(answer, processed=False))
    assert (await place_unknown(here, resubmit=1)).code == "absent"
    assert here.sim.ledger.count("orders.submit") == 1
    here.sim.faults.add("POST", SUBMIT, answer)
    placement = await here.entry.place(here.account, order("other"))
    assert [placement.order.id] == [record.order_id for record in here.orders("other")]


async def test_resubmitting_is_asked_for_bounded_and_journaled(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before", times=2)
    placement = await here.entry.place(here.account, order("mine"), resubmit=2)
    assert (placement.outcome, placement.attempts) == (Outcome.PLACED, 3)
    assert len(set(here.wire.bodies["orders.submit"])) == 1
    assert (await here.journaled())[0].attempts == 3
    here.sim.faults.add("POST", SUBMIT, "drop_before", times=None)
    assert (await place_unknown(here, "other", resubmit=True)).attempts == 2


async def test_a_refusal_of_the_repetition_does_not_settle_the_first_attempt(here: Floor) -> None:
    """The first copy arrives while the second one is refused: the lists decide."""
    here.sim.faults.add("POST", SUBMIT, faults.delay(POLICY.visibility_delay + 15))
    here.sim.faults.add("POST", SUBMIT, "rate_limited", times=None)
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    assert placement.outcome is Outcome.PLACED
    assert len(here.orders("mine")) == 1


def older_alone(response: Response | None) -> Response:
    """Show the first of the orders named ``mine`` and no other."""
    document = json.loads(response.body)
    items = sorted(document["data"]["items"], key=lambda item: int(item["id"]))
    document["data"]["items"] = [each for each in items if each.get("external-identifier") == "mine"][:1]
    return attrs.evolve(response, body=json.dumps(document).encode())


@for_each("lags", [False, True])
@on_floor()
async def test_copy_that_is_listed_after_a_resubmission_is_reported(
    here: Floor, lags: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is listed after the visibility delay, although a resubmit relies on that delay.

    Lists that lag behind still lack the second order, which was answered.
    """
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=16)
    if lags:
        here.sim.faults.add("GET", LISTS, faults.Fault(name="older alone", answer=older_alone), times=None)
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    first, second = (record.order_id for record in here.orders("mine"))
    assert placement.order_id == second
    assert placement.note == f"2 live orders carry this identifier: {first}, {second}"
    assert placement.note in caplog.text


async def test_a_long_look_keeps_its_claim(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    placing = asyncio.create_task(place_unknown(here, visibility_delay=300))
    for _ in range(20):
        await asyncio.sleep(10)
        assert await here.journal.claim(here.key("mine"), owner="another", lease=1) is None
    await placing


async def test_another_order_under_our_identifier_is_not_taken_for_ours(here: Floor) -> None:
    other = await here.client.orders.submit(here.account, order("mine", quantity=11))
    assert other.order is not None
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    unknown = await place_unknown(here, resubmit=1)
    assert unknown.code == "identifier_conflict"
    assert f"order {other.order.id} carries this identifier but differs in its legs" in str(unknown)
    assert (await place_unknown(here, resubmit=1)).code == "identifier_conflict"  # never sent again
    assert here.sim.ledger.count("orders.submit") == 2
    (entry,) = await here.journaled()
    assert entry.state is EntryState.OPEN
    (open_still,) = await here.another_entry().recover()
    assert (open_still.outcome, open_still.order) == (Outcome.UNKNOWN, None)
    assert "it is another order" in open_still.note


@for_each("listing", ["delay(0)", "status(503)"])
@on_floor()
async def test_ours_is_found_beside_another_one_and_both_are_told(
    here: Floor, listing: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = await here.client.orders.submit(here.account, order("mine", quantity=11))
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, listing, times=2)
    placement = await here.entry.place(here.account, order("mine"))
    assert placement.order.id != other.order.id
    assert "2 live orders carry this identifier" in placement.note
    assert str(other.order.id) in caplog.text
    assert str(placement.order.id) in caplog.text


async def test_ours_is_still_ours_when_it_was_replaced_meanwhile(here: Floor) -> None:
    await leave_open(here)
    await asyncio.sleep(30)
    (original,) = here.orders("mine")
    edited = attrs.evolve(edit(), time_in_force=TimeInForce.GTC)
    await here.client.orders.replace(here.account, original.order_id, edited)
    await asyncio.sleep(30)
    (found,) = await here.another_entry().recover()
    assert found.outcome is Outcome.PLACED
    assert "live orders" not in found.note


async def test_the_replacement_of_another_order_is_another_order(here: Floor) -> None:
    other = await here.client.orders.submit(here.account, attrs.evolve(order("mine"), price=Decimal(9)))
    await asyncio.sleep(30)
    await here.client.orders.replace(here.account, str(other.order.id), edit("10"))
    await asyncio.sleep(30)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    assert (await place_unknown(here)).code == "identifier_conflict"


async def test_journal_that_fails_in_its_own_way_hides_no_outcome(
    here: Floor, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable(*_: Any, **__: Any) -> Any:
        raise OSError("no route to the database")

    async def broken(*_: Any, **__: Any) -> Any:
        raise ValueError

    journal = HookedJournal(renew=unreachable, renew_many=unreachable, close=broken, release=broken)
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=10)
    assert (await entry.place(here.account, order("mine"))).outcome is Outcome.PLACED
    assert "could not renew 1 claim(s): no route to the database" in caplog.text
    assert "could not record an outcome: ValueError" in caplog.text
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    unknown = await place_unknown(here, "other", entry=entry, resubmit=1)
    assert "the journal could not record another attempt" in str(unknown)
    assert here.sim.ledger.count("orders.submit") == 2
