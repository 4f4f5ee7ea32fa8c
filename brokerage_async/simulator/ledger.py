"""Record of requests and order transitions, for tests to compare with a client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs


@attrs.define(kw_only=True)
class RequestRecord:
    """One request that reached the service.

    Attributes:
        seq: position in the ledger, from 1.
        at: when it arrived (epoch seconds).
        method, target: from the request line.
        operation, effect: the operation it matched, None for an unknown address.
        processed: whether the service acted on it (False: rejected, or lost, before that).
        status: status of the response, None without a response.
        delivered: whether the response was sent completely. None while it is under way.
        order_ids, external_identifiers: of the orders that it created.
        fault: the scripted fault that it met.
        elapsed: seconds of the event loop from its arrival to its answer, None while it is under way.
    """

    seq: int
    at: float
    method: str
    target: str
    operation: str | None = None
    effect: str | None = None
    processed: bool = False
    status: int | None = None
    delivered: bool | None = None
    order_ids: tuple[str, ...] = ()
    external_identifiers: tuple[str, ...] = ()
    fault: str | None = None
    elapsed: float | None = None


@attrs.frozen(kw_only=True)
class OrderEvent:
    """One transition of an order; ``before`` is None for its creation."""

    seq: int
    at: float
    order_id: str
    account_number: str
    external_identifier: str | None
    before: str | None
    after: str
    terminal: bool


@attrs.frozen(kw_only=True)
class OrderRecord:
    """Current state of an order, for comparison with the client's view of it.

    Attributes:
        order_id, account_number, external_identifier: as the service names them.
        status: its status now, such as ``Filled``.
        replaces_order_id: the order that it replaced, if any.
        created_at: when it arrived (epoch seconds).
    """

    order_id: str
    account_number: str
    external_identifier: str | None
    status: str
    replaces_order_id: str | None
    created_at: float


@attrs.define(kw_only=True)
class PriceGap:
    """A time without prices of a live source: from ``at`` until ``until``, None if it lasts (epoch seconds)."""

    at: float
    until: float | None = None
    reason: str


class Ledger:
    """Append-only record of requests and orders.

    Attributes:
        requests: every request, oldest first.
        events: every transition of an order.
        price_gaps: times without prices of a live source.
    """

    def __init__(self) -> None:
        self.requests: list[RequestRecord] = []
        self.events: list[OrderEvent] = []
        self.price_gaps: list[PriceGap] = []
        self._orders: dict[str, OrderRecord] = {}

    def record_request(self, now: float, method: str, target: str) -> RequestRecord:
        """Record the arrival of a request."""
        record = RequestRecord(seq=len(self.requests) + 1, at=now, method=method, target=target)
        self.requests.append(record)
        return record

    def transition(self, *, now: float, replaces_order_id: str | None = None, **facts: Any) -> None:
        """Record that an order was created or changed its status; ``facts`` are the other fields of `OrderEvent`."""
        event = OrderEvent(seq=len(self.events) + 1, at=now, **facts)
        self.events.append(event)
        record = self._orders.get(event.order_id) or OrderRecord(
            order_id=event.order_id,
            account_number=event.account_number,
            external_identifier=event.external_identifier,
            status=event.after,
            replaces_order_id=replaces_order_id,
            created_at=now,
        )
        self._orders[event.order_id] = attrs.evolve(record, status=event.after)

    def price_gap(self, now: float, reason: str) -> None:
        """End the gap in prices that lasts, if any, and begin one unless ``reason`` is empty."""
        if self.price_gaps and self.price_gaps[-1].until is None:
            self.price_gaps[-1].until = now
        if reason:
            self.price_gaps.append(PriceGap(at=now, reason=reason))

    def history(self) -> str:
        """Return every request, transition and gap in live prices as JSON lines, in order of time.

        Two runs with the same seed, program and times give the same `str`.
        """
        entries: list[RequestRecord | OrderEvent | PriceGap] = [*self.requests, *self.events, *self.price_gaps]
        entries.sort(key=lambda entry: entry.at)  # stable: requests come first
        rows = (attrs.asdict(entry) for entry in entries)
        # The time that this machine took is not part of the history.
        return "".join(json.dumps({key: row[key] for key in row if key != "elapsed"}) + "\n" for row in rows)

    def orders(self, *, external_identifier: str | None = None, account_number: str | None = None) -> list[OrderRecord]:
        """Return all matching orders, oldest first."""
        return [
            order
            for order in self._orders.values()
            if external_identifier in (None, order.external_identifier)
            and account_number in (None, order.account_number)
        ]

    def processed(self, operation: str | None = None) -> Iterator[RequestRecord]:
        """Return the requests that the service acted on, optionally of one operation."""
        return (record for record in self.requests if record.processed and operation in (None, record.operation))

    def count(self, operation: str) -> int:
        """Return how many requests of one operation arrived, whatever their result."""
        return sum(1 for record in self.requests if record.operation == operation)
