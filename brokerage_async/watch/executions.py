"""Executions of an account as values: fills, discrepancies, and the memory of their watcher."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

import attrs

from .diff import Acknowledgeable

__all__ = [
    "ZERO",
    "Books",
    "Discrepancy",
    "DiscrepancyKind",
    "Execution",
    "Fill",
    "FillKind",
    "Item",
    "Part",
    "Terms",
    "key_of",
    "replay",
    "signed",
]

ZERO: Final = Decimal(0)


class FillKind(enum.StrEnum):
    """Kind of a `Fill`."""

    FILL = "fill"
    CORRECTION = "correction"
    BUST = "bust"


@attrs.frozen(kw_only=True)
class Fill(Acknowledgeable):
    """One execution of a leg of an order, or a later decision about it.

    Attributes:
        kind: ``fill``, ``correction`` (quantity and price of the fill with this ``fill_id`` are these from now on), or
            ``bust`` (it is void).
        account_number: the account.
        order_id: the order, which any program may have placed.
        external_identifier: the identifier that its program gave the order.
        fill_id: identifies the execution within the leg. One that only a transaction shows has the identifier at the
            venue, or without one ``transaction-`` with its id.
        symbol: the instrument.
        action: such as ``Buy to Open``.
        quantity: unsigned, in shares or contracts.
        price: per unit, in dollars or points.
        filled_at: time of the execution.
        leg: position of the leg within the order, from 0.
        venue: where it was executed.
        execution_id: identifier of the execution at the venue.
        idempotency_key: with a state, equal for every report of this fill, before and after a crash.

    With a state, ``async with fill`` acknowledges it at the end of the block, unless that raises. So does `ack`.
    """

    kind: FillKind = FillKind.FILL
    account_number: str
    order_id: str
    external_identifier: str | None = None
    fill_id: str
    symbol: str
    action: str
    quantity: Decimal
    price: Decimal | None
    filled_at: datetime | None
    leg: int | None = None
    venue: str | None = None
    execution_id: str | None = None

    @property
    def terms(self) -> Terms:
        """The part that a correction changes."""
        return Terms(str(self.action), self.quantity, self.price)

    @property
    def held(self) -> Decimal:
        """Quantity that the execution adds to the position after this event, negative for a sale."""
        return ZERO if self.kind is FillKind.BUST else signed(self.action, self.quantity)


class Terms(NamedTuple):
    """Part of a fill that a correction changes."""

    action: str
    quantity: Decimal
    price: Decimal | None


class DiscrepancyKind(enum.StrEnum):
    """Kind of a `Discrepancy`."""

    POSITION = "position"
    AVERAGE_PRICE = "average_price"
    MISSING_FILLS = "missing_fills"
    UNKNOWN_EXECUTION = "unknown_execution"


@attrs.frozen(kw_only=True)
class Discrepancy(Acknowledgeable):
    """Something that did not add up for 30 seconds, reported again only when the difference changes.

    Attributes:
        kind: ``position`` (its change is not the sum of the fills), ``average_price`` (of the position, more than a
            cent off the price of the fills), ``missing_fills`` (of a leg of an order that is over), or
            ``unknown_execution`` (a transaction whose order is unknown, or a reversal of an unknown execution).
        account_number: the account.
        subject: the position, the leg of an order, or the transaction.
        symbol: the instrument.
        expected: quantity, negative if short, or price by the fills. For ``missing_fills``, the filled quantity by the
            order itself. For ``unknown_execution``, 0.
        seen: quantity or price that the brokerage shows instead.
        orders: the orders concerned.
        fills: the latest fills concerned, at most 100.
        found_at: when it counted as a discrepancy.
        idempotency_key: as for `Fill`.

    It is acknowledged like a `Fill`.
    """

    kind: DiscrepancyKind
    account_number: str
    subject: str
    symbol: str
    expected: Decimal
    seen: Decimal
    orders: tuple[str, ...] = ()
    fills: tuple[Fill, ...] = ()
    found_at: datetime

    @property
    def key(self) -> tuple[str, ...]:
        """Identity within the collection of a ledger."""
        return (self.account_number, "discrepancy", self.kind, self.subject)


@attrs.frozen(kw_only=True)
class Execution:
    """One execution in all its states.

    Attributes:
        events: the fill, then its corrections and busts.
        seen_at: when it was first seen.
        skipped: leading events that are not reported: the fill itself if it came before the watcher.
        listed: what the list of its leg shows, None if it does not.
        listed_as: ``fill_id`` in that list.
    """

    events: tuple[Fill, ...]
    seen_at: datetime
    skipped: int = 0
    listed: Terms | None = None
    listed_as: str | None = None

    @property
    def last(self) -> Fill:
        """The last event."""
        return self.events[-1]

    @property
    def key(self) -> tuple[str, ...]:
        """Identity within the collection of a ledger."""
        return key_of(self.last)

    def relisted(self, fill: Fill) -> Execution:
        """Return it as the list of its leg shows it now."""
        if self.listed == fill.terms:
            return self
        listed = attrs.evolve(self, listed=fill.terms, listed_as=fill.fill_id)
        agrees = self.last.kind is not FillKind.BUST and self.last.terms == fill.terms
        return listed if agrees else listed.decided(FillKind.CORRECTION, fill.terms)

    def busted(self) -> Execution:
        """Return it as void."""
        return self if self.last.kind is FillKind.BUST else self.decided(FillKind.BUST, self.last.terms)

    def decided(self, kind: FillKind, terms: Terms) -> Execution:
        """Return it with one more event."""
        event = attrs.evolve(self.last, kind=kind, action=terms.action, quantity=terms.quantity, price=terms.price)
        return attrs.evolve(self, events=(*self.events, event))


@attrs.frozen(kw_only=True)
class Books:
    """Memory of a ledger beside its executions.

    Attributes:
        account_number: the account.
        horizon: unknown fills from before are none of the watcher's: they came before it, or are forgotten.
        search_from: day of the oldest order that works, where the search of a restart begins.
        base: signed quantity and average price of positions without the executions that are remembered. None before
            the first quiet moment.
        forgotten: keys of executions that are part of ``base`` by now. A crash may have left them in the state.
    """

    account_number: str
    horizon: datetime
    search_from: date
    base: Mapping[str, tuple[Decimal, Decimal | None]] | None = None
    forgotten: tuple[tuple[str, ...], ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Identity within the collection of a ledger."""
        return (self.account_number, "books")


Item = Books | Execution | Discrepancy
"""Item of the collection that a ledger keeps."""


class Part(NamedTuple):
    """Change of a position at a time."""

    at: datetime
    change: Decimal
    price: Decimal | None


def replay(quantity: Decimal, average: Decimal | None, parts: Iterable[Part]) -> tuple[Decimal, Decimal | None]:
    """Return a position after ``parts``: signed quantity and average price.

    The average price is None where it is unknown. That is so after a partial close: whether the service averages lots
    or takes the first ones out was never recorded.
    """
    for _, change, price in sorted(parts, key=lambda part: part.at):
        after = quantity + change
        if not quantity or quantity * after < 0:
            average = price
        elif quantity * change > 0 and average is not None and price is not None:
            average = (quantity * average + change * price) / after
        else:
            average = None
        quantity = after
    return quantity, average


def key_of(fill: Fill) -> tuple[str, ...]:
    """Return the identity of the execution of ``fill`` within the collection of a ledger."""
    return (fill.account_number, "fill", fill.order_id, fill.symbol, fill.fill_id)


def signed(action: str, quantity: Decimal) -> Decimal:
    """Return what an action adds to a position, negative for a sale."""
    return quantity if action.startswith("Buy") else -quantity
