"""What became of the orders that earlier runs left open: found and closed, or told to a person. Nothing is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime

from ._generated.models import Order
from .errors import BrokerageError
from .journal_entry import EntryState, JournalEntry
from .order_lists import IdentifierSearch, Sighting, Window, look_until
from .placement import Outcome, Placement
from .placing import Conclusion, Desk, holding, new_owner, write_outcome
from .protocol.reconcile import Decision, LookPlan

__all__ = ["recover"]

SHORTEST_WAIT, LONGEST_WAIT = 0.01, 1.0
"""Seconds after which another worker's entries are asked about again."""


async def recover(desk: Desk, plan: LookPlan) -> list[Placement]:
    """Look for every order that was open when this began, oldest first, and return those that this worker handled.

    Entries that another worker holds are waited for until it has handled them, or until its claim ends.
    """
    owner, placements = new_owner(), list[Placement]()
    due = await desk.journal.now()
    while True:
        claimed = await desk.journal.claim(desk.environment, owner=owner, lease=desk.lease, due_at=due)
        if claimed:
            placements += await _Sweep(desk, plan, owner, claimed).run(await desk.journal.now())
            continue
        wait = await _others(desk, due)
        if wait is None:
            return sorted(placements, key=lambda placement: placement.opened_at or due)
        await asyncio.sleep(wait)


async def _others(desk: Desk, due: datetime) -> float | None:
    """How long to wait for entries that others hold; None when there are none left."""
    entries = await desk.journal.entries(desk.environment, state=EntryState.OPEN)
    held = [entry for entry in entries if entry.opened_at <= due and (entry.looked_at or due) <= due]
    if not held:
        return None
    now = await desk.journal.now()
    ends = min(entry.claimed_until or now for entry in held)
    return min(max((ends - now).total_seconds(), SHORTEST_WAIT), LONGEST_WAIT)


class _Sweep:
    """Handles the entries that were claimed together: one series of looks for each account."""

    def __init__(self, desk: Desk, plan: LookPlan, owner: str, entries: list[JournalEntry]) -> None:
        self._desk = desk
        self._plan = plan
        self._owner = owner
        self._held = {entry.key for entry in entries}
        self._accounts: defaultdict[str, dict[str, JournalEntry]] = defaultdict(dict)
        for entry in entries:
            self._accounts[entry.key.account_number][entry.key.external_identifier] = entry
        self._placements: list[Placement] = []

    async def run(self, now: datetime) -> list[Placement]:
        """Look for all of them; ``now`` is the journal's time."""
        async with holding(self._desk, self._held, self._owner), asyncio.TaskGroup() as group:
            for account, wanted in self._accounts.items():
                opened_at = min(entry.opened_at for entry in wanted.values())
                group.create_task(self._account(account, wanted, Window.since(opened_at, now)))
        return self._placements

    async def _account(self, account: str, wanted: dict[str, JournalEntry], window: Window) -> None:
        count = 0
        failure: BrokerageError | None = None
        search = IdentifierSearch(self._desk.lists, account, window, wanted)

        async def look() -> tuple[bool, Sighting]:
            nonlocal count, failure
            sighting = await search.look(wanted.keys())
            count, failure = count + 1, sighting.error
            for name, order in sighting.orders.items():
                note = "; ".join(filter(None, ("found when recovering", search.twins(name))))
                await self._conclude(wanted.pop(name), Decision.PLACED, order, note)
            return not wanted, sighting

        await look_until(self._plan, look)
        if failure is None:
            note = f"not listed in {count} looks over more than {self._plan.settle:g} s"
        else:
            note = f"the lists of orders could not be read: {failure}"
        for name, entry in wanted.items():
            notes = filter(None, (search.conflict(name) or note, search.twins(name)))
            await self._conclude(entry, Decision.UNKNOWN, None, "; ".join(notes))

    async def _conclude(self, entry: JournalEntry, decision: Decision, order: Order | None, note: str) -> None:
        conclusion = Conclusion(decision=decision, attempts=entry.attempts, order=order, note=note)
        await write_outcome(self._desk, entry.key, conclusion, self._owner)
        self._held.discard(entry.key)
        self._placements.append(_placement(entry, conclusion))


def _placement(entry: JournalEntry, conclusion: Conclusion) -> Placement:
    return Placement(
        outcome=Outcome(conclusion.decision.value),
        account_number=entry.key.account_number,
        external_identifier=entry.key.external_identifier,
        order=conclusion.order,
        attempts=entry.attempts,
        note=conclusion.note,
        body=entry.body,
        opened_at=entry.opened_at,
    )
