"""Read the order lists of an account to their end, as far back as is needed, and as often as the policy says.

Push brings the next look forward, and decides nothing: an early look may find an order. If it does not, it counts for
nothing. The polls of the policy come at their times, and absence follows from them alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import attrs

from .._generated.models import Order, SortOrder
from .._generated.operations import COMPLEX_ORDERS_LIST, ORDERS_LIST, ORDERS_LIST_LIVE
from ..errors import BrokerageError, ResponseDecodeError, ResponseLostError
from ..operation import BoundCall, Executor, Operation, Page
from ..protocol.streams.timing import Doorbell, LookBudget
from .context import Instant
from .decisions import Poll, ReconcilePolicy, SearchResult, is_permanent, next_poll, poll_timeout
from .orders import components_of

FoundT = TypeVar("FoundT")
ItemT = TypeVar("ItemT")

MIN_EARLY = 0.05
"""Seconds by which a look must come earlier than the next poll, which ends it: a later one could not finish."""

PER_PAGE = 200
FULL_PAGES = frozenset({100, PER_PAGE})
"""Lengths at which a list without a pagination block may have been cut off: the service's own page size, and ours."""
FULL_COMPLEX_PAGES = FULL_PAGES | {10}
START = timedelta(days=400)
"""How far before the order the search begins by the local clock, which may be very wrong."""
DAY = timedelta(days=1)
"""How much earlier a search by date begins: the service counts days in US Eastern time."""
MAX_POLL = 120.0
"""Seconds that one poll may take: a list may be endless, or arrive a row at a time."""
MARGIN = timedelta(days=3).total_seconds()
"""How far the listing is read beyond the oldest order that can be meant."""
FRESH_TOLERANCE, CLOCK_TOLERANCE = 300.0, 900.0
"""Seconds by which an order may seem older than its journal entry and still be ours: journaled by this call, or by the
clock of an earlier one. The service's time is that of its gateway, whose clock may be ahead of the order system."""


@attrs.frozen
class Window:
    """How far back the lists are read.

    ``opened_at`` is when the order was journaled by the local clock. The clock of the service may differ from it, so
    the end is measured from the newest order listed: relative to that one, an order cannot be older than the time since
    it was journaled: ``first_age`` seconds at the moment ``built``. ``tolerance`` is how wrong that time may be in
    seconds. None: it is not known, because the local clock was set back.
    """

    opened_at: datetime
    built: Instant
    first_age: float
    tolerance: float | None

    @classmethod
    def since(cls, opened_at: datetime, now: datetime) -> Window:
        """Build the window of an order journaled at ``opened_at``. Both times by the same clock.

        A clock that was set back since does not show the age of the order: ``START`` is assumed.
        """
        known = opened_at <= now
        age = now - opened_at if known else START
        tolerance = CLOCK_TOLERANCE if known else None
        return cls(now - age, Instant(), age.total_seconds(), tolerance)

    @classmethod
    def from_now(cls, opened_at: datetime) -> Window:
        return cls(opened_at, Instant(), 0.0, FRESH_TOLERANCE)

    def age(self) -> float:
        """Return the seconds since the order was journaled, those during which the machine was suspended included."""
        return self.first_age + self.built.age()

    def is_past(self, order: Order, newest: datetime) -> bool:
        """Return True if an order is older than every one that can be meant.

        A whole page of such orders ends the reading: the sort key is undocumented. Times are compared as numbers,
        because a `datetime` cannot go below the year 1.
        """
        if order.received_at is None:
            return False
        oldest = min(self.opened_at.timestamp(), newest.timestamp() - self.age())
        return order.received_at.timestamp() < oldest - MARGIN


@attrs.frozen(kw_only=True)
class Sighting(Generic[FoundT]):
    """The result of one poll: the orders found, by name, and whether the lists were read to their end, or why not."""

    orders: Mapping[str, FoundT]
    complete: bool
    error: BrokerageError | None = None

    @property
    def permanent(self) -> bool:
        return self.error is not None and is_permanent(self.error)


@attrs.frozen
class OrderLists:
    """The order lists of an account."""

    executor: Executor
    account_number: str

    async def poll(
        self,
        wanted: Collection[str],
        window: Window,
        *,
        by: Callable[[Order], str | None],
        thorough: bool = False,
        complex_orders: bool = False,
    ) -> Sighting[Order]:
        """Read the live list and then the list of all orders, newest first, as far back as ``window`` says.

        With ``complex_orders``, read the components in the list of complex orders as well. Stops when all of ``wanted``
        are seen, unless ``thorough``. ``by`` returns the name of an order, such as its external identifier. Never
        raises a `BrokerageError`.
        """
        listings = [self._live(), self._all(window), *([self._components()] if complex_orders else [])]
        seen: dict[str, Order] = {}
        failure: BrokerageError | None = None

        async def ends_with(listing: AsyncGenerator[tuple[Order, ...], None]) -> bool:
            """Add what a list shows to ``seen``. Return True as soon as nothing else is wanted."""
            async with aclosing(listing) as pages:
                async for page in pages:
                    for order in page:
                        name = by(order)
                        if name is not None and name in wanted:
                            seen.setdefault(name, order)
                    if len(seen) == len(wanted) and not thorough:
                        return True
            return False

        try:
            async with asyncio.timeout(MAX_POLL):
                for listing in listings:
                    try:
                        if await ends_with(listing):
                            return Sighting(orders=seen, complete=True)
                    except BrokerageError as error:
                        failure = error
        except TimeoutError:
            failure = ResponseLostError(f"the order lists did not end within {MAX_POLL:g} s")
        return Sighting(orders=seen, complete=failure is None, error=failure)

    async def live(self) -> list[Order]:
        """Return the orders of today, and older ones that work. Raise BrokerageError if they could not all be read."""
        return [order async for orders in self._live() for order in orders]

    def _live(self) -> AsyncGenerator[tuple[Order, ...], None]:
        return self._pages(ORDERS_LIST_LIVE.bind(account_number=self.account_number, per_page=PER_PAGE))

    def _all(self, window: Window) -> AsyncGenerator[tuple[Order, ...], None]:
        start = (window.opened_at - START - DAY).date()
        newest: datetime | None = None

        def is_past(orders: Sequence[Order]) -> bool:
            nonlocal newest
            times = [order.received_at for order in orders if order.received_at is not None]
            newest = max(times + ([newest] if newest else []), default=None)
            return newest is not None and bool(orders) and all(window.is_past(order, newest) for order in orders)

        query: Any = {"per_page": PER_PAGE, "sort": SortOrder.DESC, "start_date": start}
        return self._pages(ORDERS_LIST.bind(account_number=self.account_number, **query), is_past)

    async def _components(self) -> AsyncGenerator[tuple[Order, ...], None]:
        """Read the whole list of complex orders: the service does not say how it sorts them."""
        call = COMPLEX_ORDERS_LIST.bind(account_number=self.account_number, per_page=PER_PAGE)
        async with aclosing(self._pages(call)) as pages:
            async for items in pages:
                yield tuple(
                    order
                    for each in items  # one without components stands for itself: it was received before it ended
                    for order in components_of(each) or [Order(complex_order_id=each.id, received_at=each.terminal_at)]
                )

    async def _pages(
        self, call: BoundCall[list[ItemT]], is_last: Callable[[Sequence[ItemT]], bool] = lambda items: False
    ) -> AsyncGenerator[tuple[ItemT, ...], None]:
        """Yield the pages of a list. Raise ResponseDecodeError at its end if it cannot be complete."""
        check, problem = _CompletenessCheck(call.operation), None
        async with aclosing(self.executor.paginate(call).pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                yield page.items
                problem = problem or check.problem_of(page)  # a later page may still show the order
                if is_last(page.items):
                    break
        if (reason := problem or check.full) is not None:
            raise ResponseDecodeError(reason, operation=call.operation.name)


@attrs.define
class _CompletenessCheck:
    """Finds out, page by page, whether a list can be complete. ``full`` is why it is not if no other page comes."""

    operation: Operation[Any]
    total: int | None = None
    full: str | None = None

    def problem_of(self, page: Page[Any]) -> str | None:
        block, shown = page.pagination, len(page.items)
        if block is None:
            if page.repeats and not shown:  # the same answer again: the list has no pages, and came whole
                self.full = None
                return None
            if shown in (FULL_COMPLEX_PAGES if self.operation is COMPLEX_ORDERS_LIST else FULL_PAGES):
                self.full = f"page {page.page_offset} is full ({shown} orders) but has no pagination block"
            return None if shown or self.operation is ORDERS_LIST_LIVE else "neither orders nor a pagination block"
        if not shown and (block.total_items, block.current_item_count) == (None, None):
            return "neither orders nor their number"
        expected = block.current_item_count or 0
        if not shown and block.total_items and (block.total_pages or 1) > page.page_offset:
            return f"page {page.page_offset} of {block.total_pages or 1} shows no orders"
        if again := page.repeats + page.changed:
            return f"page {page.page_offset} repeats earlier orders ({again}): the list changed"
        if shown < expected:
            return f"page {page.page_offset} shows {shown} orders instead of {expected}: the list changed"
        total, self.total = self.total, block.total_items
        if total is not None and block.total_items is not None and total != block.total_items:
            return f"the list changed while it was read: {block.total_items} orders instead of {total}"
        return None


class EarlyLooks:
    """Looks that events bring forward in one search: one for each burst, and few in the long run."""

    def __init__(self) -> None:
        self._budget = LookBudget(rate=0.5)
        self._rung = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def ring(self) -> None:
        loop = asyncio.get_running_loop()
        if (when := self._budget.ring(loop.time())) is not None:
            self._timer = loop.call_at(when, self._rung.set)

    async def before(self, due: float) -> bool:
        """Wait until ``due``, or less if an event calls for a look. Return whether one does."""
        loop = asyncio.get_running_loop()
        called = False
        if loop.time() < due - MIN_EARLY:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due - MIN_EARLY):
                    called = await self._rung.wait()
        if not called:
            await asyncio.sleep(max(0.0, due - loop.time()))
        self.reset()
        return called

    def reset(self) -> None:
        """Note that a look begins: it comes after all events so far."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._rung.clear()
        self._budget.polled()


@asynccontextmanager
async def early_looks(bell: Doorbell | None) -> AsyncIterator[EarlyLooks]:
    """Yield the early looks of a search. Without a bell none is ever called for."""
    looks = EarlyLooks()
    try:
        async with nullcontext() if bell is None else bell(looks.ring):
            yield looks
    finally:
        looks.reset()


async def poll_until(
    policy: ReconcilePolicy, poll: Callable[[], Awaitable[tuple[bool, Sighting[Any]]]], bell: Doorbell | None = None
) -> SearchResult:
    """Poll as often and as long as ``policy`` says, and early for each burst of events that ``bell`` reports.

    ``poll`` returns whether everything was found, and the sighting. A poll that takes too long is cut off, and counts
    as incomplete. An early one ends when the next poll is due, and counts only if it finds everything.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    polls = list[Poll]()

    async def timed(seconds: float) -> tuple[bool, Sighting[Any]]:
        try:
            async with asyncio.timeout(seconds):
                return await poll()
        except TimeoutError:
            error = ResponseLostError(f"the lists could not be read within {seconds:g} s")
            return False, Sighting(orders={}, complete=False, error=error)

    async with early_looks(bell) as looks:
        while not isinstance(step := next_poll(policy, polls), SearchResult):
            while await looks.before(began + step):
                if (await timed(began + step - loop.time()))[0]:
                    return SearchResult.FOUND
            at = max(step, loop.time() - began)  # a loop may wake up a rounding error early
            found, sighting = await timed(poll_timeout(policy, at))
            polls.append(Poll(at=at, complete=sighting.complete, found=found, permanent=sighting.permanent))
    return step
