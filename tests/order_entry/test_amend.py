"""What one answer, or none, makes of a cancellation, a replacement and an edit of a pair: call by call.

How they fare on a whole brokerage is in `test_order_entry_changes.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import Client, Environment, RetryPolicy, StaticToken
from brokerage_async._generated.models import Comparator, PairsEdit
from brokerage_async._generated.operations import ORDERS_REPLACE
from brokerage_async.errors import InvalidRequestError, ResponseLostError
from brokerage_async.journal import MemoryJournal
from brokerage_async.order_entry import OrderEntry
from brokerage_async.order_entry.amend import cancel, cancel_complex, edit_pairs, replace
from brokerage_async.order_entry.context import Context
from brokerage_async.order_entry.decisions import ReconcilePolicy
from brokerage_async.order_entry.results import ChangeOutcome
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from tests.fake_transport import LOST, NOT_SENT, FakeTransport, fail, ok
from tests.loops import on_virtual_time

POLICY = ReconcilePolicy(first=1.0, visibility_delay=5.0, max_interval=2.0, give_up=10.0)
BODY = json.dumps({"order-type": "Limit", "time-in-force": "Day", "price": "11", "price-effect": "Debit"}).encode()
APPLIED, REFUSED, UNKNOWN = ChangeOutcome.APPLIED, ChangeOutcome.REFUSED, ChangeOutcome.UNKNOWN


def order(status: str, id: int = 1, **fields: Any) -> dict[str, Any]:
    return {"id": id, "account-number": "A1", "status": status, **{k.replace("_", "-"): v for k, v in fields.items()}}


def listed(*orders: dict[str, Any]) -> Response:
    sizes = {"per-page": 200, "page-offset": 0, "item-offset": 0, "total-items": len(orders), "total-pages": 1}
    body = {"data": {"items": orders}, "pagination": sizes | {"current-item-count": len(orders)}}
    return Response(status=200, body=json.dumps(body).encode())


def context_of(client: Client) -> Context:
    return OrderEntry(client, MemoryJournal())._context


class Desk:
    """A client of a service that answers each operation with one thing, or with one after the other."""

    def __init__(self, **answers: Any) -> None:
        self._answers = {name.replace("__", "."): answer for name, answer in answers.items()}
        self.transport = FakeTransport(self._answer)
        self.client = Client(
            Environment.sandbox("https://a.example"),
            StaticToken("t"),
            transport=self.transport,
            retry=RetryPolicy.none(),
        )

    def _answer(self, request: Request) -> Any:
        assert request.operation is not None
        answer = self._answers.get(request.operation.name, listed())
        return (answer.pop(0) if len(answer) > 1 else answer[0]) if isinstance(answer, list) else answer

    def sent(self, name: str) -> int:
        return sum(
            request.operation is not None and request.operation.name == name for request in self.transport.requests
        )


class Bells:
    """Streams whose doorbell rings shortly after a search begins."""

    def __init__(self) -> None:
        self.accounts: list[tuple[str, ...]] = []

    def check_account(self) -> None:
        pass

    def doorbell(self, account_numbers: Iterable[str] | None, events: frozenset[str]) -> Any:
        self.accounts.append(tuple(account_numbers or ()))

        @asynccontextmanager
        async def rings(ring: Callable[[], None]) -> AsyncIterator[None]:
            timer = asyncio.get_running_loop().call_later(0.2, ring)
            try:
                yield
            finally:
                timer.cancel()

        return rings


CANCELS: list[tuple[str, Any, Any, ChangeOutcome]] = [
    ("answered", ok(order("Cancel Requested")), None, APPLIED),
    ("cancelled at once", ok(order("Cancelled")), None, APPLIED),
    ("lost, shown", LOST, listed(order("Cancelled")), APPLIED),
    ("lost, filled", LOST, listed(order("Filled")), REFUSED),
    ("lost, replaced", LOST, listed(order("Cancelled", replacing_order_id=2)), REFUSED),
    ("lost, still works", LOST, listed(order("Live")), UNKNOWN),
    ("lost, not listed", LOST, listed(), UNKNOWN),
    ("lost, lists fail", LOST, fail(500), UNKNOWN),
    ("500, shown", fail(500), listed(order("Cancel Requested")), APPLIED),
    ("another order", ok(order("Cancelled", 2)), listed(order("Live")), UNKNOWN),
    ("another account", ok(order("Cancelled") | {"account-number": "B7"}), listed(order("Live")), UNKNOWN),
    ("still live", ok(order("Live")), listed(order("Live")), UNKNOWN),
    ("refused", fail(422, "cannot_update_order"), listed(order("Filled")), REFUSED),
    ("not sent", NOT_SENT, None, ChangeOutcome.NOT_SENT),
    ("429", fail(429), None, ChangeOutcome.NOT_SENT),
    ("401", fail(401, "token_invalid"), None, ChangeOutcome.NOT_SENT),
]


class TestCancel:
    @pytest.mark.parametrize(
        ("answer", "lists", "expected"), [each[1:] for each in CANCELS], ids=[c[0] for c in CANCELS]
    )
    @on_virtual_time
    async def test_outcome(self, answer: Any, lists: Any, expected: ChangeOutcome) -> None:
        desk = Desk(orders__cancel=answer, orders__list_live=lists or listed(), orders__list=lists or listed())
        async with desk.client as client:
            change = await cancel(context_of(client), "A1", "1", POLICY)
        assert change.outcome is expected
        assert desk.sent("orders.cancel") == 1
        assert (change.error is None) is (isinstance(answer, Response) and answer.status == 200)

    @on_virtual_time
    async def test_lists_are_read_as_far_back_as_the_service_counts(self) -> None:
        """Count from the day of the service, one in 1999."""
        lists = attrs.evolve(listed(), headers={"date": "Wed, 10 Jun 1999 12:00:00 GMT"})
        desk = Desk(orders__cancel=LOST, orders__live=lists, orders__list_live=lists, orders__list=lists)
        async with desk.client as client:
            await client.orders.live("me", ["A1"])
            await cancel(context_of(client), "A1", "1", POLICY)
        starts = {request.url.partition("start-date=")[2][:10] for request in desk.transport.requests} - {""}
        assert starts == {"1998-05-05", "1997-03-31"}  # each a day early: the service counts in US Eastern time

    @on_virtual_time
    async def test_lists_are_read_until_they_show_it(self) -> None:
        lists = [listed(order("Live")), listed(order("Live")), listed(order("Cancel Requested"))]
        desk = Desk(orders__cancel=LOST, orders__list_live=lists)
        async with desk.client as client:
            change = await cancel(context_of(client), "A1", "1", POLICY)
        assert change.outcome is APPLIED
        assert change.order is not None
        assert change.order.status == "Cancel Requested"
        assert desk.sent("orders.list_live") == 3

    @on_virtual_time
    async def test_order_that_leaves_the_live_list_is_read_back_from_further_away(self) -> None:
        """An old order works, is cancelled, and is not live any more on the next day of the service."""
        days = [listed()] * 3 + [listed(order("Cancelled"))]
        desk = Desk(orders__cancel=LOST, orders__list_live=[listed(order("Live")), listed()], orders__list=days)
        async with desk.client as client:
            change = await cancel(context_of(client), "A1", "1", POLICY)
        assert change.outcome is APPLIED
        assert change.order is not None
        assert change.order.status == "Cancelled"
        assert desk.sent("orders.list") == 4

    @pytest.mark.parametrize("later", [listed(), fail(500)])
    @on_virtual_time
    async def test_order_that_was_seen_cancelled_too_early_and_never_again_settles_nothing(self, later: Any) -> None:
        lists = [listed(order("Cancelled")), later]
        desk = Desk(orders__cancel=LOST, orders__list_live=lists, orders__list=later)
        async with desk.client as client:
            change = await cancel(context_of(client), "A1", "1", POLICY)
        assert change.outcome is UNKNOWN

    @on_virtual_time
    async def test_order_that_only_the_last_poll_could_read_settles_by_what_it_shows(self) -> None:
        """The lists fail until the policy gives up; the poll after that one goes further back, and works."""
        policy = ReconcilePolicy(first=1.0, visibility_delay=1.0, max_interval=2.0, give_up=3.0)
        lists = [fail(500), fail(500), listed(order("Filled"))]
        desk = Desk(orders__cancel=LOST, orders__list_live=lists, orders__list=fail(500))
        async with desk.client as client:
            change = await cancel(context_of(client), "A1", "1", policy)
        assert (change.outcome, desk.sent("orders.list_live")) == (REFUSED, 3)

    @on_virtual_time
    async def test_order_that_names_its_successor_later_than_it_reads_cancelled_still_works(self) -> None:
        lists = [listed(order("Cancelled")), listed(order("Cancelled", replacing_order_id=2))]
        desk = Desk(orders__cancel=LOST, orders__list_live=lists)
        async with desk.client as client:
            change = await cancel(context_of(client), "A1", "1", POLICY)
        assert change.outcome is REFUSED
        assert change.order is not None
        assert change.order.replacing_order_id == "2"

    @on_virtual_time
    async def test_what_cannot_be_sent_is_raised(self) -> None:
        desk = Desk()
        async with desk.client as client:
            with pytest.raises(InvalidRequestError):
                await cancel(context_of(client), "A1", "", POLICY)
        assert desk.transport.requests == []


PREVIEW = ok({"order": order("Received")})


class TestReplace:
    @staticmethod
    async def made(desk: Desk, **options: Any) -> Any:
        settings: dict[str, Any] = {"allow_warnings": False} | options
        async with desk.client as client:
            return await replace(context_of(client), ORDERS_REPLACE, "A1", "1", BODY, POLICY, **settings)

    @on_virtual_time
    async def test_the_very_bytes_are_checked_and_sent_once(self) -> None:
        desk = Desk(orders__edit_dry_run=PREVIEW, orders__replace=ok(order("Received", 2, replaces_order_id=1)))
        change = await self.made(desk)
        assert change.outcome is APPLIED
        assert change.order.id == change.order_id == "2"
        assert [request.body for request in desk.transport.requests] == [BODY, BODY]

    @pytest.mark.parametrize(
        ("preview", "expected"),
        [
            (fail(422, "preflight_check_failure"), REFUSED),
            (NOT_SENT, ChangeOutcome.NOT_SENT),
            (LOST, ChangeOutcome.NOT_SENT),
            (ok({"order": order("Received"), "errors": [{"code": "e", "message": "no"}]}), REFUSED),
            (ok({"order": order("Received"), "warnings": [{"code": "w", "message": "hm"}]}), REFUSED),
        ],
        ids=["refused", "not sent", "lost", "errors", "warnings"],
    )
    @on_virtual_time
    async def test_what_the_dry_run_objects_to_is_not_sent(self, preview: Any, expected: ChangeOutcome) -> None:
        desk = Desk(orders__edit_dry_run=preview)
        change = await self.made(desk)
        assert change.outcome is expected
        assert change.order_id == "1"
        assert change.error is not None
        assert desk.sent("orders.replace") == 0

    @pytest.mark.parametrize("allowed", [True, ["w"]], ids=["all", "this one"])
    @on_virtual_time
    async def test_warnings_can_be_allowed(self, allowed: Any) -> None:
        warned = ok({"order": order("Received"), "warnings": [{"code": "w", "message": "hm"}]})
        desk = Desk(orders__edit_dry_run=warned, orders__replace=ok(order("Received", 2, replaces_order_id=1)))
        change = await self.made(desk, allow_warnings=allowed)
        assert change.outcome is APPLIED
        assert [warning.code for warning in change.warnings] == ["w"]

    REPLACED = order("Cancelled", replacing_order_id=2)
    SUCCESSOR = order("Live", 2, replaces_order_id=1, order_type="Limit", time_in_force="Day", price="11",
                      price_effect="Debit")  # fmt: skip

    @pytest.mark.parametrize(
        ("lists", "expected", "shown", "named"),
        [
            (listed(REPLACED, SUCCESSOR), APPLIED, "2", "2"),
            (listed(REPLACED, SUCCESSOR | {"price": "12"}), UNKNOWN, "2", "2"),
            (listed(REPLACED), UNKNOWN, "1", "1"),
            (listed(order("Filled")), REFUSED, "1", "1"),
            (listed(order("Cancelled")), REFUSED, "1", "1"),
            (listed(order("Live")), UNKNOWN, "1", "1"),
            (listed(), UNKNOWN, None, "1"),
        ],
        ids=["ours", "somebody else's", "successor not listed", "filled", "cancelled", "untouched", "not listed"],
    )
    @on_virtual_time
    async def test_without_an_answer_the_orders_tell(self, lists: Any, expected: Any, shown: Any, named: str) -> None:
        desk = Desk(orders__edit_dry_run=PREVIEW, orders__replace=LOST, orders__list_live=lists, orders__list=lists)
        change = await self.made(desk)
        assert change.outcome is expected
        assert (change.order and change.order.id) == shown
        assert change.order_id == named
        assert isinstance(change.error, ResponseLostError)
        assert desk.sent("orders.replace") == 1

    @on_virtual_time
    async def test_order_that_names_its_successor_later_than_it_reads_cancelled_was_replaced(self) -> None:
        lists = [listed(order("Cancelled")), listed(order("Cancelled")), listed(self.REPLACED, self.SUCCESSOR)]
        desk = Desk(orders__edit_dry_run=PREVIEW, orders__replace=LOST, orders__list_live=lists, orders__list=listed())
        change = await self.made(desk)
        assert (change.outcome, change.order_id) == (APPLIED, "2")

    @on_virtual_time
    async def test_cancelled_order_without_a_complete_poll_after_the_delay_may_have_been_replaced(self) -> None:
        lists = [listed(order("Cancelled")), fail(500)]
        desk = Desk(orders__edit_dry_run=PREVIEW, orders__replace=LOST, orders__list_live=lists, orders__list=fail(500))
        assert (await self.made(desk)).outcome is UNKNOWN

    @pytest.mark.parametrize(
        ("answer", "lists", "expected", "shown"),
        [
            (order("Live", price="11"), listed(), APPLIED, "1"),
            (order("Live", price="10"), listed(REPLACED, SUCCESSOR), APPLIED, "2"),
            (order("Live", price="10"), listed(order("Live", price="10")), UNKNOWN, "1"),
            (REPLACED, listed(REPLACED, SUCCESSOR), APPLIED, "2"),
            (order("Live", 5, price="10"), listed(order("Live", price="10")), UNKNOWN, "1"),
            (order("Live", 5) | {"account-number": "B7"}, listed(order("Live", price="10")), UNKNOWN, "1"),
            (order("Live", 5, price="10"), listed(REPLACED, SUCCESSOR), APPLIED, "2"),
        ],
        ids=["edited in place", "not yet replaced", "never replaced", "replaced", "other terms", "another account",
             "other terms, replaced"],
    )  # fmt: skip
    @on_virtual_time
    async def test_an_answer_that_shows_another_order_is_looked_into_unless_it_has_the_new_terms(
        self, answer: Any, lists: Any, expected: Any, shown: Any
    ) -> None:
        desk = Desk(
            orders__edit_dry_run=PREVIEW, orders__replace=ok(answer), orders__list_live=lists, orders__list=lists
        )
        change = await self.made(desk)
        assert change.outcome is expected
        assert (change.order and change.order.id) == shown
        assert desk.sent("orders.replace") == 1


PAIR = PairsEdit(ratio_price_comparator=Comparator("gte"), ratio_price_threshold=Decimal("1.5"))
ASKED = {"id": 9, "type": "PAIRS", "ratio-price-comparator": "gte", "ratio-price-threshold": "1.5"}


class TestEditPairs:
    @pytest.mark.parametrize(
        ("answer", "seen", "expected"),
        [
            (ok({"complex-order": ASKED}), fail(500), APPLIED),
            (ok({"complex-order": ASKED | {"id": 8}}), ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (ok({"complex-order": ASKED | {"account-number": "B7"}}), fail(500), UNKNOWN),
            (ok({"complex-order": ASKED | {"ratio-price-threshold": "2"}}), ok(ASKED), APPLIED),
            (ok({"order": order("Live")}), ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (ok({"warnings": []}), ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (LOST, ok(ASKED), APPLIED),
            (LOST, ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (LOST, ok(ASKED | {"ratio-price-threshold": "2", "terminal-at": "2026-03-02T10:00:00Z"}), REFUSED),
            (LOST, fail(500), UNKNOWN),
            (fail(422, "validation_error"), ok(ASKED), REFUSED),
            (NOT_SENT, None, ChangeOutcome.NOT_SENT),
            (ok({"errors": [{"code": "e", "message": "no"}]}), ok(ASKED | {"ratio-price-threshold": "2"}), REFUSED),
            (ok({"errors": [{"code": "e", "message": "no"}]}), ok(ASKED), UNKNOWN),
        ],
        ids=["answered", "another order", "another account", "old terms, shown", "an order", "no order", "lost, shown",
             "lost, not shown", "lost, over", "lost, unreadable", "refused", "not sent", "errors",
             "errors, and yet done"],
    )  # fmt: skip
    @on_virtual_time
    async def test_outcome(self, answer: Any, seen: Any, expected: ChangeOutcome) -> None:
        desk = Desk(complex_orders__edit_pairs=answer, complex_orders__get=seen)
        async with desk.client as client:
            change = await edit_pairs(context_of(client), "A1", "9", PAIR, POLICY)
        assert change.outcome is expected
        assert desk.sent("complex_orders.edit_pairs") == 1

    @on_virtual_time
    async def test_pair_that_may_not_be_read_is_read_once(self) -> None:
        """Polling again would be refused in the same way."""
        desk = Desk(complex_orders__edit_pairs=LOST, complex_orders__get=fail(403, "forbidden"))
        async with desk.client as client:
            change = await edit_pairs(context_of(client), "A1", "9", PAIR, POLICY)
        assert change.outcome is UNKNOWN
        assert desk.sent("complex_orders.get") == 1


CANCELLED = {"id": 9, "type": "OCO", "orders": [order("Cancelled", 1), order("Cancelled", 2)]}


class TestCancelComplex:
    @pytest.mark.parametrize(
        ("statuses", "expected", "polls"),
        [
            (("Cancelled", "Cancelled"), APPLIED, 4),  # only a settled poll shows that none was replaced
            (("Cancel Requested", "Cancel Requested"), APPLIED, 1),
            (("Filled", "Filled"), REFUSED, 1),
            (("Live", "Live"), UNKNOWN, 4),
        ],
    )
    @on_virtual_time
    async def test_without_an_answer_the_complex_order_shows_the_outcome(
        self, statuses: tuple[str, str], expected: ChangeOutcome, polls: int
    ) -> None:
        seen = CANCELLED | {"orders": [order(status, number) for number, status in enumerate(statuses, 1)]}
        desk = Desk(complex_orders__cancel=LOST, complex_orders__get=ok(seen))
        async with desk.client as client:
            change = await cancel_complex(context_of(client), "A1", "9", POLICY)
        assert (change.outcome, desk.sent("complex_orders.get")) == (expected, polls)
        assert change.complex_order is not None
        assert change.complex_order.id == "9"
        assert isinstance(change.error, ResponseLostError)

    @on_virtual_time
    async def test_answer_that_shows_it_cancelled_carries_no_error(self) -> None:
        desk = Desk(complex_orders__cancel=ok(CANCELLED))
        async with desk.client as client:
            change = await cancel_complex(context_of(client), "A1", "9", POLICY)
        assert (change.outcome, change.error, desk.sent("complex_orders.get")) == (APPLIED, None, 0)


REQUESTED = CANCELLED | {"orders": [order("Cancel Requested", 1), order("Cancel Requested", 2)]}


@pytest.mark.parametrize(
    ("change", "arguments"),
    [(cancel, ("A1", "1")), (edit_pairs, ("A1", "9", PAIR)), (cancel_complex, ("A1", "9"))],
    ids=["cancel", "edit_pairs", "cancel_complex"],
)
@on_virtual_time
async def test_event_of_the_account_brings_the_look_at_a_change_forward(change: Any, arguments: Any) -> None:
    bells = Bells()
    desk = Desk(
        orders__cancel=LOST,
        orders__list_live=listed(order("Cancel Requested")),
        complex_orders__edit_pairs=LOST,
        complex_orders__cancel=LOST,
        complex_orders__get=ok(ASKED if change is edit_pairs else REQUESTED),
    )
    async with desk.client as client:
        changed = await change(attrs.evolve(context_of(client), doorbells=bells), *arguments, POLICY)
    assert changed.outcome is APPLIED
    assert asyncio.get_running_loop().time() < POLICY.first
    assert bells.accounts == [("A1",)]
