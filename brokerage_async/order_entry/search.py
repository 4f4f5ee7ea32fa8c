"""Search for journaled orders by their external identifiers, as often as the policy says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping

import attrs

from .._generated.models import Order
from ..errors import BrokerageError, NotFoundError
from ..journal.base import EntryState, JournalEntry
from ..protocol.order_status import TERMINAL
from .context import Context, logger
from .decisions import ReconcilePolicy, SearchResult, predates
from .lists import OrderLists, Sighting, Window, poll_until
from .orders import PlacedOrder, asked_in, differs_in, fills_of, is_edited, parts_of
from .results import joined

CLOCK_PRECISION = 2.0
"""Seconds within which the service's time is known: its answers show whole ones."""

UNSETTLED = (EntryState.OPEN, EntryState.ABANDONED)


@attrs.frozen
class Finding:
    """What the search for one order has come to: the result, the order if it was found, and both in words."""

    result: SearchResult
    order: PlacedOrder | None
    note: str
    error: BrokerageError | None = None


class IdentifierSearch:
    """Search for journaled orders by their external identifiers.

    The service lets any number of orders carry one identifier. An order that provably differs from the journaled one,
    or was received before its entry was opened, is not taken for it. A complex order is found by any of its components,
    and then read and compared as a whole. More than one live order under an identifier is reported. An order that may
    have been sent more than once is searched for to the end of the lists, because there may be two of it.

    The echo of identifiers is published, but was never recorded. Where no order of the account shows one, `nameless`
    recognises an order by everything else.

    The order that the answer to a submit ``hint``s at is read in every poll: the answer may be to another request.
    """

    def __init__(
        self,
        context: Context,
        account_number: str,
        window: Window,
        wanted: Mapping[str, JournalEntry],
        hint: PlacedOrder | None = None,
    ) -> None:
        self._context = context
        self._lists = OrderLists(context.executor, account_number)
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
        self._groups: defaultdict[tuple[bool, str], dict[str, Order]] = defaultdict(dict)
        self._numbers = {(self._asked[name].is_complex, entry.order_id): name for name, entry in wanted.items()}
        self._is_echoed = any(order.external_identifier for order in parts_of(hint))
        self._hint = (hint and hint.id) or ""
        self._conflicts: dict[str, str] = {}

    async def run(self, policy: ReconcilePolicy, settle: Callable[[str, Finding], Awaitable[None]]) -> None:
        """Search as the policy says, and ``settle`` each name once: as soon as its order is found, or at the end."""
        left, count = list(self._entries), 0
        failure: BrokerageError | None = None

        async def poll() -> tuple[bool, Sighting[PlacedOrder]]:
            nonlocal count, failure
            if not left:  # a poll that was cut off has settled the last one
                return True, Sighting(orders={}, complete=True)
            sighting = await self.poll(tuple(left))
            count, failure = count + 1, sighting.error
            for name, order in sighting.orders.items():
                left.remove(name)
                await settle(name, Finding(SearchResult.FOUND, order, self.duplicates(name)))
            return not left, sighting

        result = await poll_until(policy, poll, self._context.bell(self._account_number))
        for name in left:
            order, conflict = None, self._conflicts.get(name, "")
            if result is SearchResult.ABSENT and not conflict:
                order, conflict = await self.nameless(name)
            if order is not None:
                await settle(name, Finding(SearchResult.FOUND, order, self.duplicates(name)))
                continue
            note = f"the order lists could not be read: {failure or 'they changed or ended too late'}"
            if result is SearchResult.ABSENT:
                note = f"not listed in {count} polls over more than {policy.visibility_delay:g} s"
            note = joined(conflict or note, self.duplicates(name))
            await settle(name, Finding(SearchResult.CONFLICT if conflict else result, None, note, failure))

    async def poll(self, names: Collection[str]) -> Sighting[PlacedOrder]:
        sighting = await self._lists.poll(
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
        if self._hint:  # there is one name
            [name] = self._entries
            if name not in orders and (whole := await self._follow_hint(name, complete=sighting.complete)) is not None:
                return Sighting(orders={name: whole}, complete=True)
        # A closer look may have ruled out a listed order: the reading ended too early then.
        complete = sighting.complete and len(orders) == len(sighting.orders)
        for name in names:
            if name not in orders and (conflict := self.conflict(name)):
                self._conflicts[name] = conflict
        return Sighting(orders=orders, complete=complete, error=error)

    async def _whole_of(self, name: str, order: Order) -> PlacedOrder | None:
        """Return the whole order that a listed one belongs to, or None if it is not ours."""
        if self._difference(name, order):
            return None
        asked = self._asked[name]
        whole, difference = await asked.whole_of(self._context.executor, self._account_number, order)
        if difference:
            self._others[name, asked.id_of(order)] = difference
            return None
        return whole

    async def _follow_hint(self, name: str, *, complete: bool) -> PlacedOrder | None:
        """Return the order that the answer to the submit names, if it is ours."""
        asked = self._asked[name]
        try:
            named = await asked.read(self._context.executor, self._account_number, self._hint)
            parts = parts_of(named)
            ours = [order for order in parts if self._name_of(order) == name]
            if ours and (whole := await self._whole_of(name, ours[0])) is not None:
                return whole
            found = (await self.nameless(name))[0] if complete else None
        except BrokerageError:  # the lists decide
            return None
        return found if found is not None and found.id == self._hint else None

    async def nameless(self, name: str) -> tuple[PlacedOrder | None, str]:
        """Return the order without identifiers that is this one, or why that is not certain. Neither if none exists.

        For lists that were read to their end. Where no order of the account shows an identifier, ours is the only one
        that was received after its entry was opened, has its terms, and belongs to no other entry. Elsewhere an order
        with these terms, or one whose first terms an edit has taken away, may be ours.
        """
        asked, own = self._asked[name], self._entries[name]
        fitting = {
            number: group
            for (is_complex, number), group in self._groups.items()
            if is_complex is asked.is_complex
            and number
            and self._fits(own, group.values())
            and (is_complex or not any((False, order.replaces_order_id) in self._groups for order in group.values()))
        }
        if not fitting:
            return None, ""
        if self._is_echoed:
            return None, f"order {next(iter(fitting))} shows no identifier and no other terms: it may be this one"
        try:
            entries = await self._context.journal.entries(own.key.environment, origin=own.key.origin)
            others = [
                each
                for each in entries
                if each.key != own.key
                and each.key.account_number == self._account_number
                and (each.order_id in fitting or (each.state in UNSETTLED and not each.replaces))
                and asked_in(each).is_complex is asked.is_complex
            ]
            owned, wholes = {each.order_id for each in others}, dict[str, PlacedOrder]()
            for number in [number for number in fitting if number not in owned]:
                whole, difference = await asked.whole_of(
                    self._context.executor, self._account_number, next(iter(fitting[number].values()))
                )
                if not difference:
                    wholes[number] = whole
        except Exception as error:
            return None, f"orders show no identifiers, and which one is this could not be read: {error}"
        if not wholes:
            return None, ""
        if len(wholes) > 1:
            return None, f"orders {', '.join(sorted(wholes))} show no identifier: each may be this one"
        [(number, whole)] = wholes.items()
        rivals = [
            each.key.external_identifier
            for each in others
            if not each.order_id and self._fits(each, fitting[number].values())
        ]
        if rivals:
            return None, f"order {number} shows no identifier: it may be this one, or {', '.join(rivals)}"
        if None in asked.components.values() or any(map(is_edited, fitting[number].values())):
            return None, f"order {number} shows no identifier, and not its first terms: it may be this one"
        if not all(self._is_after(own, order) for order in fitting[number].values()):
            return None, f"order {number} shows no identifier, and perhaps was received before this one was journaled"
        return whole, ""

    def _fits(self, entry: JournalEntry, parts: Collection[Order]) -> bool:
        """Return True if orders without identifiers may belong to an entry."""
        asked = self._asked.get(entry.key.external_identifier) or asked_in(entry)
        terms = asked.components.values()
        return all(
            not order.external_identifier
            and any(each is None or differs_in(each, order) is None for each in terms)
            and not self._predates(entry, order)
            for order in parts
        )

    def conflict(self, name: str) -> str:
        """Return which order under this identifier is not ours, and why. Empty if all are."""
        carriers = self._carriers[name]
        for order in carriers.values():
            if difference := self._difference(name, order):
                return f"order {order.id} carries this identifier but {difference}: it is another order"
            if _has_not_replaced(order) and order.replaces_order_id not in carriers:
                return f"order {order.id} was to replace order {order.replaces_order_id}, which no list shows"
        return ""

    def duplicates(self, name: str, seen: PlacedOrder | None = None) -> str:
        """Return a note, and log a warning, if several live orders carry this identifier, that ``seen`` included."""
        carriers = self._carriers[name] | {order.id or "": order for order in parts_of(seen)}
        working = {number for number, order in carriers.items() if order.status and order.status not in TERMINAL}
        live = {
            self._asked[name].id_of(carriers[number]) or number
            for number in working
            if carriers[number].replacing_order_id not in working  # that one is to work in its place
        }
        if len(live) < 2:
            return ""
        note = f"{len(live)} live orders carry this identifier: {', '.join(sorted(map(str, live)))}"
        logger.warning("external identifier %s of account %s: %s", name, self._account_number, note)
        return note

    def _name_of(self, order: Order) -> str | None:
        """Return the name of the journaled order that a listed one may be, or be a component of."""
        number = order.complex_order_id or order.id or ""
        whole = bool(order.complex_order_id), number
        self._groups[whole][order.id or ""] = order
        self._is_echoed = self._is_echoed or bool(order.external_identifier)
        waits = _has_not_replaced(order)
        found = None if waits else self._numbers.get(whole)
        for name in self._names.get(order.external_identifier or "", ()):
            self._carriers[name][order.id or ""] = order
            if found is None and not waits and not self._difference(name, order):
                found = name
        return found

    def _difference(self, name: str, order: Order) -> str:
        """Return how an order, or one that it replaces, provably differs from the journaled one. Empty if not."""
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
            if self._predates(self._entries[name], current):
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

    def _age(self, entry: JournalEntry) -> float:
        return self._window.age() - (entry.opened_at - self._window.opened_at).total_seconds()

    def _predates(self, entry: JournalEntry, order: Order) -> bool:
        """Return True if an order cannot have been received after an entry was opened."""
        tolerance = self._window.tolerance
        if tolerance is None:
            return False
        return predates(order.received_at, self._age(entry) + tolerance, self._context.service_now())

    def _is_after(self, entry: JournalEntry, order: Order) -> bool:
        """Return True if an order was received after an entry was opened, and by now, as far as the clocks show it."""
        now = self._context.service_now()
        if self._window.tolerance is None or order.received_at is None or now is None:
            return False
        is_future = predates(now, self._window.tolerance, order.received_at)
        return not is_future and not predates(order.received_at, self._age(entry) + CLOCK_PRECISION, now)


def _has_not_replaced(order: Order) -> bool:
    """Return True if a single order has never worked in place of the one that it was to replace, which has its name."""
    has_worked = order.live_at or fills_of(order) or order.status not in ("Contingent", *TERMINAL)
    return bool(order.replaces_order_id) and not order.complex_order_id and not has_worked
