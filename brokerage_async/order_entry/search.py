"""Search the order lists of an account: read them to their end, as often as the policy says."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import datetime, timedelta

import attrs

from .._generated.models import NewOrder, Order, SortOrder
from .._generated.operations import ORDERS_LIST, ORDERS_LIST_LIVE
from ..errors import BrokerageError, ResponseDecodeError, ResponseLostError
from ..journal.base import JournalEntry
from ..operation import Executor, Operation, Page
from ..protocol.order_status import TERMINAL
from .claims import Instant
from .context import Context
from .decisions import Poll, ReconcilePolicy, SearchResult, is_permanent, next_poll, poll_timeout, predates
from .matching import differs_in, terms_of

__all__ = ["START", "IdentifierSearch", "OrderLists", "Sighting", "Window", "poll_until"]

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

PER_PAGE = 200
FULL_PAGES = frozenset({100, PER_PAGE})
"""Lengths at which a list without a pagination block may have been cut off: the service's own page size, and ours."""
START = timedelta(days=400)
"""How far before the order the search begins by the local clock, which may be very wrong."""
MAX_POLL = 120.0
"""Seconds that one poll may take: a list may be endless, or arrive a row at a time."""
MARGIN = timedelta(days=3).total_seconds()
"""How far the listing is read beyond the oldest order that can be meant."""
FRESH_TOLERANCE, CLOCK_TOLERANCE = 10.0, 900.0
"""Seconds by which an order may seem older than its journal entry and still be ours: journaled by this call, or by the
clock of an earlier one."""


@attrs.frozen
class Window:
    """How far back the lists are read.

    ``opened_at`` is when the order was journaled by the local clock. The clock of the service may differ from it, so
    the end is measured from the newest order listed: relative to that one, an order can be no older than the time since
    it was journaled: ``first_age`` seconds at the moment ``built``. ``tolerance`` is how wrong that time may be in
    seconds; None: it is not known, because the local clock was set back.
    """

    opened_at: datetime
    built: Instant
    first_age: float
    tolerance: float | None

    @classmethod
    def since(cls, opened_at: datetime, now: datetime) -> Window:
        """Build the window of an order journaled at ``opened_at``; both times by the same clock.

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

        A whole page of such orders ends the reading: the service does not say by which time it sorts a list. Times are
        compared as numbers, because a `datetime` cannot go below the year 1.
        """
        if order.received_at is None:
            return False
        oldest = min(self.opened_at.timestamp(), newest.timestamp() - self.age())
        return order.received_at.timestamp() < oldest - MARGIN


@attrs.frozen(kw_only=True)
class Sighting:
    """The result of one poll: the orders found, by the name searched for, and whether the lists were read to their end.

    ``error`` says why not, where known. ``conflict``: another order carries an identifier that was searched for.
    """

    orders: Mapping[str, Order]
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
    ) -> Sighting:
        """Read the live list and then the list of all orders, newest first, as far back as ``window`` says.

        Stops when all of ``wanted`` are seen, unless ``thorough``. ``by`` returns the name of an order, such as its
        external identifier. Never raises a `BrokerageError`.
        """
        seen: dict[str, Order] = {}
        complete, failure = True, None
        try:
            async with asyncio.timeout(MAX_POLL):
                for listing in (self._live(account_number), self._all(account_number, window)):
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

    async def _live(self, account_number: str) -> AsyncGenerator[tuple[Order, ...], None]:
        pager = self._executor.paginate(ORDERS_LIST_LIVE.bind(account_number=account_number, per_page=PER_PAGE))
        check = _CompletenessCheck(ORDERS_LIST_LIVE)
        async with aclosing(pager.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                yield page.items
                check.add(page)
        check.raise_if_incomplete()

    async def _all(self, account_number: str, window: Window) -> AsyncGenerator[tuple[Order, ...], None]:
        start = (window.opened_at - START).date()
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


class _CompletenessCheck:
    """Finds out whether the pages of a list can be all of it: an order may be on a missing one.

    The reading goes on, because a later page may still show the order; the list only does not count as complete.
    """

    def __init__(self, operation: Operation[list[Order]]) -> None:
        self._operation = operation
        self._total: int | None = None
        self._reason: str | None = None

    def add(self, page: Page[Order]) -> None:
        """Check the next page."""
        self._reason = self._reason or self._problem_of(page)

    def raise_if_incomplete(self) -> None:
        """Raise ResponseDecodeError if the list cannot be complete."""
        if self._reason is not None:
            raise ResponseDecodeError(self._reason, operation=self._operation.name)

    def _problem_of(self, page: Page[Order]) -> str | None:
        block, shown = page.pagination, len(page.items)
        if block is None:
            if shown in FULL_PAGES:
                return f"page {page.page_offset} is full ({shown} orders) but has no pagination block"
            return None if shown or self._operation is not ORDERS_LIST else "neither orders nor a pagination block"
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


async def poll_until(policy: ReconcilePolicy, poll: Callable[[], Awaitable[tuple[bool, Sighting]]]) -> SearchResult:
    """Poll as often and as long as ``policy`` says.

    ``poll`` returns whether everything was found, and the sighting. A poll that takes too long is cut off, and counts
    as incomplete.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    polls: list[Poll] = []
    while not isinstance(step := next_poll(policy, polls), SearchResult):
        await asyncio.sleep(max(0.0, began + step - loop.time()))
        at = max(step, loop.time() - began)  # a loop may wake up a rounding error early
        limit = poll_timeout(policy, at)
        try:
            async with asyncio.timeout(limit):
                found, sighting = await poll()
        except TimeoutError:
            error = ResponseLostError(f"the lists could not be read within {limit:g} s")
            found, sighting = False, Sighting(orders={}, complete=False, error=error)
        polls.append(
            Poll(
                at=at,
                complete=sighting.complete,
                found=found,
                permanent=sighting.permanent,
                conflict=sighting.conflict,
            )
        )
    return step


class IdentifierSearch:
    """Search for journaled orders by their external identifiers.

    The service lets any number of orders carry one identifier. An order that provably differs from the journaled one,
    or was received before its entry was opened, is not taken for it. More than one live order under an identifier is
    reported. An order that may have been sent more than once is searched for to the end of the lists, because there may
    be two of it.
    """

    def __init__(
        self, context: Context, account_number: str, window: Window, wanted: Mapping[str, JournalEntry]
    ) -> None:
        self._context = context
        self._lists = OrderLists(context.executor)
        self._account_number = account_number
        self._window = window
        self._entries = dict(wanted)
        self._terms = {name: terms_of(entry.body, NewOrder) for name, entry in wanted.items()}
        self._carriers: defaultdict[str, dict[str, Order]] = defaultdict(dict)

    async def poll(self, names: Collection[str]) -> Sighting:
        """Poll once for the orders of these identifiers."""
        thorough = any(self._entries[name].attempts > 1 for name in names)
        sighting = await self._lists.poll(
            self._account_number, names, self._window, by=self._name_of, thorough=thorough
        )
        orders = {name: order for name, order in sighting.orders.items() if not self._difference(name, order)}
        # The rest of a page may have shown an order to be another one: the reading ended too early then.
        complete = sighting.complete and len(orders) == len(sighting.orders)
        conflict = any(self.conflict(name) for name in names if name not in orders)
        return attrs.evolve(sighting, orders=orders, complete=complete, conflict=conflict)

    def add(self, name: str, order: Order) -> None:
        """Add an order that was seen elsewhere."""
        self._carriers[name][order.id or ""] = order

    def conflict(self, name: str) -> str:
        """Return which order under this identifier is another one, and why; empty if none is."""
        for order in self._carriers[name].values():
            if difference := self._difference(name, order):
                return f"order {order.id} carries this identifier but {difference}: it is another order"
        return ""

    def duplicates(self, name: str) -> str:
        """Return a note, and log a warning, if several live orders carry this identifier; else an empty string."""
        live = [
            order.id
            for order in self._carriers[name].values()
            if order.status is not None and order.status not in TERMINAL and not order.replacing_order_id
        ]
        if len(live) < 2:
            return ""
        note = f"{len(live)} live orders carry this identifier: {', '.join(sorted(map(str, live)))}"
        logger.warning("external identifier %s of account %s: %s", name, self._account_number, note)
        return note

    def _name_of(self, order: Order) -> str | None:
        name = order.external_identifier
        if name is None or name not in self._entries:
            return None
        self.add(name, order)
        return None if self._difference(name, order) else name

    def _difference(self, name: str, order: Order) -> str:
        """Return how an order, or one that it replaces, provably differs from the journaled one; empty if not."""
        terms = self._terms[name]
        followed = set[str | None]()
        current: Order | None = order
        while current is not None and current.id not in followed:
            followed.add(current.id)
            if current.id is not None and current.id == self._entries[name].order_id:
                return ""
            if terms is not None and (term := differs_in(terms, current)) is not None:
                return f"differs in its {term}"
            if self._predates(name, current):
                return "was received before this one was journaled"
            current = self._carriers[name].get(current.replaces_order_id or "")
        return ""

    def _predates(self, name: str, order: Order) -> bool:
        window = self._window
        if window.tolerance is None:
            return False
        age = window.age() - (self._entries[name].opened_at - window.opened_at).total_seconds()
        return predates(order.received_at, age + window.tolerance, self._context.service_now())
