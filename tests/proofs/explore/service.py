"""A scripted brokerage: its books are the judge, also of the life of one working order."""

from __future__ import annotations

import email.utils
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from brokerage_async.order_entry import ChangeOutcome, OrderChange
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response

if TYPE_CHECKING:
    from .process import Call
    from .world import World

BASE = 1_773_000_000.0
"""Epoch seconds at which every history begins, by the clock of the service."""

DAY = 86400.0
JSON = {"content-type": "application/json"}
TOKEN = Response(
    status=200, headers=JSON, body=b'{"access_token":"explorer-access","token_type":"Bearer","expires_in":86400}'
)
DRY_RUN = Response(
    status=201,
    headers=JSON,
    body=b'{"data":{"errors":[],"warnings":[],"notes":[],"order-costs":"0.01",'
    b'"buying-power-effect":{"impact":"1.00","effect":"Debit"}},"context":"/"}',
)
TEMPLATE = (
    '{"id":%(id)s,"account-number":"%(account)s","external-identifier":"%(identifier)s",%(parent)s%(terms)s,'
    '"received-at":"%(received)s","size":10,"status":"%(status)s","leg-count":1,"edited":false,'
    '"legs":[{"action":"%(action)s","instrument-type":"Equity","quantity":10,"remaining-quantity":10,'
    '"symbol":"AAPL","fills":[]}]}'
)
ENTRY = '"order-type":"Limit","price":"10.00","price-effect":"%s","time-in-force":"Day"'
EXITS = (
    '"order-type":"Limit","price":"900.00","price-effect":"Credit","time-in-force":"Day"',
    '"order-type":"Stop","stop-trigger":"%(stop)s","time-in-force":"Day"',
)
COMPLEX = '{"id":%(id)d,"account-number":"%(account)s","type":"OTOCO","trigger-order":%(trigger)s,"orders":[%(exits)s]}'
IDENTIFIER = b'"external-identifier":"'
ECHO = re.compile('"external-identifier":"[^"]*",')
BUYING = {"action": "Buy to Open", "terms": ENTRY % "Debit"}
RELABELLED = {"action": "Sell to Open", "terms": ENTRY % "Credit"}
"""What the adversary makes of an order that sells to close."""
PAGE = 3
"""Orders on a page of a live list of the adversary."""
VERSIONED = ("orders.", "complex_orders.")
"""Operations that are sent with a version."""
BOTH = frozenset({"orders", "complex-orders"})
CHANGES = ("orders.cancel", "orders.replace", "complex_orders.cancel")
OVER = ("Filled", "Cancelled", "Rejected")
QUANTITY = 10
TERMS = {"order-type": "Limit", "time-in-force": "Day", "price-effect": "Debit"}


@attrs.define(eq=False)
class BookedOrder:
    """An order in the books; ``ours`` is False for one that another program placed.

    A complex order has ``components``; ``shown`` names the lists that hold it.
    """

    id: int
    account: str
    identifier: str
    listed_at: float
    json: str = attrs.field(repr=False)
    ours: bool = True
    components: tuple[str, ...] = ()
    shown: frozenset[str] = BOTH


class Books:
    """The orders that the brokerage has, and the answers that follow from them.

    An ``adversary`` relabels legs that close, holds older orders with the terms of ours that still work, and shows the
    live list in pages. Unless it ``echoes``, no order shows its external identifier.
    """

    def __init__(self, *, adversary: bool = False, echoes: bool = True) -> None:
        self.orders: list[BookedOrder] = []
        self._ids = itertools.count(1001)
        self._adversary = adversary
        self._echoes = echoes
        if adversary:
            received = datetime.fromtimestamp(BASE - 5 * DAY, UTC).isoformat()
            old = self.book("A1", "", -5 * DAY, listed_at=-5 * DAY, received=received, ours=False)
            old.json = ECHO.sub("", old.json)
            self.book("A1", "old", -5 * DAY, listed_at=-5 * DAY, received=received, ours=False, is_complex=True)

    def _shown(self, text: str) -> str:
        return text if self._echoes else ECHO.sub("", text)

    def book(
        self,
        account: str,
        identifier: str,
        now: float,
        *,
        listed_at: float,
        received: str = "",
        ours: bool = True,
        status: str = "Live",
        opposite: bool = False,
        is_complex: bool = False,
        stop: str = "5.00",
        shown: frozenset[str] = BOTH,
    ) -> BookedOrder:
        """Add an order, received now or at the time ``received``. An ``opposite`` one differs in its side.

        A complex order with another ``stop`` shares all but its last component with ours.
        """
        number = next(self._ids)
        values: dict[str, Any] = {"id": number, "account": account, "identifier": identifier, "status": status}
        values["received"] = received or datetime.fromtimestamp(BASE + now, UTC).isoformat()
        components: tuple[str, ...] = ()
        if is_complex:
            values["parent"] = f'"complex-order-id":{number},'
            leaving = {"action": "Sell to Open" if self._adversary else "Sell to Close", "status": "Contingent"}
            trigger = self._shown(TEMPLATE % {**values, **BUYING, "id": number * 10})
            exits = []
            for n, terms in enumerate(EXITS, 1):
                own = {"id": f"{number}{n}", "identifier": f"{identifier}.{n}", "terms": terms % {"stop": stop}}
                exits.append(self._shown(TEMPLATE % {**values, **leaving, **own}))
            text, components = COMPLEX % {**values, "trigger": trigger, "exits": ",".join(exits)}, (trigger, *exits)
        else:
            terms = RELABELLED if self._adversary else BUYING
            if opposite:
                terms = {**terms, "action": (BUYING if self._adversary else RELABELLED)["action"]}
            text = self._shown(TEMPLATE % {**values, **terms, "parent": ""})
        order = BookedOrder(number, account, identifier, listed_at, text, ours, components, shown)
        self.orders.append(order)
        return order

    def of(self, account: str, identifier: str) -> list[BookedOrder]:
        return [o for o in self.orders if o.identifier == identifier and o.account == account and o.ours]

    def placed(self, order: BookedOrder) -> Response:
        """Return the answer to the submit that became ``order``."""
        key = "complex-order" if order.components else "order"
        return answered(f'{{"{key}":{order.json},"warnings":[],"errors":[]}}', status=201)

    def found(self, number: str, *, is_complex: bool) -> Response:
        for order in self.orders:
            if str(order.id) == number and bool(order.components) is is_complex:
                return answered(order.json)
        return error_answer(404, "record_not_found")

    def listing(
        self, account: str, now: float, *, absurd: str | None = None, of: str = "orders", page: int | None = None
    ) -> Response:
        """Return the list of the orders, or of the complex orders, that are listed by now, newest first, or a page.

        The last one may be another program's, with the terms of ours and an ``absurd`` time.
        """
        listed = [o for o in reversed(self.orders) if o.account == account and o.listed_at <= now and of in o.shown]
        if of == "orders":
            items = [text for o in listed for text in (o.components or (o.json,))]
        else:
            items = [o.json for o in listed if o.components]
        if absurd is not None:
            strange = {"id": 7, "account": "A1", "identifier": "strange", "parent": "", "status": "Live"}
            terms = RELABELLED if self._adversary else BUYING
            items.append(self._shown(TEMPLATE % {**strange, **terms, "received": absurd}))
        total = len(items)
        size, number = (PAGE, page) if page is not None and self._adversary else (200, 0)
        items = items[size * number : size * (number + 1)]
        block = (
            f',"pagination":{{"per-page":{size},"page-offset":{number},"item-offset":{size * number},'
            f'"total-items":{total},"total-pages":{-(-total // size)},"current-item-count":{len(items)}}}'
        )
        return answered(f'{{"items":[{",".join(items)}]}}', block)


def identifier_of(request: Request) -> str:
    """Return the external identifier in the body of a submit. Components of a complex order add ``.1`` to it."""
    body = request.body or b""
    start = body.index(IDENTIFIER) + len(IDENTIFIER)
    return body[start : body.index(b'"', start)].decode().partition(".")[0]


def answered(data: str, more: str = "", *, status: int = 200) -> Response:
    """Return a success with this JSON, and ``more`` beside it."""
    return Response(status=status, headers=JSON, body=f'{{"data":{data},"context":"/"{more}}}'.encode())


def error_answer(status: int, code: str | int, **headers: str) -> Response:
    """Return an error of the service in its own envelope."""
    body: dict[str, Any] = {"error": {"code": code, "message": "no"}}
    named = JSON | {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers=named, body=json.dumps(body).encode())


def dated(response: Response, now: float) -> Response:
    """Return an answer with the time of the service in its ``Date``."""
    headers = {**response.headers, "date": date_of(int(BASE + now))}
    return Response(status=response.status, headers=headers, body=response.body)


@functools.cache
def date_of(seconds: int) -> str:
    return email.utils.formatdate(seconds, usegmt=True)


def html_answer(status: int) -> Response:
    page = b"<html><body><h1>Request blocked</h1></body></html>"
    return Response(status=status, headers={"content-type": "text/html"}, body=page)


class Life:
    """One order that another program has placed, with two legs. Or a bracket around one, with two exits.

    An order is Routed before it is Live, and refuses changes until then. A cancellation waits for the exchange, and a
    fill may come first. A replacement is Contingent until its original is cancelled. A fill of the original ends it.
    `Filled` is the status as soon as the first leg is filled. The fills of the second come later.

    ``sent`` are the changes that left a process: the call, and whether the service has refused it.
    """

    def __init__(self, books: Books, status: str, *, is_complex: bool = False) -> None:
        self._books = books
        self.is_complex = is_complex
        self.number, self.new_number = (2001, 2002)
        self.status, self.new_status = status, ""
        self.fills: list[list[int]] = [[], []]
        self.has_worked = False
        self._may_fill_partly = status == "Live" and not is_complex
        self.replacements = 0
        self.sent: list[tuple[Call, bool]] = []
        self._booked = BookedOrder(9 if is_complex else self.number, "A1", "W", 0.0, "", ours=False)
        self._new = BookedOrder(self.new_number, "A1", "W", 0.0, "", ours=False)
        books.orders.append(self._booked)
        self._write()

    @property
    def target(self) -> str:
        return str(self._booked.id)

    @property
    def told(self) -> list[int]:
        return [each for leg in self.fills for each in leg]

    @property
    def state(self) -> tuple[object, ...]:
        """Everything that the orders do not show."""
        return self.has_worked, self.replacements, tuple((str(call), refused) for call, refused in self.sent)

    def moves(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield what the exchange may do now."""
        if self.status == "Routed":
            yield "the order is live", lambda: self._become("Live")
        if self.status in ("Live", "Cancel Requested", "Replace Requested"):
            if self._may_fill_partly and not self.told:
                yield "a part of the order is filled", lambda: self._fill(4)
            yield "the order is filled", lambda: self._fill(QUANTITY)
        if self.status == "Filled" and sum(self.fills[1]) < QUANTITY:
            yield "the fill of the second leg is shown", lambda: self._fill(QUANTITY)
        if self.status == "Cancel Requested":
            yield "the order is cancelled", lambda: self._become("Cancelled")
        if self.status == "Replace Requested":
            yield "the order is replaced", lambda: self._become("Cancelled", "Live")

    def _become(self, status: str, new_status: str = "") -> None:
        self.status, self.new_status = status, new_status or self.new_status
        self.has_worked = self.has_worked or self.new_status == "Live"
        self._write()

    def _fill(self, quantity: int) -> None:
        if self.status == "Filled":
            self.fills[1].append(QUANTITY - sum(self.fills[1]))
        else:
            self.fills[0].append(min(quantity, QUANTITY - sum(self.fills[0])))
            if quantity < QUANTITY:
                self.fills[1].append(quantity)
            is_replaced, is_all = self.status == "Replace Requested", sum(self.fills[0]) == QUANTITY
            self.status = "Filled" if is_all else "Cancelled" if is_replaced else self.status
            if is_replaced:
                self.new_status = "Cancelled"
        self._write()

    def answer(self, name: str) -> tuple[Response, bool]:
        """Process a request, and return the answer, and whether it refuses the change."""
        if self.status != "Live":
            return error_answer(422, "cannot_update_order"), True
        if name == "orders.replace":
            self.replacements += 1
            self.new_status = "Contingent"
            self._books.orders.append(self._new)
            self._become("Replace Requested")
            return answered(self._new.json), False
        self._become("Cancel Requested")
        return answered(self._booked.json), False

    def _write(self) -> None:
        order = {
            **TERMS, "id": self.number, "account-number": "A1", "status": self.status, "price": "10",
            "received-at": "2026-03-05T15:00:00Z", "legs": [leg(*each) for each in self.fills],
        }  # fmt: skip
        if self.is_complex:
            exits = "Contingent" if self.status in ("Routed", "Live") else "Cancelled"
            order["complex-order-id"] = 9
            order["legs"] = order["legs"][:1]
            others = [{"id": 2010 + n, "account-number": "A1", "status": exits, "complex-order-id": 9} for n in (1, 2)]
            whole = {"id": 9, "account-number": "A1", "type": "OTOCO", "trigger-order": order, "orders": others}
            self._booked.components = tuple(map(json.dumps, (order, *others)))
            order = whole
        elif self.new_status:
            order["replacing-order-id"] = self.new_number
            self._new.json = json.dumps(
                {**TERMS, "id": self.new_number, "account-number": "A1", "status": self.new_status, "price": "11",
                 "replaces-order-id": self.number, "legs": [leg(), leg()]}
            )  # fmt: skip
        self._booked.json = json.dumps(order)

    def judge(self, call: Call, world: World) -> Iterator[str]:
        """Yield how the result of a change that has just ended disagrees with the books."""
        sent = [refused for each, refused in self.sent if each is call]
        if False in sent[:-1]:
            yield f"repeated: {call} sent a change again that was not refused"
        if self.replacements > 1:
            yield f"doubled: {self.replacements} replacements of one order"
        change = call.result
        if not isinstance(change, OrderChange):
            return
        times, is_waiting = world.scope.times, call.step.waits or change.outcome is ChangeOutcome.REFUSED
        bound = times.give_up - times.max_interval if is_waiting else times.visibility_delay
        is_late = world.now - call.began >= bound
        told = [int(fill.quantity or 0) for fill in change.fills]
        words = f"{call} said {change.outcome} {told}, the books have {self.status} {self.told}"
        is_won = self.has_worked if call.step.kind == "replace" else self.status == "Cancelled"
        needed = QUANTITY * (1 if self.is_complex else 2) if call.step.kind == "cancel" else 0
        match change.outcome:
            case ChangeOutcome.APPLIED if call.step.kind == "replace" or call.step.waits:
                if not is_won:
                    yield f"false: {words}"
                elif call.step.kind == "cancel" and told != self.told:
                    yield f"lost fills: {words}"
            case ChangeOutcome.APPLIED if not any(not refused for refused in sent):
                yield f"false: {words}"
            case ChangeOutcome.FILLED:
                if not self.told or self.status not in ("Filled", "Cancelled") or self.has_worked:
                    yield f"false: {words}"
                elif not told or (sum(told) < needed and not is_late):
                    yield f"lost fills: {words}"
            case ChangeOutcome.REFUSED if change.error is not None and change.error.code == "halted":
                if sent[-1:] == [False]:
                    yield f"false: {words}"
            case ChangeOutcome.REFUSED if self.status not in OVER and not is_late:
                yield f"gave up: {words}"
            case ChangeOutcome.REFUSED if self.status == "Cancelled" and not self.has_worked and sent[-1:] == [False]:
                yield f"false: {words}"
            case ChangeOutcome.UNKNOWN if not is_late and not call.process.disturbed:
                yield f"gave up: {words}"


def leg(*fills: int) -> dict[str, Any]:
    return {
        "symbol": "AAPL", "quantity": QUANTITY, "remaining-quantity": QUANTITY - sum(fills),
        "fills": [{"quantity": each} for each in fills],
    }  # fmt: skip
