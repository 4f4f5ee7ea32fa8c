"""Cancel every working order of an account, until the lists prove it, and close its positions.

A cancellation concerns one order, and repeating it does nothing twice. So no answer decides anything here: whatever a
request met (a lost answer, an error page, "not now"), the next look at the lists shows which orders still work, and
those are asked for again. One series of looks serves all orders.

Each position is closed at the market, at most once. A closing order is named after the state of its position (quantity,
direction, times of opening and last change): two calls that see the same position, in any process of the journal, send
one order between them. The next of its names is used once that order is over without a fill. The record of positions
follows fills, so it is read only some seconds after the last one, and nothing is sent while an earlier closing order of
the symbol is unresolved, or while any other order of it works: one that another call sent before it was filled in part
would close too much.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import attrs

from .._generated.models import InstrumentType, NewOrder, Order, OrderStatus, Position, QuantityDirection
from .._generated.operations import COMPLEX_ORDERS_CANCEL, ORDERS_CANCEL, POSITIONS_LIST
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, ResponseLostError
from ..journal.base import EntryState, JournalEntry
from ..operation import Operation
from ..protocol.order_status import TERMINAL, is_complete
from ..tickets import buy, buy_to_close, market, sell, sell_to_close
from .context import Context, Instant
from .decisions import ReconcilePolicy, predates
from .exposure import BOOKING
from .lists import START, OrderLists, Sighting, Window, early_looks
from .orders import asked_in, fills_of
from .place import PlaceOrder
from .preflight import SendOptions, named_order
from .results import Cancellation, Cancellations, CancelOutcome, Outcome, Placement
from .search import CLOCK_PRECISION

AT_ONCE = 8
"""Requests under way at a time, whatever the lane of trades allows."""
ROUND = 15.0
"""Seconds after which the lists are looked at again, though not all requests are answered."""

PREFIX = "close-"


@attrs.define
class CancelAll:
    """One call of `OrderEntry.cancel_all`. ``watched`` are the orders that it has seen at work, ``seen`` are all."""

    _context: Context
    _account_number: str
    _policy: ReconcilePolicy
    _where: Callable[[Order], bool] | None = None
    _seen: dict[str, Order] = attrs.field(factory=dict, init=False)
    _watched: dict[str, Order] = attrs.field(factory=dict, init=False)
    _errors: dict[str, BrokerageError] = attrs.field(factory=dict, init=False)
    _sent: Counter[str] = attrs.field(factory=Counter, init=False)
    _began: Instant = attrs.field(factory=Instant, init=False)

    async def run(self, *, flatten: bool) -> Cancellations:
        cancelled = await self._cancel()
        unproven = {each.underlying_symbol or "" for each in self._watched.values() if not _is_over(each)}
        if not flatten or not (cancelled.is_proven or unproven):
            return cancelled
        return Cancellations(cancelled, is_proven=cancelled.is_proven, closing=await self._flatten(unproven))

    async def _cancel(self) -> Cancellations:
        """Look and cancel in turn, until a look far back is complete and shows nothing at work.

        The bound of the policy begins anew whenever fewer orders work than ever before.
        """
        loop, pause = asyncio.get_running_loop(), self._policy.first
        began, back, was_read, is_proven, least = loop.time(), timedelta(0), False, False, float("inf")
        end, patience = began + self._policy.give_up, began + self._policy.visibility_delay
        sighting = Sighting[Order](orders={}, complete=False)
        async with early_looks(self._context.bell(self._account_number)) as looks:
            while not is_proven:
                sighting = await self._look(back)
                was_read = was_read or sighting.complete
                ends = is_complete if loop.time() < patience else _is_over  # late fills are waited for, but not long
                left = sum(not ends(order) for order in self._watched.values())
                if not left and sighting.complete:
                    is_proven, back = back == START, START
                    continue
                if left < least:
                    least, end = left, loop.time() + self._policy.give_up
                if loop.time() >= end or sighting.permanent:
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(ROUND):
                        await self._cancel_working()
                await looks.before(loop.time() + pause)
                pause, back = min(pause * self._policy.factor, self._policy.max_interval), timedelta(0)
        if not was_read and not self._watched:
            raise sighting.error or ResponseLostError("the order lists could not be read to their end")
        return Cancellations(self._rows(), is_proven=is_proven)

    async def _look(self, back: timedelta) -> Sighting[Order]:
        """Read the lists to their end. Watch the orders that are to be cancelled."""
        seen = dict[str, Order]()

        def keep(order: Order) -> None:
            if order.id and not (order.id in seen and seen[order.id].status in TERMINAL):  # lists are read in turn
                seen[order.id] = order

        now, lists = self._context.now(), OrderLists(self._context.executor, self._account_number)
        window = Window.since(now - back, now)
        sighting = await lists.poll([""], window, by=keep, thorough=True, complex_orders=True)
        current = [order for order in seen.values() if not _is_over(order) or self._has_just_ended(order)]
        chosen = [order for order in current if self._where is None or self._where(order)]
        wholes = {order.complex_order_id for order in chosen} - {None}
        chosen += [order for order in current if order.complex_order_id in wholes]
        self._seen |= seen
        for number in dict.fromkeys((*self._watched, *(str(order.id) for order in chosen))):
            if number in seen and not is_complete(self._watched.get(number) or Order()):
                self._watched[number] = seen[number]
        return sighting

    def _has_just_ended(self, order: Order) -> bool:
        """Return True if an order worked when the call began, or ended within seconds of that."""
        now = self._context.service_now()
        if now is None or order.terminal_at is None:
            return False
        return not predates(order.terminal_at, self._began.age() + CLOCK_PRECISION, now)

    async def _cancel_working(self) -> None:
        """Request the cancellation of all that work: those first that were asked for least, then complex orders."""
        working = [order for order in self._watched.values() if not _is_over(order)]
        asked = [order for order in working if order.status != OrderStatus.CANCEL_REQUESTED]
        calls = dict[str, Operation[Any]]()
        for order in sorted(asked, key=lambda order: not order.complex_order_id):
            whole = order.complex_order_id
            calls[whole or str(order.id)] = COMPLEX_ORDERS_CANCEL if whole else ORDERS_CANCEL
        gate = asyncio.Semaphore(AT_ONCE)

        async def send(number: str) -> None:
            async with gate:
                self._sent[number] += 1
                call = calls[number].bind(account_number=self._account_number, id=number)
                try:
                    await self._context.executor.execute(call)
                except BrokerageError as error:
                    self._errors[number] = error

        async with asyncio.TaskGroup() as group:
            for number in sorted(calls, key=lambda number: self._sent[number]):
                group.create_task(send(number))
        for error in self._errors.values():
            if isinstance(error, ConfigurationError):  # of the client, not of an order
                raise error

    def _rows(self) -> dict[str, Cancellation]:
        """Return what became of each order, then of each complex order. An id of both kinds names the order."""
        parts, rows = dict[str, tuple[Order, ...]](), dict[str, Cancellation]()
        for order in self._watched.values():
            if whole := order.complex_order_id:
                parts[whole] = (*parts.get(whole, ()), order)
        for number, orders in (parts | {number: (order,) for number, order in self._watched.items()}).items():
            outcome = CancelOutcome.CANCELLED
            if any(order.status == OrderStatus.FILLED for order in orders):
                outcome = CancelOutcome.FILLED
            if not all(map(_is_over, orders)):
                outcome = CancelOutcome.UNKNOWN
            error = self._errors.get(orders[0].complex_order_id or number)
            rows[number] = Cancellation(outcome=outcome, order_id=number, orders=orders, error=error)
        return rows

    async def _flatten(self, unproven: Collection[str]) -> tuple[Placement, ...]:
        """Place a closing order for each position, but for those whose underlying is among ``unproven``.

        The fills of the orders seen show how fresh the record of positions must be. Nothing is sent if it, or the
        journal, cannot be read.
        """
        context, account_number = self._context, self._account_number
        fills = (fill for order in self._seen.values() for fill in fills_of(order))
        times = [fill.filled_at for fill in fills if fill.filled_at is not None]
        if times and (rest := max(times) + BOOKING - context.now()) > timedelta(0):
            await asyncio.sleep(min(rest, BOOKING).total_seconds())
        positions = await context.executor.execute(POSITIONS_LIST.bind(account_number=account_number))
        working: list[Order] | None = None
        with suppress(BrokerageError):  # any position may have an order then
            working = [each for each in await OrderLists(context.executor, account_number).live() if not _is_over(each)]
        entries = await context.journal.entries(context.environment, origin=context.origin, state=EntryState.OPEN)
        unresolved = [entry for entry in entries if entry.key.account_number == account_number]
        gate = asyncio.Semaphore(AT_ONCE)

        async def close(position: Position) -> Placement:
            async with gate:
                try:
                    if position.underlying_symbol in unproven or position.symbol in unproven:
                        raise _may_work(position)
                    return await self._close(position, unresolved, working)
                except BrokerageError as error:
                    is_certain = isinstance(error, ConfigurationError | InvalidRequestError)
                    return Placement(
                        outcome=Outcome.NOT_SENT if is_certain else Outcome.UNKNOWN,
                        account_number=account_number,
                        external_identifier=getattr(error, "external_identifier", None) or _stem(position),
                        code=error.code,
                        error=error,
                        note=f"{position.symbol}: {error}",
                    )

        held = [each for each in positions if each.quantity and each.quantity_direction != QuantityDirection.ZERO]
        results = await asyncio.gather(*map(close, held), return_exceptions=True)  # none is left under way
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return tuple(result for result in results if isinstance(result, Placement))

    async def _close(
        self, position: Position, unresolved: Collection[JournalEntry], working: Collection[Order] | None
    ) -> Placement:
        """Close one position, unless an earlier closing order of it is on its way or was filled."""
        stem = _stem(position)
        for entry in unresolved:
            name = entry.key.external_identifier
            if name.startswith(stem) and (terms := asked_in(entry).components[name]) is not None:
                return await self._place(name, terms)  # searched for, not sent
        state = _digest(position.quantity, position.quantity_direction, position.created_at, position.updated_at)
        order, number = _closing(position), 1
        names = f"{stem}-{state}-"  # any trade in the position makes another state
        if working is None:
            raise _may_work(position)
        for each in working:
            is_of_this_state = (each.external_identifier or "").startswith(names)
            if not is_of_this_state and any(leg.symbol == position.symbol for leg in each.legs or ()):
                raise _may_work(position)
        while True:
            name = f"{names}{number}"
            known = await self._context.journal.find(self._context.key_of(self._account_number, name))
            if known is None or known.state is not EntryState.ABANDONED:
                placement = await self._place(name, order)
                if known is None or not _is_spent(placement):
                    return placement
            number += 1

    async def _place(self, name: str, order: NewOrder) -> Placement:
        asked = named_order(self._account_number, attrs.evolve(order, external_identifier=name), str)
        key = self._context.key_of(self._account_number, name)
        options = SendOptions(policy=self._policy, allow_warnings=True)
        return await PlaceOrder(context=self._context, key=key, asked=asked, options=options, exempt=True).run()


def _is_over(order: Order) -> bool:
    return order.status in TERMINAL


def _may_work(position: Position) -> InvalidRequestError:
    return InvalidRequestError(f"{position.symbol} is not closed: an order of it may still work")


def _is_spent(placement: Placement) -> bool:
    """Return True if a closing order of an earlier call is over, and has closed nothing."""
    if placement.outcome is Outcome.REFUSED:
        return True
    order = placement.order
    return order is not None and order.status in TERMINAL and not placement.fills


def _closing(position: Position) -> NewOrder:
    """Return a Market order of the day that closes a position: the one form that all instruments have.

    It needs no price, takes fractions of a share, and the service accepts it for closing even while the market is
    closed.
    """
    symbol, quantity = str(position.symbol), abs(position.quantity or Decimal(0))
    is_short = position.quantity_direction == QuantityDirection.SHORT
    if position.instrument_type == InstrumentType.FUTURE:
        return market((buy if is_short else sell)(symbol, quantity))
    leg = buy_to_close if is_short else sell_to_close
    return market(leg(symbol, quantity, instrument_type=position.instrument_type))


def _stem(position: Position) -> str:
    """Return the beginning of the names of all closing orders of an instrument."""
    return PREFIX + _digest(position.instrument_type, position.symbol)


def _digest(*values: Any) -> str:
    return hashlib.sha256("|".join(map(str, values)).encode()).hexdigest()[:16]
