"""Looking for orders: the lists of an account, read to their end, as often as the plan says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import date, datetime, timedelta

import attrs

from ._generated.models import Order
from ._generated.operations import ORDERS_LIST, ORDERS_LIST_LIVE
from .errors import BrokerageError
from .operation import Executor, Page
from .protocol.reconcile import Finding, Look, LookPlan, is_hopeless, next_look

__all__ = ["OrderLists", "Sighting", "first_day", "look_until"]

PER_PAGE = 200
DAYS_BACK = 3
"""How much older than the order the search begins, so that neither time zones nor a wrong clock hide it."""


def first_day(opened_at: datetime) -> date:
    """The day from which to search for an order that was journaled at this moment."""
    return (opened_at - timedelta(days=DAYS_BACK)).date()


@attrs.frozen(kw_only=True)
class Sighting:
    """What one look has shown: the orders by what they were looked for, and whether the lists were read to their end.

    ``error`` is why not, where it is known.
    """

    orders: Mapping[str, Order]
    complete: bool
    error: BrokerageError | None = None

    @property
    def hopeless(self) -> bool:
        """Whether looking again will fail in the same way."""
        return self.error is not None and is_hopeless(self.error)


class OrderLists:
    """The lists of orders of an account."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def look(
        self, account_number: str, wanted: Collection[str], *, by: Callable[[Order], str | None], since: date
    ) -> Sighting:
        """Read the live list and then the list from ``since`` on, until all of ``wanted`` are seen or both lists end.

        ``by`` tells what an order is known by, such as its external identifier. Never raises a `BrokerageError`.
        """
        seen: dict[str, Order] = {}
        complete, failure = True, None
        for live in (True, False):
            try:
                async with aclosing(self._pages(account_number, since, live=live)) as pages:  # type: ignore[type-var]
                    async for page in pages:
                        for order in page.items:
                            name = by(order)
                            if name is not None and name in wanted:
                                seen.setdefault(name, order)
                        if len(seen) == len(wanted):
                            return Sighting(orders=seen, complete=True)
                        # A success that shows neither orders nor their number proves nothing.
                        complete &= live or page.pagination is not None or bool(page.items)
            except BrokerageError as error:
                complete, failure = False, error
        return Sighting(orders=seen, complete=complete, error=failure)

    def _pages(self, account_number: str, since: date, *, live: bool) -> AsyncIterator[Page[Order]]:
        path = {"account_number": account_number}
        if live:
            return self._executor.paginate(ORDERS_LIST_LIVE, path=path, query={"per-page": PER_PAGE}).pages()
        query = {"per-page": PER_PAGE, "start-date": since}
        return self._executor.paginate(ORDERS_LIST, path=path, query=query).pages()


async def look_until(plan: LookPlan, look: Callable[[], Awaitable[tuple[bool, Sighting]]]) -> Finding:
    """Look as often and as long as ``plan`` says; ``look`` answers whether all was found, and what was seen."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    looks: list[Look] = []
    while not isinstance(step := next_look(plan, looks), Finding):
        await asyncio.sleep(max(0.0, began + step - loop.time()))
        at = loop.time() - began
        found, sighting = await look()
        looks.append(Look(at=at, complete=sighting.complete, found=found, hopeless=sighting.hopeless))
    return step
