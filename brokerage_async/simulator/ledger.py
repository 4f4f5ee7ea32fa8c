"""What the simulated brokerage was asked and what it did: the oracle that tests compare a client with."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

__all__ = ["Ledger", "OrderEvent", "OrderRecord", "RequestRecord"]


@attrs.define(kw_only=True)
class RequestRecord:
    """One request that reached the service.

    Attributes:
        seq: position in the ledger, from 1.
        at: when it arrived (epoch seconds).
        method, target: from the request line.
        operation, effect: what it asked for, None for an unknown address.
        processed: whether the service worked on it (False: refused, or lost, before that).
        status: status of the answer, None when none was made.
        delivered: whether the answer went out complete; None as long as it is under way.
        order_ids, external_identifiers: of the orders that it created.
        fault: the scripted fault that it met.
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
    """An order as it stands: what a client's account of it has to agree with."""

    order_id: str
    account_number: str
    external_identifier: str | None
    status: str
    replaces_order_id: str | None
    created_at: float


class Ledger:
    """An append-only record. Nothing in it is ever taken away."""

    def __init__(self) -> None:
        self.requests: list[RequestRecord] = []
        self.events: list[OrderEvent] = []
        self._orders: dict[str, OrderRecord] = {}

    def record_request(self, now: float, method: str, target: str) -> RequestRecord:
        """Record that a request has arrived."""
        record = RequestRecord(seq=len(self.requests) + 1, at=now, method=method, target=target)
        self.requests.append(record)
        return record

    def transition(
        self,
        *,
        now: float,
        order_id: str,
        account_number: str,
        external_identifier: str | None,
        before: str | None,
        after: str,
        terminal: bool,
        replaces_order_id: str | None = None,
    ) -> None:
        """Record that an order came into being or changed its status."""
        self.events.append(
            OrderEvent(
                seq=len(self.events) + 1,
                at=now,
                order_id=order_id,
                account_number=account_number,
                external_identifier=external_identifier,
                before=before,
                after=after,
                terminal=terminal,
            )
        )
        known = self._orders.get(order_id)
        if known is not None:
            self._orders[order_id] = attrs.evolve(known, status=after)
            return
        self._orders[order_id] = OrderRecord(
            order_id=order_id,
            account_number=account_number,
            external_identifier=external_identifier,
            status=after,
            replaces_order_id=replaces_order_id,
            created_at=now,
        )

    def orders(self, *, external_identifier: str | None = None, account_number: str | None = None) -> list[OrderRecord]:
        """Orders in the order of their creation, all or those that match."""
        return [
            order
            for order in self._orders.values()
            if external_identifier in (None, order.external_identifier)
            and account_number in (None, order.account_number)
        ]

    def processed(self, operation: str | None = None) -> Iterator[RequestRecord]:
        """The requests that the service worked on, all or those of one operation (``orders.submit``)."""
        return (record for record in self.requests if record.processed and operation in (None, record.operation))

    def count(self, operation: str) -> int:
        """How many requests of one operation arrived, whatever became of them."""
        return sum(1 for record in self.requests if record.operation == operation)
