"""What order entry does on a good day, what stops an order, and how it keeps its promises to callers."""

from __future__ import annotations

import asyncio
import json
import logging
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import tickets
from brokerage_async._generated.models import OrderEdit, OrderType, PriceEffect, TimeInForce
from brokerage_async.config import Limits
from brokerage_async.errors import (
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    OrderOutcomeUnknownError,
    PreflightError,
    RateLimitError,
    ResponseDecodeError,
    TokenError,
    UnprocessableError,
)
from brokerage_async.journal import EntryKey, EntryState, JournalEntry, JournalError, MemoryJournal
from brokerage_async.order_entry import LookPlan, OrderEntry, Outcome
from brokerage_async.simulator import faults
from tests.loops import on_virtual_time
from tests.trading import LISTS, NOTHING_LISTED, PLAN, SUBMIT, TIMEOUT, Floor, floor, order

DRY_RUN = r"/orders/dry-run$"
WARNED = b'{"data":{"warnings":[{"code":"tif_next_valid_sesssion","message":"The market is closed"}]},"context":"/"}'
FAILED = b'{"data":{"errors":[{"code":"margin_check_failed","message":"Not enough buying power"}]},"context":"/"}'


async def place_unknown(here: Floor, **options: Any) -> OrderOutcomeUnknownError:
    with pytest.raises(OrderOutcomeUnknownError) as caught:
        await here.entry.place(here.account, order("mine"), **options)
    return caught.value


# --- a good day


@on_virtual_time
async def test_an_order_is_dry_run_journaled_and_placed_once() -> None:
    async with floor() as here:
        placement = await here.entry.place(here.account, order())
        assert (placement.outcome, placement.attempts, placement.error) == (Outcome.PLACED, 1, None)
        assert placement.order is not None
        assert placement.preview is not None
        assert placement.preview.buying_power_effect is not None
        (record,) = here.orders(placement.external_identifier)
        assert record.order_id == placement.order.id
        (entry,) = await here.journaled()
        assert (entry.state, entry.order_id, entry.body) == (EntryState.PLACED, placement.order.id, placement.body)
        assert json.loads(entry.body)["external-identifier"] == placement.external_identifier
        names = [entry.operation for entry in here.sim.ledger.requests]
        assert names == ["oauth.token", "orders.dry_run", "orders.submit"]  # nothing more on the happy path


@on_virtual_time
async def test_dry_run_and_submit_are_the_same_bytes_and_those_of_the_journal() -> None:
    async with floor() as here:
        placement = await here.entry.place(here.account, order("mine"))
        (dry,), (submitted,) = here.wire.bodies["orders.dry_run"], here.wire.bodies["orders.submit"]
        assert dry == submitted == placement.body == (await here.journaled())[0].body


class Watchful(MemoryJournal):
    """Notes what had been sent when an order was written down."""

    def __init__(self) -> None:
        super().__init__()
        self.sent_before: list[int] = []
        self.sent: Any = None

    async def open(self, key: EntryKey, body: bytes, *, owner: str, lease: float) -> tuple[JournalEntry, bool]:
        self.sent_before.append(len(self.sent["orders.submit"]))
        return await super().open(key, body, owner=owner, lease=lease)


@on_virtual_time
async def test_the_journal_is_written_before_the_first_byte_leaves() -> None:
    async with floor() as here:
        journal = Watchful()
        journal.sent = here.wire.bodies
        await OrderEntry(here.client, journal).place(here.account, order())
        assert journal.sent_before == [0]


@on_virtual_time
async def test_every_order_gets_an_identifier_of_its_own_and_a_given_one_is_kept() -> None:
    async with floor() as here:
        first, second = [await here.entry.place(here.account, order()) for _ in range(2)]
        assert first.external_identifier != second.external_identifier
        third = await here.entry.place(here.account, order("my-own"))
        assert third.external_identifier == "my-own"
        assert third.order is not None
        assert third.order.external_identifier == "my-own"
        numbered = OrderEntry(here.client, here.journal, identifiers=lambda: "number-4")
        assert (await numbered.place(here.account, order())).external_identifier == "number-4"


@on_virtual_time
async def test_an_identifier_that_is_made_twice_is_not_taken_for_the_earlier_order() -> None:
    """Such as those of a counter that begins anew with each process."""
    async with floor() as here:
        entry = OrderEntry(here.client, here.journal, looks=PLAN, identifiers=lambda: "order-1")
        assert (await entry.place(here.account, order())).outcome is Outcome.PLACED
        with pytest.raises(InvalidRequestError, match="must never repeat") as caught:
            await entry.place(here.account, order())
        assert caught.value.code == "identifier_in_use"
        assert (await entry.place(here.account, order("order-1"))).outcome is Outcome.PLACED  # asked for by name
        assert len(here.orders("order-1")) == 1


@on_virtual_time
async def test_many_orders_at_once_are_all_placed_once() -> None:
    async with floor(limits=Limits.unlimited()) as here:
        placements = await asyncio.gather(*(here.entry.place(here.account, order()) for _ in range(50)))
        assert {placement.outcome for placement in placements} == {Outcome.PLACED}
        assert all(len(here.orders(placement.external_identifier)) == 1 for placement in placements)


@on_virtual_time
async def test_a_client_makes_its_order_entry_and_no_journal_is_said_aloud(caplog: pytest.LogCaptureFixture) -> None:
    async with floor() as here:
        with caplog.at_level(logging.WARNING, "brokerage_async.order_entry"):
            entry = here.client.order_entry()
        assert "in memory only" in caplog.text
        assert isinstance(entry.journal, MemoryJournal)
        caplog.clear()
        assert here.client.order_entry(here.journal).journal is here.journal
        assert not caplog.records


@on_virtual_time
async def test_without_a_journal_an_identifier_is_still_used_once_per_client(caplog: pytest.LogCaptureFixture) -> None:
    async with floor() as here, here.sim.client() as other:
        view = here.client.with_options(deadline=60)
        entries = [here.client.order_entry(), here.client.order_entry(), view.order_entry(), OrderEntry(view)]
        placements = [await entry.place(here.account, order("mine")) for entry in entries]
        assert {placement.outcome for placement in placements} == {Outcome.PLACED}
        assert len(here.orders("mine")) == 1
        assert caplog.text.count("in memory only") == 1
        assert other.order_entry().journal is not here.client.order_entry().journal


@on_virtual_time
async def test_a_client_hands_looks_and_lease_on() -> None:
    async with floor() as here:
        entry = here.client.order_entry(here.journal, looks=LookPlan(settle=1, first=0.5), lease=7)
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        began = asyncio.get_running_loop().time()
        placing = asyncio.create_task(entry.place(here.account, order("mine")))
        await asyncio.sleep(1)
        (held,) = await here.journaled()
        assert held.claimed_until is not None
        assert 0 < (held.claimed_until - await here.journal.now()).total_seconds() <= 7
        with pytest.raises(OrderOutcomeUnknownError):
            await placing
        assert asyncio.get_running_loop().time() - began < PLAN.settle
        with pytest.raises(ConfigurationError, match="lease"):
            here.client.order_entry(here.journal, lease=0)


# --- what stops an order


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"price": None}, "price"),
        ({"time_in_force": TimeInForce.GTD}, "gtc-date"),
        ({"order_type": OrderType.STOP}, "stop-trigger"),
    ],
)
def test_broken_rules_are_told_before_anything_is_sent(change: dict[str, Any], field: str) -> None:
    @on_virtual_time
    async def run() -> None:
        async with floor() as here:
            with pytest.raises(InvalidRequestError) as caught:
                await here.entry.place(here.account, attrs.evolve(order(), **change))
            assert field in str(caught.value)
            assert not here.sim.ledger.requests
            assert not await here.journaled()

    run()


@on_virtual_time
async def test_a_bad_account_number_is_told_before_anything_is_sent() -> None:
    async with floor() as here:
        with pytest.raises(ConfigurationError):
            await here.entry.place("..", order())
        assert not here.sim.ledger.requests


@on_virtual_time
async def test_an_order_that_fails_its_dry_run_is_refused_and_never_submitted() -> None:
    async with floor() as here:
        too_much = tickets.limit(tickets.buy_to_open("AAPL", 100_000_000), price="150")
        placement = await here.entry.place(here.account, too_much)
        assert placement.outcome is Outcome.REFUSED
        assert isinstance(placement.error, PreflightError)
        assert placement.error.errors
        assert placement.note
        assert here.sim.ledger.count("orders.submit") == 0
        assert not await here.journaled()


@on_virtual_time
async def test_errors_in_a_successful_dry_run_stop_the_order() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", DRY_RUN, faults.body(FAILED))
        placement = await here.entry.place(here.account, order(), allow_warnings=True)
        assert placement.outcome is Outcome.REFUSED
        assert placement.error is not None
        assert (placement.error.code, placement.error.errors[0].code) == ("preflight_errors", "margin_check_failed")
        assert here.sim.ledger.count("orders.submit") == 0


@pytest.mark.parametrize("code", ["preflight_check_failure", "margin_check_failed"])
@on_virtual_time
async def test_an_error_beside_the_data_of_a_successful_dry_run_stops_the_order(code: str) -> None:
    async with floor() as here:
        answer = {
            "data": {"order": {"order-type": "Limit"}, "warnings": []},
            "error": {"code": code, "message": "no", "errors": [{"code": "margin", "message": "Too little"}]},
        }
        here.sim.faults.add("POST", DRY_RUN, faults.body(json.dumps(answer).encode()))
        placement = await here.entry.place(here.account, order(), allow_warnings=True)
        assert placement.outcome is Outcome.REFUSED
        assert isinstance(placement.error, UnprocessableError)
        assert isinstance(placement.error, PreflightError) is (code == "preflight_check_failure")
        assert (placement.error.code, placement.error.errors[0].code) == (code, "margin")
        assert placement.preview is not None
        assert here.sim.ledger.count("orders.submit") == 0


@on_virtual_time
async def test_an_error_beside_the_data_of_a_submit_is_looked_into() -> None:
    async with floor() as here:
        answer = b'{"data":{"order":{"id":"1"}},"error":{"code":"preflight_check_failure"}}'
        here.sim.faults.add("POST", SUBMIT, attrs.evolve(faults.body(answer), processed=False))
        assert (await place_unknown(here)).code == "absent"
        here.sim.faults.add("POST", SUBMIT, faults.body(answer))
        placement = await here.entry.place(here.account, order("other"))
        assert placement.order is not None
        assert [placement.order.id] == [record.order_id for record in here.orders("other")]


@pytest.mark.parametrize("code", ["preflight_check_failure", "internal_server_error", "odd"])
@on_virtual_time
async def test_an_order_that_was_answered_with_an_error_in_a_success_is_not_sent_again(code: str) -> None:
    async with floor() as here:
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
@on_virtual_time
async def test_an_answer_that_shows_another_order_is_looked_into(shown: bytes) -> None:
    async with floor() as here:
        answer = faults.body(b'{"data":{"order":' + shown + b"}}")
        here.sim.faults.add("POST", SUBMIT, attrs.evolve(answer, processed=False))
        assert (await place_unknown(here)).code == "absent"
        here.sim.faults.add("POST", SUBMIT, answer)
        placement = await here.entry.place(here.account, order("other"))
        assert placement.order is not None
        assert [placement.order.id] == [record.order_id for record in here.orders("other")]


@pytest.mark.parametrize(
    ("allowed", "outcome"),
    [
        (False, Outcome.REFUSED),
        (["another_code"], Outcome.REFUSED),
        (True, Outcome.PLACED),
        (["tif_next_valid_sesssion"], Outcome.PLACED),
    ],
)
def test_warnings_stop_the_order_unless_they_are_allowed(allowed: bool | list[str], outcome: Outcome) -> None:
    @on_virtual_time
    async def run() -> None:
        async with floor() as here:
            here.sim.faults.add("POST", DRY_RUN, faults.body(WARNED))
            placement = await here.entry.place(here.account, order(), allow_warnings=allowed)
            assert placement.outcome is outcome
            assert [warning.code for warning in placement.warnings] == ["tif_next_valid_sesssion"]
            assert here.sim.ledger.count("orders.submit") == (outcome is Outcome.PLACED)

    run()


@pytest.mark.parametrize("action", ["drop_after", "hang", "status(503)", "rate_limited", "garbage", "unauthorized"])
def test_a_dry_run_without_an_answer_leaves_the_order_unsent(action: str) -> None:
    @on_virtual_time
    async def run() -> None:
        async with floor() as here:
            here.sim.faults.add("POST", DRY_RUN, action, times=None)
            placement = await here.entry.place(here.account, order())
            assert placement.outcome is Outcome.NOT_SENT
            assert placement.error is not None
            assert here.sim.ledger.count("orders.submit") == 0
            assert not await here.journaled()

    run()


@pytest.mark.parametrize("answer", [b'{"maintenance": true}', b'{"data": {}, "context": "/"}'])
def test_a_dry_run_whose_answer_shows_nothing_is_no_permission(answer: bytes) -> None:
    @on_virtual_time
    async def run() -> None:
        async with floor() as here:
            here.sim.faults.add("POST", DRY_RUN, faults.body(answer))
            placement = await here.entry.place(here.account, order())
            assert placement.outcome is Outcome.NOT_SENT
            assert isinstance(placement.error, ResponseDecodeError)
            assert here.sim.ledger.count("orders.submit") == 0

    run()


@on_virtual_time
async def test_a_dead_grant_leaves_the_order_unsent() -> None:
    async with floor() as here:
        here.sim.revoke()
        placement = await here.entry.place(here.account, order())
        assert placement.outcome is Outcome.NOT_SENT
        assert isinstance(placement.error, TokenError)


@on_virtual_time
async def test_a_read_only_client_sends_no_order_and_the_entry_says_so() -> None:
    async with floor(read_only=True) as here:
        with pytest.raises(ConfigurationError, match="read-only"):
            await here.entry.place(here.account, order())
        assert here.sim.ledger.count("orders.submit") == 0
        assert [entry.state for entry in await here.journaled()] in ([], [EntryState.NOT_SENT])


# --- a journal that fails


class Failing(MemoryJournal):
    """A journal whose named methods fail."""

    def __init__(self, *methods: str) -> None:
        super().__init__()
        for name in methods:
            setattr(self, name, self._fail)

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise JournalError("the journal cannot be used: database or disk is full")


@pytest.mark.parametrize("method", ["open", "find"])
def test_an_order_that_cannot_be_written_down_is_not_sent(method: str) -> None:
    @on_virtual_time
    async def run() -> None:
        async with floor() as here:
            with pytest.raises(JournalError, match="disk is full"):
                await OrderEntry(here.client, Failing(method)).place(here.account, order("mine"))
            assert here.sim.ledger.count("orders.submit") == 0

    run()


@on_virtual_time
async def test_an_outcome_that_cannot_be_written_down_is_still_told(caplog: pytest.LogCaptureFixture) -> None:
    async with floor() as here:
        placement = await OrderEntry(here.client, Failing("close")).place(here.account, order("mine"))
        assert placement.outcome is Outcome.PLACED
        assert "could not record an outcome" in caplog.text


class Foreign(MemoryJournal):
    """A journal of somebody else, which fails in its own way once the order is on its way."""

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        raise OSError("no route to the database")

    async def close(self, key: EntryKey, *, state: EntryState, order_id: str | None = None, note: str = "") -> bool:
        raise ValueError

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        raise ValueError


@on_virtual_time
async def test_a_journal_that_fails_in_its_own_way_hides_no_outcome(caplog: pytest.LogCaptureFixture) -> None:
    async with floor() as here:
        entry = OrderEntry(here.client, Foreign(), looks=PLAN)
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=10)
        assert (await entry.place(here.account, order("mine"))).outcome is Outcome.PLACED
        assert "could not renew a claim: no route to the database" in caplog.text
        assert "could not record an outcome: ValueError" in caplog.text
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        with pytest.raises(OrderOutcomeUnknownError):
            await entry.place(here.account, order("other"), resubmit=1)
        assert here.sim.ledger.count("orders.submit") == 2


@on_virtual_time
async def test_nothing_is_sent_again_when_the_journal_cannot_be_told() -> None:
    async with floor() as here:
        entry = OrderEntry(here.client, Failing("renew"))
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        with pytest.raises(OrderOutcomeUnknownError, match="another worker"):
            await entry.place(here.account, order("mine"), resubmit=1)
        assert here.sim.ledger.count("orders.submit") == 1


# --- an unknown outcome


@on_virtual_time
async def test_an_unknown_order_says_all_a_person_needs() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        unknown = await place_unknown(here)
        assert (unknown.account_number, unknown.external_identifier) == (here.account, "mine")
        assert (unknown.attempts, unknown.code, unknown.operation) == (1, "absent", "orders.submit")
        assert "not listed in 8 looks" in str(unknown)
        assert unknown.__cause__ is not None
        (entry,) = await here.journaled()
        assert (entry.state, entry.owner, entry.looked_at is None) == (EntryState.OPEN, None, False)
        assert "not listed" in entry.note


@on_virtual_time
async def test_an_order_counts_as_absent_after_the_settling_time_only() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        began = asyncio.get_running_loop().time()
        await place_unknown(here, settle=100)
        assert asyncio.get_running_loop().time() - began > 100
        looks = LookPlan(settle=1, first=0.2, confirmations=3)
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        began = asyncio.get_running_loop().time()
        with pytest.raises(OrderOutcomeUnknownError, match=r"not listed in [5-7] looks"):
            await here.entry.place(here.account, order("other"), looks=looks)
        assert 1 < asyncio.get_running_loop().time() - began < 10


@on_virtual_time
async def test_an_order_found_late_is_placed() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=9)
        placement = await here.entry.place(here.account, order("mine"))
        assert (placement.outcome, placement.attempts) == (Outcome.PLACED, 1)
        assert placement.order is not None


@on_virtual_time
async def test_resubmitting_is_asked_for_bounded_and_journaled() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_before", times=2)
        placement = await here.entry.place(here.account, order("mine"), resubmit=2)
        assert (placement.outcome, placement.attempts) == (Outcome.PLACED, 3)
        assert len(set(here.wire.bodies["orders.submit"])) == 1
        assert (await here.journaled())[0].attempts == 3
        here.sim.faults.add("POST", SUBMIT, "drop_before", times=None)
        with pytest.raises(OrderOutcomeUnknownError) as caught:
            await here.entry.place(here.account, order("other"), resubmit=True)
        assert caught.value.attempts == 2


@on_virtual_time
async def test_a_refusal_of_the_repetition_does_not_settle_the_first_attempt() -> None:
    """The first copy arrives while the second one is refused: the lists decide."""
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, faults.delay(PLAN.settle + 15))
        here.sim.faults.add("POST", SUBMIT, "rate_limited", times=None)
        placement = await here.entry.place(here.account, order("mine"), resubmit=1)
        assert placement.outcome is Outcome.PLACED
        assert len(here.orders("mine")) == 1


# --- an identifier is used once


@on_virtual_time
async def test_placing_a_placed_order_again_answers_without_sending() -> None:
    async with floor() as here:
        first = await here.entry.place(here.account, order("mine"))
        again = await here.another_entry().place(here.account, order("mine"))
        assert again.outcome is Outcome.PLACED
        assert again.order is not None
        assert first.order is not None
        assert again.order.id == first.order.id
        assert "journaled before" in again.note
        assert here.sim.ledger.count("orders.submit") == here.sim.ledger.count("orders.dry_run") == 1


@on_virtual_time
async def test_another_order_under_the_same_identifier_is_refused() -> None:
    async with floor() as here:
        await here.entry.place(here.account, order("mine"))
        with pytest.raises(InvalidRequestError, match="belongs to another order") as caught:
            await here.entry.place(here.account, order("mine", quantity=11))
        assert caught.value.code == "identifier_in_use"
        assert here.sim.ledger.count("orders.submit") == 1


@on_virtual_time
async def test_a_refused_order_stays_refused_under_its_identifier() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, faults.status(422))
        first = await here.entry.place(here.account, order("mine"))
        again = await here.entry.place(here.account, order("mine"))
        assert (first.outcome, again.outcome) == (Outcome.REFUSED, Outcome.REFUSED)
        assert here.sim.ledger.count("orders.submit") == 1


@on_virtual_time
async def test_an_order_that_never_left_may_be_placed_again_under_its_identifier() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "refuse", times=None)
        assert (await here.entry.place(here.account, order("mine"))).outcome is Outcome.NOT_SENT
        here.sim.faults.clear()
        again = await here.entry.place(here.account, order("mine"))
        assert (again.outcome, again.attempts) == (Outcome.PLACED, 2)
        assert len(here.orders("mine")) == 1


@pytest.mark.parametrize("action", ["rate_limited", "unauthorized"])
@on_virtual_time
async def test_an_order_that_was_turned_away_unread_may_be_placed_again_under_its_identifier(action: str) -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, action, times=None)
        first = await here.entry.place(here.account, order("mine"))
        assert first.outcome is Outcome.NOT_SENT
        assert isinstance(first.error, RateLimitError | AuthenticationError)
        assert (await here.journaled())[0].state is EntryState.NOT_SENT
        here.sim.faults.clear()
        again = await here.entry.place(here.account, order("mine"))
        assert (again.outcome, again.attempts) == (Outcome.PLACED, 2)
        assert len(here.orders("mine")) == 1


@on_virtual_time
async def test_placing_an_unknown_order_again_looks_again_and_sends_only_when_asked() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        await place_unknown(here)
        assert (await place_unknown(here)).code == "absent"
        assert here.sim.ledger.count("orders.submit") == 1
        placement = await here.entry.place(here.account, order("mine"), resubmit=1)
        assert (placement.outcome, placement.attempts) == (Outcome.PLACED, 2)
        assert len(here.orders("mine")) == 1


@on_virtual_time
async def test_an_order_that_is_being_placed_is_not_placed_a_second_time() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "hang_after")
        placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
        await asyncio.sleep(1)
        unknown = await place_unknown(here)
        assert unknown.code == "in_progress"
        assert (await placing).outcome is Outcome.PLACED
        assert here.sim.ledger.count("orders.submit") == 1


@on_virtual_time
async def test_two_that_place_the_same_order_in_the_same_moment_send_it_once() -> None:
    async with floor() as here:
        results = await asyncio.gather(
            *(here.entry.place(here.account, order("mine")) for _ in range(5)), return_exceptions=True
        )
        placed = [result for result in results if not isinstance(result, BaseException)]
        assert len(placed) >= 1
        assert all(isinstance(r, OrderOutcomeUnknownError) for r in results if isinstance(r, BaseException))
        assert here.sim.ledger.count("orders.submit") == 1


@on_virtual_time
async def test_an_order_is_not_refused_while_somebody_else_places_it() -> None:
    """Both start with a dry-run; that of the second comes when the first order has used up the buying power."""
    async with floor() as here:
        await here.client.authorize()
        first = asyncio.create_task(here.entry.place(here.account, order("mine")))
        await asyncio.sleep(0.05)  # its dry-run is on its way
        here.sim.faults.add("POST", DRY_RUN, attrs.evolve(faults.body(FAILED), delay=3.0))
        second = asyncio.create_task(here.entry.place(here.account, order("mine")))
        assert (await first).outcome is Outcome.PLACED
        assert not second.done()
        assert (await second).outcome is Outcome.PLACED
        assert len(here.orders("mine")) == 1


@on_virtual_time
async def test_an_abandoned_order_is_left_alone() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        await place_unknown(here)
        assert await here.entry.abandon(here.account, "mine", note="asked the desk: never arrived")
        assert not await here.entry.abandon(here.account, "mine", note="twice")
        assert await here.entry.recover() == []
        with pytest.raises(InvalidRequestError, match="asked the desk"):
            await here.entry.place(here.account, order("mine"))


@on_virtual_time
async def test_a_copy_that_shows_up_after_the_order_was_sent_again_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Listed later than the settling time, which is what resubmitting relies on."""
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=16)
        placement = await here.entry.place(here.account, order("mine"), resubmit=1)
        first, second = (record.order_id for record in here.orders("mine"))
        assert placement.order is not None
        assert placement.order.id == second
        assert placement.note == f"2 live orders carry this identifier: {first}, {second}"
        assert placement.note in caplog.text


# --- other orders under the same identifier


@on_virtual_time
async def test_another_order_under_our_identifier_is_not_taken_for_ours() -> None:
    async with floor() as here:
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
@on_virtual_time
async def test_ours_is_found_beside_another_one_and_both_are_told(
    listing: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async with floor() as here:
        other = await here.client.orders.submit(here.account, order("mine", quantity=11))
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        if listing is not None:
            here.sim.faults.add("GET", LISTS, listing, times=2)
        placement = await here.entry.place(here.account, order("mine"))
        assert other.order is not None
        assert placement.order is not None
        assert placement.order.id != other.order.id
        assert "2 live orders carry this identifier" in placement.note
        assert str(other.order.id) in caplog.text
        assert str(placement.order.id) in caplog.text


@on_virtual_time
async def test_ours_is_still_ours_when_it_was_replaced_meanwhile() -> None:
    async with floor() as here:
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


@on_virtual_time
async def test_the_replacement_of_another_order_is_another_order() -> None:
    async with floor() as here:
        other = await here.client.orders.submit(here.account, attrs.evolve(order("mine"), price=Decimal(9)))
        assert other.order is not None
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


# --- recovery


@on_virtual_time
async def test_recovery_with_nothing_open_asks_nobody() -> None:
    async with floor() as here:
        assert await here.entry.recover() == []
        assert not here.sim.ledger.requests


@on_virtual_time
async def test_recovery_sorts_out_everything_that_is_open_and_sends_nothing() -> None:
    async with floor() as here:
        for name, action in [("arrived", "drop_after"), ("never", "drop_before")]:
            here.sim.faults.add("POST", SUBMIT, action)
            here.sim.faults.add("GET", LISTS, faults.status(403), times=2)
            with pytest.raises(OrderOutcomeUnknownError):
                await here.entry.place(here.account, order(name))
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


@on_virtual_time
async def test_recovery_days_later_still_finds_the_order() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        here.sim.faults.add("GET", LISTS, faults.status(403), times=2)
        await place_unknown(here)
        for _ in range(3):
            here.sim.clock.advance(86_400)
            await here.client.orders.submit(here.account, order())
        (found,) = await here.another_entry().recover()
        assert found.outcome is Outcome.PLACED


@on_virtual_time
async def test_a_clock_that_is_months_off_hides_no_order() -> None:
    """The journal's clock says November while the brokerage lives in June, and the other way round."""
    async with floor() as here:
        for months in (150 * 86_400.0, -150 * 86_400.0):
            journal = MemoryJournal(clock=lambda months=months: here.sim.clock.now() + months)  # type: ignore[misc]
            entry = OrderEntry(here.client, journal, looks=PLAN)
            here.sim.faults.add("POST", SUBMIT, "drop_after")
            here.sim.faults.add("GET", LISTS, faults.status(403), times=2)
            with pytest.raises(OrderOutcomeUnknownError):
                await entry.place(here.account, order(f"off by {months}"))
            here.sim.clock.advance(86_400)
            (found,) = await entry.recover()
            assert found.outcome is Outcome.PLACED


@on_virtual_time
async def test_a_clock_that_is_set_back_hides_no_open_order() -> None:
    """Written down by a clock that was ahead; the program starts again after it was set right."""
    async with floor() as here:
        ahead = 500 * 86_400.0
        journal = MemoryJournal(clock=lambda: here.sim.clock.now() + ahead)
        entry = OrderEntry(here.client, journal, looks=PLAN)
        here.sim.faults.add("POST", SUBMIT, "drop_after")
        here.sim.faults.add("GET", LISTS, faults.status(403), times=2)
        with pytest.raises(OrderOutcomeUnknownError):
            await entry.place(here.account, order("mine"))
        ahead = 0.0
        here.sim.clock.advance(86_400)
        (found,) = await entry.recover()
        assert found.outcome is Outcome.PLACED


@on_virtual_time
async def test_a_clock_that_is_set_back_during_recovery_makes_it_no_longer() -> None:
    async with floor() as here:
        off = 0.0
        journal = MemoryJournal(clock=lambda: here.sim.clock.now() + off)
        entry = OrderEntry(here.client, journal, looks=PLAN)
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        with pytest.raises(OrderOutcomeUnknownError):
            await entry.place(here.account, order("mine"))
        began = asyncio.get_running_loop().time()
        recovering = asyncio.create_task(entry.recover())
        await asyncio.sleep(5)
        off = -3600.0
        (missing,) = await recovering
        assert missing.outcome is Outcome.UNKNOWN
        assert asyncio.get_running_loop().time() - began < 60


class Forgetful(MemoryJournal):
    """Fails to note once that an entry was looked for."""

    failed = False

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        if looked and not self.failed:
            self.failed = True
            raise JournalError("disk full")
        return await super().release(key, owner=owner, note=note, looked=looked)


@on_virtual_time
async def test_an_order_is_told_once_by_a_recovery_that_cannot_note_it() -> None:
    async with floor() as here:
        journal = Forgetful(clock=here.sim.clock.now)
        await journal.open(EntryKey("sandbox", here.account, "mine"), b"{}", owner="dead", lease=1)
        (missing,) = await OrderEntry(here.client, journal, looks=PLAN).recover()
        assert missing.outcome is Outcome.UNKNOWN


@on_virtual_time
async def test_an_order_that_was_handled_a_moment_ago_is_left_to_who_did_it() -> None:
    """Between reading what is open and claiming it, another worker has looked for it in vain."""
    async with floor() as here:

        class Busy(MemoryJournal):
            async def entries(
                self, environment: str | None = None, *, state: EntryState | None = None
            ) -> list[JournalEntry]:
                before = await super().entries(environment, state=state)
                for entry in before:
                    if entry.looked_at is None and entry.owner == "dead":
                        self._put(attrs.evolve(entry, owner=None, looked_at=self._now(), note="not listed"))
                return before

        journal = Busy(clock=here.sim.clock.now)
        await journal.open(EntryKey("sandbox", here.account, "mine"), b"{}", owner="dead", lease=0)
        assert await OrderEntry(here.client, journal, looks=PLAN).recover() == []
        entry = await journal.find(EntryKey("sandbox", here.account, "mine"))
        assert entry is not None
        assert (entry.owner, entry.note) == (None, "not listed")


@on_virtual_time
async def test_two_workers_that_recover_at_once_handle_each_order_once() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_after", times=10)
        here.sim.faults.add("POST", SUBMIT, "drop_before", times=10)
        here.sim.faults.add("GET", LISTS, faults.status(403), times=None)
        for number in range(20):
            with pytest.raises(OrderOutcomeUnknownError):
                await here.entry.place(here.account, order(f"order-{number}"))
        here.sim.faults.clear()
        results = await asyncio.gather(*(here.another_entry().recover() for _ in range(3)))
        handled = [placement.external_identifier for placements in results for placement in placements]
        assert sorted(handled) == sorted(f"order-{number}" for number in range(20))
        found = [p for placements in results for p in placements if p.outcome is Outcome.PLACED]
        assert len(found) == 10


@on_virtual_time
async def test_recovery_waits_for_an_order_that_another_worker_is_placing() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "hang_after")
        placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
        await asyncio.sleep(1)
        assert await here.another_entry().recover() == []
        assert placing.done()
        assert (await placing).outcome is Outcome.PLACED


@on_virtual_time
async def test_the_orders_of_a_worker_that_died_are_free_when_its_claim_ends() -> None:
    async with floor() as here:
        body = b'{"external-identifier":"mine"}'
        await here.journal.open(EntryKey("sandbox", here.account, "mine"), body, owner="dead", lease=30)
        began = asyncio.get_running_loop().time()
        (found,) = await here.entry.recover()
        assert (found.outcome, found.external_identifier) == (Outcome.UNKNOWN, "mine")
        assert asyncio.get_running_loop().time() - began > 30 + PLAN.settle


@on_virtual_time
async def test_a_recovery_that_is_cancelled_leaves_its_orders_to_the_next_one_at_once() -> None:
    async with floor() as here:
        await here.journal.open(EntryKey("sandbox", here.account, "mine"), b"{}", owner="dead", lease=0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await here.entry.recover()
        (entry,) = await here.journaled()
        assert (entry.state, entry.owner, entry.looked_at) == (EntryState.OPEN, None, None)


@on_virtual_time
async def test_recovery_leaves_the_entries_of_the_other_environment_alone() -> None:
    async with floor() as here:
        await here.journal.open(EntryKey("production", here.account, "mine"), b"{}", owner="dead", lease=1)
        await asyncio.sleep(2)
        assert await here.entry.recover() == []


@on_virtual_time
async def test_a_long_look_keeps_its_claim() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "drop_before")
        placing = asyncio.create_task(here.entry.place(here.account, order("mine"), settle=300))
        for _ in range(20):
            await asyncio.sleep(10)
            assert await here.journal.claim("sandbox", owner="somebody", lease=1) == []
        with pytest.raises(OrderOutcomeUnknownError):
            await placing


# --- cancellation


@on_virtual_time
async def test_a_timeout_of_the_caller_names_the_order() -> None:
    async with floor() as here:
        here.sim.faults.add("POST", SUBMIT, "hang_after")
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(TIMEOUT / 2):
                await here.entry.place(here.account, order("mine"))
        cancelled = caught.value.__cause__
        assert isinstance(cancelled, asyncio.CancelledError)
        assert cancelled.external_identifier == "mine"  # type: ignore[attr-defined]
        assert cancelled.account_number == here.account  # type: ignore[attr-defined]
        assert "recover() will look for it" in cancelled.__notes__[0]
        (entry,) = await here.journaled()
        assert (entry.state, entry.owner) == (EntryState.OPEN, None)
        (found,) = await here.entry.recover()
        assert found.outcome is Outcome.PLACED


class Slow(MemoryJournal):
    """A journal that takes its time."""

    async def open(self, key: EntryKey, body: bytes, *, owner: str, lease: float) -> tuple[JournalEntry, bool]:
        await asyncio.sleep(1)
        return await super().open(key, body, owner=owner, lease=lease)


@on_virtual_time
async def test_a_caller_cancelled_while_the_order_is_written_down_leaves_it_unsent() -> None:
    async with floor() as here:
        journal = Slow()
        placing = asyncio.create_task(OrderEntry(here.client, journal).place(here.account, order("mine")))
        await asyncio.sleep(0.8)
        placing.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await placing
        assert "was not sent" in caught.value.__notes__[0]
        assert [entry.state for entry in await journal.entries("sandbox")] == [EntryState.NOT_SENT]
        assert here.sim.ledger.count("orders.submit") == 0


class SlowFind(MemoryJournal):
    """A journal that takes its time to look an order up."""

    async def find(self, key: EntryKey) -> JournalEntry | None:
        await asyncio.sleep(1)
        return await super().find(key)


@pytest.mark.parametrize(("journal", "action"), [(SlowFind, None), (MemoryJournal, "hang")])
@on_virtual_time
async def test_a_caller_cancelled_before_the_order_is_written_down_learns_that_it_was_not_sent(
    journal: type[MemoryJournal], action: str | None
) -> None:
    async with floor() as here:
        if action is not None:
            here.sim.faults.add("POST", DRY_RUN, action)
        placing = asyncio.create_task(OrderEntry(here.client, journal()).place(here.account, order("mine")))
        await asyncio.sleep(0.8)
        placing.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await placing
        assert caught.value.external_identifier == "mine"  # type: ignore[attr-defined]
        assert caught.value.account_number == here.account  # type: ignore[attr-defined]
        assert "was not sent" in caught.value.__notes__[0]
        assert here.sim.ledger.count("orders.submit") == 0


@on_virtual_time
async def test_a_caller_cancelled_while_a_known_order_is_looked_up_learns_nothing_false() -> None:
    async with floor() as here:
        await here.entry.place(here.account, order("mine"))
        here.sim.faults.add("GET", LISTS, "hang")
        placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
        await asyncio.sleep(1)
        placing.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await placing
        assert caught.value.external_identifier == "mine"  # type: ignore[attr-defined]
        assert caught.value.__notes__ == [f"order mine of account {here.account} is in the journal as placed"]


def test_a_lease_is_a_time() -> None:
    with pytest.raises(ConfigurationError, match="lease"):
        OrderEntry(None, MemoryJournal(), lease=0)  # type: ignore[arg-type]
