"""Past states of an account, replayed from its transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

import attrs

from .accounts import Account
from .transactions import Execution

__all__ = ["opened_at", "replay"]


def opened_at(account: Account) -> float:
    """Return the time of the first transaction of an account."""
    return account.transactions[0].executed_at


def replay(account: Account, times: Iterable[float]) -> Iterator[Account]:
    """Yield the account as it was at each of ``times``, which must be in order.

    The same object is yielded each time. It reserves nothing for working orders, whose past is not kept.
    """
    past = attrs.evolve(account, cash=Decimal(0), positions={}, reserved=Decimal(0), transactions=[], version=0)
    bookings = iter(account.transactions)
    upcoming = next(bookings, None)
    for time in times:
        while upcoming is not None and upcoming.executed_at <= time:
            booked = upcoming.booked
            if isinstance(booked, Execution):
                past.trade(booked.instrument, booked.signed, booked.price, booked.fees.total, upcoming.executed_at)
            else:
                past.move_cash(booked)
            past.transactions.append(upcoming)
            upcoming = next(bookings, None)
        yield past
