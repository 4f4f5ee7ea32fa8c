"""Work one order through a ladder of prices: place it once, then replace it step by step.

The service replaces an order at most once, lets the new order work only after the old one is gone, and ends the new one
if a fill came first. So one order at most works at any moment, whatever happens to the requests, as long as nothing is
placed anew. All orders of a ladder carry the external identifier of the first, whose journal entry stays open until the
end: a search for that identifier finds the one that works.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeAlias

import attrs

from .._generated.models import InstrumentType, NewOrder, Order, OrderStatus, TickSize
from .._generated.operations import MARKET_TIME_EQUITY_SESSION, ORDERS_CANCEL
from ..errors import BrokerageError, InvalidRequestError
from ..protocol.order_status import TERMINAL, is_complete
from ..tickets.ticks import check_ticks
from .context import Attempt, Context
from .decisions import ReconcilePolicy
from .lists import OrderLists, Sighting, Window, early_looks, poll_until
from .orders import fills_of, open_quantity, terms_of
from .results import ChangeOutcome, OrderChange, Placement, joined, put_on

MOST_PRICES = 1000
MOST_NOTES = 5
"""Notes that a placement carries: the last ones."""
CLOSE = "close"
FUTURES = (InstrumentType.FUTURE, InstrumentType.FUTURE_OPTION)


AnyPrices: TypeAlias = Iterable[Decimal] | AsyncIterable[Decimal]


class Prices:
    """The prices of a ladder, each checked before it is used."""

    def __init__(self, order: NewOrder, prices: AnyPrices, tick_sizes: Iterable[TickSize] | None) -> None:
        if not isinstance(order, NewOrder) or order.price_effect is None:
            raise InvalidRequestError("order must be a Limit or Stop Limit order: it is worked by its price")
        self._order = order
        self._ticks = None if tick_sizes is None else tuple(tick_sizes)
        self._asked = aiter(prices) if isinstance(prices, AsyncIterable) else None
        self._listed = list[Decimal]()
        if self._asked is None:
            if not isinstance(prices, Iterable):
                raise InvalidRequestError(f"prices must be 1 to {MOST_PRICES} Decimals, got {type(prices).__name__}")
            self._listed = [self._checked(price) for price in islice(prices, MOST_PRICES + 1)]
            if not 0 < len(self._listed) <= MOST_PRICES:
                raise InvalidRequestError(f"prices must be 1 to {MOST_PRICES} Decimals, got {len(self._listed)}")
        self._first = self._listed[0] if self._listed else None

    async def next(self) -> Decimal | None:
        """Return the next price, None after the last one."""
        if self._asked is None:
            return self._listed.pop(0) if self._listed else None
        price = await anext(self._asked, None)
        return None if price is None else self._checked(price)

    def skip_to(self, price: Decimal | None) -> None:
        """Go on after the last place of ``price``, if it is in the list. The first price is where a ladder begins."""
        if price is not None and price != self._first:
            while price in self._listed:
                self._listed.pop(0)

    def _checked(self, price: Decimal) -> Decimal:
        if not isinstance(price, Decimal) or not price.is_finite() or price <= 0:
            raise InvalidRequestError(f"prices must be Decimals greater than zero, got {price!r}")
        if self._ticks is not None:
            check_ticks(attrs.evolve(self._order, price=price), self._ticks)
        return price


async def end_of(context: Context, order: NewOrder, until: datetime | Literal["close"] | None) -> datetime | None:
    """Return the time of ``until``. Raise InvalidRequestError if it has passed, or is neither."""
    if until is None:
        return None
    if until == CLOSE:
        if any(leg.instrument_type in FUTURES for leg in order.legs):
            reason = 'until must be a date-time for futures: "close" is the close of the stock exchange'
            raise InvalidRequestError(reason)
        session = await context.executor.execute(MARKET_TIME_EQUITY_SESSION.bind())
        closes = [each.close_at for each in (session, session.next_session) if each is not None]
        ahead = [close for close in closes if close is not None and close > context.now()]
        if not ahead:
            raise InvalidRequestError('until must be a date-time: the service shows no next "close"')
        return min(ahead)
    if not isinstance(until, datetime) or until.tzinfo is None:
        raise InvalidRequestError(f'until must be an aware date-time or "close", got {until!r}')
    now = context.service_now()
    if now is not None and until <= now:
        raise InvalidRequestError(f"until must be in the future, got {until.isoformat()}")
    return until.astimezone(UTC)


async def first_order(context: Context, account_number: str, order: NewOrder, prices: Prices) -> NewOrder:
    """Return the order at its first price: that of an earlier run under its identifier, if there was one."""
    price = await prices.next()
    if price is None:
        raise InvalidRequestError("prices must have a price, got none")
    if order.external_identifier:
        known = await context.journal.find(context.key_of(account_number, order.external_identifier))
        earlier = None if known is None else terms_of(known.body, NewOrder)
        price = (earlier and earlier.price) or price
    return attrs.evolve(order, price=price)


@attrs.define
class Ladder:
    """One order on its way through the prices: every order of it, by id, as last seen."""

    _context: Context
    _asked: NewOrder
    _prices: Prices
    _every: float
    _until: datetime | None
    _policy: ReconcilePolicy
    _replace: Callable[[Order, Decimal], Awaitable[OrderChange]]
    has_begun: bool = attrs.field(default=False, init=False)
    _placement: Placement = attrs.field(init=False)
    _orders: dict[str, Order] = attrs.field(factory=dict, init=False)
    _notes: deque[str] = attrs.field(factory=lambda: deque(maxlen=MOST_NOTES), init=False)

    async def climb(self, placement: Placement, attempt: Attempt | None = None) -> Placement:
        """Take every step, and return the last order. Without an ``attempt``, the entry is closed already."""
        self.has_begun = True
        self._placement = placement
        self._note(placement.order)
        try:
            if placement.order is None or placement.order.replaces_order_id:
                await poll_until(self._policy, self._find, self._context.bell(placement.account_number))
            if not self._orders:
                return attrs.evolve(placement, note=joined(placement.note, "left as it is: the lists do not show it"))
            self._prices.skip_to(self._current.price)
            price = self._current.price or self._asked.price
            while price is not None and not self._is_over() and not await self._rest(self._every):
                if self._seconds_left() <= 0:
                    break
                if (price := await self._due()) is not None:
                    if attempt is not None and (objection := attempt.objection()) is not None:
                        self._notes.append(f"left as it is: {objection}")
                        return self._result()
                    await self._step(price)
            if not self._is_over() and self._until is not None:
                await self._rest(self._seconds_left())
            await self._cancel()
        except BaseException as gone:
            put_on(gone, placement=self._result() if self._orders else placement)
            raise
        return self._result()

    @property
    def _current(self) -> Order:
        """The order that works, else the one that waits for it to go, else the last one."""
        working = [order for order in self._orders.values() if order.status not in TERMINAL]
        ready = [order for order in working if order.status != OrderStatus.CONTINGENT]
        filled = [order for order in self._orders.values() if order.status == OrderStatus.FILLED]
        ranked = ready or working or filled or self._orders.values()
        return max(ranked, key=lambda order: (len(order.id or ""), order.id or ""))  # the later has the larger number

    def _is_over(self) -> bool:
        """Return True once no order works any more. One that no look has shown yet may have replaced the last."""
        last = self._current
        is_replaced = last.status == OrderStatus.CANCELLED and bool(last.replacing_order_id)
        return last.status in TERMINAL and not is_replaced

    def _seconds_left(self) -> float:
        return float("inf") if self._until is None else (self._until - self._context.now()).total_seconds()

    def _note(self, order: Order | None) -> None:
        if order is not None and order.id:
            self._orders[order.id] = order

    async def _rest(self, seconds: float) -> bool:
        """Let the order work for at most ``seconds``. Return True if it is over."""
        loop, pause = asyncio.get_running_loop(), self._policy.first
        end = loop.time() + max(0.0, min(seconds, self._seconds_left()))
        async with early_looks(self._context.bell(self._placement.account_number)) as looks:
            while True:
                await looks.before(min(end, loop.time() + pause))
                await self._look()
                if self._is_over() or loop.time() >= end:
                    return self._is_over()
                pause = min(pause * self._policy.factor, self._policy.max_interval)

    async def _due(self) -> Decimal | None:
        """Return the next price. None after the last one, and if the order is over, or late, before it comes."""
        asking = asyncio.ensure_future(self._prices.next())
        try:
            while True:
                await asyncio.wait((asking,), timeout=min(self._policy.max_interval, max(0.0, self._seconds_left())))
                if asking.done():
                    return asking.result()
                await self._look()
                if self._is_over() or self._seconds_left() <= 0:
                    return None
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait((asking,))

    async def _find(self) -> tuple[bool, Sighting[Order]]:
        """Read all orders of the ladder, an earlier run's included."""
        sighting = await self._look(thorough=True)
        return bool(self._orders) and sighting.complete, sighting

    async def _look(self, *, thorough: bool = False) -> Sighting[Order]:
        """Read the order, and whatever has replaced it."""
        name, now = self._placement.external_identifier, self._context.now()

        def keep(order: Order) -> str | None:
            if order.id in self._orders or order.replaces_order_id in self._orders or order.external_identifier == name:
                self._note(order)
            return order.id

        number = str(self._current.id) if self._orders else self._placement.order_id
        window = Window.since(min(self._placement.opened_at or now, now), now)
        lists = OrderLists(self._context.executor, self._placement.account_number)
        return await lists.poll([number], window, by=keep, thorough=thorough)

    async def _step(self, price: Decimal) -> None:
        working = self._current
        if working.price == price:
            return
        change = await self._replace(working, price)
        self._note(change.order)
        if change.outcome is not ChangeOutcome.APPLIED:
            reason = change.error or "a fill came first"
            self._notes.append(f"not replaced at {price:f} ({change.outcome}): {reason}")
            await self._look(thorough=change.outcome is ChangeOutcome.UNKNOWN)
        elif self._exceeds():
            self._notes.append(f"order {change.order_id} is for more than remained: cancelled")
            self._until = self._context.now()

    def _exceeds(self) -> bool:
        """Return True if the order that works could fill more than was asked for."""
        open_or_filled, current = defaultdict[str | None, Decimal](Decimal), self._current
        for order in self._orders.values():
            for leg in order.legs or ():
                open_or_filled[leg.symbol] += sum((fill.quantity or Decimal(0) for fill in leg.fills or ()), Decimal(0))
                if order is current:
                    open_or_filled[leg.symbol] += open_quantity(leg)
        return any(leg.quantity is not None and open_or_filled[leg.symbol] > leg.quantity for leg in self._asked.legs)

    async def _cancel(self) -> None:
        """Cancel the rest, and whatever has replaced it, until the lists show the end: repeating it does no harm."""
        loop = asyncio.get_running_loop()
        end, self._until, reason = loop.time() + self._policy.give_up, None, "it was not asked for"
        while not self._is_over() and loop.time() < end:
            call = ORDERS_CANCEL.bind(account_number=self._placement.account_number, id=str(self._current.id))
            try:
                await self._context.executor.execute(call)
                reason = "it was asked for"
            except BrokerageError as error:
                reason = str(error)
            await self._rest(self._policy.max_interval)
        if not self._is_over():
            self._notes.append(f"order {self._current.id} may still work, its cancellation is not shown: {reason}")
        while self._is_over() and not all(map(is_complete, self._orders.values())) and loop.time() < end:
            await self._rest(self._policy.max_interval)

    def _result(self) -> Placement:
        last = self._current
        others = [each for each in self._orders.values() if each is not last]
        replaced = [each for each in others if each.replacing_order_id or fills_of(each)]
        replaced.sort(key=lambda each: int(each.id or 0))
        note = joined(self._placement.note, *self._notes)
        return attrs.evolve(self._placement, order=last, order_id=str(last.id), replaced=tuple(replaced), note=note)
