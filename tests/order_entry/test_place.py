"""Steps of one order: reasons to stop, journal entries, submits, searches, and the report on a known order."""

import asyncio
import json
from collections.abc import Coroutine
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import errors, tickets
from brokerage_async._generated.models import TimeInForce
from brokerage_async._generated.operations import ORDERS_SUBMIT
from brokerage_async.config import RetryPolicy
from brokerage_async.http.transport import Transport
from brokerage_async.journal import EntryState, JournalError, MemoryJournal
from brokerage_async.models import TickSize
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.tables import for_each
from tests.trading import (
    DRY_RUN,
    FAILED,
    LISTS,
    NOTHING_LISTED,
    POLICY,
    SUBMIT,
    TIMEOUT,
    Floor,
    HookedJournal,
    cancelled,
    edit,
    failing_journal,
    floor,
    leave_open,
    on_floor,
    order,
    place_unknown,
    slow_journal,
)

pytestmark = pytest.mark.virtual_time

WARNED = b'{"data":{"warnings":[{"code":"tif_next_valid_sesssion","message":"The market is closed"}]},"context":"/"}'


async def test_an_order_that_fails_its_dry_run_is_refused_and_never_submitted(here: Floor) -> None:
    too_much = tickets.limit(tickets.buy_to_open("AAPL", 100_000_000), price="150")
    placement = await here.entry.place(here.account, too_much)
    assert placement.outcome is Outcome.REFUSED
    assert isinstance(placement.error, errors.PreflightError)
    assert placement.error.errors
    assert placement.note
    assert here.sim.ledger.count("orders.submit") == 0
    assert not await here.journaled()


async def test_place_with_ticks_refuses_a_price_between_them_before_sending(here: Floor) -> None:
    rows = [TickSize(value=Decimal("0.05")), TickSize(value=Decimal("0.01"), threshold=Decimal(3))]
    share = tickets.buy_to_open("AAPL", 10)
    for bad, reason in (
        (tickets.limit(share, price="10.01"), "price must be on a tick, got 10.01: the nearest are 10.00 and"),
        (tickets.stop(share, trigger="2.999"), "trigger must be on a tick, got 2.999: the nearest are 2.99 and"),
    ):
        with pytest.raises(errors.InvalidRequestError, match=reason) as caught:
            await here.entry.place(here.account, bad, tick_sizes=rows)
        assert caught.value.code == "off_tick"
    assert here.sim.ledger.count("orders.dry_run") == 0
    good = tickets.limit(share, price="10.05")
    assert (await here.entry.place(here.account, good, tick_sizes=iter(rows))).outcome is Outcome.PLACED


def beside(code: str) -> faults.Fault:
    """Return the answer of a dry-run with an error beside its data."""
    answer = {
        "data": {"order": {"order-type": "Limit"}, "warnings": []},
        "error": {"code": code, "message": "no", "errors": [{"code": "margin", "message": "Too little"}]},
    }
    return faults.body(json.dumps(answer).encode())


@for_each(
    "answer, error, codes",
    [
        (faults.body(FAILED), errors.PreflightError, ("preflight_errors", "margin_check_failed")),
        (beside("preflight_check_failure"), errors.PreflightError, ("preflight_check_failure", "margin")),
        (beside("margin_check_failed"), errors.UnprocessableError, ("margin_check_failed", "margin")),
    ],
)
@on_floor()
async def test_errors_in_a_successful_dry_run_stop_the_order(
    here: Floor, answer: Any, error: Any, codes: tuple[str, str]
) -> None:
    here.sim.faults.add("POST", DRY_RUN, answer)
    placement = await here.entry.place(here.account, order(), allow_warnings=True)
    assert placement.outcome is Outcome.REFUSED
    assert type(placement.error) is error
    assert (placement.error.code, placement.error.errors[0].code) == codes
    assert placement.preview is not None
    assert here.sim.ledger.count("orders.submit") == 0


@for_each(
    "allowed, outcome",
    [
        (False, Outcome.REFUSED),
        (["another_code"], Outcome.REFUSED),
        (True, Outcome.PLACED),
        (["tif_next_valid_sesssion"], Outcome.PLACED),
    ],
)
@on_floor()
async def test_warnings_stop_the_order_unless_they_are_allowed(
    here: Floor, allowed: bool | list[str], outcome: Outcome
) -> None:
    here.sim.faults.add("POST", DRY_RUN, faults.body(WARNED))
    placement = await here.entry.place(here.account, order(), allow_warnings=allowed)
    assert placement.outcome is outcome
    assert [warning.code for warning in placement.warnings] == ["tif_next_valid_sesssion"]
    assert here.sim.ledger.count("orders.submit") == (outcome is Outcome.PLACED)


@for_each(
    "action, error",
    [
        *(
            (name, errors.BrokerageError)
            for name in ("drop_after", "hang", "status(503)", "rate_limited", "unauthorized")
        ),
        ("garbage", errors.ResponseDecodeError),
        (faults.body(b'{"maintenance": true}'), errors.ResponseDecodeError),
        (faults.body(b'{"data": {}, "context": "/"}'), errors.ResponseDecodeError),
    ],
)
@on_floor()
async def test_dry_run_without_an_answer_is_no_permission(here: Floor, action: Any, error: type[Exception]) -> None:
    here.sim.faults.add("POST", DRY_RUN, action, times=None)
    placement = await here.entry.place(here.account, order())
    assert placement.outcome is Outcome.NOT_SENT
    assert isinstance(placement.error, error)
    assert here.sim.ledger.count("orders.submit") == 0
    assert not await here.journaled()


async def test_dead_grant_or_read_only_client_sends_no_order() -> None:
    async with floor() as here:
        here.sim.revoke()
        placement = await here.entry.place(here.account, order())
        assert placement.outcome is Outcome.NOT_SENT
        assert isinstance(placement.error, errors.TokenError)
    async with floor(read_only=True) as here:
        with pytest.raises(errors.ConfigurationError, match="read-only"):
            await here.entry.place(here.account, order())
        assert here.sim.ledger.count("orders.submit") == 0
        assert [entry.state for entry in await here.journaled()] in ([], [EntryState.NOT_SENT])


async def test_place_whose_client_is_closed_before_a_resubmission_is_unknown(here: Floor) -> None:
    """The closed client sends nothing, but the first copy of the order has arrived."""

    async def close_the_client(renew: Any, *names: Any, attempts: int | None = None, **values: Any) -> bool:
        if attempts is not None:  # the resubmission is journaled
            await here.client.aclose()
        return bool(await renew(*names, attempts=attempts, **values))

    journal = HookedJournal(renew=close_the_client)
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=None)
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    unknown = await place_unknown(here, entry=entry, resubmit=1)
    assert isinstance(unknown.__cause__, errors.ConfigurationError)
    assert len(here.orders("mine")) == 1
    assert [entry.state for entry in await journal.entries()] == [EntryState.OPEN]


async def test_the_journal_is_written_before_the_first_byte_leaves(here: Floor) -> None:
    sent_before = []

    async def watched(call: Any, *names: Any, **values: Any) -> Any:
        sent_before.append(len(here.wire.bodies["orders.submit"]))
        return await call(*names, **values)

    await OrderEntry(here.client, HookedJournal(open=watched)).place(here.account, order())
    assert sent_before == [0]


@for_each("method", ["open", "find"])
@on_floor()
async def test_an_order_that_cannot_be_written_down_is_not_sent(here: Floor, method: str) -> None:
    with pytest.raises(JournalError, match="disk is full"):
        await OrderEntry(here.client, failing_journal(method)).place(here.account, order("mine"))
    assert here.sim.ledger.count("orders.submit") == 0


async def test_an_unknown_order_says_all_a_person_needs(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    unknown = await place_unknown(here)
    assert (unknown.account_number, unknown.external_identifier) == (here.account, "mine")
    assert (unknown.attempts, unknown.code, unknown.operation) == (1, "absent", "orders.submit")
    assert "not listed in 8 polls" in str(unknown)
    assert unknown.__cause__ is not None
    (entry,) = await here.journaled()
    assert (entry.state, entry.owner, entry.looked_at is None) == (EntryState.OPEN, None, False)
    assert "not listed" in entry.note


async def test_an_identifier_that_is_made_twice_is_not_taken_for_the_earlier_order(here: Floor) -> None:
    """A counter that restarts with each process makes such identifiers."""
    entry = OrderEntry(here.client, here.journal, reconcile=POLICY, identifiers=lambda: "order-1")
    assert (await entry.place(here.account, order())).outcome is Outcome.PLACED
    with pytest.raises(errors.InvalidRequestError, match="must never repeat") as caught:
        await entry.place(here.account, order())
    assert caught.value.code == "identifier_in_use"
    assert (await entry.place(here.account, order("order-1"))).outcome is Outcome.PLACED  # asked for by name
    assert len(here.orders("order-1")) == 1


async def test_known_order_is_answered_without_sending(here: Floor) -> None:
    first = await here.entry.place(here.account, order("mine"))
    again = await here.another_entry().place(here.account, order("mine"))
    assert (again.outcome, again.order.id) == (Outcome.PLACED, first.order.id)
    assert "journaled before" in again.note
    with pytest.raises(errors.InvalidRequestError, match="belongs to another order") as caught:
        await here.entry.place(here.account, order("mine", quantity=11))
    assert caught.value.code == "identifier_in_use"
    assert here.sim.ledger.count("orders.submit") == here.sim.ledger.count("orders.dry_run") == 1
    here.sim.faults.add("POST", SUBMIT, faults.status(422))
    refused = [await here.entry.place(here.account, order("other")) for _ in range(2)]
    assert [each.outcome for each in refused] == [Outcome.REFUSED] * 2
    assert here.sim.ledger.count("orders.submit") == 2


@for_each(
    "action, error",
    [
        ("refuse", errors.RequestNotSentError),
        ("rate_limited", errors.RateLimitError),
        ("unauthorized", errors.AuthenticationError),
    ],
)
@on_floor()
async def test_order_that_never_left_or_was_turned_away_may_be_placed_again(
    here: Floor, action: str, error: type[Exception]
) -> None:
    here.sim.faults.add("POST", SUBMIT, action, times=None)
    first = await here.entry.place(here.account, order("mine"))
    assert first.outcome is Outcome.NOT_SENT
    assert isinstance(first.error, error)
    assert (await here.journaled())[0].state is EntryState.NOT_SENT
    here.sim.faults.clear()
    again = await here.entry.place(here.account, order("mine"))
    assert (again.outcome, again.attempts) == (Outcome.PLACED, 2)
    assert len(here.orders("mine")) == 1


async def test_placing_an_unknown_order_again_looks_again_and_sends_only_when_asked(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    await place_unknown(here)
    assert (await place_unknown(here)).code == "absent"
    assert here.sim.ledger.count("orders.submit") == 1
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    assert (placement.outcome, placement.attempts) == (Outcome.PLACED, 2)
    assert len(here.orders("mine")) == 1


async def test_an_order_that_is_being_placed_is_not_placed_a_second_time(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "hang_after")
    placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
    await asyncio.sleep(1)
    assert (await place_unknown(here)).code == "in_progress"
    assert (await placing).outcome is Outcome.PLACED
    assert here.sim.ledger.count("orders.submit") == 1


async def test_an_order_is_not_refused_while_somebody_else_places_it(here: Floor) -> None:
    """Both start with a dry-run. The second one runs when the first order has used up the buying power."""
    await here.client.authorize()
    first = asyncio.create_task(here.entry.place(here.account, order("mine")))
    await asyncio.sleep(0.05)  # its dry-run is on its way
    here.sim.faults.add("POST", DRY_RUN, attrs.evolve(faults.body(FAILED), delay=3.0))
    second = asyncio.create_task(here.entry.place(here.account, order("mine")))
    assert (await first).outcome is Outcome.PLACED
    assert not second.done()
    assert (await second).outcome is Outcome.PLACED
    assert len(here.orders("mine")) == 1


async def test_an_abandoned_order_is_left_alone(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    await place_unknown(here)
    assert await here.entry.abandon(here.account, "mine", note="asked the desk: never arrived")
    assert not await here.entry.abandon(here.account, "mine", note="twice")
    assert await here.entry.recover() == []
    with pytest.raises(errors.InvalidRequestError, match="asked the desk"):
        await here.entry.place(here.account, order("mine"))


async def test_a_timeout_of_the_caller_names_the_order(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "hang_after")
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(TIMEOUT / 2):
            await here.entry.place(here.account, order("mine"))
    cancelled = caught.value.__cause__ or caught.value.__context__  # the latter before Python 3.11.3
    assert isinstance(cancelled, asyncio.CancelledError)
    assert cancelled.external_identifier == "mine"  # type: ignore[attr-defined]
    assert cancelled.account_number == here.account  # type: ignore[attr-defined]
    assert "recover() will look for it" in cancelled.__notes__[0]
    (entry,) = await here.journaled()
    assert (entry.state, entry.owner) == (EntryState.OPEN, None)
    (found,) = await here.entry.recover()
    assert found.outcome is Outcome.PLACED


async def test_place_whose_close_is_repeated_changes_nothing_about_the_order_of_another_worker(
    here: Floor, caplog: pytest.LogCaptureFixture
) -> None:
    lost, repeat = asyncio.Event(), asyncio.Event()

    async def close(call: Any, *names: Any, **values: Any) -> Any:
        """Lose the acknowledgement of the first close, and repeat it later, as over a bad link."""
        closed = await call(*names, **values)
        if lost.is_set():
            return closed
        lost.set()
        await repeat.wait()
        return await call(*names, **values)

    journal = HookedJournal(close=close)
    here.sim.faults.add("POST", SUBMIT, "rate_limited", times=4)
    first = OrderEntry(here.client.with_options(retry=RetryPolicy(max_attempts=1)), journal, reconcile=POLICY)
    turned_away = asyncio.create_task(first.place(here.account, order("mine")))
    await lost.wait()
    here.sim.faults.clear()
    second = OrderEntry(here.client, journal, reconcile=POLICY)
    assert (await second.place(here.account, order("mine"))).outcome is Outcome.PLACED
    repeat.set()
    with pytest.raises(errors.OrderOutcomeUnknownError, match="no longer holds the journal entry") as caught:
        await turned_away
    assert caught.value.code == "in_progress"
    assert "was not recorded: this worker no longer holds" in caplog.text
    again = await second.place(here.account, order("mine"))
    assert (again.outcome, len(here.orders("mine"))) == (Outcome.PLACED, 1)


async def test_place_whose_entry_was_taken_over_says_so(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    here.sim.faults.add("POST", SUBMIT, faults.delay_after(4.0))
    placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
    await asyncio.sleep(2)
    assert await here.journal.abandon(here.key("mine"), note="by hand")
    placement = await placing
    assert placement.outcome is Outcome.PLACED
    assert "this worker no longer holds the journal entry" in placement.note
    assert "outcome placed of order mine was not recorded" in caplog.text


async def test_place_refused_without_a_journal_is_refused_only_while_its_claim_holds(here: Floor) -> None:
    """Once it has ended, another worker may have sent the order, and nothing shows that it has not."""
    here.sim.faults.add("POST", SUBMIT, faults.status(422), times=2)
    placement = await OrderEntry(here.client, failing_journal("close")).place(here.account, order("mine"))
    assert placement.outcome is Outcome.REFUSED
    assert "the journal did not acknowledge this outcome" in placement.note
    entry = OrderEntry(here.client, failing_journal("close", "renew", "renew_many"), lease=0.05)
    unknown = await place_unknown(here, entry=entry)
    assert (unknown.code, "the journal did not acknowledge this outcome" in str(unknown)) == ("claim_lost", True)


@for_each(
    "action, outcome, note",
    [
        ("delay(0)", Outcome.PLACED, "was placed"),
        ("status(422)", Outcome.REFUSED, "was refused"),
        ("refuse", Outcome.NOT_SENT, "was not sent"),
    ],
)
@on_floor(retry=RetryPolicy(max_attempts=1))
async def test_place_cancelled_while_its_outcome_is_recorded_carries_it(
    here: Floor, action: str, outcome: Outcome, note: str
) -> None:
    here.sim.faults.add("POST", SUBMIT, action, times=None)
    journal = slow_journal("close", 2)
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    error = await cancelled(entry.place(here.account, order("mine")), 1.5)
    assert error.placement.outcome is outcome
    assert error.__notes__ == [f"order mine of account {here.account} {note}"]
    assert [each.state.value for each in await journal.entries()] == [outcome.value]
    assert await entry.recover() == []


class BrokenTransport:
    """A transport of a user that fails in its own way once an order has been processed."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if request.operation is ORDERS_SUBMIT:
            raise OSError("broken")
        return response

    async def close(self) -> None:
        await self._inner.close()


async def test_place_that_ends_with_an_unexpected_error_names_the_order(here: Floor) -> None:
    async with here.sim.client(transport=BrokenTransport(here.sim.transport())) as client:
        entry = OrderEntry(client, here.journal, reconcile=POLICY)
        with pytest.raises(OSError, match="broken") as caught:
            await entry.place(here.account, order())
        ((name,), note) = [each.key.external_identifier for each in await here.journaled()], caught.value.__notes__
        assert caught.value.external_identifier == name  # type: ignore[attr-defined]
        assert note == [f"order {name} of account {here.account} may have been placed: recover() will look for it"]
        assert [placement.outcome for placement in await entry.recover()] == [Outcome.PLACED]


async def test_place_of_an_unknown_order_whose_journal_fails_says_that_it_may_exist(here: Floor) -> None:
    journal = MemoryJournal()
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", LISTS, faults.status(503), times=None)
    await place_unknown(here, entry=entry)
    journal.now = failing_journal("now").now  # type: ignore[method-assign]
    with pytest.raises(JournalError) as caught:
        await entry.place(here.account, order("mine"))
    assert "may have been placed" in caught.value.__notes__[0]


class Threaded(MemoryJournal):
    """A journal that works in a thread: a cancelled caller leaves, and the statement still takes effect."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("open", "claim", "release", "close"):
            statement = getattr(self, name)
            setattr(self, name, lambda *names, call=statement, **values: self._in_thread(call(*names, **values)))

    async def _in_thread(self, statement: Coroutine[Any, Any, Any]) -> Any:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def run() -> None:
            with pytest.raises(StopIteration) as end:
                statement.send(None)
            if not done.done():
                done.set_result(end.value.value)

        loop.call_later(0.01, run)
        return await done


async def place_until_shutdown(here: Floor, journal: MemoryJournal, after: float) -> asyncio.CancelledError | None:
    """Cancel every task of the loop at once, as `asyncio.run` does at its end. None if the order was placed before."""
    placing = asyncio.create_task(OrderEntry(here.client, journal, reconcile=POLICY).place(here.account, order("mine")))
    await asyncio.sleep(after)
    if placing.done():
        return None
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await placing
    return caught.value


async def test_place_cancelled_with_every_task_of_the_loop_reports_as_if_cancelled_alone() -> None:
    fates = set()
    for step in range(1, 200):
        async with floor() as here:
            journal = Threaded()
            cancelled = await place_until_shutdown(here, journal, step * 0.003)
            await asyncio.sleep(1)
            if cancelled is None:
                break
            (note,), placement = cancelled.__notes__, cancelled.placement  # type: ignore[attr-defined]
            states = [entry.state for entry in await journal.entries()]
            if placement is not None:
                assert (placement.outcome, states) == (Outcome.PLACED, [EntryState.PLACED])
                assert here.orders("mine")
            else:
                assert states == [EntryState.OPEN] if "recover()" in note else EntryState.OPEN not in states
            fates.add(note.partition(here.account)[2])
    assert fates == {" was not sent", " may have been placed: recover() will look for it", " was placed"}


async def test_place_cancelled_with_every_task_while_it_claims_an_entry_leaves_no_claim(here: Floor) -> None:
    journal = Threaded()
    entry = OrderEntry(here.client, journal, reconcile=POLICY)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    await place_unknown(here, entry=entry)
    (before,) = await journal.entries()
    cancelled = await place_until_shutdown(here, journal, 0.005)
    await asyncio.sleep(1)
    assert cancelled.__notes__ == [
        f"order mine of account {here.account} may have been placed: recover() will look for it"
    ]
    (after,) = await journal.entries()
    assert (after.owner, after.looked_at) == (None, before.looked_at)  # this one has not looked for it


async def test_place_of_an_identifier_that_is_open_for_another_address_is_rejected(here: Floor) -> None:
    elsewhere = attrs.evolve(here.key("mine"), origin="https://old.example.com")
    await here.journal.open(elsewhere, b"{}", owner="dead", lease=1)
    with pytest.raises(
        errors.InvalidRequestError, match=r"open in the journal for https://old\.example\.com: adopt"
    ) as caught:
        await here.entry.place(here.account, order("mine"))
    assert caught.value.code == "identifier_in_use"
    assert not here.sim.ledger.requests


async def test_place_of_an_order_that_another_worker_opens_in_between_is_rejected(here: Floor) -> None:
    async def find(call: Any, *names: Any, **values: Any) -> Any:
        found = await call(*names, **values)
        if found is None:
            await journal.open(here.key("mine"), b"{}", owner="another", lease=30)
        return found

    journal = HookedJournal(find=find)
    with pytest.raises(errors.InvalidRequestError, match="belongs to another order in the journal"):
        await OrderEntry(here.client, journal).place(here.account, order("mine"))


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
