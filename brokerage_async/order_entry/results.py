"""Results of order entry: the outcome of an order, or of a change to one."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from .._generated.models import ComplexOrder, Fill, Order, PlacedOrderResponse, PreflightCode, PreflightMessage
from ..errors import BrokerageError, OrderNotSentError, OrderOutcomeUnknownError, OrderRefusedError
from ..journal.base import Halt, JournalEntry
from .orders import AskedOrder, asked_in, fills_of

EFFECT_CHANGED = "position_effect_changed"
"""Code of the warning that a leg opens where it was sent to close, or closes where it was sent to open."""
NOT_ECHOED = "identifier_not_echoed"
"""Code of the warning that an order was recognised without its external identifier."""


class Outcome(enum.StrEnum):
    """The outcome of an order."""

    PLACED = "placed"
    """The service has it (its status may still be `Rejected`)."""
    REFUSED = "refused"
    """The service itself said no, to the dry-run or to the order, or a halt or the guard did: no such order exists."""
    NOT_SENT = "not_sent"
    """It never reached the service, or was rejected before processing (429, 401): no such order exists, and it may be
    placed again."""
    UNKNOWN = "unknown"
    """It may have been placed; the journal keeps it open."""


@attrs.frozen(kw_only=True)
class Placement:
    """The outcome of one order.

    Attributes:
        outcome: placed, refused, not sent or unknown.
        account_number, external_identifier: with these the order can be found anywhere.
        order_id: id of the order, or of the complex order, at the service once it is placed, else empty.
        order: the order as the service has it. None if it does not exist, was placed earlier and is not listed now, or
            is a complex order.
        complex_order: the same of a complex order.
        preview: the answer of the dry-run, where one was made.
        warnings: the warnings of the dry-run, then those found in the service's order:
            ``position_effect_changed`` for each leg that opens where it was sent to close, or the other way round;
            ``identifier_not_echoed`` if the order does not show its external identifier.
        attempts: number of submits begun, earlier runs included.
        code: why the outcome is unknown (see `OrderEntry.place`), else None.
        error: the error that stopped it, if any.
        note: the same, and the findings of the search, in words.
        body: the exact bytes of the order.
        opened_at: when it was journaled (UTC). None if it did not get that far.
        replaced: the orders in whose place ``order`` works, oldest first. Set by `OrderEntry.work`.
    """

    outcome: Outcome
    account_number: str
    external_identifier: str
    order_id: str = ""
    order: Order | None = None
    complex_order: ComplexOrder | None = None
    preview: PlacedOrderResponse | None = None
    warnings: tuple[PreflightMessage, ...] = ()
    attempts: int = 0
    code: str | None = None
    error: BrokerageError | None = None
    note: str = ""
    body: bytes = attrs.field(default=b"", repr=False)
    opened_at: datetime | None = None
    replaced: tuple[Order, ...] = ()

    @property
    def fills(self) -> tuple[Fill, ...]:
        """The fills of the order, those of the orders that it replaced first, as last seen."""
        seen = (*self.replaced, self.order or self.complex_order)
        return tuple({fill.fill_id or fill: fill for each in seen for fill in fills_of(each)}.values())

    def require(self) -> Placement:
        """Return this placement if the order is placed, and raise otherwise.

        Raises:
            OrderRefusedError: the service refused it; ``errors`` lists its reasons.
            OrderNotSentError: it was not sent, and may be placed again.
            OrderOutcomeUnknownError: it may or may not have been placed.
        """
        if self.outcome is Outcome.PLACED:
            return self
        if self.outcome is Outcome.UNKNOWN:
            raise unknown_error(self) from self.error
        is_refused, reason = self.outcome is Outcome.REFUSED, self.error or BrokerageError(self.note)
        kind, verb = (OrderRefusedError, "was refused") if is_refused else (OrderNotSentError, "was not sent")
        raise kind(
            f"order {self.external_identifier} of account {self.account_number} {verb}: {reason.message}",
            account_number=self.account_number,
            external_identifier=self.external_identifier,
            attempts=self.attempts,
            code=reason.code,
            status=reason.status,
            errors=reason.errors,
        ) from self.error


class ChangeOutcome(enum.StrEnum):
    """The outcome of a change to an order."""

    APPLIED = "applied"
    """Done, or under way at the exchange."""
    FILLED = "filled"
    """Not done: the order was filled first. ``OrderChange.fills`` has the fills."""
    REFUSED = "refused"
    """Not done: the order had ended before, or was not open to changes in time; it shows which."""
    NOT_SENT = "not_sent"
    """Not done: the request never reached the service, or was rejected before processing (429, 401). It may be
    repeated."""
    UNKNOWN = "unknown"
    """It may have been done, or may still be; the order did not show it in time."""


@attrs.frozen(kw_only=True)
class OrderChange:
    """The outcome of a cancellation, a replacement or an edit.

    Attributes:
        outcome: applied, filled, refused, not sent or unknown.
        order: the order as last seen. After a replacement that was applied, the new order.
        order_id: id of that order, or of the complex order, also where no list shows it.
        complex_order: the complex order as last seen, for `edit_pairs` and `cancel_complex`.
        preview: the answer of the dry-run, where one was made.
        warnings: the warnings of the dry-run.
        error: the error that stopped it, if any.
    """

    outcome: ChangeOutcome
    order: Order | None = None
    order_id: str = ""
    complex_order: ComplexOrder | None = None
    preview: PlacedOrderResponse | None = None
    warnings: tuple[PreflightMessage, ...] = ()
    error: BrokerageError | None = None

    @property
    def fills(self) -> tuple[Fill, ...]:
        """The fills of the order, or of all components, as last seen. An order that was cancelled may have some."""
        return fills_of(self.order or self.complex_order)


class CancelOutcome(enum.StrEnum):
    """What `OrderEntry.cancel_all` has made of one order."""

    CANCELLED = "cancelled"
    """The lists show that it ended, perhaps with a part filled: see ``Cancellation.fills``."""
    FILLED = "filled"
    """It was filled first."""
    UNKNOWN = "unknown"
    """The lists did not show its end in time: it may still work."""


@attrs.frozen(kw_only=True)
class Cancellation:
    """What `OrderEntry.cancel_all` has made of one order.

    Attributes:
        outcome: cancelled, filled or unknown.
        order_id: id of the order, or of the complex order.
        orders: the order as last seen. The components that worked, for a complex order.
        error: the last error of a request to cancel it, if any.
    """

    outcome: CancelOutcome
    order_id: str
    orders: tuple[Order, ...]
    error: BrokerageError | None = None

    @property
    def fills(self) -> tuple[Fill, ...]:
        """Its fills, those from before the cancellation included."""
        return tuple(fill for order in self.orders for fill in fills_of(order))


class Cancellations(Mapping[str, Cancellation]):
    """The result of `OrderEntry.cancel_all` by order id. A complex order stands beside its components.

    Attributes:
        is_proven: whether the lists, read to their end, showed at last that no such order works any more.
        closing: with ``flatten``, the closing order of each position.
    """

    def __init__(
        self, rows: Mapping[str, Cancellation], *, is_proven: bool, closing: tuple[Placement, ...] = ()
    ) -> None:
        self._rows = dict(rows)
        self.is_proven: bool = is_proven
        self.closing: tuple[Placement, ...] = closing

    def __getitem__(self, order_id: str) -> Cancellation:
        return self._rows[order_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        rows = ", ".join(f"{key}: {row.outcome}" for key, row in self._rows.items())
        closing = ", ".join(f"{each.external_identifier}: {each.outcome}" for each in self.closing)
        return f"<Cancellations {{{rows}}} is_proven={self.is_proven} closing={{{closing}}}>"


@attrs.frozen(kw_only=True)
class JournalStatus:
    """State of a journal.

    Attributes:
        halts: the halts in effect.
        open: the open entries of the environment, oldest first.
        now: the time by the journal's clock.
    """

    halts: tuple[Halt, ...]
    open: tuple[JournalEntry, ...]
    now: datetime

    @property
    def oldest(self) -> float:
        """Age of the oldest open entry in seconds, 0 without any."""
        return max(((self.now - entry.opened_at).total_seconds() for entry in self.open), default=0.0)


def placement_of(
    entry: JournalEntry, outcome: Outcome, *, order: Order | ComplexOrder | None = None, note: str = "", **known: Any
) -> Placement:
    """Build the placement of a journaled order of either kind; ``known`` are further fields."""
    asked, is_placed = asked_in(entry), outcome is Outcome.PLACED
    found = list[tuple[str, str]]()
    if order is not None and is_placed:
        found = [(EFFECT_CHANGED, change) for change in asked.effect_changes(order)]
        if not asked.is_named_by(order):
            found.append((NOT_ECHOED, f"order {order.id} shows no external identifier, it is known by everything else"))
    new = dict.fromkeys(text for _, text in found if text not in note)  # the note may quote the journal's
    known["complex_order" if isinstance(order, ComplexOrder) else "order"] = order
    return Placement(
        outcome=outcome,
        account_number=entry.key.account_number,
        external_identifier=entry.key.external_identifier,
        order_id=((order and order.id) or entry.order_id or "") if is_placed else "",
        warnings=tuple(PreflightMessage(code=PreflightCode(code), message=text) for code, text in found),
        attempts=entry.attempts,
        note=joined(note, *new),
        body=entry.body,
        opened_at=entry.opened_at,
        **known,
    )


def put_on(gone: BaseException, note: str = "", **values: object) -> None:
    """Put attributes and a note on an error or a cancellation that ends a call."""
    for name, value in values.items():
        setattr(gone, name, value)
    if note:
        gone.add_note(note)


def joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def unknown_error(placement: Placement) -> OrderOutcomeUnknownError:
    return OrderOutcomeUnknownError(
        f"order {placement.external_identifier} of account {placement.account_number} may or may not have been placed: "
        f"{placement.note}",
        account_number=placement.account_number,
        external_identifier=placement.external_identifier,
        operation=AskedOrder(placement.external_identifier, placement.body).submit.name,
        attempts=placement.attempts,
        code=placement.code,
    )
