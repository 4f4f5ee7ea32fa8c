"""Search for journaled orders by their external identifiers, as often as the policy says."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any

from .._generated.models import Order
from ..errors import BrokerageError, NotFoundError, ResponseLostError
from ..journal.base import JournalEntry
from ..protocol.order_status import TERMINAL
from .context import Context
from .decisions import Poll, ReconcilePolicy, SearchResult, next_poll, poll_timeout, predates
from .doorbell import Doorbell, early_looks
from .kinds import PlacedOrder, asked_in
from .lists import OrderLists, Sighting, Window
from .matching import differs_in

__all__ = ["IdentifierSearch", "poll_until"]

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")


async def poll_until(
    policy: ReconcilePolicy, poll: Callable[[], Awaitable[tuple[bool, Sighting[Any]]]], bell: Doorbell | None = None
) -> SearchResult:
    """Poll as often and as long as ``policy`` says, and once more early for each burst of events that ``bell`` reports.

    ``poll`` returns whether everything was found, and the sighting. A poll that takes too long is cut off, and counts
    as incomplete. An early one ends when the next poll is due, and counts only if it finds everything.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    polls: list[Poll] = []
    async with early_looks(bell) as looks:
        while not isinstance(step := next_poll(policy, polls), SearchResult):
            while await looks.before(began + step):
                if (await _timed(poll, began + step - loop.time()))[0]:
                    return SearchResult.FOUND
            at = max(step, loop.time() - began)  # a loop may wake up a rounding error early
            found, sighting = await _timed(poll, poll_timeout(policy, at))
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


async def _timed(
    poll: Callable[[], Awaitable[tuple[bool, Sighting[Any]]]], seconds: float
) -> tuple[bool, Sighting[Any]]:
    """Poll for so long at most."""
    try:
        async with asyncio.timeout(seconds):
            return await poll()
    except TimeoutError:
        error = ResponseLostError(f"the lists could not be read within {seconds:g} s")
        return False, Sighting(orders={}, complete=False, error=error)


class IdentifierSearch:
    """Search for journaled orders by their external identifiers.

    The service lets any number of orders carry one identifier. An order that provably differs from the journaled one,
    or was received before its entry was opened, is not taken for it. A complex order is found by any of its components,
    and then read and compared as a whole. More than one live order under an identifier is reported. An order that may
    have been sent more than once is searched for to the end of the lists, because there may be two of it.
    """

    def __init__(
        self, context: Context, account_number: str, window: Window, wanted: Mapping[str, JournalEntry]
    ) -> None:
        self._context = context
        self._lists = OrderLists(context.executor)
        self._account_number = account_number
        self._window = window
        self._entries = dict(wanted)
        self._asked = {name: asked_in(entry) for name, entry in wanted.items()}
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        for name, asked in self._asked.items():
            for identifier in asked.components:
                self._names[identifier].append(name)
        self._carriers: defaultdict[str, dict[str, Order]] = defaultdict(dict)
        self._others: dict[tuple[str, str | None], str] = {}
        self._groups: defaultdict[str, dict[str, Order]] = defaultdict(dict)
        self._any_complex = any(asked.is_complex for asked in self._asked.values())

    async def poll(self, names: Collection[str]) -> Sighting[PlacedOrder]:
        """Poll once for the orders of these names."""
        sighting = await self._lists.poll(
            self._account_number,
            names,
            self._window,
            by=self._name_of,
            thorough=any(self._entries[name].attempts > 1 for name in names),
            complex_orders=any(self._asked[name].is_complex for name in names),
        )
        orders, error = dict[str, PlacedOrder](), sighting.error
        for name, order in sighting.orders.items():
            try:
                whole = await self._whole_of(name, order)
            except NotFoundError:
                continue  # a list may be ahead of it: the next poll reads it again
            except BrokerageError as failure:
                error = failure
            else:
                if whole is not None:
                    orders[name] = whole
        # The rest of a page may have shown an order to be another one: the reading ended too early then.
        complete = sighting.complete and len(orders) == len(sighting.orders)
        conflict = any(self.conflict(name) for name in names if name not in orders)
        return Sighting(orders=orders, complete=complete, error=error, conflict=conflict)

    async def _whole_of(self, name: str, order: Order) -> PlacedOrder | None:
        """Return the whole order that a listed one belongs to, or None if it is another one."""
        if self._difference(name, order):
            return None
        asked = self._asked[name]
        whole, difference = await asked.whole_of(self._context.executor, self._account_number, order)
        if difference:
            self._others[name, asked.id_of(order)] = difference
        return None if difference else whole

    def add(self, name: str, seen: PlacedOrder) -> None:
        """Add an order that was seen elsewhere."""
        for order in self._asked[name].listed_in(seen):
            self._carriers[name][order.id or ""] = order

    def conflict(self, name: str) -> str:
        """Return which order under this identifier is another one, and why; empty if none is."""
        for order in self._carriers[name].values():
            if difference := self._difference(name, order):
                return f"order {order.id} carries this identifier but {difference}: it is another order"
        return self._nameless(name) if self._asked[name].is_complex else ""

    def _nameless(self, name: str) -> str:
        """Return which complex order without any identifier may be this one; empty if none may.

        It is not taken for ours, but ours is not absent either.
        """
        components = self._asked[name].components.values()
        for number, group in self._groups.items():
            if not any(order.external_identifier for order in group.values()) and all(
                any(terms is None or differs_in(terms, order) is None for terms in components)
                and not self._predates(name, order)
                for order in group.values()
            ):
                return f"complex order {number} shows no identifier and no other terms: it may be this one"
        return ""

    def duplicates(self, name: str) -> str:
        """Return a note, and log a warning, if several live orders carry this identifier; else an empty string."""
        live = {
            self._asked[name].id_of(order) or order.id
            for order in self._carriers[name].values()
            if order.status is not None and order.status not in TERMINAL and not order.replacing_order_id
        }
        if len(live) < 2:
            return ""
        note = f"{len(live)} live orders carry this identifier: {', '.join(sorted(map(str, live)))}"
        logger.warning("external identifier %s of account %s: %s", name, self._account_number, note)
        return note

    def _name_of(self, order: Order) -> str | None:
        """Return the name of the journaled order that a listed one may be, or be a component of."""
        if self._any_complex and order.complex_order_id:
            self._groups[order.complex_order_id][order.id or ""] = order
        found: str | None = None
        for name in self._names.get(order.external_identifier or "", ()):
            self._carriers[name][order.id or ""] = order
            if found is None and not self._difference(name, order):
                found = name
        return found

    def _difference(self, name: str, order: Order) -> str:
        """Return how an order, or one that it replaces, provably differs from the journaled one; empty if not."""
        asked = self._asked[name]
        terms = asked.components.get(order.external_identifier or "")
        for current in self._lineage(name, order):
            known = asked.id_of(current)
            if known is not None and known == self._entries[name].order_id:
                return ""
            if problem := asked.misfit(current) or self._others.get((name, known), ""):
                return problem
            if terms is not None and (term := differs_in(terms, current)) is not None:
                return f"differs in its {term}"
            if self._predates(name, current):
                return "was received before this one was journaled"
        return ""

    def _lineage(self, name: str, order: Order) -> Iterator[Order]:
        """Yield an order, the one that it replaces, and so on."""
        followed = set[str | None]()
        current: Order | None = order
        while current is not None and current.id not in followed:
            followed.add(current.id)
            yield current
            replaced = current.replaces_order_id
            current = self._carriers[name].get(replaced) if replaced else None

    def _predates(self, name: str, order: Order) -> bool:
        window = self._window
        if window.tolerance is None:
            return False
        age = window.age() - (self._entries[name].opened_at - window.opened_at).total_seconds()
        return predates(order.received_at, age + window.tolerance, self._context.service_now())
