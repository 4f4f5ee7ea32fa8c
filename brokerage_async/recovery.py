"""What became of the orders that earlier runs left open: found and closed, or told to a person. Nothing is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime

from ._generated.models import Order
from .journal_entry import EntryKey, EntryState, JournalEntry
from .order_lists import Sighting, Window, look_until
from .placement import Outcome, Placement
from .placing import Conclusion, Desk, holding, new_owner, write_outcome
from .protocol.reconcile import Decision, Finding, LookPlan

__all__ = ["recover"]

LONGEST_WAIT = 1.0
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
            placements += await _reconcile(desk, claimed, plan, owner)
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
    ends = min((entry.claimed_until or now for entry in held), default=now)
    return min(max((ends - now).total_seconds(), 0.01), LONGEST_WAIT)


async def _reconcile(desk: Desk, entries: list[JournalEntry], plan: LookPlan, owner: str) -> list[Placement]:
    by_account: defaultdict[str, dict[str, JournalEntry]] = defaultdict(dict)
    for entry in entries:
        by_account[entry.key.account_number][entry.key.external_identifier] = entry
    pending = {entry.key for entry in entries}
    async with holding(desk, pending, owner), asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_reconcile_account(desk, account, wanted, plan, owner, pending))
            for account, wanted in by_account.items()
        ]
    return [placement for task in tasks for placement in task.result()]


async def _reconcile_account(
    desk: Desk,
    account: str,
    wanted: dict[str, JournalEntry],
    plan: LookPlan,
    owner: str,
    pending: set[EntryKey],
) -> list[Placement]:
    """Look for several orders of one account at once."""
    placements: list[Placement] = []
    window = Window.since(min(entry.opened_at for entry in wanted.values()), await desk.journal.now())
    count, failure = 0, None

    async def conclude(entry: JournalEntry, decision: Decision, order: Order | None, note: str) -> None:
        conclusion = Conclusion(decision=decision, attempts=entry.attempts, order=order, note=note)
        await write_outcome(desk, entry.key, conclusion, owner)
        pending.discard(entry.key)
        placements.append(_placement(entry, conclusion))

    async def look() -> tuple[bool, Sighting]:
        nonlocal count, failure
        sighting = await desk.lists.look(account, wanted.keys(), window, by=lambda order: order.external_identifier)
        count, failure = count + 1, sighting.error
        for name, order in sighting.orders.items():
            await conclude(wanted.pop(name), Decision.PLACED, order, "found when recovering")
        return not wanted, sighting

    finding = await look_until(plan, look)
    if finding is Finding.ABSENT:
        note = f"not listed in {count} looks over more than {plan.settle:g} s"
    else:
        note = f"the lists of orders could not be read: {failure}"
    for entry in list(wanted.values()):
        await conclude(entry, Decision.UNKNOWN, None, note)
    return placements


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
