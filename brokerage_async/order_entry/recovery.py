"""What became of the orders that earlier runs left open: found and closed, or told to a person. Nothing is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from .._generated.models import Order
from ..errors import BrokerageError
from ..journal.base import EntryKey, EntryState, JournalEntry
from .decisions import Decision, LookPlan
from .results import Outcome, Placement
from .search import IdentifierSearch, Sighting, Window, look_until
from .submit import Conclusion, Desk, holding, new_owner, quietly, undisturbed, write_outcome

__all__ = ["recover"]

SHORTEST_WAIT, LONGEST_WAIT = 0.01, 1.0
"""Seconds after which another worker's entries are asked about again."""


async def recover(desk: Desk, plan: LookPlan) -> list[Placement]:
    """Look for every order that is open now, and return those that this worker handled, oldest first.

    Whatever ends it early, a cancellation or a journal that fails, has them as its attribute ``placements``: what was
    found out and written down is not found out again.
    """
    placements = list[Placement]()
    try:
        await _recover(desk, plan, placements)
    except BaseException as gone:
        gone.placements = _in_order(placements)  # type: ignore[attr-defined]
        raise
    return _in_order(placements)


async def _recover(desk: Desk, plan: LookPlan, placements: list[Placement]) -> None:
    """Handle the open entries.

    Entries that another worker holds are waited for until it has handled them, or until its claim ends. Which entries
    are still to be handled is told by the entries themselves, not by the clock, which is set back now and then.
    """
    owner = new_owner()
    left = {entry.key: entry for entry in await _open_entries(desk)}
    while left:
        now_open = {entry.key: entry for entry in await _open_entries(desk)}
        for key, before in tuple(left.items()):
            if key not in now_open or _is_handled(now_open[key], before):
                del left[key]
        now = await desk.journal.now()
        ends = {key: now_open[key].claimed_until or now for key in left}
        free, handled = [key for key in left if ends[key] <= now], len(placements)
        if free:
            await _Sweep(desk, plan, owner, placements).run(left, free, now)
        if left and len(placements) == handled:
            wait = min(ends[key] for key in left) - now
            await asyncio.sleep(min(max(wait.total_seconds(), SHORTEST_WAIT), LONGEST_WAIT))


def _in_order(placements: Iterable[Placement]) -> list[Placement]:
    return sorted(placements, key=lambda placement: placement.opened_at.timestamp() if placement.opened_at else 0.0)


async def _open_entries(desk: Desk) -> list[JournalEntry]:
    return await desk.journal.entries(desk.environment, state=EntryState.OPEN)


def _is_handled(entry: JournalEntry, before: JournalEntry) -> bool:
    """Whether a worker has finished looking for an open entry, or placed it anew, since it was as ``before``."""
    return (entry.looked_at, entry.opened_at) != (before.looked_at, before.opened_at)


class _Sweep:
    """Handles the entries that are free together: one series of looks for each account; adds to ``placements``."""

    def __init__(self, desk: Desk, plan: LookPlan, owner: str, placements: list[Placement]) -> None:
        self._desk = desk
        self._plan = plan
        self._owner = owner
        self._held = dict[EntryKey, JournalEntry]()
        self._accounts: defaultdict[str, dict[str, JournalEntry]] = defaultdict(dict)
        self._placements = placements

    async def run(self, left: dict[EntryKey, JournalEntry], free: Iterable[EntryKey], now: datetime) -> None:
        """Look for those of ``free`` that can still be had; they are not ``left`` then. ``now`` is the journal's time.

        Their claims are renewed from the first one on, and let go of whenever this ends too early.
        """
        try:
            async with holding(self._desk, self._held, self._owner):
                for key in free:
                    await self._claim(key, left)
                async with asyncio.TaskGroup() as group:
                    for account, wanted in self._accounts.items():
                        windows = [Window.since(entry.opened_at, now) for entry in wanted.values()]
                        widest = min(windows, key=lambda window: window.opened_at)
                        group.create_task(self._account(account, wanted, widest))
        except BaseException:
            await undisturbed(self._let_go())
            raise

    async def _claim(self, key: EntryKey, left: dict[EntryKey, JournalEntry]) -> None:
        """Take an entry, unless somebody else has taken or handled it meanwhile."""
        before = self._held[key] = left[key]  # before it is known: a claim that is cancelled may have been made
        claimed = await self._desk.journal.claim(
            self._desk.environment, owner=self._owner, lease=self._desk.lease, key=key
        )
        for entry in claimed:
            del left[key]
            if not _is_handled(entry, before):
                self._held[key] = entry
                self._accounts[key.account_number][key.external_identifier] = entry
                return
            await self._desk.journal.release(key, owner=self._owner, note=entry.note, looked=False)
        del self._held[key]

    async def _let_go(self) -> None:
        """Leave what was not handled to the next one, as it was found."""
        for key, entry in self._held.items():
            release = self._desk.journal.release(key, owner=self._owner, note=entry.note, looked=False)
            await quietly("release an entry", release)

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
        self._placements.append(_placement(entry, conclusion))  # first: a write that is cancelled may have been made
        await write_outcome(self._desk, entry.key, conclusion, self._owner)
        self._held.pop(entry.key, None)


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
