"""Outcome of a cancellation, a replacement and an edit of a pair, for each answer and for none.

First of one answer after the other, then against a whole brokerage: the order itself shows what no answer tells.
"""

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import Client, Environment, RetryPolicy, StaticToken, models
from brokerage_async._generated.operations import ORDERS_REPLACE
from brokerage_async.errors import ConfigurationError, PreflightError, ResponseLostError
from brokerage_async.journal import EntryState, MemoryJournal
from brokerage_async.order_entry import ChangeOutcome, OrderChange, OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.order_entry.amend import Reader, send_replacement
from brokerage_async.order_entry.preflight import SendOptions
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests import trading
from tests.fake_transport import LOST, NOT_SENT, FakeTransport, fail, ok
from tests.http.calls import raised_by
from tests.loops import VirtualLoop, on_virtual_time, run_in
from tests.partial_listings import altered
from tests.tables import for_each
from tests.trading import Bells, Floor, cancelled, edit, on_floor, order

pytestmark = pytest.mark.virtual_time

POLICY = ReconcilePolicy(first=1.0, visibility_delay=5.0, max_interval=2.0, give_up=10.0)
BODY = b'{"order-type":"Limit","time-in-force":"Day","price":"11","price-effect":"Debit"}'
APPLIED, REFUSED, UNKNOWN = ChangeOutcome.APPLIED, ChangeOutcome.REFUSED, ChangeOutcome.UNKNOWN
FILLED = ChangeOutcome.FILLED
ONE_ORDER, ONE_COMPLEX_ORDER = r"/orders/\d+$", r"/complex-orders/\d+$"

UNTOUCHED = ["drop_before", "hang", "status(500)", "status(503)", "html(502)"]
ARRIVED: list[Any] = ["drop_after", "hang_after", "after_status(500)", "after_status(503)", "after_html(502)"]


def row(status: str, id: int = 1, **fields: Any) -> dict[str, Any]:
    return {"id": id, "account-number": "A1", "status": status, **{k.replace("_", "-"): v for k, v in fields.items()}}


def listed(*orders: dict[str, Any]) -> Response:
    sizes = {"per-page": 200, "page-offset": 0, "item-offset": 0, "total-items": len(orders), "total-pages": 1}
    body = {"data": {"items": orders}, "pagination": sizes | {"current-item-count": len(orders)}}
    return Response(status=200, body=json.dumps(body).encode())


def pages(*answers: Response | list[dict[str, Any]]) -> list[Response]:
    """Return what a list shows poll by poll: these orders, or a failure."""
    return [each if isinstance(each, Response) else listed(*each) for each in answers]


REPLACED = row("Cancelled", replacing_order_id=2)


async def replace(entry: OrderEntry, *, allow_warnings: Any = False) -> OrderChange:
    """Replace an order that had no fills, and that nothing else is read of, at a price given as an int."""
    options = SendOptions(policy=entry._policy, allow_warnings=allow_warnings)
    reader = Reader(entry._context, "A1", "1")
    with reader.describing():
        return await send_replacement(reader, ORDERS_REPLACE, attrs.evolve(edit(), price=11), options)


async def edit_pairs(entry: OrderEntry) -> OrderChange:
    pair: Any = {"ratio_price_comparator": models.Comparator.GTE, "ratio_price_threshold": Decimal("1.5")}
    return await entry.edit_pairs("A1", "9", **pair)


CHANGES: dict[str, tuple[Any, ...]] = {
    "cancel": (OrderEntry.cancel, "A1", "1"),
    "replace": (replace,),
    "cancel_complex": (OrderEntry.cancel_complex, "A1", "9"),
    "edit_pairs": (edit_pairs,),
}


class Desk:
    """A client of a service that answers each operation with one thing, or with one after the other.

    It shows ``lists`` as the orders of today and as all orders.
    """

    def __init__(self, *, lists: Any = None, otherwise: Any = None, **answers: Any) -> None:
        if lists is not None:
            answers |= {"orders__list_live": lists, "orders__list": lists}
        self._answers = {
            name.replace("__", "."): list(answer) if isinstance(answer, list) else answer
            for name, answer in answers.items()
        }
        self._otherwise = otherwise or listed()
        self.transport = FakeTransport(self._answer)
        environment, once = Environment.sandbox("https://a.example"), RetryPolicy.none()
        self.client = Client(environment, StaticToken("t"), transport=self.transport, retry=once)

    def _answer(self, request: Request) -> Any:
        answer = self._answers.get(request.operation.name, self._otherwise)
        return (answer.pop(0) if len(answer) > 1 else answer[0]) if isinstance(answer, list) else answer

    async def change(self, kind: str, *, policy: Any = POLICY, bells: Bells | None = None, **options: Any) -> Any:
        async with self.client as client:
            entry = OrderEntry(client, MemoryJournal(), reconcile=policy)
            entry._context.doorbells = bells
            make, *arguments = CHANGES[kind]
            return await make(entry, *arguments, **options)

    def sent(self, name: str) -> int:
        return sum(getattr(request.operation, "name", None) == name for request in self.transport.requests)

    def sent_changes(self) -> int:
        sent = [each for each in self.transport.requests if each.method != "GET"]
        return sum(not each.operation.name.endswith("dry_run") for each in sent)


CANCELS: list[tuple[str, Any, Any, ChangeOutcome]] = [
    ("answered", ok(row("Cancel Requested")), None, APPLIED),
    ("cancelled at once", ok(row("Cancelled")), None, APPLIED),
    ("lost, shown", LOST, listed(row("Cancelled")), APPLIED),
    ("lost, filled", LOST, listed(row("Filled")), REFUSED),
    ("replaced", ok(REPLACED), listed(REPLACED), REFUSED),
    ("lost, replaced", LOST, listed(REPLACED), REFUSED),
    ("lost, still works", LOST, listed(row("Live")), UNKNOWN),
    ("lost, not listed", LOST, listed(), UNKNOWN),
    ("lost, lists fail", LOST, fail(500), UNKNOWN),
    ("500, shown", fail(500), listed(row("Cancel Requested")), APPLIED),
    ("another order", ok(row("Cancelled", 2)), listed(row("Live")), UNKNOWN),
    ("another account", ok(row("Cancelled") | {"account-number": "B7"}), listed(row("Live")), UNKNOWN),
    ("still live", ok(row("Live")), listed(row("Live")), UNKNOWN),
    ("refused", fail(422, "cannot_update_order"), listed(row("Filled")), REFUSED),
    ("not sent", NOT_SENT, None, ChangeOutcome.NOT_SENT),
    ("429", fail(429), None, ChangeOutcome.NOT_SENT),
    ("401", fail(401, "token_invalid"), None, ChangeOutcome.NOT_SENT),
]


CANCEL_POLLS: list[tuple[Any, Any, ChangeOutcome, tuple[int, int]]] = [
    # Until the live list shows it.
    (pages([row("Live")], [row("Live")], [row("Cancel Requested")]), listed(), APPLIED, (3, 0)),
    # An old order that is cancelled and leaves the live list is read back from further away.
    (pages([row("Live")], []), pages([], [], [], [row("Cancelled")]), APPLIED, (5, 4)),
    # Seen cancelled too early, and never again: it may have been replaced.
    (pages([row("Cancelled")], []), listed(), UNKNOWN, (5, 4)),
    (pages([row("Cancelled")], fail(500)), fail(500), UNKNOWN, (7, 6)),
    # It names its successor later than it reads cancelled.
    (pages([row("Cancelled")], [REPLACED]), listed(), REFUSED, (2, 0)),
]


class TestCancel:
    @for_each("name, answer, lists, expected", CANCELS)
    async def test_outcome(self, name: str, answer: Any, lists: Any, expected: ChangeOutcome) -> None:
        desk = Desk(orders__cancel=answer, lists=lists)
        change = await desk.change("cancel")
        assert (change.outcome, desk.sent("orders.cancel")) == (expected, 1)
        assert (change.error is None) is (isinstance(answer, Response) and answer.status == 200)

    async def test_lists_are_read_as_far_back_as_the_service_counts(self) -> None:
        """Count from the day of the service, one in 1999."""
        lists = attrs.evolve(listed(), headers={"date": "Wed, 10 Jun 1999 12:00:00 GMT"})
        desk = Desk(orders__cancel=LOST, orders__live=lists, lists=lists)
        async with desk.client as client:
            await client.orders.live("me", ["A1"])
            await OrderEntry(client, MemoryJournal(), reconcile=POLICY).cancel("A1", "1")
        starts = {request.url.partition("start-date=")[2][:10] for request in desk.transport.requests} - {""}
        assert starts == {"1998-05-05", "1997-03-31"}  # each a day early: the service counts in US Eastern time

    @for_each("live, everything, expected, polls", CANCEL_POLLS)
    async def test_lost_answer_is_read_by_polls(self, live: Any, everything: Any, expected: Any, polls: Any) -> None:
        desk = Desk(orders__cancel=LOST, orders__list_live=live, orders__list=everything)
        change = await desk.change("cancel")
        sent = desk.sent("orders.list_live"), desk.sent("orders.list")
        assert (change.outcome, sent) == (expected, polls)
        assert change.order.status == ("Cancel Requested" if polls == (3, 0) else "Cancelled")
        assert change.order.replacing_order_id == ("2" if expected is REFUSED else None)

    async def test_order_that_only_the_last_poll_could_read_settles_by_what_it_shows(self) -> None:
        """The lists fail until the policy gives up. The poll after that one goes further back, and works."""
        policy = ReconcilePolicy(first=1.0, visibility_delay=1.0, max_interval=2.0, give_up=3.0)
        lists = [fail(500), fail(500), listed(row("Filled"))]
        desk = Desk(orders__cancel=LOST, orders__list_live=lists, orders__list=fail(500))
        change = await desk.change("cancel", policy=policy)
        assert (change.outcome, desk.sent("orders.list_live")) == (REFUSED, 3)


PREVIEW = ok({"order": row("Received")})
WARNED = ok({"order": row("Received"), "warnings": [{"code": "w", "message": "hm"}]})
SUCCESSOR = row("Live", 2, replaces_order_id=1, order_type="Limit", time_in_force="Day", price="11",
                  price_effect="Debit")  # fmt: skip
CHEAP = row("Live", price="10")

PREVIEWS: list[tuple[Any, Any, ChangeOutcome]] = [
    (PREVIEW, False, APPLIED),
    (fail(422, "preflight_check_failure"), False, REFUSED),
    (NOT_SENT, False, ChangeOutcome.NOT_SENT),
    (LOST, False, ChangeOutcome.NOT_SENT),
    (ok({"order": row("Received"), "errors": [{"code": "e", "message": "no"}]}), False, REFUSED),
    (WARNED, False, REFUSED),
    (WARNED, True, APPLIED),
    (WARNED, ["w"], APPLIED),
]

# The answer, what the lists show, poll by poll if need be, outcome, and the ids of the order that is shown and named
REPLACEMENTS: list[tuple[Any, Any, Any, ChangeOutcome, str | None, str]] = [
    (LOST, listed(REPLACED, SUCCESSOR), None, APPLIED, "2", "2"),
    (LOST, listed(REPLACED, SUCCESSOR | {"price": "12"}), None, UNKNOWN, "2", "2"),  # somebody else's
    (LOST, listed(REPLACED), None, UNKNOWN, "1", "1"),
    (LOST, listed(row("Filled", replacing_order_id=2)), None, FILLED, "1", "1"),
    (LOST, listed(row("Filled")), None, REFUSED, "1", "1"),
    (LOST, listed(row("Cancelled")), None, REFUSED, "1", "1"),
    (LOST, listed(row("Live")), None, UNKNOWN, "1", "1"),
    (LOST, listed(), None, UNKNOWN, None, "1"),
    # It names its successor later than it reads cancelled.
    (LOST, pages(*[[row("Cancelled")]] * 2, [REPLACED, SUCCESSOR]), listed(), APPLIED, "2", "2"),
    # Without a complete poll after the delay, a cancelled order may have been replaced.
    (LOST, pages([row("Cancelled")], fail(500)), fail(500), UNKNOWN, "1", "1"),
    # An answer that shows another order is looked into unless it has the new terms.
    (ok(row("Live", price="11")), listed(), None, APPLIED, "1", "1"),
    (ok(CHEAP), listed(REPLACED, SUCCESSOR), None, APPLIED, "2", "2"),
    (ok(CHEAP), listed(CHEAP), None, UNKNOWN, "1", "1"),
    (ok(REPLACED), listed(REPLACED, SUCCESSOR), None, APPLIED, "2", "2"),
    (ok(row("Live", 5, price="10")), listed(CHEAP), None, UNKNOWN, "1", "1"),
    (ok(row("Live", 5) | {"account-number": "B7"}), listed(CHEAP), None, UNKNOWN, "1", "1"),
    (ok(row("Live", 5, price="11")), listed(REPLACED, SUCCESSOR), None, APPLIED, "2", "2"),
    (ok(row("Live", 5, external_identifier="other")), listed(REPLACED, SUCCESSOR), None, APPLIED, "2", "2"),
    # Edited in place, even if it replaced an order earlier.
    (ok(row("Live", price="11", replaces_order_id=98)), listed(), None, APPLIED, "1", "1"),
    (ok(row("Live", 99, replaces_order_id=98)), listed(CHEAP), None, UNKNOWN, "1", "1"),
    (fail(422, "validation_error"), listed(CHEAP), None, REFUSED, "1", "1"),
]


class TestReplace:
    @for_each("preview, allowed, expected", PREVIEWS)
    async def test_dry_run_that_objects_stops_it(self, preview: Any, allowed: Any, expected: ChangeOutcome) -> None:
        """Otherwise the very bytes that were checked are sent once."""
        desk = Desk(orders__edit_dry_run=preview, orders__replace=ok(SUCCESSOR))
        change = await desk.change("replace", allow_warnings=allowed)
        is_sent = expected is APPLIED
        assert (change.outcome, desk.sent("orders.replace")) == (expected, is_sent)
        assert [request.body for request in desk.transport.requests] == [BODY] * (1 + is_sent)
        assert (change.order_id, change.error is None) == ("2" if is_sent else "1", is_sent)
        assert not is_sent or change.order.id == "2"
        assert [warning.code for warning in change.warnings] == (["w"] if preview is WARNED else [])

    @for_each("answer, live, everything, expected, shown, named", REPLACEMENTS)
    async def test_orders_tell_what_the_answer_does_not(
        self, answer: Any, live: Any, everything: Any, expected: Any, shown: Any, named: str
    ) -> None:
        lists = {"orders__list_live": live, "orders__list": everything or live}
        desk = Desk(orders__edit_dry_run=PREVIEW, orders__replace=answer, **lists)
        change = await desk.change("replace")
        assert (change.outcome, change.order and change.order.id, change.order_id) == (expected, shown, named)
        assert answer is not LOST or isinstance(change.error, ResponseLostError)
        assert desk.sent("orders.replace") == 1


ASKED = {"id": 9, "type": "PAIRS", "ratio-price-comparator": "gte", "ratio-price-threshold": "1.5"}
ERRORS: list[Any] = [[{"code": "e", "message": "no"}], "no", {"code": "no"}]


class TestEditPairs:
    @for_each(
        "answer, seen, expected",
        [
            (ok({"complex-order": ASKED}), fail(500), APPLIED),
            (ok({"complex-order": ASKED | {"id": 8}}), ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (ok({"complex-order": ASKED | {"account-number": "B7"}}), fail(500), UNKNOWN),
            (ok({"complex-order": ASKED | {"ratio-price-threshold": "2"}}), ok(ASKED), APPLIED),
            (ok({"order": row("Live")}), ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (ok({"warnings": []}), ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (LOST, ok(ASKED), APPLIED),
            (LOST, ok(ASKED | {"ratio-price-threshold": "2"}), UNKNOWN),
            (LOST, ok(ASKED | {"ratio-price-threshold": "2", "terminal-at": "2026-03-02T10:00:00Z"}), REFUSED),
            (LOST, fail(500), UNKNOWN),
            (LOST, fail(403, "forbidden"), UNKNOWN),
            (fail(422, "validation_error"), ok(ASKED), REFUSED),
            (NOT_SENT, None, ChangeOutcome.NOT_SENT),
            *((ok({"errors": errors}), ok(ASKED | {"ratio-price-threshold": "2"}), REFUSED) for errors in ERRORS),
            *((ok({"errors": errors}), ok(ASKED), UNKNOWN) for errors in ERRORS),  # and yet done
        ],
    )
    async def test_outcome(self, answer: Any, seen: Any, expected: ChangeOutcome) -> None:
        desk = Desk(complex_orders__edit_pairs=answer, complex_orders__get=seen)
        change = await desk.change("edit_pairs")
        assert (change.outcome, desk.sent("complex_orders.edit_pairs")) == (expected, 1)
        told = (change.complex_order is None, isinstance(change.error, PreflightError), change.preview is not None)
        is_unread = expected is ChangeOutcome.NOT_SENT or seen.status != 200
        has_errors = isinstance(answer, Response) and b'"errors"' in answer.body
        assert told == (is_unread, has_errors, isinstance(answer, Response) and answer.status == 200), answer
        if seen is not None and seen.status == 403:  # polling again would be refused in the same way
            assert desk.sent("complex_orders.get") == 1


CANCELLED = {"id": 9, "type": "OCO", "orders": [row("Cancelled", 1), row("Cancelled", 2)]}


class TestCancelComplex:
    @for_each(
        "answer, statuses, shown, expected, polls",
        [
            (LOST, ("Cancelled", "Cancelled"), {"id": 8}, UNKNOWN, 6),
            (LOST, ("Cancelled", "Cancelled"), {"account-number": "B7"}, UNKNOWN, 6),
            (LOST, ("Cancelled", "Cancelled"), {}, APPLIED, 4),  # only a settled poll shows that none was replaced
            (LOST, ("Cancel Requested", "Cancel Requested"), {}, APPLIED, 1),
            (LOST, ("Filled", "Filled"), {}, REFUSED, 1),
            (LOST, ("Live", "Live"), {}, UNKNOWN, 4),
            (ok(CANCELLED), (), {}, APPLIED, 0),
        ],
    )
    async def test_outcome(self, answer: Any, statuses: Any, shown: Any, expected: ChangeOutcome, polls: int) -> None:
        seen = CANCELLED | {"orders": [row(status, number) for number, status in enumerate(statuses, 1)]} | shown
        desk = Desk(complex_orders__cancel=answer, complex_orders__get=ok(seen))
        change = await desk.change("cancel_complex")
        assert (change.outcome, desk.sent("complex_orders.get")) == (expected, polls)
        assert (change.complex_order and change.complex_order.id) == (None if shown else "9")
        assert isinstance(change.error, ResponseLostError) is (answer is LOST)


@for_each("kind", ["cancel", "edit_pairs", "cancel_complex"])
@on_virtual_time
async def test_event_of_the_account_brings_the_look_at_a_change_forward(kind: str) -> None:
    requested = [row("Cancel Requested", number) for number in (1, 2)]
    whole = ASKED if kind == "edit_pairs" else CANCELLED | {"orders": requested}
    desk = Desk(otherwise=LOST, orders__list_live=listed(*requested), complex_orders__get=ok(whole))
    bells = Bells(0.2)
    assert (await desk.change(kind, bells=bells)).outcome is APPLIED
    assert asyncio.get_running_loop().time() < POLICY.first
    assert bells.accounts == [("A1",)]


def filled(*fills: int, status: str = "Filled", id: int = 1, **fields: Any) -> dict[str, Any]:
    each = [{"fill-id": f"f{number}", "quantity": quantity} for number, quantity in enumerate(fills)]
    leg = {"symbol": "AAPL", "quantity": 10, "remaining-quantity": 10 - sum(fills), "fills": each}
    return row(status, id, **fields) | {"legs": [leg]}


def fills_of(change: Any) -> list[int]:
    return [int(fill.quantity) for fill in change.fills]


NOT_NOW = fail(422, "cannot_update_order")


SENT = {"cancel": "orders.cancel", "replace": "orders.replace", "cancel_complex": "complex_orders.cancel",
        "edit_pairs": "complex_orders.edit_pairs", "edit": "orders.edit"}  # fmt: skip
DONE = {
    "cancel": row("Cancel Requested"),
    "replace": row("Routed", 2, replaces_order_id=1),
    "cancel_complex": {"id": 9, "orders": [row("Cancel Requested")]},
    "edit_pairs": {"complex-order": ASKED},
}


class TestNotNow:
    """The service answers ``cannot_update_order`` for an order that has ended, and for one that is not Live yet."""

    @staticmethod
    def desk(answers: list[Any], live: Any, dry_run: Any = None) -> Desk:
        """Return a service that gives every change these answers in turn, and shows the order like this."""
        seen = live[-1] if isinstance(live, list) else live
        whole = {"id": 9, "type": "PAIRS", "orders": [seen]}
        return Desk(
            orders__cancel=answers, orders__replace=answers, complex_orders__cancel=answers,
            complex_orders__edit_pairs=answers, orders__edit_dry_run=dry_run or PREVIEW,
            orders__list_live=[listed(each) for each in live] if isinstance(live, list) else listed(live),
            orders__list=listed(), complex_orders__get=ok(whole),
        )  # fmt: skip

    @for_each("kind", DONE)
    @on_virtual_time
    async def test_order_that_stays_closed_to_changes_is_shown_at_the_bound(self, kind: str) -> None:
        desk = self.desk([NOT_NOW], row("In Flight"))
        change = await desk.change(kind)
        assert change.outcome is REFUSED
        assert "In Flight" in str(change.order or change.complex_order)
        assert desk.sent(SENT[kind]) > 3
        assert asyncio.get_running_loop().time() <= POLICY.give_up

    @for_each("kind", DONE)
    async def test_nothing_is_repeated_but_a_refusal_for_now(self, kind: str) -> None:
        for answers, seen, expected, sends in (
            ([NOT_NOW, NOT_NOW, ok(DONE[kind])], row("Routed"), APPLIED, 3),  # once the order is live
            ([NOT_NOW], filled(4, 6), REFUSED, 1),  # the order has ended: reported with its fills, at once
            ([fail(422, "validation_error")], row("Live"), REFUSED, 1),
            ([NOT_NOW, LOST, ok(DONE[kind])], row("Live"), UNKNOWN, 2),
        ):
            desk = self.desk(answers, seen)
            change = await desk.change(kind)
            assert (change.outcome, desk.sent(SENT[kind])) == (expected, sends)
            assert (change.error is None) is (expected is APPLIED)
            assert fills_of(change) == ([4, 6] if answers == [NOT_NOW] else [])

    async def test_dry_run_that_is_refused_so_is_repeated_before_anything_is_sent(self) -> None:
        answer = ok(DONE["replace"])
        desk = self.desk([answer], row("Routed"), dry_run=[NOT_NOW, NOT_NOW, PREVIEW])
        change = await desk.change("replace")
        assert (change.outcome, desk.sent("orders.edit_dry_run"), desk.sent("orders.replace")) == (APPLIED, 3, 1)
        desk = self.desk([answer], filled(10), dry_run=NOT_NOW)
        change = await desk.change("replace")
        assert (change.outcome, fills_of(change), desk.sent("orders.replace")) == (REFUSED, [10], 0)

    async def test_cancellation_that_is_under_way_already_is_applied_and_not_repeated(self) -> None:
        desk = self.desk([NOT_NOW], [row("Cancel Requested"), row("Cancelled")])
        change = await desk.change("cancel")
        assert (change.outcome, change.order.status, desk.sent("orders.cancel")) == (APPLIED, "Cancel Requested", 1)
        desk, began = self.desk([NOT_NOW, ok(DONE["cancel"])], row("Routed")), asyncio.get_running_loop().time()
        change = await desk.change("cancel", bells=Bells(0.2))  # an event of the account brings the repetition forward
        assert change.outcome is APPLIED
        assert asyncio.get_running_loop().time() - began < POLICY.first

    @for_each("kind", DONE)
    async def test_caller_that_is_cancelled_while_it_waits_sends_nothing_more(self, kind: str) -> None:
        desk = self.desk([NOT_NOW], row("Routed"))
        error = await cancelled(desk.change(kind), 0.5)
        number = "1" if kind in ("cancel", "replace") else "9"
        assert (desk.sent(SENT[kind]), error.order_id) == (1, number)
        assert error.__notes__ == [f"the change of order {number} of account A1 was refused for now and is not applied"]


REQUEST = ok(row("Cancel Requested"))

ENDS: list[tuple[str, Any, list[Any], ChangeOutcome, list[int]]] = [
    ("cancelled", REQUEST, [row("Cancel Requested"), row("Cancelled")], APPLIED, []),
    ("filled first", REQUEST, [row("Cancel Requested"), filled(10)], FILLED, [10]),
    ("fills come later", REQUEST, [filled(4), filled(4, 6)], FILLED, [4, 6]),
    ("partly filled, then cancelled", REQUEST, [filled(4, status="Cancel Requested"), filled(4, status="Cancelled")],
     APPLIED, [4]),
    ("an answer alone", ok({"status": "Cancelled"}), [row("Live")], UNKNOWN, []),
    ("an answer without fills", ok(row("Cancelled")), [filled(4, status="Cancelled")], APPLIED, [4]),
    ("never over", REQUEST, [row("Cancel Requested")], UNKNOWN, []),
    ("lists fail", REQUEST, [], UNKNOWN, []),
    ("lost, filled", LOST, [filled(10)], FILLED, [10]),
    ("lost, cancelled", LOST, [row("Live"), row("Cancelled")], APPLIED, []),
    ("lost, cancelled after the search", LOST, [row("Live")] * 4 + [row("Cancelled")], APPLIED, []),
    ("lost, works on", LOST, [row("Live")], UNKNOWN, []),
    ("refused, filled", NOT_NOW, [filled(10)], FILLED, [10]),
    ("refused, cancelled before", NOT_NOW, [row("Cancelled")], REFUSED, []),
    ("refused, works on", NOT_NOW, [row("Routed")], REFUSED, []),
    ("expired first", REQUEST, [row("Expired")], REFUSED, []),
    ("replaced", REQUEST, [row("Cancelled", replacing_order_id=2)], REFUSED, []),
    ("removed with fills", REQUEST, [filled(3, status="Partially Removed")], REFUSED, [3]),
    ("not sent", NOT_SENT, [row("Live")], ChangeOutcome.NOT_SENT, []),
]  # fmt: skip


class TestWait:
    @for_each("name, answer, seen, expected, fills", ENDS)
    @on_virtual_time
    async def test_cancel_ends_with_order(self, name: str, answer: Any, seen: Any, expected: Any, fills: Any) -> None:
        lists = [listed(each) for each in seen] or fail(500)
        desk = Desk(orders__cancel=answer, orders__list_live=lists, orders__list=listed() if seen else fail(500))
        change = await desk.change("cancel", wait=True)
        assert (change.outcome, fills_of(change)) == (expected, fills)
        assert answer is NOT_SENT or change.order is not None
        assert desk.sent("orders.cancel") == 1 or name == "refused, works on"
        if name == "never over":  # it is waited for as long as the policy says
            passed = asyncio.get_running_loop().time()
            assert POLICY.give_up <= passed <= POLICY.give_up + POLICY.max_interval

    @for_each(
        "before, after, expected, fills",
        [
            (("Live", "Live"), ("Cancelled", "Cancelled"), APPLIED, []),
            (("Live", "Live"), ("Filled", "Cancelled"), FILLED, [10]),
            (("Live", "Contingent"), ("Filled", "Cancelled"), FILLED, [10]),
            (("Filled", "Live"), ("Filled", "Cancelled"), APPLIED, [10]),
            (("Filled", "Live"), ("Filled", "Filled"), FILLED, [10, 10]),
            (("Live", "Live"), ("Live", "Cancelled"), UNKNOWN, []),
        ],
    )
    async def test_complex_order_ends_with_its_components(
        self, before: tuple[str, str], after: tuple[str, str], expected: ChangeOutcome, fills: list[int]
    ) -> None:
        def whole(statuses: tuple[str, str], kind: str) -> dict[str, Any]:
            parts = [filled(*[10] * (each == "Filled"), status=each, id=n) for n, each in enumerate(statuses, 1)]
            if kind == "OCO":
                return {"id": 9, "type": kind, "orders": parts}
            return {"id": 9, "type": kind, "trigger-order": parts[0], "orders": parts[1:]}

        kind = "OTO" if "Contingent" in before or before[0] == "Filled" else "OCO"
        for answer in (ok(whole(("Cancel Requested", "Cancel Requested"), kind)), LOST):
            gets = [ok(whole(before, kind)), ok(whole(after, kind))]
            desk = Desk(complex_orders__cancel=answer, complex_orders__get=gets)
            change = await desk.change("cancel_complex", wait=True)
            assert (change.outcome, fills_of(change)) == (expected, fills)


def new(status: str, **fields: Any) -> dict[str, Any]:
    return SUCCESSOR | row(status, 2, **fields)


@for_each("is_lost", [False, True])
async def test_replacement_that_waits_for_its_original_is_ended_by_a_fill_in_between(is_lost: bool) -> None:
    """It is Contingent until the original is cancelled (P4)."""
    asked, gone = (row(status, replacing_order_id=2) for status in ("Replace Requested", "Cancelled"))
    partly = filled(4, status="Cancelled", replacing_order_id=2)
    works_on = filled(4, status="Live", replacing_order_id=2)
    unfilled, hit = (filled(*fills, replacing_order_id=2) for fills in ((), (10,)))
    rows: list[tuple[str, list[tuple[Any, Any]], ChangeOutcome, str, list[int]]] = [
        ("works", [(asked, new("Contingent")), (gone, new("Routed"))], APPLIED, "2", []),
        ("waits for a trigger", [(gone, new("Contingent"))], APPLIED, "2", []),
        ("worked and ended", [(gone, new("Cancelled", live_at="2026-03-02T10:00:00Z"))], APPLIED, "2", []),
        ("original filled", [(asked, new("Contingent")), (hit, new("Cancelled"))], FILLED, "1", [10]),
        ("original filled first", [(hit, new("Contingent"))], FILLED, "1", [10]),
        ("fills are shown later", [(unfilled, new("Cancelled")), (hit, new("Cancelled"))], FILLED, "1", [10]),
        ("original partly filled", [(asked, new("Contingent")), (partly, new("Rejected"))], FILLED, "1", [4]),
        ("original works on, partly filled", [(works_on, new("Cancelled"))], FILLED, "1", [4]),
        ("partly filled before", [(partly, new("Contingent")), (partly, new("Live"))], APPLIED, "2", []),
        ("rejected", [(asked, new("Contingent")), (gone, new("Rejected"))], APPLIED, "2", []),
        ("ended, original works on", [(row("Live", replacing_order_id=2), new("Cancelled"))], REFUSED, "1", []),
        ("undecided", [(asked, new("Contingent"))], UNKNOWN, "2", []),
    ]
    for name, seen, expected, shown, fills in rows:
        lists = [listed(*each) for each in seen]
        answer = LOST if is_lost else ok(new("Contingent"))
        desk = Desk(orders__edit_dry_run=PREVIEW, orders__replace=answer, orders__list_live=lists,
                    orders__list=lists[-1])  # fmt: skip
        change = await desk.change("replace")
        told = (change.outcome, change.order_id, change.order.id, fills_of(change), desk.sent("orders.replace"))
        assert told == (expected, shown, shown, fills, 1), name
        if name == "original filled first":  # which shows all: it is not read again
            assert desk.sent("orders.list_live") == 1 + is_lost


ARRIVED += ["after_html(403)", "truncate", "garbage"]
ARRIVED += [faults.body(each) for each in (b"", b'{"data":{}}', b'{"maintenance": true}')]
ARRIVED += [faults.delay(trading.TIMEOUT + 5), faults.delay_after(trading.TIMEOUT + 5)]


async def working(here: Floor) -> str:
    number = (await here.entry.place(here.account, order("original"))).order_id
    await asyncio.sleep(30)
    return number


async def fill(here: Floor, number: str, quantity: int | None = None, *, after: float = 1.5) -> None:
    await asyncio.sleep(after)
    here.sim.fill_order(number, quantity)
    here.sim.settle()


REQUESTS = {
    "cancel": ("DELETE", ONE_ORDER),
    "replace": ("PUT", ONE_ORDER),
    "edit": ("PATCH", ONE_ORDER),
    "edit_pairs": ("PATCH", ONE_COMPLEX_ORDER),
    "cancel_complex": ("DELETE", ONE_COMPLEX_ORDER),
}
"""Method and path of the request of each change."""

RATIO = Decimal("1.75")


async def changed(kind: str, action: Any, *, hidden: int = 0, wait: float = 30) -> tuple[OrderChange, bool]:
    """Make a change whose request meets ``action``. Return it, and whether the books have it."""
    async with trading.floor() as here:
        account, number = here.account, ""
        if kind == "edit_pairs":
            account, number = here.sim.account_numbers[1], here.sim.complex_order_ids["PAIRS"]
        elif kind == "cancel_complex":
            number = (await here.entry.place_complex(account, trading.bracket_order("mine"))).order_id
            await asyncio.sleep(wait)
        else:
            number = await working(here)
        if action is not None:
            here.sim.faults.add(*REQUESTS[kind], action, times=None)
        if hidden:
            here.on_lists(trading.UNLISTED, times=hidden)
        terms: dict[str, Any] = {"edit": edit()}
        if kind == "edit_pairs":
            terms = {"ratio_price_comparator": models.Comparator.LTE, "ratio_price_threshold": RATIO}
        make: Any = getattr(here.entry, kind)
        change: OrderChange = await make(account, number, **({} if kind.startswith("cancel") else terms))
        here.sim.faults.clear()
        assert here.sim.ledger.count(SENT[kind]) == 1 or change.outcome is ChangeOutcome.NOT_SENT
        return change, await is_done(here, kind, account, number, change)


async def is_done(here: Floor, kind: str, account: str, number: str, change: OrderChange) -> bool:
    """Return whether the books have a change, once its request has arrived."""
    await asyncio.sleep(60)
    if kind == "cancel_complex":
        assert change.outcome is ChangeOutcome.NOT_SENT or change.complex_order.id == number
        return len(list(here.sim.ledger.processed(SENT[kind]))) == 1
    if kind == "cancel":
        return here.status(number) == "Cancelled"
    if kind == "edit_pairs":
        return (await here.client.complex_orders.get(account, number)).ratio_price_threshold == RATIO
    (dry,), (sent, *more) = here.wire.bodies["orders.edit_dry_run"], here.wire.bodies[f"orders.{kind}"]
    assert {dry} == {sent, *more}
    successors = [each.order_id for each in here.sim.ledger.orders() if each.replaces_order_id == number]
    assert change.outcome is not ChangeOutcome.APPLIED or [change.order.id] == successors
    return bool(successors)


OUTCOMES: list[tuple[Any, ChangeOutcome]] = [
    *((action, ChangeOutcome.APPLIED) for action in (None, *ARRIVED)),
    *((action, ChangeOutcome.UNKNOWN) for action in (*UNTOUCHED, faults.html(200))),  # the last is a captive portal's
    *((action, ChangeOutcome.NOT_SENT) for action in ("refuse", "rate_limited")),
    ("status(404)", REFUSED),
]


@for_each("kind", REQUESTS)
@for_each("action, outcome", OUTCOMES)
def test_change_has_the_outcome_that_the_order_shows(kind: str, action: Any, outcome: ChangeOutcome) -> None:
    """Even if the lists lack the order at first, and whether a complex order is live yet or not."""
    is_applied = outcome is ChangeOutcome.APPLIED
    trials: list[dict[str, Any]] = [{"wait": 0}] if kind == "cancel_complex" else []
    trials += [{"hidden": 5}] if is_applied and kind in ("cancel", "replace") else []
    for trial in ({}, *trials):
        change, done = run_in(VirtualLoop(), changed(kind, action, **trial))
        assert (change.outcome, done) == (outcome, is_applied)
        assert is_applied or change.error is not None
        if outcome in (UNKNOWN, REFUSED):
            assert (change.complex_order if kind in ("edit_pairs", "cancel_complex") else change.order) is not None
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
    placing = asyncio.ensure_future(trading.place_unknown(here, "original", resubmit=1, fault="drop_after"))
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
    placed = await here.entry.place_complex(here.account, trading.bracket_order("mine"))
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


async def test_transport_that_does_not_know_whether_a_submit_arrived_is_no_proof_of_absence() -> None:
    class Unsure:
        def __init__(self, transport: Any) -> None:
            self.send, self.close = self.lose, transport.close
            self.transport = transport

        async def lose(self, request: Request) -> Response:
            response: Response = await self.transport.send(request)
            if request.operation is not None and request.operation.name == "orders.submit":
                raise ResponseLostError("lost", maybe_processed=None)
            return response

    async with trading.floor(over=Unsure) as here:
        placed = await here.entry.place(here.account, order("once"))
        assert (placed.outcome, len(here.orders("once"))) == (Outcome.PLACED, 1)


async def test_replacement_whose_client_is_closed_before_it_is_sent_leaves_no_open_entry(here: Floor) -> None:
    number = await working(here)

    async def close_the_client(open_: Any, *names: Any, **values: Any) -> Any:
        await here.client.aclose()
        return await open_(*names, **values)

    journal = trading.HookedJournal(open=close_the_client)
    await raised_by(OrderEntry(here.client, journal).replace(here.account, number, edit()), ConfigurationError)
    assert [entry.state for entry in await journal.entries()] == [EntryState.NOT_SENT]
