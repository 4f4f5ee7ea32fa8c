"""Order entry: an order is submitted at most once, and its outcome is never silently lost.

The service does not recognise a repeated order, and a request whose answer got lost may have been processed. So
`OrderEntry.place` journals each order before it is sent, submits it once, and searches the order lists of the account
for its external identifier when no answer shows the outcome. docs/design/at-most-once.md states the promise and its
assumptions.
"""

from .api import OrderEntry, ReconcileOptions, SubmitOptions
from .decisions import ReconcilePolicy
from .guard import OrderGuard
from .results import (
    Cancellation,
    Cancellations,
    CancelOutcome,
    ChangeOutcome,
    JournalStatus,
    OrderChange,
    Outcome,
    Placement,
)  # fmt: skip

__all__ = [
    "CancelOutcome",
    "Cancellation",
    "Cancellations",
    "ChangeOutcome",
    "JournalStatus",
    "OrderChange",
    "OrderEntry",
    "OrderGuard",
    "Outcome",
    "Placement",
    "ReconcileOptions",
    "ReconcilePolicy",
    "SubmitOptions",
]
