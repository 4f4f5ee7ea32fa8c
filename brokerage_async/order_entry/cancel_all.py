"""Cancel every working order of an account, until the lists prove it.

A cancellation concerns one order, and repeating it does nothing twice. So no answer decides anything here: whatever a
request met (a lost answer, an error page, "not now"), the next look at the lists shows which orders still work, and
those are asked for again. One series of looks serves all orders.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from .._generated.models import Order, OrderStatus
from .._generated.operations import COMPLEX_ORDERS_CANCEL, ORDERS_CANCEL
from ..errors import BrokerageError, ConfigurationError, ResponseLostError
from ..operation import Operation
from ..protocol.order_status import TERMINAL, is_complete
from .attempts import Instant
from .context import Context
from .decisions import ReconcilePolicy, predates
from .lists import START, OrderLists, Sighting, Window, early_looks
from .results import Cancellation, Cancellations, CancelOutcome
from .search import CLOCK_PRECISION

AT_ONCE = 8
"""Requests under way at a time, whatever the lane of trades allows."""
ROUND = 15.0
"""Seconds after which the lists are looked at again, though not all requests are answered."""


class CancelAll:
    """One call of `OrderEntry.cancel_all`: the orders that it has seen at work, as last seen."""

    def __init__(
        self, context: Context, account_number: str, policy: ReconcilePolicy, where: Callable[[Order], bool] | None
    ) -> None:
        self._context = context
        self._account_number = account_number
        self._policy = policy
        self._where = where
        self._watched = dict[str, Order]()
        self._errors = dict[str, BrokerageError]()
        self._sent = Counter[str]()
        self._began = Instant()
        self.seen: dict[str, Order] = {}

    async def run(self) -> Cancellations:
        """Look and cancel in turn, until a look far back is complete and shows nothing at work.

        The bound of the policy begins anew whenever fewer orders work than ever before.

        Raises:
            BrokerageError: the lists could not be read at all.
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

    def unproven(self) -> set[str]:
        """Return the underlyings of the orders that may still work."""
        return {order.underlying_symbol or "" for order in self._watched.values() if not _is_over(order)}

    async def _look(self, back: timedelta) -> Sighting[Order]:
        """Read the lists to their end. Watch the orders that are to be cancelled."""
        seen = dict[str, Order]()

        def keep(order: Order) -> None:
            if order.id and not (order.id in seen and seen[order.id].status in TERMINAL):  # lists are read in turn
                seen[order.id] = order

        now, lists = self._context.now(), OrderLists(self._context.executor)
        sighting = await lists.poll(
            self._account_number, [""], Window.since(now - back, now), by=keep, thorough=True, complex_orders=True
        )
        current = [order for order in seen.values() if not _is_over(order) or self._has_just_ended(order)]
        chosen = [order for order in current if self._where is None or self._where(order)]
        wholes = {order.complex_order_id for order in chosen} - {None}
        chosen += [order for order in current if order.complex_order_id in wholes]
        self.seen |= seen
        for number in {*self._watched, *(str(order.id) for order in chosen)}:
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
                try:
                    await self._context.executor.execute(
                        calls[number].bind(account_number=self._account_number, id=number)
                    )
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
        rows, wholes = dict[str, Cancellation](), dict[str, list[Order]]()
        for number, order in self._watched.items():
            whole = order.complex_order_id
            rows[number] = self._row(number, [order], self._errors.get(whole or number))
            if whole:
                wholes.setdefault(whole, []).append(order)
        return {**{whole: self._row(whole, parts, self._errors.get(whole)) for whole, parts in wholes.items()}, **rows}

    @staticmethod
    def _row(number: str, orders: list[Order], error: BrokerageError | None) -> Cancellation:
        outcome = CancelOutcome.CANCELLED
        if any(order.status == OrderStatus.FILLED for order in orders):
            outcome = CancelOutcome.FILLED
        if not all(map(_is_over, orders)):
            outcome = CancelOutcome.UNKNOWN
        return Cancellation(outcome=outcome, order_id=number, orders=tuple(orders), error=error)


def _is_over(order: Order) -> bool:
    return order.status in TERMINAL
