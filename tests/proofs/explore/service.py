"""A scripted brokerage: its books are the judge."""

import email.utils
import functools
import itertools
import json
import re
from datetime import UTC, datetime
from typing import Any

import attrs

from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response

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
    '{"id":%(id)d,"account-number":"%(account)s","external-identifier":"%(identifier)s",%(parent)s"order-type":"Limit",'
    '"price":"10.00","price-effect":"%(effect)s","received-at":"%(received)s","size":10,"status":"%(status)s",'
    '"time-in-force":"Day","leg-count":1,"edited":false,"legs":[{"action":"%(action)s","instrument-type":"Equity",'
    '"quantity":10,"remaining-quantity":10,"symbol":"AAPL","fills":[]}]}'
)
EXITS = (
    '"order-type":"Limit","price":"900.00","price-effect":"Credit","time-in-force":"Day"',
    '"order-type":"Stop","stop-trigger":"%(stop)s","time-in-force":"Day"',
)
EXIT = (
    '{"id":%(id)d%(number)d,"account-number":"%(account)s","external-identifier":"%(identifier)s.%(number)d",'
    '%(parent)s%(terms)s,"received-at":"%(received)s","size":10,"status":"Contingent","leg-count":1,"edited":false,'
    '"legs":[{"action":"%(exit)s","instrument-type":"Equity","quantity":10,"remaining-quantity":10,'
    '"symbol":"AAPL","fills":[]}]}'
)
COMPLEX = '{"id":%(id)d,"account-number":"%(account)s","type":"OTOCO","trigger-order":%(trigger)s,"orders":[%(exits)s]}'
IDENTIFIER = b'"external-identifier":"'
ECHO = re.compile('"external-identifier":"[^"]*",')
BUYING = {"action": "Buy to Open", "effect": "Debit"}
RELABELLED = {"action": "Sell to Open", "effect": "Credit"}
"""What the adversary makes of an order that sells to close."""
PAGE = 3
"""Orders on a page of a live list of the adversary."""
VERSIONED = ("orders.", "complex_orders.")
"""Operations that are sent with a version."""


BOTH = frozenset({"orders", "complex-orders"})


@attrs.define(eq=False)
class BookedOrder:
    """An order in the books; ``ours`` is False for one that another program placed.

    A complex order has ``components``; ``shown`` names the lists that hold it.
    """

    id: int
    account: str
    identifier: str
    processed_at: float
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
            values["exit"] = "Sell to Open" if self._adversary else "Sell to Close"
            trigger = self._shown(TEMPLATE % {**values, **BUYING, "id": number * 10})
            exits = [
                self._shown(EXIT % {**values, "number": n, "terms": terms % {"stop": stop}})
                for n, terms in enumerate(EXITS, 1)
            ]
            text, components = COMPLEX % {**values, "trigger": trigger, "exits": ",".join(exits)}, (trigger, *exits)
        else:
            terms = RELABELLED if self._adversary else BUYING
            if opposite:
                terms = {**terms, "action": (BUYING if self._adversary else RELABELLED)["action"]}
            text = self._shown(TEMPLATE % {**values, **terms, "parent": ""})
        order = BookedOrder(number, account, identifier, now, listed_at, text, ours, components, shown)
        self.orders.append(order)
        return order

    def of(self, account: str, identifier: str) -> list[BookedOrder]:
        return [o for o in self.orders if o.identifier == identifier and o.account == account and o.ours]

    def placed(self, order: BookedOrder) -> Response:
        """Return the answer to the submit that became ``order``."""
        key = "complex-order" if order.components else "order"
        return answered(f'{{"{key}":{order.json},"warnings":[],"errors":[]}}', status=201)

    def found(self, number: str, *, is_complex: bool) -> Response:
        """Return an order by its id."""
        for order in self.orders:
            if str(order.id) == number and bool(order.components) is is_complex:
                return answered(order.json)
        return error_answer(404, "record_not_found")

    def other_than(self, identifier: str, *, is_complex: bool) -> BookedOrder | None:
        """Return the newest order of another identifier."""
        others = [o for o in self.orders if o.identifier != identifier and bool(o.components) is is_complex]
        return others[-1] if others else None

    def listing(
        self, account: str, now: float, *, extra: str = "", of: str = "orders", page: int | None = None
    ) -> Response:
        """Return the list of the orders, or of the complex orders, that are listed by now, newest first. Or a page."""
        listed = [o for o in reversed(self.orders) if o.account == account and o.listed_at <= now and of in o.shown]
        if of == "orders":
            items = [text for o in listed for text in (o.components or (o.json,))]
        else:
            items = [o.json for o in listed if o.components]
        if extra:
            items.append(self._shown(extra))
        total = len(items)
        size, number = (PAGE, page) if page is not None and self._adversary else (200, 0)
        items = items[size * number : size * (number + 1)]
        block = (
            f',"pagination":{{"per-page":{size},"page-offset":{number},"item-offset":{size * number},'
            f'"total-items":{total},"total-pages":{-(-total // size)},"current-item-count":{len(items)}}}'
        )
        return answered(f'{{"items":[{",".join(items)}]}}', block)


def account_of(request: Request) -> str:
    return request.url.partition("/accounts/")[2].partition("/")[0]


def identifier_of(request: Request) -> str:
    """Return the external identifier in the body of a submit. Components of a complex order add ``.1`` to it."""
    body = request.body or b""
    start = body.index(IDENTIFIER) + len(IDENTIFIER)
    return body[start : body.index(b'"', start)].decode().partition(".")[0]


def strange_order(received: str, *, adversary: bool) -> str:
    """Return the JSON of an order of another program with the terms of ours and an absurd time."""
    values = {"id": 7, "account": "A1", "identifier": "strange", "received": received, "parent": "", "status": "Live"}
    return TEMPLATE % {**values, **(RELABELLED if adversary else BUYING)}


def page_of(request: Request) -> int:
    found = re.search(r"page-offset=(\d+)", request.url)
    return int(found.group(1)) if found else 0


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
