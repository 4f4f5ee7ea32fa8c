"""Looking for orders: the lists of an account, read to their end, as often as the plan says."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import TypeVar

import attrs

from .._generated.models import NewOrder, Order, SortOrder
from .._generated.operations import ORDERS_LIST, ORDERS_LIST_LIVE
from ..errors import BrokerageError, ResponseDecodeError
from ..journal.base import JournalEntry
from ..operation import Executor, Page
from ..protocol.decoding.lenient import Findings, parse, structure_one
from ..protocol.order_status import TERMINAL
from .decisions import Finding, Look, LookPlan, differs_in, is_hopeless, next_look

__all__ = ["START", "IdentifierSearch", "OrderLists", "Sighting", "Window", "look_until", "terms_of"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

PER_PAGE = 200
START = timedelta(days=400)
"""How far before the order the search begins by the clock of this side, which may be very wrong."""
MARGIN = timedelta(days=3)
"""How far the listing is read beyond the orders that can be meant."""


@attrs.frozen
class Window:
    """How far back the lists are read.

    ``opened_at`` is when the order was written down by the clock of this side, ``journaled`` the same moment by the
    event loop's. The clock of the service may differ from both, so the end is measured from the newest order listed:
    an order can be no older, against that one, than the time since it was written down.
    """

    opened_at: datetime
    journaled: float

    @classmethod
    def since(cls, opened_at: datetime, now: datetime) -> Window:
        """The window of an order that was written down at ``opened_at``; both times by the same clock.

        A clock that was set back meanwhile does not tell how long ago that was: ``START`` is taken for it.
        """
        age = now - opened_at if opened_at <= now else START
        return cls(now - age, asyncio.get_running_loop().time() - age.total_seconds())

    def is_past(self, order: Order, newest: datetime) -> bool:
        """Whether an order is older than every one that can be meant.

        A whole page of such ends the reading: by which of its times the service sorts a list, it does not say.
        """
        if order.received_at is None:
            return False
        age = timedelta(seconds=asyncio.get_running_loop().time() - self.journaled)
        return order.received_at < min(self.opened_at, newest - age) - MARGIN


@attrs.frozen(kw_only=True)
class Sighting:
    """What one look has shown: the orders by what they were looked for, and whether the lists were read to their end.

    ``error`` is why not, where it is known. ``conflict``: another order carries an identifier that was looked for.
    """

    orders: Mapping[str, Order]
    complete: bool
    error: BrokerageError | None = None
    conflict: bool = False

    @property
    def hopeless(self) -> bool:
        """Whether looking again will fail in the same way."""
        return self.error is not None and is_hopeless(self.error)


class OrderLists:
    """The lists of orders of an account."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def look(
        self,
        account_number: str,
        wanted: Collection[str],
        window: Window,
        *,
        by: Callable[[Order], str | None],
        thorough: bool = False,
    ) -> Sighting:
        """Read the live list and then the list of all orders, newest first, as far back as ``window`` says.

        Stops when all of ``wanted`` are seen, unless it is to be ``thorough``; ``by`` tells what an order is known by,
        such as its external identifier. Never raises a `BrokerageError`.
        """
        seen: dict[str, Order] = {}
        complete, failure = True, None
        for listing in (self._live(account_number), self._all(account_number, window)):
            try:
                async with aclosing(listing) as pages:
                    async for page in pages:
                        for order in page:
                            name = by(order)
                            if name is not None and name in wanted:
                                seen.setdefault(name, order)
                        if len(seen) == len(wanted) and not thorough:
                            return Sighting(orders=seen, complete=True)
            except BrokerageError as error:
                complete, failure = False, error
        return Sighting(orders=seen, complete=complete, error=failure)

    async def _live(self, account_number: str) -> AsyncGenerator[tuple[Order, ...], None]:
        path, query = ORDERS_LIST_LIVE.arguments(account_number=account_number, per_page=PER_PAGE)
        pager = self._executor.paginate(ORDERS_LIST_LIVE, path=path, query=query)
        async with aclosing(pager.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                _check_page(page)
                yield page.items

    async def _all(self, account_number: str, window: Window) -> AsyncGenerator[tuple[Order, ...], None]:
        start = (window.opened_at - START).date()
        path, query = ORDERS_LIST.arguments(
            account_number=account_number, per_page=PER_PAGE, sort=SortOrder.DESC, start_date=start
        )
        newest: datetime | None = None
        pager = self._executor.paginate(ORDERS_LIST, path=path, query=query)
        async with aclosing(pager.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                if not page.items and not _is_counted(page):
                    raise ResponseDecodeError("neither orders nor their number", operation=ORDERS_LIST.name)
                _check_page(page)
                yield page.items
                times = [order.received_at for order in page.items if order.received_at is not None]
                newest = max(times + ([newest] if newest else []), default=None)
                if newest is not None and page.items and all(window.is_past(order, newest) for order in page.items):
                    return


def _is_counted(page: Page[Order]) -> bool:
    block = page.pagination
    return block is not None and (block.total_items, block.current_item_count) != (None, None)


def _check_page(page: Page[Order]) -> None:
    """Refuse a page that does not show what it should, or nothing new before the end of the list: nobody knows what is
    missing."""
    block = page.pagination
    if block is None:
        return
    shown, told = len(page.items), block.current_item_count or 0
    reason = None
    if not shown and block.total_items and (block.total_pages or 1) > page.page_offset:
        reason = f"page {page.page_offset} of {block.total_pages or 1} shows no orders"
    elif shown < told and (not shown or page.page_offset == 0):  # later pages lack the orders of earlier ones
        reason = f"page {page.page_offset} shows {shown} new orders instead of {told}"
    if reason is not None:
        raise ResponseDecodeError(reason, operation=ORDERS_LIST.name)


async def look_until(plan: LookPlan, look: Callable[[], Awaitable[tuple[bool, Sighting]]]) -> Finding:
    """Look as often and as long as ``plan`` says; ``look`` answers whether all was found, and what was seen."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    looks: list[Look] = []
    while not isinstance(step := next_look(plan, looks), Finding):
        await asyncio.sleep(max(0.0, began + step - loop.time()))
        at = max(step, loop.time() - began)  # a loop may wake up a rounding error early
        found, sighting = await look()
        looks.append(
            Look(
                at=at,
                complete=sighting.complete,
                found=found,
                hopeless=sighting.hopeless,
                conflict=sighting.conflict,
            )
        )
    return step


class IdentifierSearch:
    """Journaled orders, by external identifier, that are looked for in the lists.

    The service lets any number of orders carry one identifier. Those that are provably not what was journaled are
    not taken for it; more than one live order under an identifier is told. An order that may have been sent more than
    once is looked for to the end of the lists, because there may be two of it.
    """

    def __init__(
        self, lists: OrderLists, account_number: str, window: Window, wanted: Mapping[str, JournalEntry]
    ) -> None:
        self._lists = lists
        self._account_number = account_number
        self._window = window
        self._entries = dict(wanted)
        self._terms = {name: terms_of(entry.body, NewOrder) for name, entry in wanted.items()}
        self._carriers: defaultdict[str, dict[str, Order]] = defaultdict(dict)

    async def look(self, names: Collection[str]) -> Sighting:
        """Look once for the orders of these identifiers."""
        thorough = any(self._entries[name].attempts > 1 for name in names)
        sighting = await self._lists.look(
            self._account_number, names, self._window, by=self._name_of, thorough=thorough
        )
        orders = {name: order for name, order in sighting.orders.items() if not self._differing(name, order)}
        # What the rest of the page has shown to be another order has ended the reading too early.
        complete = sighting.complete and len(orders) == len(sighting.orders)
        conflict = any(self.conflict(name) for name in names if name not in orders)
        return attrs.evolve(sighting, orders=orders, complete=complete, conflict=conflict)

    def saw(self, name: str, order: Order) -> None:
        """Take note of an order that was seen elsewhere."""
        self._carriers[name][order.id or ""] = order

    def conflict(self, name: str) -> str:
        """Which order that was seen under this identifier is another one, and why; empty when there is none."""
        for order in self._carriers[name].values():
            if (term := self._differing(name, order)) is not None:
                return f"order {order.id} carries this identifier but differs in its {term}: it is another order"
        return ""

    def twins(self, name: str) -> str:
        """A note of the live orders that were seen under this identifier, and a warning, when there are several."""
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
        self.saw(name, order)
        return None if self._differing(name, order) else name

    def _differing(self, name: str, order: Order) -> str | None:
        """The term in which an order, or one that it replaces, differs from the journaled one."""
        terms = self._terms[name]
        followed = set[str | None]()
        current: Order | None = order
        while terms is not None and current is not None and current.id not in followed:
            followed.add(current.id)
            if current.id is not None and current.id == self._entries[name].order_id:
                return None
            if (term := differs_in(terms, current)) is not None:
                return term
            current = self._carriers[name].get(current.replaces_order_id or "")
        return None


def terms_of(body: bytes, model: type[T]) -> T | None:
    """The order or edit of which these are the bytes; None, which proves nothing, when they are of none."""
    try:
        terms: T = structure_one(model, parse(body), "$", Findings("journal", strict=True))
    except (ValueError, ResponseDecodeError):
        return None
    return terms
