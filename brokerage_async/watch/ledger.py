"""The ledger of one account: compares orders, transactions and positions, without I/O or clock.

Neither busts nor corrections of fills have been recorded on the service. Published is one field, the ``reverses_id`` of
a transaction. Everything else about them here is a guess: a busted fill leaves the list of its leg, or its transaction
is reversed, and a corrected one keeps its ``fill_id``.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, NamedTuple

import attrs

from .._generated.models import Order, OrderStatus, Position, QuantityDirection, Transaction, TransactionType
from ..protocol.order_status import TERMINAL, is_complete
from .diff import Acknowledgeable

ZERO: Final = Decimal(0)
CENT: Final = Decimal("0.01")

NEVER: Final = datetime.min.replace(tzinfo=UTC)  # horizon before the first reading
EXCUSE: Final = timedelta(days=1)  # maximum age of a transaction of another type that explains any change of a position
MAX_EVIDENCE: Final = 100  # maximum fills that a `Discrepancy` lists, the latest

# How long something must not add up before it counts: late legs come up to 20 s after their order has ended.
SETTLING: Final = timedelta(seconds=30)
# Time after a fill until positions count: in a loaded sandbox they follow after up to 3 s.
QUIET: Final = timedelta(seconds=5)
# How long fills of an order that is over are remembered, because they may be corrected or busted: five days include
# the next trading day, on which trades settle, over a long weekend. Longer would be a guess as well.
KEPT: Final = timedelta(days=5)

# Sub-types of transactions that change a position by their quantity, like the actions of a trade. What the rows of
# splits, mergers and transfers say was never recorded: they explain any change.
EXACT: Final = frozenset(
    {"Exercise", "Assignment", "Expiration", "Cash Settled Exercise", "Cash Settled Assignment", "Futures Settlement"}
)


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
        return self.events[-1]

    @property
    def key(self) -> tuple[str, ...]:
        return key_of(self.last)

    @cached_property
    def leg(self) -> Leg:
        return leg_of(self.last.order_id, self.last.symbol)

    @property
    def at(self) -> datetime:
        """When it took place, or else was first seen."""
        return self.last.filled_at or self.seen_at

    def relisted(self, fill: Fill) -> Execution:
        if self.listed == fill.terms:
            return self
        listed = attrs.evolve(self, listed=fill.terms, listed_as=fill.fill_id)
        agrees = self.last.kind is not FillKind.BUST and self.last.terms == fill.terms
        return listed if agrees else listed.decided(FillKind.CORRECTION, fill.terms)

    def busted(self) -> Execution:
        return self if self.last.kind is FillKind.BUST else self.decided(FillKind.BUST, self.last.terms)

    def decided(self, kind: FillKind, terms: Terms) -> Execution:
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
        return (self.account_number, "books")


Item = Books | Execution | Discrepancy  # of the collection that a ledger keeps
Leg = tuple[str, str]  # order, and symbol as positions have it: legs of one symbol count as one


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
    return (fill.account_number, "fill", fill.order_id, fill.symbol, fill.fill_id)


def name_of(symbol: str | None) -> str:
    """Return a symbol as positions and orders share it: future options differ in their blanks (recorded)."""
    return "".join((symbol or "").split())


def leg_of(order_id: str | None, symbol: str | None) -> Leg:
    return order_id or "", name_of(symbol)


def fills_of(account_number: str, order: Order) -> Iterator[Fill]:
    """Yield the fills that an order lists. Equal identifiers of a symbol, which nothing rules out, are numbered."""
    counts = Counter[tuple[str | None, str]]()
    for number, leg in enumerate(order.legs or ()):
        for fill in sorted(leg.fills or (), key=lambda each: each.filled_at or NEVER):  # the newest may come first
            name = fill.fill_id or fill.ext_exec_id or f"fill at {fill.filled_at}"
            counts[leg.symbol, name] += 1
            yield Fill(
                account_number=account_number,
                order_id=order.id or "",
                external_identifier=order.external_identifier,
                fill_id=name if (count := counts[leg.symbol, name]) == 1 else f"{name}#{count}",
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
    if position is None or position.quantity is None or position.quantity_direction == "Zero":
        return ZERO, None
    is_short = position.quantity_direction == QuantityDirection.SHORT
    return -position.quantity if is_short else position.quantity, position.average_open_price


class Row:
    """A transaction as a ledger compares it. It is a trade if it books an execution, and reverses none.

    It has an order if that is listed or has executions, and stands if it neither reverses another one nor is reversed.
    """

    def __init__(self, row: Transaction, orders: Container[str], reversed_ids: Container[str | None]) -> None:
        day = row.transaction_date or date.max
        self.row: Transaction = row
        self.id: str | None = row.id
        self.leg: Leg = leg_of(row.order_id, row.symbol)
        self.terms: Terms = Terms(str(row.action or ""), row.quantity or ZERO, row.price)
        self.at: datetime = row.executed_at or datetime(day.year, day.month, day.day, tzinfo=UTC)
        self.identifiers: list[str] = [each for each in (row.exec_id, row.ext_exec_id) if each is not None]
        self.reverses_id: str | None = row.reverses_id
        self.is_trade: bool = row.transaction_type == TransactionType.TRADE and row.reverses_id is None
        self.has_order: bool = self.leg[0] in orders
        self.stands: bool = row.reverses_id is None and row.id not in reversed_ids
        self.execution: Execution | None = None  # the one with its identifiers


class Settling:
    """Findings that last: those that are made again and again with the same value, for `SETTLING`."""

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[object, datetime]] = {}
        self.is_waiting: bool = False  # whether there is one that may yet last

    def lasting(self, found: Mapping[Hashable, object], now: datetime, anew: Container[Hashable] = ()) -> set[Hashable]:
        """Return the keys of findings that last, given all that are made now. Those ``anew`` begin to last again."""
        before = {key: each for key, each in self._since.items() if key not in anew}
        self._since = {
            key: (value, min(before[key][1], now) if key in before and before[key][0] == value else now)
            for key, value in found.items()
        }
        lasting = {key for key, (_, since) in self._since.items() if now - since >= SETTLING}
        self.is_waiting = len(lasting) < len(self._since)
        return lasting


class Ledger:
    """Executions of one account, and their discrepancies."""

    def __init__(self, account_number: str) -> None:
        self._account = account_number
        self.books: Books = Books(account_number=account_number, horizon=NEVER, search_from=NEVER.date())
        self._executions: defaultdict[str, dict[tuple[str, ...], Execution]] = defaultdict(dict)  # by order
        self._discrepancies: dict[tuple[str, ...], Discrepancy] = {}
        self._orders: dict[str, Order] = {}
        self._expirations: dict[str, datetime] = {}
        self._vanished: Sequence[Execution] = ()
        self._is_due: bool = False  # whether the last comparison found executions to forget
        self._deciding, self._differing = Settling(), Settling()

    @property
    def has_begun(self) -> bool:
        return self.books.horizon > NEVER

    @property
    def is_unsettled(self) -> bool:
        """True while something does not add up that may yet."""
        waits = self._deciding.is_waiting or self._differing.is_waiting
        return waits or bool(self._vanished) or self.books.base is None

    def items(self) -> list[Item]:
        """Return the collection, the executions of an order as they were seen."""
        return [self.books, *self._all(), *self._discrepancies.values()]

    def restore(self, items: Iterable[Item]) -> None:
        kept = list(items)
        self.books = next((each for each in kept if isinstance(each, Books)), self.books)
        forgotten = frozenset(self.books.forgotten)
        for each in kept:
            if isinstance(each, Execution) and each.key not in forgotten:
                self._executions[each.last.order_id][each.key] = each
            elif isinstance(each, Discrepancy):
                self._discrepancies[each.key] = each

    def observe(self, orders: Iterable[Order], now: datetime, began: datetime, *, whole: bool = True) -> list[Fill]:
        """Take a reading of orders, ``whole`` if it is the list of those that work or are of today. Return new events.

        Fills in the first reading from before the watcher ``began`` are known, and not reported.
        """
        is_first = not self.has_begun
        self._orders = {} if whole else self._orders
        self._orders |= {order.id: order for order in orders if order.id is not None and order.legs is not None}
        working = (order.received_at for order in self._orders.values() if not is_complete(order))
        oldest = min((at.date() for at in working if at is not None), default=now.date())
        horizon = began if is_first else self.books.horizon
        self.books = attrs.evolve(self.books, horizon=horizon, search_from=oldest)
        listed = [fill for order in self._orders.values() for fill in fills_of(self._account, order)]
        news, shown = list[Fill](), set[tuple[str, ...]]()
        for fill in sorted(listed, key=lambda each: each.filled_at or now):
            execution = self._listed(fill)
            if execution is None:
                if not is_first and (fill.filled_at or now) < horizon:
                    continue
                skipped = int(is_first and (fill.filled_at is None or fill.filled_at < began))
                execution = Execution(events=(fill,), seen_at=now, skipped=skipped)
                news += () if skipped else (fill,)
            relisted = execution.relisted(fill)
            news += relisted.events[len(execution.events) :]
            self._executions[fill.order_id][relisted.key] = relisted
            shown.add(relisted.key)
        legs = [(order.id, leg) for order in self._orders.values() for leg in order.legs or ()]
        told = {leg_of(order_id, leg.symbol) for order_id, leg in legs if leg.fills is not None}
        listed_before = (each for each in self._all() if each.listed is not None and each.leg in told)
        self._vanished = [each for each in listed_before if each.key not in shown]
        return news

    def _all(self) -> Iterator[Execution]:
        return (each for known in self._executions.values() for each in known.values())

    def _of(self, leg: Leg) -> list[Execution]:
        return [each for each in self._executions.get(leg[0], {}).values() if each.leg == leg]

    def _listed(self, fill: Fill) -> Execution | None:
        """Return the execution of a listed fill: by its identifier, or one that only a transaction has shown."""
        known = self._executions.get(fill.order_id, {})
        usual = known.get(key_of(fill))
        if usual is not None and usual.listed_as == fill.fill_id:
            return usual
        of_leg = [each for each in known.values() if each.last.symbol == fill.symbol]
        for each in of_leg:
            if each.listed_as == fill.fill_id:
                return each
        for each in of_leg:
            same = each.last.execution_id is not None and each.last.execution_id == fill.execution_id
            if each.listed_as is None and (same or each.last.terms == fill.terms):
                return each
        return None

    def strangers(self, transactions: Iterable[Transaction]) -> set[str]:
        """Return the orders of executions that no list has shown: they have to be looked up."""
        return {row.leg[0] for row in self._recent(transactions) if row.is_trade and not row.has_order} - {""}

    def reconcile(
        self, positions: Iterable[Position], transactions: Iterable[Transaction], now: datetime
    ) -> list[Fill]:
        """Compare orders, transactions and positions, but nothing within `QUIET` of a fill. Return new events."""
        if not self.has_begun or any(abs(now - each.at) < QUIET for each in self._all()):
            return []
        rows = self._recent(transactions)
        news = self._decide(rows, now)
        held = {name_of(each.symbol): each for each in positions}
        self._expirations |= {name: each.expires_at for name, each in held.items() if each.expires_at is not None}
        if self.books.base is None:  # take over the positions, without the executions that are reported
            parts, base = self._parts(self._all(), rows), dict[str, tuple[Decimal, Decimal | None]]()
            for name in held.keys() | parts.keys():
                quantity, average = held_in(held.get(name))
                quantity -= sum((part.change for part in parts.get(name, ())), ZERO)
                if quantity:
                    base[name] = (quantity, None if parts.get(name) else average)
            self.books = attrs.evolve(self.books, base=base)
        differences = (*self._unfilled(now), *self._unknown(rows, now), *self._off(held, rows, now))
        self._report({each.key: each for each in differences}, {name_of(each.symbol) for each in news}, now)
        horizon, times = now - KEPT, {row.id: row.at for row in rows}
        for row in sorted(rows, key=lambda each: each.at, reverse=True):  # what was reversed goes with its reversal
            if row.at >= horizon:
                horizon = min(horizon, times.get(row.reverses_id, horizon))
        was_due, self._is_due = self._is_due, horizon - self.books.horizon >= timedelta(days=1)
        if was_due and self._is_due:  # a clock that jumps for a moment would have later fills ignored
            self._forget(rows, horizon)
        return news

    def _recent(self, transactions: Iterable[Transaction]) -> list[Row]:
        # A page that shifts while it is read shows a row twice.
        found = {each.id or number: each for number, each in enumerate(transactions) if each.symbol}.values()
        orders = self._orders.keys() | self._executions.keys()
        reversed_ids = {each.reverses_id for each in found}
        rows = [Row(each, orders, reversed_ids) for each in found]
        return [row for row in rows if row.at >= self.books.horizon]

    def _decide(self, rows: Sequence[Row], now: datetime) -> list[Fill]:
        """Return reversals, and fills that orders do not list, which transactions have shown for long enough."""
        reversals = {row.reverses_id: row for row in rows if row.reverses_id is not None}
        trades = {row.id: row for row in rows if row.is_trade}
        standing = defaultdict[Leg, list[Row]](list)
        for row in trades.values():
            if row.stands and row.has_order:
                standing[row.leg].append(row)
        # The most decided comes last: one reversal must not decide about two of them.
        ordered = sorted(self._all(), key=lambda each: -len(each.events))[::-1]
        executed = {(each.leg, name): each for each in ordered for name in (each.last.execution_id, each.last.fill_id)}

        def identified(row: Row) -> Execution | None:
            return next(filter(None, (executed.get((row.leg, each)) for each in row.identifiers)), None)

        for row in rows:
            row.execution = identified(row)
        named = {row.execution.key for row in trades.values() if row.execution is not None}
        decisions: dict[Hashable, Execution] = {}
        taken = set(named)  # two reversals decide about two executions
        for reversed_id, reversal in reversals.items():
            row = trades.get(reversed_id, reversal)
            booked = standing.get(row.leg, [])
            rebooked = next((each.terms for each in booked if set(each.identifiers) & set(row.identifiers)), None)
            execution = identified(row) or self._alike(row, taken, rebooked)
            if execution is None:
                if row is reversal or not row.has_order or row not in self._missing([*booked, row], named):
                    continue
                execution = self._witnessed(row, now)  # it came and went between two readings
            taken.add(execution.key)
            executed |= {(row.leg, each): execution for each in row.identifiers}
            if rebooked is None:
                decisions[reversed_id] = execution.busted()
            elif rebooked != execution.last.terms:
                decisions[reversed_id] = execution.decided(FillKind.CORRECTION, rebooked)
        for each in self._vanished:  # a transaction that stands outweighs a list that lacks it
            if not any(row.execution is each for row in standing.get(each.leg, [])):
                decisions[each.key] = attrs.evolve(each, listed=None).busted()
        for booked in standing.values():
            for row in self._missing(booked, named):
                decisions[row.id] = self._witnessed(row, now)
        news = list[Fill]()
        for key in self._deciding.lasting({key: each.last.terms for key, each in decisions.items()}, now):
            decided = decisions[key]
            known = self._executions[decided.last.order_id]
            news += decided.events[len(known[decided.key].events) if decided.key in known else 0 :]
            known[decided.key] = decided
        return sorted(news, key=lambda fill: fill.filled_at or now)

    def _alike(self, row: Row, taken: Container[object], rebooked: Terms | None) -> Execution | None:
        """Return the likeliest execution of a reversed transaction by quantity and price, one that is not ``taken``."""
        terms, vanished = row.terms[1:], {each.key for each in self._vanished}

        def doubts(each: Execution) -> tuple[bool, ...]:
            standing = None if each.last.kind is FillKind.BUST else each.last.terms  # as decided before
            return standing != rebooked, each.key not in vanished, each.events[0].terms[1:] != terms

        alike = (each for each in self._of(row.leg) if terms in [event.terms[1:] for event in each.events])
        return min((each for each in alike if each.key not in taken), key=doubts, default=None)

    def _missing(self, booked: Sequence[Row], named: Container[object]) -> Sequence[Row]:
        """Return the transactions of fills that a leg does not list, if they make up what its fills lack.

        Sums decide, identifiers alone never: a transaction with the identifiers of its fill was not recorded, nor one
        for each fill.
        """
        left = [row for row in booked if row.execution is None]  # an old one may have been corrected lately
        current = [
            each.last
            for each in self._of(booked[0].leg)
            if each.key not in named and each.at >= self.books.horizon and each.last.kind is not FillKind.BUST
        ]
        lacking = sum((row.terms.quantity for row in left), ZERO) - sum((fill.quantity for fill in current), ZERO)
        for fill in current:
            if (row := next((row for row in left if row.terms[1:] == fill.terms[1:]), None)) is not None:
                left.remove(row)
        return left if sum((row.terms.quantity for row in left), ZERO) == lacking else ()

    def _witnessed(self, row: Row, now: datetime) -> Execution:
        """Return the execution of a leg that only a transaction shows."""
        (order_id, name), known = row.leg, self._of(row.leg)
        order = self._orders.get(order_id)
        legs = [] if order is None else [name_of(leg.symbol) for leg in order.legs or ()]
        source = order if order is not None else known[0].last if known else None
        identifier = row.row.ext_exec_id or row.row.exec_id
        fill = Fill(
            account_number=self._account,
            order_id=order_id,
            external_identifier=None if source is None else source.external_identifier,
            fill_id=identifier or f"transaction-{row.id}",
            symbol=row.row.symbol or "",
            action=row.terms.action,
            quantity=row.terms.quantity,
            price=row.terms.price,
            filled_at=row.row.executed_at,
            leg=legs.index(name) if name in legs else None,
            venue=row.row.destination_venue,
            execution_id=identifier,
        )
        return Execution(events=(fill,), seen_at=now)

    def _parts(self, executions: Iterable[Execution], rows: Iterable[Row]) -> dict[str, list[Part]]:
        """Return the changes of each position by executions, and by transactions without one."""
        parts = defaultdict[str, list[Part]](list)
        for each in executions:
            before = each.events[each.skipped - 1].held if each.skipped else ZERO
            change, is_plain = each.last.held - before, len(each.events) == 1
            if change or not is_plain:  # what a decision does to the average price is unknown
                parts[each.leg[1]].append(Part(each.at, change, each.last.price if is_plain else None))
        for row in rows:
            if row.stands and row.terms.action and not (row.is_trade and row.has_order):
                parts[row.leg[1]].append(Part(row.at, row.terms.signed, row.terms.price if row.is_trade else None))
        return parts

    def _off(self, held: Mapping[str, Position], rows: Sequence[Row], now: datetime) -> Iterator[Discrepancy]:
        """Yield positions that are not what the fills make them."""
        base, parts = dict(self.books.base or {}), self._parts(self._all(), rows)
        for name in sorted(base.keys() | parts.keys() | held.keys()):
            before = base.get(name, (ZERO, None))
            expected, average = replay(*before, parts.get(name, ()))
            seen, seen_average = held_in(held.get(name))
            expired = name in self._expirations and self._expirations[name] <= now
            kind, due, shown = DiscrepancyKind.POSITION, expected, seen
            if expected == seen:
                if average is None or seen_average is None or abs(average - seen_average) <= CENT:
                    continue
                kind, due, shown = DiscrepancyKind.AVERAGE_PRICE, average, seen_average
            elif expired:  # it leaves the list of positions, and its transaction comes, in an unknown order
                continue
            elif any(_excuses(row, name, now) for row in rows):
                base[name] = (before[0] + seen - expected, None)
                continue
            fills = [each.last for each in self._all() if each.leg[1] == name]
            symbol = fills[-1].symbol if fills else held[name].symbol or name if name in held else name
            yield self._discrepancy(now, fills, kind=kind, subject=name, symbol=symbol, expected=due, seen=shown)
        if base != self.books.base:
            self.books = attrs.evolve(self.books, base=base)

    def _unfilled(self, now: datetime) -> Iterator[Discrepancy]:
        """Yield legs of orders that are over and lack fills.

        Whether a bust or a correction changes the remaining quantity is unknown: both figures will do.
        """
        since, orders = self.books.horizon, self._orders.values()  # fills from before may be forgotten
        over = [each for each in orders if each.status in TERMINAL and (each.terminal_at or now) >= since]
        for order, leg in ((each, leg) for each in over for leg in each.legs or ()):
            expected = leg.quantity if order.status == OrderStatus.FILLED else None
            if expected is None and leg.remaining_quantity and leg.quantity is not None:
                expected = leg.quantity - leg.remaining_quantity
            mine = self._of(leg_of(order.id, leg.symbol))
            seen = sum((fill.quantity or ZERO for fill in leg.fills or ()), ZERO)
            seen += sum((abs(each.last.held) for each in mine if each.listed is None), ZERO)
            decided = sum((each.events[0].quantity - abs(each.last.held) for each in mine), ZERO)
            if expected is not None and expected not in (seen, seen + decided):
                yield self._discrepancy(
                    now, [each.last for each in mine], (order.id or "",), kind=DiscrepancyKind.MISSING_FILLS,
                    subject=f"{order.id} {leg.symbol}", symbol=leg.symbol or "", expected=expected, seen=seen,
                )  # fmt: skip

    def _unknown(self, rows: Sequence[Row], now: datetime) -> Iterator[Discrepancy]:
        """Yield executions without an order, and reversals of unknown executions."""
        identifiers = {row.id for row in rows}
        for row in rows:
            is_strange_reversal = row.reverses_id is not None and row.reverses_id not in identifiers
            if (row.is_trade and not row.has_order) or (is_strange_reversal and row.execution is None):
                yield self._discrepancy(
                    now, (), (row.leg[0],) if row.leg[0] else (), kind=DiscrepancyKind.UNKNOWN_EXECUTION,
                    subject=f"transaction {row.id}", symbol=row.row.symbol or "", expected=ZERO, seen=row.terms.signed,
                )  # fmt: skip

    def _discrepancy(
        self, now: datetime, fills: Iterable[Fill], orders: tuple[str, ...] = (), **what: Any
    ) -> Discrepancy:
        evidence = sorted(fills, key=lambda fill: fill.filled_at or now)[-MAX_EVIDENCE:]
        orders = orders or tuple(dict.fromkeys(fill.order_id for fill in evidence))
        return Discrepancy(account_number=self._account, orders=orders, fills=tuple(evidence), found_at=now, **what)

    def _report(self, found: Mapping[tuple[str, ...], Discrepancy], decided: Container[str], now: datetime) -> None:
        """Keep findings that last. A reported one stays until its difference changes or it is resolved.

        Differences in the symbols that were ``decided`` about may have another cause from now on.
        """
        differences: dict[Hashable, Decimal] = {key: each.seen - each.expected for key, each in found.items()}
        anew = [key for key, each in found.items() if name_of(each.symbol) in decided]
        lasting = self._differing.lasting(differences, now, anew)
        kept = {key: each for key, each in self._discrepancies.items() if key in found}
        for key, new in found.items():
            old = kept.get(key)
            if key in lasting and (old is None or old.seen - old.expected != differences[key]):
                kept[key] = new
        self._discrepancies = kept

    def _forget(self, rows: Sequence[Row], horizon: datetime) -> None:
        """Make executions of orders that cannot change any more part of the base, once a day."""
        open_orders = {order.id for order in self._orders.values() if not is_complete(order)}
        open_orders |= {row.leg[0] for row in rows if row.at >= horizon}  # a correction may have been booked later
        old = [each for each in self._all() if max(each.at, each.seen_at) < horizon]
        doomed = [each for each in old if each.last.order_id not in open_orders]
        base = dict(self.books.base or {})
        for name, parts in self._parts(doomed, [row for row in rows if row.at < horizon]).items():
            base[name] = replay(*base.get(name, (ZERO, None)), parts)
        for each in doomed:
            executions = self._executions[each.last.order_id]
            del executions[each.key]
            if not executions:
                del self._executions[each.last.order_id]
        base, forgotten = {name: each for name, each in base.items() if each[0]}, tuple(each.key for each in doomed)
        names = base.keys() | {each.leg[1] for each in self._all()}
        self._expirations = {name: at for name, at in self._expirations.items() if at >= horizon or name in names}
        self.books = attrs.evolve(self.books, horizon=horizon, base=base, forgotten=forgotten)


def _excuses(row: Row, name: str, now: datetime) -> bool:
    """Return True if a transaction may have changed a position by what its figures do not say."""
    kind, action = row.row.transaction_sub_type, row.row.action
    is_exact = bool(action and row.row.quantity) and (kind in EXACT or str(kind) == action)
    touches = name in (row.leg[1], name_of(row.row.underlying_symbol))
    return touches and not row.is_trade and not is_exact and now - row.at <= EXCUSE and row.reverses_id is None
