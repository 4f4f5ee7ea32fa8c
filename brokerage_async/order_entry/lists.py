"""Read the order lists of an account to their end, as far back as is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import attrs

from .._generated.models import ComplexOrder, Order, SortOrder
from .._generated.operations import COMPLEX_ORDERS_LIST, ORDERS_LIST, ORDERS_LIST_LIVE
from ..errors import BrokerageError, ResponseDecodeError, ResponseLostError
from ..operation import Executor, Operation, Page
from .claims import Instant
from .decisions import is_permanent
from .matching import components_of

__all__ = ["START", "OrderLists", "Sighting", "Window"]

FoundT = TypeVar("FoundT")

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
        """Build the window of an order that was journaled just now."""
        return cls(opened_at, Instant(), 0.0, FRESH_TOLERANCE)

    def age(self) -> float:
        """Return the seconds since the order was journaled, those during which the machine was suspended included."""
        return self.first_age + self.built.age()

    def is_past(self, order: Order, newest: datetime) -> bool:
        """Return True if an order is older than every one that can be meant.

        A whole page of such orders ends the reading: the sort key is undocumented. Times are
        compared as numbers, because a `datetime` cannot go below the year 1.
        """
        if order.received_at is None:
            return False
        oldest = min(self.opened_at.timestamp(), newest.timestamp() - self.age())
        return order.received_at.timestamp() < oldest - MARGIN


@attrs.frozen(kw_only=True)
class Sighting(Generic[FoundT]):
    """The result of one poll: the orders found, by the name searched for, and whether the lists were read to their end.

    ``error`` says why not, where known. ``conflict``: another order carries an identifier that was searched for.
    """

    orders: Mapping[str, FoundT]
    complete: bool
    error: BrokerageError | None = None
    conflict: bool = False

    @property
    def permanent(self) -> bool:
        """Whether polling again fails in the same way."""
        return self.error is not None and is_permanent(self.error)


class OrderLists:
    """The order lists of an account."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def poll(
        self,
        account_number: str,
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
        listings = [self._live(account_number), self._all(account_number, window)]
        if complex_orders:
            listings.append(self._components(account_number))
        seen: dict[str, Order] = {}
        complete, failure = True, None
        try:
            async with asyncio.timeout(MAX_POLL):
                for listing in listings:
                    try:
                        if await self._read(listing, wanted, seen, by, thorough=thorough):
                            return Sighting(orders=seen, complete=True)
                    except BrokerageError as error:
                        complete, failure = False, error
        except TimeoutError:
            complete, failure = False, ResponseLostError(f"the order lists did not end within {MAX_POLL:g} s")
        return Sighting(orders=seen, complete=complete, error=failure)

    @staticmethod
    async def _read(
        listing: AsyncGenerator[tuple[Order, ...], None],
        wanted: Collection[str],
        seen: dict[str, Order],
        by: Callable[[Order], str | None],
        *,
        thorough: bool,
    ) -> bool:
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

    async def live(self, account_number: str) -> list[Order]:
        """Return the orders of today, and older ones that work. Raise BrokerageError if they could not all be read."""
        return [order async for orders in self._live(account_number) for order in orders]

    async def _live(self, account_number: str) -> AsyncGenerator[tuple[Order, ...], None]:
        pager = self._executor.paginate(ORDERS_LIST_LIVE.bind(account_number=account_number, per_page=PER_PAGE))
        check = _CompletenessCheck(ORDERS_LIST_LIVE)
        async with aclosing(pager.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                yield page.items
                check.add(page)
        check.raise_if_incomplete()

    async def _all(self, account_number: str, window: Window) -> AsyncGenerator[tuple[Order, ...], None]:
        start = (window.opened_at - START - DAY).date()
        call = ORDERS_LIST.bind(account_number=account_number, per_page=PER_PAGE, sort=SortOrder.DESC, start_date=start)
        newest: datetime | None = None
        pager = self._executor.paginate(call)
        check = _CompletenessCheck(ORDERS_LIST)
        async with aclosing(pager.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                yield page.items
                check.add(page)
                times = [order.received_at for order in page.items if order.received_at is not None]
                newest = max(times + ([newest] if newest else []), default=None)
                if newest is not None and page.items and all(window.is_past(order, newest) for order in page.items):
                    break
        check.raise_if_incomplete()

    async def _components(self, account_number: str) -> AsyncGenerator[tuple[Order, ...], None]:
        """Read the whole list of complex orders: the service does not say how it sorts them."""
        pager = self._executor.paginate(COMPLEX_ORDERS_LIST.bind(account_number=account_number, per_page=PER_PAGE))
        check = _CompletenessCheck(COMPLEX_ORDERS_LIST)
        async with aclosing(pager.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                yield tuple(order for each in page.items for order in components_of(each) or [_unshown(each)])
                check.add(page)
        check.raise_if_incomplete()


def _unshown(seen: ComplexOrder) -> Order:
    """Return a component that shows nothing but its complex order, which was received before it ended."""
    return Order(complex_order_id=seen.id, received_at=seen.terminal_at)


class _CompletenessCheck:
    """Finds out whether the pages of a list can be all of it: an order may be on a missing one.

    The reading goes on, because a later page may still show the order. The list only does not count as complete.
    """

    def __init__(self, operation: Operation[Any]) -> None:
        self._operation = operation
        self._full_pages = FULL_COMPLEX_PAGES if operation is COMPLEX_ORDERS_LIST else FULL_PAGES
        self._total: int | None = None
        self._reason: str | None = None
        self._full: str | None = None

    def add(self, page: Page[Any]) -> None:
        """Check the next page."""
        self._reason = self._reason or self._problem_of(page)

    def raise_if_incomplete(self) -> None:
        """Raise ResponseDecodeError if the list cannot be complete."""
        if (reason := self._reason or self._full) is not None:
            raise ResponseDecodeError(reason, operation=self._operation.name)

    def _problem_of(self, page: Page[Any]) -> str | None:
        block, shown = page.pagination, len(page.items)
        if block is None:
            if page.repeats and not shown:  # the same answer again: the list has no pages, and came whole
                self._full = None
                return None
            if shown in self._full_pages:
                self._full = f"page {page.page_offset} is full ({shown} orders) but has no pagination block"
            return None if shown or self._operation is ORDERS_LIST_LIVE else "neither orders nor a pagination block"
        if not shown and (block.total_items, block.current_item_count) == (None, None):
            return "neither orders nor their number"
        expected = block.current_item_count or 0
        if not shown and block.total_items and (block.total_pages or 1) > page.page_offset:
            return f"page {page.page_offset} of {block.total_pages or 1} shows no orders"
        if again := page.repeats + page.changed:
            return f"page {page.page_offset} repeats earlier orders ({again}): the list changed"
        if shown < expected:
            return f"page {page.page_offset} shows {shown} orders instead of {expected}: the list changed"
        total, self._total = self._total, block.total_items
        if total is not None and block.total_items is not None and total != block.total_items:
            return f"the list changed while it was read: {block.total_items} orders instead of {total}"
        return None
