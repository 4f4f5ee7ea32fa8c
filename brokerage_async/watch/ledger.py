"""The ledger of one account: compares orders, transactions and positions, without I/O or clock.

Neither busts nor corrections of fills have been recorded on the service. Published is one field, the ``reverses_id`` of
a transaction. Everything else about them here is a guess: a busted fill leaves the list of its leg, or its transaction
is reversed, and a corrected one keeps its ``fill_id``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import attrs

from .._generated.models import Order, OrderStatus, Position, Transaction
from ..protocol.order_status import TERMINAL, is_complete
from .executions import (
    ZERO,
    Books,
    Discrepancy,
    DiscrepancyKind,
    Execution,
    Fill,
    FillKind,
    Item,
    Part,
    fills_of,
    held_in,
    is_same,
    is_trade,
    key_of,
    name_of,
    replay,
    signed,
    terms_of,
    time_of,
)  # fmt: skip

__all__ = ["Ledger", "Settling"]

SETTLING: Final = timedelta(seconds=30)
"""How long something must not add up before it counts: late legs come up to 20 s after their order has ended."""

QUIET: Final = timedelta(seconds=5)
"""Time after a fill until positions count: in a loaded sandbox they follow after up to 3 s."""

KEPT: Final = timedelta(days=5)
"""How long the fills of an order that is over are remembered, because they may still be corrected or busted.

Trades settle on the next trading day. Five days include one over a long weekend. Longer would be a guess as well.
"""

EXCUSE: Final = timedelta(days=1)
"""Maximum age of a transaction of another type that explains any change of a position."""

CENT: Final = Decimal("0.01")

EXACT: Final = frozenset(
    {"Exercise", "Assignment", "Expiration", "Cash Settled Exercise", "Cash Settled Assignment", "Futures Settlement"}
)
"""Sub-types of transactions that change a position by their quantity, like the actions of a trade.

What the rows of splits, mergers and transfers say was never recorded: they explain any change.
"""

MAX_EVIDENCE: Final = 100
"""Maximum fills that a `Discrepancy` lists, the latest."""


class Settling:
    """Findings that last: those that are made again and again with the same value, for `SETTLING`."""

    def __init__(self) -> None:
        self._since: dict[Hashable, tuple[object, datetime]] = {}
        self.is_waiting: bool = False
        """Whether there is one that may yet last."""

    def restart(self, keys: Iterable[Hashable]) -> None:
        """Let these findings begin to last anew, because what is known about them has changed."""
        for key in keys:
            self._since.pop(key, None)

    def lasting(self, found: Mapping[Hashable, object], now: datetime) -> set[Hashable]:
        """Return the keys of findings that last, given all that are made now."""
        before = self._since
        self._since = {
            key: before[key] if key in before and before[key][0] == value else (value, now)
            for key, value in found.items()
        }
        lasting = {key for key, (_, since) in self._since.items() if now - since >= SETTLING}
        self.is_waiting = len(lasting) < len(self._since)
        return lasting


class Ledger:
    """Executions of one account, and their discrepancies.

    Args:
        account_number: the account.

    Attributes:
        books: its further knowledge, None before the first reading.
    """

    def __init__(self, account_number: str) -> None:
        self._account = account_number
        self.books: Books | None = None
        self._executions: defaultdict[str, dict[tuple[str, ...], Execution]] = defaultdict(dict)
        self._discrepancies: dict[tuple[str, ...], Discrepancy] = {}
        self._orders: dict[str, Order] = {}
        self._expirations: dict[str, datetime] = {}
        self._vanished: Sequence[Execution] = ()
        self._deciding = Settling()
        self._differing = Settling()

    @property
    def is_unsettled(self) -> bool:
        """True while something does not add up that may yet."""
        waits = self._deciding.is_waiting or self._differing.is_waiting
        return waits or bool(self._vanished) or self.books is None or self.books.base is None

    def items(self) -> list[Item]:
        """Return the collection, executions in the order they were seen."""
        books = () if self.books is None else (self.books,)
        return [*books, *self._all(), *self._discrepancies.values()]

    def restore(self, items: Iterable[Item]) -> None:
        """Begin with a collection that was kept."""
        kept = list(items)
        self.books = next((each for each in kept if isinstance(each, Books)), None)
        forgotten = frozenset(self.books.forgotten if self.books else ())
        for each in kept:
            if isinstance(each, Execution) and each.key not in forgotten:
                self._executions[each.last.order_id][each.key] = each
            elif isinstance(each, Discrepancy):
                self._discrepancies[each.key] = each

    # Orders

    def observe(self, orders: Iterable[Order], now: datetime, began: datetime, *, whole: bool = True) -> list[Fill]:
        """Take a reading of orders, and return its new events.

        Args:
            orders: orders with their fills.
            now: time of the reading.
            began: when the watcher began. Fills from before it in the first reading are known, and not reported.
            whole: whether it is the list of orders that work or are of today, rather than more orders.
        """
        is_first = self.books is None
        self._orders = {} if whole else self._orders
        self._orders |= {order.id: order for order in orders if order.id is not None and order.legs is not None}
        books = self.books or Books(account_number=self._account, horizon=began, search_from=began.date())
        working = (order.received_at for order in self._orders.values() if not is_complete(order))
        oldest = min((at.date() for at in working if at is not None), default=now.date())
        self.books = attrs.evolve(books, search_from=oldest) if whole and books.search_from != oldest else books
        listed = [(fill, order) for order in self._orders.values() for fill in fills_of(self._account, order)]
        listed.sort(key=lambda each: each[0].filled_at or now)
        news, shown = list[Fill](), set[tuple[str, ...]]()
        for fill, order in listed:
            known = self._executions[order.id or ""]
            execution = self._listed(known, fill)
            if execution is None:
                if not is_first and (fill.filled_at or now) < books.horizon:
                    continue
                skipped = int(is_first and (fill.filled_at is None or fill.filled_at < began))
                execution = Execution(events=(fill,), seen_at=now, skipped=skipped)
                news += () if skipped else (fill,)
            relisted = execution.relisted(fill)
            news += relisted.events[len(execution.events) :]
            known[relisted.key] = relisted
            shown.add(relisted.key)
        legs = {
            (order.id, leg.symbol)
            for order in self._orders.values()
            for leg in order.legs or ()
            if leg.fills is not None
        }
        self._vanished = [
            each
            for each in self._all()
            if (each.last.order_id, each.last.symbol) in legs and each.listed is not None and each.key not in shown
        ]
        return news

    def _listed(self, known: Mapping[tuple[str, ...], Execution], fill: Fill) -> Execution | None:
        """Return the execution of a listed fill: by its identifier, or one that only a transaction has shown."""
        usual = known.get(key_of(fill))
        if usual is not None and usual.listed_as == fill.fill_id:
            return usual
        for each in known.values():
            if each.last.symbol == fill.symbol and each.listed_as == fill.fill_id:
                return each
        for each in known.values():
            if each.last.symbol == fill.symbol and each.listed_as is None:
                same = each.last.execution_id is not None and each.last.execution_id == fill.execution_id
                if same or each.last.terms == fill.terms:
                    return each
        return None

    def _all(self) -> Iterator[Execution]:
        return (each for known in self._executions.values() for each in known.values())

    # Transactions and positions

    def strangers(self, transactions: Iterable[Transaction]) -> set[str]:
        """Return the orders of executions that no list has shown: they have to be looked up."""
        trades = (each for each in self._recent(transactions) if is_trade(each))
        return {each.order_id for each in trades if each.order_id is not None and not self._knows(each.order_id)}

    def reconcile(
        self, positions: Iterable[Position], transactions: Iterable[Transaction], now: datetime
    ) -> list[Fill]:
        """Compare orders, transactions and positions after a quiet moment, and return new events.

        Nothing is judged within `QUIET` of a fill.
        """
        if self.books is None or any(now - (each.last.filled_at or each.seen_at) < QUIET for each in self._all()):
            return []
        rows = self._recent(transactions)
        news = self._decide(rows, now)
        held = {name_of(each.symbol): each for each in positions}
        self._expirations |= {name: each.expires_at for name, each in held.items() if each.expires_at is not None}
        if self.books.base is None:
            self._open(held, self._parts(rows))
        found = {
            each.key: each for each in (*self._unfilled(now), *self._unknown(rows, now), *self._off(held, rows, now))
        }
        decided = {name_of(each.symbol) for each in news}  # the same difference may have another cause from now on
        self._differing.restart(key for key, each in found.items() if name_of(each.symbol) in decided)
        self._report(found, now)
        if now - KEPT - self.books.horizon >= timedelta(days=1):
            self._forget(rows, now - KEPT)
        return news

    def _recent(self, transactions: Iterable[Transaction]) -> list[Transaction]:
        horizon = datetime.min.replace(tzinfo=UTC) if self.books is None else self.books.horizon
        return [each for each in transactions if each.symbol and time_of(each) >= horizon]

    def _knows(self, order_id: str | None) -> bool:
        return order_id is not None and (order_id in self._orders or bool(self._executions.get(order_id)))

    def _decide(self, rows: Sequence[Transaction], now: datetime) -> list[Fill]:
        """Return reversals, and fills that orders do not list, which transactions have shown for long enough."""
        reversals = {row.reverses_id: row for row in rows if row.reverses_id is not None}
        trades = {row.id: row for row in rows if is_trade(row)}
        standing = defaultdict[tuple[str, str], list[Transaction]](list)
        for row in trades.values():
            if row.id not in reversals and self._knows(row.order_id):
                standing[row.order_id or "", name_of(row.symbol or "")].append(row)
        named = {each.key: row for row in trades.values() if (each := self._executed(row)) is not None}
        undone = {key for key, row in named.items() if row.id in reversals}
        decisions: dict[Hashable, Execution] = {}
        for reversed_id, reversal in reversals.items():
            row = trades.get(reversed_id, reversal)
            booked = standing.get((row.order_id or "", name_of(row.symbol or "")), [])
            execution = self._executed(row) or self._executed(row, named)
            if execution is None and row is not reversal and self._knows(row.order_id):
                unseen = self._missing(
                    row.order_id or "", [*booked, row], undone
                )  # it came and went between two readings
                execution = Execution(events=(self._witnessed(row),), seen_at=now) if row in unseen else None
            if execution is None:
                continue
            rebooked = [each for each in booked if is_same(each, row)]
            if not rebooked:
                decisions[reversed_id] = execution.busted()
            elif (terms := terms_of(rebooked[0])) != execution.last.terms:
                decisions[reversed_id] = execution.decided(FillKind.CORRECTION, terms)
        for each in self._vanished:  # a transaction that stands outweighs a list that lacks it
            booked = standing.get((each.last.order_id, name_of(each.last.symbol)), [])
            if not any(self._executed(row) is each for row in booked):
                decisions[each.key] = attrs.evolve(each, listed=None).busted()
        for (order_id, _), booked in standing.items():
            for row in self._missing(order_id, booked, undone):
                decisions[row.id] = Execution(events=(self._witnessed(row),), seen_at=now)
        news = list[Fill]()
        for key in self._deciding.lasting({key: each.last.terms for key, each in decisions.items()}, now):
            decided = decisions[key]
            known = self._executions[decided.last.order_id]
            news += decided.events[len(known[decided.key].events) if decided.key in known else 0 :]
            known[decided.key] = decided
        return sorted(news, key=lambda fill: fill.filled_at or now)

    def _executed(self, row: Transaction, named: Container[object] | None = None) -> Execution | None:
        """Return the execution that a transaction books, by its identifiers.

        Given those that are ``named`` by any transaction, choose among the others, by quantity and price.
        """
        identifiers = {row.exec_id, row.ext_exec_id} - {None}
        known = self._executions.get(row.order_id or "", {}).values()
        for each in sorted(known, key=lambda one: -len(one.events)):  # one reversal must not decide about two of them
            if named is None:
                is_it = bool({each.last.execution_id, each.last.fill_id} & identifiers)
            else:
                alike = any(event.terms[1:] == terms_of(row)[1:] for event in each.events)
                is_it = alike and each.key not in named
            if is_it and name_of(each.last.symbol) == name_of(row.symbol or ""):
                return each
        return None

    def _missing(
        self, order_id: str, booked: Sequence[Transaction], undone: Container[object]
    ) -> Sequence[Transaction]:
        """Return the transactions of fills that a leg does not list, if they make up what its fills lack.

        Sums decide, identifiers alone never: a transaction with the identifiers of its fill was not recorded, nor one
        for each fill.
        """
        assert self.books is not None
        name, left = name_of(booked[0].symbol or ""), list(booked)
        current = [
            each.last
            for each in self._executions.get(order_id, {}).values()
            if name_of(each.last.symbol) == name and (each.last.filled_at or each.seen_at) >= self.books.horizon
        ]
        for fill in list(current):
            for row in left:
                if fill.execution_id is not None and fill.execution_id in (row.exec_id, row.ext_exec_id):
                    left.remove(row)
                    current.remove(fill)
                    break
        current = [fill for fill in current if fill.kind is not FillKind.BUST and key_of(fill) not in undone]
        lacking = sum((row.quantity or ZERO for row in left), ZERO) - sum((fill.quantity for fill in current), ZERO)
        for fill in current:
            alike = [row for row in left if terms_of(row)[1:] == fill.terms[1:]]
            left = [row for row in left if not alike or row is not alike[0]]
        return left if sum((row.quantity or ZERO for row in left), ZERO) == lacking else ()

    def _witnessed(self, row: Transaction) -> Fill:
        """Return the fill of a leg that only a transaction shows."""
        order = self._orders.get(row.order_id or "")
        known = next(iter(self._executions.get(row.order_id or "", {}).values()), None)
        legs = [] if order is None else [name_of(leg.symbol or "") for leg in order.legs or ()]
        name = name_of(row.symbol or "")
        source = order if order is not None else known.last if known is not None else None
        return Fill(
            account_number=self._account,
            order_id=row.order_id or "",
            external_identifier=None if source is None else source.external_identifier,
            fill_id=row.ext_exec_id or row.exec_id or f"transaction-{row.id}",
            symbol=row.symbol or "",
            action=str(row.action or ""),
            quantity=row.quantity or ZERO,
            price=row.price,
            filled_at=row.executed_at,
            leg=legs.index(name) if name in legs else None,
            venue=row.destination_venue,
            execution_id=row.ext_exec_id or row.exec_id,
        )

    def _parts(self, rows: Sequence[Transaction]) -> dict[str, list[Part]]:
        """Return the changes of each position by executions that are remembered, and by transactions without one."""
        parts = defaultdict[str, list[Part]](list)
        for each in self._all():
            before = each.events[each.skipped - 1].held if each.skipped else ZERO
            change, is_plain = each.last.held - before, len(each.events) == 1
            if change or not is_plain:  # what a decision does to the average price is unknown
                price = each.last.price if is_plain else None
                parts[name_of(each.last.symbol)].append(Part(each.last.filled_at or each.seen_at, change, price))
        reversed_ids = {row.reverses_id for row in rows}
        for row in rows:
            of_execution = is_trade(row) and self._knows(row.order_id)
            if not of_execution and row.reverses_id is None and row.id not in reversed_ids and row.action:
                change = signed(row.action, row.quantity or ZERO)
                price = row.price if is_trade(row) else None
                parts[name_of(row.symbol or "")].append(Part(time_of(row), change, price))
        return parts

    def _open(self, held: Mapping[str, Position], parts: Mapping[str, Sequence[Part]]) -> None:
        """Take over the positions, without the executions that are reported."""
        assert self.books is not None
        base = dict[str, tuple[Decimal, Decimal | None]]()
        for name in held.keys() | parts.keys():
            quantity, average = held_in(held.get(name))
            change = sum((part.change for part in parts.get(name, ())), ZERO)
            if quantity - change:
                base[name] = (quantity - change, None if parts.get(name) else average)
        self.books = attrs.evolve(self.books, base=base)

    def _off(self, held: Mapping[str, Position], rows: Sequence[Transaction], now: datetime) -> Iterator[Discrepancy]:
        """Yield positions that are not what the fills make them."""
        assert self.books is not None
        base, parts = dict(self.books.base or {}), self._parts(rows)
        for name in sorted(base.keys() | parts.keys() | held.keys()):
            before = base.get(name, (ZERO, None))
            expected, average = replay(*before, parts.get(name, ()))
            seen, seen_average = held_in(held.get(name))
            expired = name in self._expirations and self._expirations[name] <= now
            kind, figures = DiscrepancyKind.POSITION, (expected, seen)
            if expected == seen:
                if average is None or seen_average is None or abs(average - seen_average) <= CENT:
                    continue
                kind, figures = DiscrepancyKind.AVERAGE_PRICE, (average, seen_average)
            elif expired:  # it leaves the list of positions, and its transaction comes, in an unknown order
                continue
            elif any(_excuses(row, name, now) for row in rows):
                base[name] = (before[0] + seen - expected, None)
                continue
            fills = [each.last for each in self._all() if name_of(each.last.symbol) == name]
            symbol = fills[-1].symbol if fills else held[name].symbol or name if name in held else name
            yield self._discrepancy(kind, name, symbol, figures, fills, now)
        if base != self.books.base:
            self.books = attrs.evolve(self.books, base=base)

    def _unfilled(self, now: datetime) -> Iterator[Discrepancy]:
        """Yield legs of orders that are over and lack fills.

        Whether a bust or a correction changes the remaining quantity is unknown: both figures will do.
        """
        for order in self._orders.values():
            if order.status not in TERMINAL:
                continue
            for leg in order.legs or ():
                expected = leg.quantity if order.status == OrderStatus.FILLED else None
                if expected is None and leg.remaining_quantity and leg.quantity is not None:
                    expected = leg.quantity - leg.remaining_quantity
                mine = [
                    each for each in self._executions.get(order.id or "", {}).values() if each.last.symbol == leg.symbol
                ]
                seen = sum((fill.quantity or ZERO for fill in leg.fills or ()), ZERO)
                seen += sum((abs(each.last.held) for each in mine if each.listed is None), ZERO)
                decided = sum((each.events[0].quantity - abs(each.last.held) for each in mine), ZERO)
                if expected is not None and expected not in (seen, seen + decided):
                    fills = [each.last for each in mine]
                    subject, symbol = f"{order.id} {leg.symbol}", leg.symbol or ""
                    yield self._discrepancy(
                        DiscrepancyKind.MISSING_FILLS, subject, symbol, (expected, seen), fills, now, (order.id or "",)
                    )

    def _unknown(self, rows: Sequence[Transaction], now: datetime) -> Iterator[Discrepancy]:
        """Yield executions without an order, and reversals of unknown executions."""
        identifiers = {row.id for row in rows}
        for row in rows:
            strange = is_trade(row) and not self._knows(row.order_id)
            if row.reverses_id is not None:
                strange = row.reverses_id not in identifiers and self._executed(row) is None
            if strange:
                seen, orders = signed(row.action or "", row.quantity or ZERO), (row.order_id,) if row.order_id else ()
                subject, kind = f"transaction {row.id}", DiscrepancyKind.UNKNOWN_EXECUTION
                yield self._discrepancy(kind, subject, row.symbol or "", (ZERO, seen), (), now, orders)

    def _discrepancy(
        self,
        kind: DiscrepancyKind,
        subject: str,
        symbol: str,
        figures: tuple[Decimal, Decimal],
        fills: Sequence[Fill],
        now: datetime,
        orders: tuple[str, ...] = (),
    ) -> Discrepancy:
        evidence = sorted(fills, key=lambda fill: fill.filled_at or now)[-MAX_EVIDENCE:]
        return Discrepancy(
            kind=kind, account_number=self._account, subject=subject, symbol=symbol, expected=figures[0],
            seen=figures[1], orders=orders or tuple(dict.fromkeys(fill.order_id for fill in evidence)),
            fills=tuple(evidence), found_at=now,
        )  # fmt: skip

    def _report(self, found: Mapping[tuple[str, ...], Discrepancy], now: datetime) -> None:
        """Keep findings that last. A reported one stays until its difference changes or it is resolved."""
        differences: dict[Hashable, object] = {key: each.seen - each.expected for key, each in found.items()}
        kept = {key: each for key, each in self._discrepancies.items() if key in found}
        for key in self._differing.lasting(differences, now):
            new = found[key]  # type: ignore[index]
            old = kept.get(new.key)
            if old is None or old.seen - old.expected != new.seen - new.expected:
                kept[new.key] = new
        self._discrepancies = kept

    def _forget(self, rows: Sequence[Transaction], horizon: datetime) -> None:
        """Make executions of orders that cannot change any more part of the base, once a day."""
        assert self.books is not None
        doomed = {
            each.key: each
            for each in self._all()
            if max(each.last.filled_at or each.seen_at, each.seen_at) < horizon and not self._works(each.last.order_id)
        }
        kept, before = self._executions, self._parts(rows)
        self._executions = defaultdict(dict)
        for key, each in ((key, each) for known in kept.values() for key, each in known.items() if key not in doomed):
            self._executions[each.last.order_id][key] = each
        after = self._parts([row for row in rows if time_of(row) >= horizon])
        base = dict(self.books.base or {})
        for name, parts in before.items():
            gone = list(parts)
            for part in after.get(name, ()):
                gone.remove(part)
            base[name] = replay(*base.get(name, (ZERO, None)), gone)
        base = {name: each for name, each in base.items() if each[0]}
        self.books = attrs.evolve(self.books, horizon=horizon, base=base, forgotten=tuple(doomed))

    def _works(self, order_id: str) -> bool:
        return order_id in self._orders and not is_complete(self._orders[order_id])


def _excuses(row: Transaction, name: str, now: datetime) -> bool:
    """Whether a transaction may have changed a position by what its figures do not say."""
    touches = name in (name_of(row.symbol or ""), name_of(row.underlying_symbol or ""))
    exact = bool(row.action and row.quantity) and (
        row.transaction_sub_type in EXACT or str(row.transaction_sub_type) == row.action
    )
    return touches and not is_trade(row) and not exact and now - time_of(row) <= EXCUSE and row.reverses_id is None
