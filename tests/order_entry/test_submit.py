"""Submission of an order: the answer, the search for the order, and when it is sent again."""

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal

import attrs
import pytest

from brokerage_async._generated.models import OrderEdit, OrderType, PriceEffect, TimeInForce
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import EntryKey, EntryState, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.trading import LISTS, NOTHING_LISTED, POLICY, SUBMIT, FailingJournal, Floor, order, place_unknown

pytestmark = pytest.mark.virtual_time


async def test_an_error_beside_the_data_of_a_submit_is_looked_into(here: Floor) -> None:
    answer = b'{"data":{"order":{"id":"1"}},"error":{"code":"preflight_check_failure"}}'
    here.sim.faults.add("POST", SUBMIT, attrs.evolve(faults.body(answer), processed=False))
    assert (await place_unknown(here)).code == "absent"
    here.sim.faults.add("POST", SUBMIT, faults.body(answer))
    placement = await here.entry.place(here.account, order("other"))
    assert [placement.order.id] == [record.order_id for record in here.orders("other")]


@pytest.mark.parametrize("code", ["preflight_check_failure", "internal_server_error", "odd"])
async def test_an_order_that_was_answered_with_an_error_in_a_success_is_not_sent_again(here: Floor, code: str) -> None:
    answer = b'{"data":{},"error":{"code":"' + code.encode() + b'"}}'
    here.sim.faults.add("POST", SUBMIT, attrs.evolve(faults.body(answer), processed=False), times=None)
    assert (await place_unknown(here, resubmit=1)).code == "absent"
    assert here.sim.ledger.count("orders.submit") == 1


@pytest.mark.parametrize(
    "shown",
    [
        b'{"id":1,"external-identifier":"another"}',
        b'{"id":1,"account-number":"another"}',
        b'{"id":1,"order-type":"Market"}',
        b'{"id":1,"legs":[{"symbol":"MSFT","action":"Buy to Open","quantity":10}]}',
    ],
)
async def test_an_answer_that_shows_another_order_is_looked_into(here: Floor, shown: bytes) -> None:
    answer = faults.body(b'{"data":{"order":' + shown + b"}}")
    here.sim.faults.add("POST", SUBMIT, attrs.evolve(answer, processed=False))
    assert (await place_unknown(here)).code == "absent"
    here.sim.faults.add("POST", SUBMIT, answer)
    placement = await here.entry.place(here.account, order("other"))
    assert [placement.order.id] == [record.order_id for record in here.orders("other")]


async def test_an_order_counts_as_absent_after_the_settling_time_only(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    began = asyncio.get_running_loop().time()
    await place_unknown(here, visibility_delay=100)
    assert asyncio.get_running_loop().time() - began > 100
    looks = ReconcilePolicy(visibility_delay=1, first=0.2, confirmations=3)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    began = asyncio.get_running_loop().time()
    with pytest.raises(OrderOutcomeUnknownError, match=r"not listed in [5-7] polls"):
        await here.entry.place(here.account, order("other"), reconcile=looks)
    assert 1 < asyncio.get_running_loop().time() - began < 10


async def test_resubmitting_is_asked_for_bounded_and_journaled(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before", times=2)
    placement = await here.entry.place(here.account, order("mine"), resubmit=2)
    assert (placement.outcome, placement.attempts) == (Outcome.PLACED, 3)
    assert len(set(here.wire.bodies["orders.submit"])) == 1
    assert (await here.journaled())[0].attempts == 3
    here.sim.faults.add("POST", SUBMIT, "drop_before", times=None)
    with pytest.raises(OrderOutcomeUnknownError) as caught:
        await here.entry.place(here.account, order("other"), resubmit=True)
    assert caught.value.attempts == 2


async def test_a_refusal_of_the_repetition_does_not_settle_the_first_attempt(here: Floor) -> None:
    """The first copy arrives while the second one is refused: the lists decide."""
    here.sim.faults.add("POST", SUBMIT, faults.delay(POLICY.visibility_delay + 15))
    here.sim.faults.add("POST", SUBMIT, "rate_limited", times=None)
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    assert placement.outcome is Outcome.PLACED
    assert len(here.orders("mine")) == 1


async def test_copy_listed_after_a_resubmission_is_reported(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    """The copy is listed after the visibility delay, although a resubmit relies on that delay."""
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=16)
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    first, second = (record.order_id for record in here.orders("mine"))
    assert placement.order.id == second
    assert placement.note == f"2 live orders carry this identifier: {first}, {second}"
    assert placement.note in caplog.text


async def test_copy_that_is_listed_before_the_order_that_was_sent_again_is_reported(here: Floor) -> None:
    """The lists lag behind: they show the first order at last, and the second one, which was answered, not yet."""

    def older_alone(response: Response | None) -> Response:
        document = json.loads(response.body)
        items = sorted(document["data"]["items"], key=lambda item: int(item["id"]))
        document["data"]["items"] = [each for each in items if each.get("external-identifier") == "mine"][:1]
        return attrs.evolve(response, body=json.dumps(document).encode())

    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=16)
    here.sim.faults.add("GET", LISTS, faults.Fault(name="older alone", answer=older_alone), times=None)
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    first, second = (record.order_id for record in here.orders("mine"))
    assert placement.order_id == second
    assert placement.note == f"2 live orders carry this identifier: {first}, {second}"


async def test_a_long_look_keeps_its_claim(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    placing = asyncio.create_task(here.entry.place(here.account, order("mine"), visibility_delay=300))
    for _ in range(20):
        await asyncio.sleep(10)
        assert await here.journal.claim(here.key("mine"), owner="another", lease=1) is None
    with pytest.raises(OrderOutcomeUnknownError):
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


@pytest.mark.parametrize("listing", [None, "status(503)"])
async def test_ours_is_found_beside_another_one_and_both_are_told(
    here: Floor, listing: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    other = await here.client.orders.submit(here.account, order("mine", quantity=11))
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    if listing is not None:
        here.sim.faults.add("GET", LISTS, listing, times=2)
    placement = await here.entry.place(here.account, order("mine"))
    assert placement.order.id != other.order.id
    assert "2 live orders carry this identifier" in placement.note
    assert str(other.order.id) in caplog.text
    assert str(placement.order.id) in caplog.text


async def test_ours_is_still_ours_when_it_was_replaced_meanwhile(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.status(403), times=2)
    await place_unknown(here)
    await asyncio.sleep(30)
    (original,) = here.orders("mine")
    edit = OrderEdit(
        order_type=OrderType.LIMIT,
        time_in_force=TimeInForce.GTC,
        price=Decimal(11),
        price_effect=PriceEffect.DEBIT,
    )
    await here.client.orders.replace(here.account, original.order_id, edit)
    await asyncio.sleep(30)
    (found,) = await here.another_entry().recover()
    assert found.outcome is Outcome.PLACED
    assert "live orders" not in found.note


async def test_the_replacement_of_another_order_is_another_order(here: Floor) -> None:
    other = await here.client.orders.submit(here.account, attrs.evolve(order("mine"), price=Decimal(9)))
    await asyncio.sleep(30)
    edit = OrderEdit(
        order_type=OrderType.LIMIT,
        time_in_force=TimeInForce.DAY,
        price=Decimal(10),
        price_effect=PriceEffect.DEBIT,
    )
    await here.client.orders.replace(here.account, str(other.order.id), edit)
    await asyncio.sleep(30)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    assert (await place_unknown(here)).code == "identifier_conflict"


async def test_outcome_that_cannot_be_journaled_is_reported(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    placement = await OrderEntry(here.client, FailingJournal("close")).place(here.account, order("mine"))
    assert placement.outcome is Outcome.PLACED
    assert "could not record an outcome" in caplog.text


class Foreign(MemoryJournal):
    """A third-party journal that fails with its own errors once the order is on its way."""

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        raise OSError("no route to the database")

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        raise OSError("no route to the database")

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        raise ValueError

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        raise ValueError


async def test_journal_that_fails_in_its_own_way_hides_no_outcome(
    here: Floor, caplog: pytest.LogCaptureFixture
) -> None:
    entry = OrderEntry(here.client, Foreign(), reconcile=POLICY)
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=10)
    assert (await entry.place(here.account, order("mine"))).outcome is Outcome.PLACED
    assert "could not renew 1 claim(s): no route to the database" in caplog.text
    assert "could not record an outcome: ValueError" in caplog.text
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    with pytest.raises(OrderOutcomeUnknownError):
        await entry.place(here.account, order("other"), resubmit=1)
    assert here.sim.ledger.count("orders.submit") == 2


async def test_nothing_is_sent_again_when_the_journal_cannot_be_told(here: Floor) -> None:
    entry = OrderEntry(here.client, FailingJournal("renew"))
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    with pytest.raises(OrderOutcomeUnknownError, match="the journal could not record another attempt"):
        await entry.place(here.account, order("mine"), resubmit=1)
    assert here.sim.ledger.count("orders.submit") == 1
