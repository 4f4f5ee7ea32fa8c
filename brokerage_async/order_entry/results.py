"""The answers of order entry: what became of an order, or of a change of one."""

from __future__ import annotations

import enum
from datetime import datetime

import attrs

from .._generated.models import ComplexOrder, Order, PlacedOrderResponse, PreflightMessage
from ..errors import BrokerageError

__all__ = ["ChangeOutcome", "OrderChange", "Outcome", "Placement"]


class Outcome(enum.StrEnum):
    """What became of an order."""

    PLACED = "placed"
    """The service has it (its status may still say `Rejected`)."""
    REFUSED = "refused"
    """The service said no, in the dry-run or to the order itself: no such order exists."""
    NOT_SENT = "not_sent"
    """The order never reached the service, or was turned away unread (429, 401): no such order exists, and it may be
    placed again."""
    UNKNOWN = "unknown"
    """It may have been placed; the journal keeps it open."""


@attrs.frozen(kw_only=True)
class Placement:
    """What became of one order.

    Attributes:
        outcome: placed, refused, not sent or unknown.
        account_number, external_identifier: with these the order can be looked for anywhere.
        order: the order as the service has it; None when there is none, or when one placed earlier is not listed now.
        preview: the answer of the dry-run, where one was made.
        warnings: what the dry-run warned of.
        attempts: how many submits were begun, those of earlier runs included.
        error: what stopped it, where something did.
        note: the same, and what looking for it has shown, in words.
        body: the exact bytes of the order.
        opened_at: when it was journaled (UTC); None when it did not get that far.
    """

    outcome: Outcome
    account_number: str
    external_identifier: str
    order: Order | None = None
    preview: PlacedOrderResponse | None = None
    warnings: tuple[PreflightMessage, ...] = ()
    attempts: int = 0
    error: BrokerageError | None = None
    note: str = ""
    body: bytes = attrs.field(default=b"", repr=False)
    opened_at: datetime | None = None


class ChangeOutcome(enum.StrEnum):
    """What became of a change of an order."""

    APPLIED = "applied"
    """Done, or under way at the exchange."""
    REFUSED = "refused"
    """Not done, and it cannot be done any more as asked; the order shows why."""
    NOT_SENT = "not_sent"
    """Not done: the request never reached the service, or was turned away unread (429, 401). It can be made again."""
    UNKNOWN = "unknown"
    """It may have been done, or may still be; the order did not show it in time."""


@attrs.frozen(kw_only=True)
class OrderChange:
    """What became of a cancellation, a replacement or an edit.

    Attributes:
        outcome: applied, refused, not sent or unknown.
        order: the order as it was last seen; after a replacement that was applied, the new order.
        complex_order: the complex order as it was last seen, for `edit_pairs`.
        preview: the answer of the dry-run, where one was made.
        warnings: what the dry-run warned of.
        error: what stopped it, where something did.
    """

    outcome: ChangeOutcome
    order: Order | None = None
    complex_order: ComplexOrder | None = None
    preview: PlacedOrderResponse | None = None
    warnings: tuple[PreflightMessage, ...] = ()
    error: BrokerageError | None = None
