"""Executions of an account as values, and how orders, transactions and positions show them."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

import attrs

from .._generated.models import Order, Position, QuantityDirection, Transaction, TransactionType
from .diff import Acknowledgeable

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
        return ZERO if self.kind is FillKind.BUST else self.terms.signed


class Terms(NamedTuple):
    """Part of a fill that a correction changes."""

    action: str
    quantity: Decimal
    price: Decimal | None

    @property
    def signed(self) -> Decimal:
        """Quantity that is added to the position, negative for a sale."""
        return self.quantity if self.action.startswith("Buy") else -self.quantity


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
    """One execution in all its states: the fill, then its corrections and busts.

    ``skipped`` counts leading events that are not reported: the fill itself if it came before the watcher. ``listed``
    and ``listed_as`` are what the list of its leg shows, None if it does not.
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

    @property
    def name(self) -> str:
        """The symbol as positions have it."""
        return name_of(self.last.symbol)

    @property
    def at(self) -> datetime:
        """When it took place, or else was first seen."""
        return self.last.filled_at or self.seen_at

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
        horizon: unknown fills from before are none of the watcher's: they came before it, or are forgotten.
        search_from: day of the oldest order that works, where the search of a restart begins.
        base: positions without the executions that are remembered, None before the first quiet moment.
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


def name_of(symbol: str | None) -> str:
    """Return a symbol as positions and orders share it: future options differ in their blanks (recorded)."""
    return "".join((symbol or "").split())


def fills_of(account_number: str, order: Order) -> Iterator[Fill]:
    """Yield the fills that an order lists. Equal identifiers within a leg, which nothing rules out, are numbered."""
    for number, leg in enumerate(order.legs or ()):
        counts = Counter[str]()
        for fill in leg.fills or ():
            name = fill.fill_id or fill.ext_exec_id or "fill"
            counts[name] += 1
            yield Fill(
                account_number=account_number,
                order_id=order.id or "",
                external_identifier=order.external_identifier,
                fill_id=name if counts[name] == 1 else f"{name}#{counts[name]}",
                symbol=leg.symbol or "",
                action=str(leg.action or ""),
                quantity=fill.quantity or ZERO,
                price=fill.fill_price,
                filled_at=fill.filled_at,
                leg=number,
                venue=fill.destination_venue,
                execution_id=fill.ext_exec_id,
            )


def held_in(position: Position | None) -> tuple[Decimal, Decimal | None]:
    """Return the signed quantity and the average price of a position."""
    if position is None or position.quantity is None or position.quantity_direction == "Zero":
        return ZERO, None
    is_short = position.quantity_direction == QuantityDirection.SHORT
    return -position.quantity if is_short else position.quantity, position.average_open_price


class Row(NamedTuple):
    """A transaction as a ledger compares it. It is a trade if it books an execution, and reverses none."""

    row: Transaction
    id: str | None
    order_id: str
    name: str
    terms: Terms
    at: datetime
    identifiers: frozenset[str]
    is_trade: bool

    @classmethod
    def of(cls, row: Transaction) -> Row:
        """Return a transaction in the form that is compared."""
        day = row.transaction_date or date.max
        return cls(
            row, row.id, row.order_id or "", name_of(row.symbol),
            Terms(str(row.action or ""), row.quantity or ZERO, row.price),
            row.executed_at or datetime(day.year, day.month, day.day, tzinfo=UTC),
            frozenset(each for each in (row.exec_id, row.ext_exec_id) if each is not None),
            row.transaction_type == TransactionType.TRADE and row.reverses_id is None,
        )  # fmt: skip
