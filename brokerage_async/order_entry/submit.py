"""Submit one journaled order, and search for it when no answer shows its outcome.

Every decision is taken in `decisions`. Every step is in the journal before it is taken.
"""

from __future__ import annotations

import logging

import attrs

from ..errors import BrokerageError
from ..journal.base import JournalEntry
from .claims import Claim, Instant
from .context import Context
from .decisions import DeliveryOutcome, ReconcilePolicy, SearchResult, Step, decide, delivery_of
from .kinds import AskedOrder, PlacedOrder
from .lists import Sighting, Window
from .results import Outcome, Placement, joined, placement_of
from .search import IdentifierSearch, poll_until

__all__ = ["ABSENT", "CODES", "CONFLICT", "UNDETERMINED", "Submission", "finding"]

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

ABSENT, CONFLICT, UNDETERMINED = "absent", "identifier_conflict", "undetermined"
"""Codes of an unknown outcome after a search."""
CODES: dict[SearchResult | None, str] = {SearchResult.ABSENT: ABSENT, SearchResult.CONFLICT: CONFLICT}


def finding(
    search: SearchResult, conflict: str, count: int, policy: ReconcilePolicy, failure: BrokerageError | None
) -> str:
    """Return the result of a search in words. Empty if the order was found."""
    if conflict or search is SearchResult.FOUND:
        return conflict
    if search is SearchResult.ABSENT:
        return f"not listed in {count} polls over more than {policy.visibility_delay:g} s"
    return f"the order lists could not be read: {failure or 'they changed or ended too late'}"


@attrs.frozen
class _Delivery:
    """The end of one submit: its outcome, the order if the answer shows it, one that it hints at, and the error."""

    outcome: DeliveryOutcome
    order: PlacedOrder | None = None
    hint: PlacedOrder | None = None
    error: BrokerageError | None = None


class Submission:
    """Carries one journaled order to its outcome. The entry is held under ``claim`` all the while."""

    def __init__(
        self,
        context: Context,
        asked: AskedOrder,
        entry: JournalEntry,
        claim: Claim,
        policy: ReconcilePolicy,
        window: Window,
    ) -> None:
        self._context = context
        self._asked = asked
        self._entry = entry
        self._claim = claim
        self._policy = policy
        self._window = window
        self._attempts = entry.attempts

    async def run(self, *, resubmits: int, sent: bool = False) -> Placement:
        """Submit the order, unless an earlier run has ``sent`` it, and find its outcome.

        ``resubmits`` is how many times it may be sent again when it is absent.
        """
        delivery = _Delivery(DeliveryOutcome.UNKNOWN) if sent else await self._submit()
        doubt = False
        while True:
            search, order, note = None, delivery.order, str(delivery.error or "")
            step = decide(delivery.outcome, doubt=doubt, resubmits_left=resubmits)
            if step is Step.SEARCH:
                search, found, seen = await self._search_until_known(delivery.hint)
                order, note = found or order, joined(note, seen)
                step = decide(delivery.outcome, search, doubt=doubt, resubmits_left=resubmits)
            if step is Step.RESUBMIT and (objection := await self._journal_attempt()) is not None:
                step, note = Outcome.UNKNOWN, joined(note, f"not sent again: {objection}")
            if isinstance(step, Outcome):
                if doubt and delivery.outcome is DeliveryOutcome.CONFIRMED:
                    note = await self._duplicates(order)
                code = CODES.get(search, UNDETERMINED) if step is Outcome.UNKNOWN else None
                return placement_of(
                    self._entry, step, attempts=self._attempts, code=code, order=order, error=delivery.error, note=note
                )
            resubmits, doubt = resubmits - 1, True
            delivery = await self._submit()

    async def _submit(self) -> _Delivery:
        """Send the journaled bytes once. The session repeats them only if they provably did not arrive.

        The claim is checked at the last moment before each send.
        """
        call = self._asked.submit.bind(account_number=self._entry.key.account_number, body=self._entry.body)
        try:
            answer = await self._context.executor.execute(call, guard=self._claim.objection)
        except BrokerageError as error:
            return _Delivery(delivery_of(error), error=error)
        order = self._asked.shown_by(answer)
        if order is None or not order.id or order.account_number not in (None, self._entry.key.account_number):
            return _Delivery(DeliveryOutcome.ACCEPTED)
        if self._asked.is_named_by(order) and not self._asked.is_another(order):
            return _Delivery(DeliveryOutcome.CONFIRMED, order=order)
        return _Delivery(DeliveryOutcome.ACCEPTED, hint=order)  # perhaps the answer to another request

    async def _search_until_known(self, hint: PlacedOrder | None) -> tuple[SearchResult, PlacedOrder | None, str]:
        """Search as the policy says. Return the result, the order, and the findings in words."""
        name, found, count = self._entry.key.external_identifier, dict[str, PlacedOrder](), 0
        search = self._search()
        if hint is not None:
            search.follow(hint)
        failure: BrokerageError | None = None

        async def poll() -> tuple[bool, Sighting[PlacedOrder]]:
            nonlocal count, failure
            sighting = await search.poll([name])
            found.update(sighting.orders)
            count, failure = count + 1, sighting.error
            return bool(found), sighting

        result = await poll_until(self._policy, poll, self._context.bell(self._entry.key.account_number))
        doubt = ""
        if result is SearchResult.ABSENT:
            order, doubt = await search.nameless(name)
            if order is not None:
                result, found[name] = SearchResult.FOUND, order
            elif doubt:
                result = SearchResult.CONFLICT
        conflict = doubt or search.conflict(name) if result is SearchResult.CONFLICT else ""
        note = finding(result, conflict, count, self._policy, failure)
        return result, found.get(name), joined(note, search.duplicates(name))

    async def _duplicates(self, order: PlacedOrder | None) -> str:
        """Return a note if the copy that was absent is listed after all, beside ``order``, the one sent again."""
        name, search = self._entry.key.external_identifier, self._search()
        await search.poll([name])
        if order is not None:
            search.add(name, order)
        return search.duplicates(name)

    def _search(self) -> IdentifierSearch:
        key, entry = self._entry.key, attrs.evolve(self._entry, attempts=self._attempts)
        return IdentifierSearch(self._context, key.account_number, self._window, {key.external_identifier: entry})

    async def _journal_attempt(self) -> str | None:
        """Journal one more attempt. Return why nothing may be sent, or None."""
        since = Instant()
        try:
            held = await self._context.journal.renew(
                self._entry.key, owner=self._claim.owner, lease=self._claim.lease, attempts=self._attempts + 1
            )
        except Exception as error:
            logger.warning("not sent again: %s", str(error) or type(error).__name__)
            return f"the journal could not record another attempt: {str(error) or type(error).__name__}"
        if not held:
            self._claim.lost = True
            return self._claim.objection()
        self._claim.renewed(since)
        self._attempts += 1
        return None
