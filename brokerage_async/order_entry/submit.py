"""One order on its way: sent once, looked for when no answer tells, and never sent again unasked.

Every decision is taken in `protocol.reconcile`; every step is in the journal before it is taken.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import AsyncIterator, Awaitable, Collection
from contextlib import asynccontextmanager

import attrs

from .._generated.models import NewOrder, Order
from .._generated.operations import ORDERS_SUBMIT
from ..errors import BrokerageError
from ..journal.base import EntryKey, EntryState, Journal, JournalEntry
from ..operation import Executor
from .decisions import Decision, Fate, Finding, LookPlan, decide, differs_in, fate_of
from .search import IdentifierSearch, OrderLists, Sighting, Window, look_until, terms_of

__all__ = ["Conclusion", "Desk", "Placing", "holding", "new_owner", "quietly", "undisturbed", "write_outcome"]

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

STATES = {
    Decision.PLACED: EntryState.PLACED,
    Decision.REFUSED: EntryState.REFUSED,
    Decision.NOT_SENT: EntryState.NOT_SENT,
}


@attrs.frozen(kw_only=True)
class Desk:
    """What every order of one `OrderEntry` shares."""

    executor: Executor
    journal: Journal
    environment: str
    lease: float

    @property
    def lists(self) -> OrderLists:
        """The lists to look for orders in."""
        return OrderLists(self.executor)


@attrs.frozen(kw_only=True)
class Conclusion:
    """How a `Placing` ended: placed, refused, not sent or unknown, with the order where it was seen."""

    decision: Decision
    attempts: int
    finding: Finding | None = None
    order: Order | None = None
    error: BrokerageError | None = None
    note: str = ""


def new_owner() -> str:
    """A name for one worker's hold on journal entries: host and process for people, the rest to be unique."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


@asynccontextmanager
async def holding(desk: Desk, keys: Collection[EntryKey], owner: str) -> AsyncIterator[None]:
    """Renew the claims on ``keys`` (which may shrink meanwhile) well before they end."""
    done = asyncio.Event()

    async def renew() -> None:
        while True:
            try:
                await asyncio.wait_for(done.wait(), desk.lease / 3)
            except TimeoutError:
                for key in tuple(keys):
                    await quietly("renew a claim", desk.journal.renew(key, owner=owner, lease=desk.lease))
            else:
                return

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        done.set()
        await renewing


async def undisturbed(work: Awaitable[None]) -> None:
    """Finish a small piece of work while being cancelled: cancelled once more, it goes on by itself."""
    working = asyncio.ensure_future(work)
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        logger.debug("cancelled once more while tidying up")


async def write_outcome(desk: Desk, key: EntryKey, conclusion: Conclusion, owner: str) -> None:
    """Record how an order ended. A journal that fails now loses nothing: the entry stays open and is recovered."""
    journal, state = desk.journal, STATES.get(conclusion.decision)
    if state is None:
        await quietly("release an entry", journal.release(key, owner=owner, note=conclusion.note))
        return
    order_id = conclusion.order.id if conclusion.order is not None else None
    await quietly("record an outcome", journal.close(key, state=state, order_id=order_id, note=conclusion.note))


async def quietly(what: str, write: Awaitable[object]) -> None:
    """Make a write to the journal whose failure is only logged: the entry stays open, so nothing gets lost.

    Whatever a journal raises then, it must not hide what became of an order.
    """
    try:
        await write
    except Exception as error:
        logger.warning("could not %s: %s", what, str(error) or type(error).__name__)


class Placing:
    """Carries one journaled order through to an outcome. The entry is claimed by ``owner`` all the while."""

    def __init__(self, desk: Desk, entry: JournalEntry, plan: LookPlan, owner: str, window: Window) -> None:
        self._desk = desk
        self._entry = entry
        self._plan = plan
        self._owner = owner
        self._window = window
        self.attempts: int = entry.attempts

    async def run(self, *, resubmits: int, sent: bool = False) -> Conclusion:
        """Send the order (unless an earlier run has ``sent`` it) and find out what became of it.

        ``resubmits`` says how many times it may be sent again when it is found absent.
        """
        fate, order, error = (Fate.UNKNOWN, None, None) if sent else await self._send()
        doubt = False
        while True:
            finding, note = None, str(error or "")
            decision = decide(fate, doubt=doubt, resubmits_left=resubmits)
            if decision is Decision.LOOK:
                finding, found, seen = await self._look()
                order, note = found or order, "; ".join(filter(None, (note, seen)))
                decision = decide(fate, finding, doubt=doubt, resubmits_left=resubmits)
            if decision is Decision.RESUBMIT and not await self._hold_again():
                decision, note = Decision.UNKNOWN, f"{note}; another worker has taken it over"
            if decision is not Decision.RESUBMIT:
                if doubt and fate is Fate.ANSWERED:
                    note = await self._twins(order)
                return Conclusion(
                    decision=decision, attempts=self.attempts, finding=finding, order=order, error=error, note=note
                )
            resubmits, doubt = resubmits - 1, True
            fate, order, error = await self._send()

    async def _send(self) -> tuple[Fate, Order | None, BrokerageError | None]:
        """One submit of the journaled bytes; the session repeats it only when it provably did not arrive."""
        key = self._entry.key
        try:
            answer = await self._desk.executor.execute(
                ORDERS_SUBMIT, path={"account_number": key.account_number}, body=self._entry.body
            )
        except BrokerageError as error:
            return fate_of(error), None, error
        order = answer.order
        shown = order is not None and bool(order.id) and not self._is_foreign(order)
        return (Fate.ANSWERED, order, None) if shown else (Fate.ACCEPTED, None, None)

    def _is_foreign(self, order: Order) -> bool:
        """Whether an answer shows another order than ours: by its account, identifier or else its terms."""
        key = self._entry.key
        if order.account_number and order.account_number != key.account_number:
            return True
        if order.external_identifier:
            return order.external_identifier != key.external_identifier
        terms = terms_of(self._entry.body, NewOrder)
        return terms is not None and differs_in(terms, order) is not None

    async def _look(self) -> tuple[Finding, Order | None, str]:
        """Look for the order as the plan says; what that has shown, the order, and the same in words."""
        name, found, count = self._entry.key.external_identifier, dict[str, Order](), 0
        search = self._search()
        failure: BrokerageError | None = None

        async def look() -> tuple[bool, Sighting]:
            nonlocal count, failure
            sighting = await search.look([name])
            found.update(sighting.orders)
            count, failure = count + 1, sighting.error
            return bool(found), sighting

        finding = await look_until(self._plan, look)
        if finding is Finding.ABSENT:
            note = f"not listed in {count} looks, the last ones more than {self._plan.settle:g} s after sending"
        elif finding is Finding.UNDETERMINED:
            note = f"the lists of orders could not be read: {failure}"
        else:
            note = search.conflict(name) if finding is Finding.CONFLICT else ""
        return finding, found.get(name), "; ".join(filter(None, (note, search.twins(name))))

    async def _twins(self, order: Order | None) -> str:
        """A note when the copy that was found absent is listed after all, beside ``order``, the one sent again."""
        name, search = self._entry.key.external_identifier, self._search()
        await search.look([name])
        if order is not None:
            search.saw(name, order)
        return search.twins(name)

    def _search(self) -> IdentifierSearch:
        key, entry = self._entry.key, attrs.evolve(self._entry, attempts=self.attempts)
        return IdentifierSearch(self._desk.lists, key.account_number, self._window, {key.external_identifier: entry})

    async def _hold_again(self) -> bool:
        """Journal one more attempt; False when the claim is lost, in which case nothing may be sent."""
        attempts = self.attempts + 1
        try:
            held = await self._desk.journal.renew(
                self._entry.key, owner=self._owner, lease=self._desk.lease, attempts=attempts
            )
        except Exception as error:
            logger.warning("not sent again: %s", str(error) or type(error).__name__)
            return False
        if held:
            self.attempts = attempts
        return held
