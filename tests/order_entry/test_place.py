"""Steps of one order: reasons to stop, journal entries, submits, searches, and the report on a known order."""

import asyncio
import json
from decimal import Decimal
from typing import Any
from unittest.mock import AsyncMock

import attrs
import pytest

from brokerage_async import RetryPolicy, errors, tickets
from brokerage_async._generated.operations import ORDERS_SUBMIT
from brokerage_async.journal import EntryState, JournalError
from brokerage_async.models import TickSize, TimeInForce
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests import trading
from tests.http.calls import raised_by
from tests.partial_listings import altered
from tests.tables import for_each, lacks
from tests.trading import COMPLEX, SINGLE, Floor, HookedJournal, Kind, edit, on_floor, order, place_unknown

pytestmark = pytest.mark.virtual_time

REFUSED, NOT_SENT, PLACED = Outcome.REFUSED, Outcome.NOT_SENT, Outcome.PLACED


async def test_order_that_may_not_be_placed_is_never_submitted() -> None:
    async with trading.floor() as here:
        for too_much in (
            await here.entry.place(here.account, order(quantity=10**8)),
            await here.entry.place_complex(here.account, trading.bracket_order(quantity=10**8)),
        ):
            assert (too_much.outcome, type(too_much.error)) == (REFUSED, errors.PreflightError)
            assert too_much.error.errors
            assert too_much.note
            assert too_much.preview is not None
        here.sim.revoke()
        unsent = await here.entry.place(here.account, order())
        assert (unsent.outcome, type(unsent.error)) == (NOT_SENT, errors.TokenError)
        assert {each.operation for each in here.sim.ledger.requests if each.operation.endswith("submit")} == set()
        assert await here.journaled() == []
    async with trading.floor(read_only=True) as here:
        await raised_by(here.entry.place(here.account, order()), errors.ConfigurationError, "read-only")
        assert here.sim.ledger.count("orders.submit") == 0
        assert [entry.state for entry in await here.journaled()] in ([], [EntryState.NOT_SENT])


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
    assert (await here.entry.place(here.account, good, tick_sizes=iter(rows))).outcome is PLACED


def beside(code: str) -> faults.Fault:
    error = {"code": code, "message": "no", "errors": [{"code": "margin", "message": "Too little"}]}
    answer = {"data": {"order": {"order-type": "Limit"}, "warnings": []}, "error": error}
    return faults.body(json.dumps(answer).encode())


CODE = "tif_next_valid_sesssion"
WARNED = faults.body(b'{"data":{"warnings":[{"code":"%b","message":"closed"}]},"context":"/"}' % CODE.encode())
PREFLIGHT = errors.PreflightError

# answer of the dry-run, warnings that are allowed, outcome, its error, and the codes of that and of its details
DRY_RUNS: list[tuple[Any, Any, Outcome, Any, list[str]]] = [
    (faults.body(trading.FAILED), True, REFUSED, PREFLIGHT, ["preflight_errors", "margin_check_failed"]),
    (beside("preflight_check_failure"), True, REFUSED, PREFLIGHT, ["preflight_check_failure", "margin"]),
    (beside("margin_check_failed"), True, REFUSED, errors.UnprocessableError, ["margin_check_failed", "margin"]),
    *((WARNED, allowed, REFUSED, PREFLIGHT, ["preflight_warnings", CODE]) for allowed in (False, ["another_code"])),
    *((WARNED, allowed, PLACED, None, []) for allowed in (True, [CODE])),
    ("drop_after", False, NOT_SENT, errors.ResponseLostError, []),
    ("hang", False, NOT_SENT, errors.ResponseLostError, []),
    ("status(503)", False, NOT_SENT, errors.ServerError, ["service_unavailable"]),
    ("rate_limited", False, NOT_SENT, errors.RateLimitError, []),
    ("unauthorized", False, NOT_SENT, errors.AuthenticationError, ["unauthorized"]),
    ("garbage", False, NOT_SENT, errors.ResponseDecodeError, []),
    *(
        (faults.body(each), False, NOT_SENT, errors.ResponseDecodeError, [])
        for each in (b'{"maintenance": true}', b'{"data": {}, "context": "/"}')
    ),
]


@for_each("answer, allowed, outcome, error, codes", DRY_RUNS)
@on_floor()
async def test_order_is_sent_if_its_dry_run_has_no_objections(
    here: Floor, answer: Any, allowed: Any, outcome: Outcome, error: Any, codes: list[str]
) -> None:
    """A dry-run without an answer is no permission."""
    here.sim.faults.add("POST", trading.DRY_RUN, answer, times=None)
    placement = await here.entry.place(here.account, order(), allow_warnings=allowed)
    assert (placement.outcome, type(placement.error)) == (outcome, error or type(None))
    if placement.error is not None:
        assert [each for each in (placement.error.code, *(it.code for it in placement.error.errors)) if each] == codes
    assert [each.code for each in placement.warnings] == ([CODE] if answer is WARNED else [])
    assert outcome is NOT_SENT or placement.preview is not None
    assert here.sim.ledger.count("orders.submit") == len(await here.journaled()) == (outcome is PLACED)


async def test_place_whose_client_is_closed_before_a_resubmission_is_unknown(here: Floor) -> None:
    """The closed client sends nothing, but the first copy of the order has arrived."""

    async def close_the_client(renew: Any, *names: Any, attempts: int | None = None, **values: Any) -> bool:
        if attempts is not None:  # the resubmission is journaled
            await here.client.aclose()
        return bool(await renew(*names, attempts=attempts, **values))

    journal = HookedJournal(renew=close_the_client)
    here.on_submit("drop_after")
    here.on_lists(trading.UNLISTED)
    entry = OrderEntry(here.client, journal)
    unknown = await place_unknown(here, entry=entry, resubmit=1)
    assert isinstance(unknown.__cause__, errors.ConfigurationError)
    assert len(here.orders("mine")) == 1
    assert [entry.state for entry in await journal.entries()] == [EntryState.OPEN]


async def test_order_is_written_down_before_its_first_byte_leaves_or_not_sent(here: Floor) -> None:
    sent_before = []

    async def watched(call: Any, *names: Any, **values: Any) -> Any:
        sent_before.append(len(here.wire.bodies["orders.submit"]))
        return await call(*names, **values)

    async def overtaken(call: Any, *names: Any, **values: Any) -> Any:
        found = await call(*names, **values)
        if found is None:
            await other.open(here.key("mine"), b"{}", owner="another", lease=30)
        return found

    await OrderEntry(here.client, HookedJournal(open=watched)).place(here.account, order())
    assert sent_before == [0]
    for method in ("open", "find"):
        with pytest.raises(JournalError, match="disk is full"):
            await OrderEntry(here.client, trading.failing_journal(method)).place(here.account, order("mine"))
    other = HookedJournal(find=overtaken)
    with pytest.raises(errors.InvalidRequestError, match="belongs to another order in the journal"):
        await OrderEntry(here.client, other).place(here.account, order("mine"))
    assert here.sim.ledger.count("orders.submit") == 1


async def test_unknown_order_says_all_a_person_needs_and_is_sent_again_only_when_asked(here: Floor) -> None:
    unknown = await place_unknown(here, fault="drop_before")
    assert (unknown.account_number, unknown.external_identifier) == (here.account, "mine")
    assert (unknown.attempts, unknown.code, unknown.operation) == (1, "absent", "orders.submit")
    assert "not listed in 8 polls" in str(unknown)
    assert unknown.__cause__ is not None
    (entry,) = await here.journaled()
    assert (entry.state, entry.owner, entry.looked_at is None) == (EntryState.OPEN, None, False)
    assert "not listed" in entry.note
    assert (await place_unknown(here)).code == "absent"
    assert here.sim.ledger.count("orders.submit") == 1
    placement = await here.entry.place(here.account, order("mine"), resubmit=1)
    assert (placement.outcome, placement.attempts) == (PLACED, 2)
    assert len(here.orders("mine")) == 1


async def test_known_order_is_answered_without_sending(here: Floor) -> None:
    first = await here.entry.place(here.account, order("mine"))
    again = await here.another_entry().place(here.account, order("mine"))
    assert (again.outcome, again.order.id) == (PLACED, first.order.id)
    assert "journaled before" in again.note
    counting = OrderEntry(here.client, here.journal, identifiers=lambda: "mine")  # a counter that started again
    for place, reason in (
        (here.entry.place(here.account, order("mine", quantity=11)), "belongs to another order"),
        (counting.place(here.account, order()), "must never repeat"),
    ):
        error = await raised_by(place, errors.InvalidRequestError, reason)
        assert error.code == "identifier_in_use"
    assert (await counting.place(here.account, order("mine"))).outcome is PLACED  # asked for by name
    assert len(here.orders("mine")) == 1
    assert here.sim.ledger.count("orders.submit") == here.sim.ledger.count("orders.dry_run") == 1
    here.on_submit(faults.status(422))
    refused = [await here.entry.place(here.account, order("other")) for _ in range(2)]
    assert [each.outcome for each in refused] == [REFUSED] * 2
    assert here.sim.ledger.count("orders.submit") == 2


UNSENT = {
    "refuse": errors.RequestNotSentError,
    "rate_limited": errors.RateLimitError,
    "unauthorized": errors.AuthenticationError,
}


@for_each("action, error", UNSENT.items())
@on_floor()
async def test_order_that_did_not_arrive_may_be_placed_again(here: Floor, action: str, error: type[Exception]) -> None:
    here.on_submit(action, times=None)
    first = await here.entry.place(here.account, order("mine"))
    assert (first.outcome, type(first.error)) == (NOT_SENT, error)
    assert (await here.journaled())[0].state is EntryState.NOT_SENT
    here.sim.faults.clear()
    again = await here.entry.place(here.account, order("mine"))
    assert (again.outcome, again.attempts) == (PLACED, 2)
    assert len(here.orders("mine")) == 1


async def test_order_that_is_being_placed_is_not_placed_again(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    here.on_submit("hang_after")
    placing = asyncio.create_task(here.entry.place(here.account, order("mine")))
    await asyncio.sleep(1)
    assert (await place_unknown(here)).code == "in_progress"
    assert (await placing).outcome is PLACED
    assert here.sim.ledger.count("orders.submit") == 1
    here.on_submit(faults.delay_after(4.0))
    placing = asyncio.create_task(here.entry.place(here.account, order("other")))
    await asyncio.sleep(2)
    assert await here.journal.abandon(here.key("other"), note="by hand")
    placement = await placing
    assert placement.outcome is PLACED
    assert "this worker no longer holds the journal entry" in placement.note
    assert "outcome placed of order other was not recorded" in caplog.text


async def test_an_order_is_not_refused_while_somebody_else_places_it(here: Floor) -> None:
    """Both start with a dry-run. The second one runs when the first order has used up the buying power."""
    await here.client.authorize()
    first = asyncio.create_task(here.entry.place(here.account, order("mine")))
    await asyncio.sleep(0.05)  # its dry-run is on its way
    here.sim.faults.add("POST", trading.DRY_RUN, attrs.evolve(faults.body(trading.FAILED), delay=3.0))
    second = asyncio.create_task(here.entry.place(here.account, order("mine")))
    assert (await first).outcome is PLACED
    assert not second.done()
    assert (await second).outcome is PLACED
    assert len(here.orders("mine")) == 1


async def test_order_that_is_abandoned_or_open_for_another_address_is_left_alone(here: Floor) -> None:
    elsewhere = attrs.evolve(here.key("old"), origin="https://b.test")
    await here.journal.open(elsewhere, b"{}", owner="dead", lease=1)
    with pytest.raises(errors.InvalidRequestError, match=r"open in the journal for https://b\.test: adopt") as caught:
        await here.entry.place(here.account, order("old"))
    assert caught.value.code == "identifier_in_use"
    assert not here.sim.ledger.requests
    await place_unknown(here, fault="drop_before")
    assert await here.entry.abandon(here.account, "mine", note="asked the desk: never arrived")
    assert not await here.entry.abandon(here.account, "mine", note="twice")
    assert [each.external_identifier for each in await here.entry.recover()] == ["old"]
    await raised_by(here.entry.place(here.account, order("mine")), errors.InvalidRequestError, "asked the desk")


async def test_timeout_of_the_caller_names_the_order(here: Floor) -> None:
    here.on_submit("hang_after")
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(trading.TIMEOUT / 2):
            await here.entry.place(here.account, order("mine"))
    gone: Any = caught.value.__cause__ or caught.value.__context__  # the latter before Python 3.11.3
    assert isinstance(gone, asyncio.CancelledError)
    assert (gone.external_identifier, gone.account_number) == ("mine", here.account)
    assert "recover() will look for it" in gone.__notes__[0]
    (entry,) = await here.journaled()
    assert (entry.state, entry.owner) == (EntryState.OPEN, None)
    (found,) = await here.entry.recover()
    assert found.outcome is PLACED


async def test_repeated_close_leaves_the_order_of_another_worker(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
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
    here.on_submit("rate_limited", times=4)
    first = OrderEntry(here.client.with_options(retry=RetryPolicy(max_attempts=1)), journal)
    turned_away = asyncio.create_task(first.place(here.account, order("mine")))
    await lost.wait()
    here.sim.faults.clear()
    second = OrderEntry(here.client, journal)
    assert (await second.place(here.account, order("mine"))).outcome is PLACED
    repeat.set()
    error = await raised_by(turned_away, errors.OrderOutcomeUnknownError, "no longer holds the journal entry")
    assert error.code == "in_progress"
    assert "was not recorded: this worker no longer holds" in caplog.text
    again = await second.place(here.account, order("mine"))
    assert (again.outcome, len(here.orders("mine"))) == (PLACED, 1)


async def test_place_refused_without_a_journal_is_refused_only_while_its_claim_holds(here: Floor) -> None:
    """Once it has ended, another worker may have sent the order, and nothing shows that it has not."""
    here.on_submit(faults.status(422), times=2)
    placement = await OrderEntry(here.client, trading.failing_journal("close")).place(here.account, order("mine"))
    assert placement.outcome is REFUSED
    assert "the journal did not acknowledge this outcome" in placement.note
    entry = OrderEntry(here.client, trading.failing_journal("close", "renew", "renew_many"), lease=0.05)
    unknown = await place_unknown(here, entry=entry)
    assert (unknown.code, "the journal did not acknowledge this outcome" in str(unknown)) == ("claim_lost", True)


async def test_place_that_ends_with_an_unexpected_error_names_the_order(here: Floor) -> None:
    """A transport of a user fails in its own way once an order has been processed."""
    send = here.wire.send

    async def broken(request: Request) -> Response:
        response = await send(request)
        if request.operation is ORDERS_SUBMIT:
            raise OSError("broken")
        return response

    here.wire.send = broken  # type: ignore[method-assign]
    error = await raised_by(here.entry.place(here.account, order()), OSError, "broken")
    ((name,), note) = [each.key.external_identifier for each in await here.journaled()], error.__notes__
    assert error.external_identifier == name  # type: ignore[attr-defined]
    assert note == [f"order {name} of account {here.account} may have been placed: recover() will look for it"]
    assert [placement.outcome for placement in await here.entry.recover()] == [PLACED]


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
async def test_submit_answered_with_an_error_or_another_order_is_looked_into(here: Floor, data: bytes) -> None:
    answer = faults.body(b'{"data":' + data + b"}")
    assert (await place_unknown(here, resubmit=1, fault=attrs.evolve(answer, processed=False))).code == "absent"
    assert here.sim.ledger.count("orders.submit") == 1
    here.on_submit(answer)
    placement = await here.entry.place(here.account, order("other"))
    assert [placement.order.id] == [record.order_id for record in here.orders("other")]


async def test_resubmitting_is_asked_for_bounded_and_journaled(here: Floor) -> None:
    here.on_submit("drop_before", times=2)
    placement = await here.entry.place(here.account, order("mine"), resubmit=2)
    assert (placement.outcome, placement.attempts) == (PLACED, 3)
    assert len(set(here.wire.bodies["orders.submit"])) == 1
    assert (await here.journaled())[0].attempts == 3
    # A refusal of the repetition does not settle the first attempt, which arrives meanwhile: the lists decide.
    here.on_submit(faults.delay(trading.POLICY.visibility_delay + 15))
    here.on_submit("rate_limited", times=None)
    assert (await here.entry.place(here.account, order("late"), resubmit=1)).outcome is PLACED
    assert len(here.orders("late")) == 1
    here.sim.faults.clear()
    here.on_submit("drop_before", times=None)
    assert (await place_unknown(here, "other", resubmit=True)).attempts == 2


@for_each("kind, lags", [(SINGLE, False), (SINGLE, True), (COMPLEX, False)])
@on_floor()
async def test_copy_that_is_listed_later_is_reported(
    here: Floor, kind: Kind, lags: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is listed after the visibility delay, although a resubmit relies on that delay.

    Lists that lag behind still lack the second order, which was answered.
    """

    def older_alone(document: Any) -> Any:
        items = sorted(document["data"]["items"], key=lambda item: int(item["id"]))
        document["data"]["items"] = [each for each in items if each.get("external-identifier") == "mine"][:1]
        return document

    here.sim.faults.add("POST", kind.submit, "drop_after")
    here.sim.faults.add("GET", kind.lists, trading.UNLISTED, times=8 * (3 if kind is COMPLEX else 2))  # of 8 polls
    if lags:
        here.on_lists(altered("older alone", older_alone))
    placement = await kind.place(here.entry, here.account, "mine", resubmit=1)
    first, second = sorted(kind.ids(here, "mine"))
    assert (placement.outcome, placement.attempts, placement.order_id) == (PLACED, 2, second)
    assert placement.note == f"2 live orders carry this identifier: {first}, {second}"
    assert placement.note in caplog.text


async def test_a_long_look_keeps_its_claim(here: Floor) -> None:
    placing = asyncio.create_task(place_unknown(here, visibility_delay=300, fault="drop_before"))
    for _ in range(20):
        await asyncio.sleep(10)
        assert await here.journal.claim(here.key("mine"), owner="another", lease=1) is None
    await placing


async def test_another_order_under_our_identifier_is_not_taken_for_ours(here: Floor) -> None:
    other = await here.client.orders.submit(here.account, order("mine", quantity=11))
    unknown = await place_unknown(here, resubmit=1, fault="drop_before")
    assert unknown.code == "identifier_conflict"
    assert f"order {other.order.id} carries this identifier but differs in its legs" in str(unknown)
    assert (await place_unknown(here, resubmit=1)).code == "identifier_conflict"  # never sent again
    assert here.sim.ledger.count("orders.submit") == 2
    (entry,) = await here.journaled()
    assert entry.state is EntryState.OPEN
    (open_still,) = await here.another_entry().recover()
    assert (open_still.outcome, open_still.order) == (Outcome.UNKNOWN, None)
    assert "it is another order" in open_still.note
    cheap = attrs.evolve(order("other"), price=Decimal(9))
    replaced = await here.client.orders.submit(here.account, cheap)
    await asyncio.sleep(30)
    await here.client.orders.replace(here.account, str(replaced.order.id), edit("10"))  # to the terms of ours
    await asyncio.sleep(30)
    assert (await place_unknown(here, "other", fault="drop_before")).code == "identifier_conflict"


@for_each("listing", ["delay(0)", "status(503)"])
@on_floor()
async def test_ours_and_another_one_are_both_told(here: Floor, listing: str, caplog: pytest.LogCaptureFixture) -> None:
    other = await here.client.orders.submit(here.account, order("mine", quantity=11))
    here.on_submit("drop_after")
    here.on_lists(listing, times=2)
    placement = await here.entry.place(here.account, order("mine"))
    assert placement.order.id != other.order.id
    assert "2 live orders carry this identifier" in placement.note
    assert lacks(caplog.text, str(other.order.id), str(placement.order.id)) == []


async def test_ours_is_still_ours_when_it_was_replaced_meanwhile(here: Floor) -> None:
    await trading.leave_open(here)
    await asyncio.sleep(30)
    (original,) = here.orders("mine")
    edited = attrs.evolve(edit(), time_in_force=TimeInForce.GTC)
    await here.client.orders.replace(here.account, original.order_id, edited)
    await asyncio.sleep(30)
    (found,) = await here.another_entry().recover()
    assert found.outcome is PLACED
    assert "live orders" not in found.note


async def test_journal_that_fails_in_its_way_hides_no_outcome(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    failures = OSError("no route to the database"), ValueError()
    unreachable, broken = (AsyncMock(side_effect=failure) for failure in failures)
    journal = HookedJournal(renew=unreachable, renew_many=unreachable, close=broken, release=broken)
    entry = OrderEntry(here.client, journal)
    here.on_submit("drop_after")
    here.on_lists(trading.UNLISTED, times=10)
    assert (await entry.place(here.account, order("mine"))).outcome is PLACED
    assert "could not renew 1 claim(s): no route to the database" in caplog.text
    assert "could not record an outcome: ValueError" in caplog.text
    unknown = await place_unknown(here, "other", entry=entry, resubmit=1, fault="drop_before")
    assert "not listed in 8 polls over more than 20 s; not sent again: the journal could not" in str(unknown)
    assert here.sim.ledger.count("orders.submit") == 2
