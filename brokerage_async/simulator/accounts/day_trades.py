"""Day trades: positions that were opened and closed on the same day."""

from __future__ import annotations

from datetime import date, timedelta

from ..market.calendar import local_date
from .accounts import Account
from .transactions import Execution

__all__ = ["day_trade_count"]

_WINDOW = timedelta(days=7)
"""Five trading days, weekends included."""


def day_trade_count(account: Account, now: float) -> int:
    """Return the day trades of the last five trading days: one for each instrument and day."""
    today = local_date(now)
    sides = dict[tuple[str, date], set[str]]()
    for transaction in reversed(account.transactions):
        day = local_date(transaction.executed_at)
        if today - day >= _WINDOW:
            break
        execution = transaction.booked
        if isinstance(execution, Execution) and execution.order_number is not None:
            sides.setdefault((execution.instrument.symbol, day), set()).add(execution.action.rpartition(" ")[2])
    return sum(found >= {"Open", "Close"} for found in sides.values())
