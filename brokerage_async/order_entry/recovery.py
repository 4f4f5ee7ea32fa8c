"""Find the outcome of orders that earlier runs left open. Nothing is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta

import attrs

from ..journal.base import EntryKey, EntryState, JournalEntry
from ..observers import OpenEntries
from .amend import find_replacement
from .context import Attempt, Context, logger, outlasting
from .decisions import ReconcilePolicy, SearchResult, search_bounds
from .lists import Window
from .place import CODES, UNDETERMINED, close
from .results import ChangeOutcome, Outcome, Placement, joined, placement_of, put_on
from .search import Finding, IdentifierSearch

MIN_WAIT, MAX_WAIT = 0.01, 1.0
"""Seconds between looks at entries that other workers hold."""

OTHER_ORIGIN = "other_origin"
"""Code of an entry that was journaled for another address."""


def _is_handled(entry: JournalEntry, before: JournalEntry) -> bool:
    """Return True if a worker has searched for an open entry, or reopened it, since it was ``before``."""
    return (entry.looked_at, entry.opened_at) != (before.looked_at, before.opened_at)


@attrs.define
class Recovery:
    """One call of `OrderEntry.recover`: the entries ``left``, those ``held``, and the ``placements`` so far."""

    context: Context
    policy: ReconcilePolicy
    report: Callable[[str], object] | None = None
    left: dict[EntryKey, JournalEntry] = attrs.field(factory=dict, init=False)
    held: dict[EntryKey, tuple[JournalEntry, Attempt]] = attrs.field(factory=dict, init=False)
    placements: list[Placement] = attrs.field(factory=list, init=False)
    said: set[str] = attrs.field(factory=set, init=False)

    async def run(self) -> list[Placement]:
        try:
            await self._handle_all()
        except BaseException as gone:
            put_on(gone, placements=self._in_order())
            raise
        return self._in_order()

    def _in_order(self) -> list[Placement]:
        return sorted(self.placements, key=lambda each: each.opened_at.timestamp() if each.opened_at else 0.0)

    def _say(self, text: str) -> None:
        """Log and report, once, something that is waited for."""
        if text not in self.said:
            self.said.add(text)
            logger.info("recover: %s", text)
            if self.report is not None:
                self.report(text)

    async def _open_entries(self) -> dict[EntryKey, JournalEntry]:
        entries = await self.context.journal.entries(self.context.environment, state=EntryState.OPEN)
        return {each.key: each for each in entries}

    async def _handle_all(self) -> None:
        """Handle the open entries.

        Entries that another worker holds are waited for until it has handled them, or until its claim ends. The entries
        themselves show which ones are left, not the clock, which may be set back.
        """
        journal, left = self.context.journal, self.left
        now = await journal.now()
        left |= await self._open_entries()
        self._name_other_origins()
        while left:
            now_open = await self._open_entries()
            for key, before in tuple(left.items()):
                if key not in now_open or _is_handled(now_open[key], before):
                    del left[key]
            now = await journal.now()
            ends = {key: now_open[key].claimed_until or now for key in left}
            free, handled = [key for key in left if ends[key] <= now], len(self.placements)
            for key in left.keys() - set(free):
                until = f"until {ends[key]:%H:%M:%S} UTC, when its claim ends"
                self._say(f"waits for order {key.external_identifier}, which {now_open[key].owner} holds, {until}")
            if free:
                at_best, at_worst = (now + timedelta(seconds=seconds) for seconds in search_bounds(self.policy))
                accounts = ", ".join(sorted({key.account_number for key in free}))
                number = "1 order" if len(free) == 1 else f"{len(free)} orders"
                until = f"until {at_best:%H:%M:%S} UTC, or {at_worst:%H:%M:%S} if the lists cannot be read"
                self._say(f"searches for {number} of account {accounts} until found, at most {until}")
                await self._search(free, now)
            if left and len(self.placements) == handled:
                wait = min(ends[key] for key in left) - now
                await asyncio.sleep(min(max(wait.total_seconds(), MIN_WAIT), MAX_WAIT))
        opened = [each.opened_at for each in self.placements if each.outcome is Outcome.UNKNOWN]
        ages = [(now - at).total_seconds() for at in opened if at is not None]
        self.context.report(OpenEntries(count=len(ages), oldest=max(ages, default=0.0)))

    def _name_other_origins(self) -> None:
        """Report the entries of other origins as unknown: they cannot be searched for here."""
        for key in [key for key in self.left if key.origin != self.context.origin]:
            cure = "adopt() it if that is the same service, or abandon() it"
            note = f"journaled for {key.origin}, not for {self.context.origin}: {cure}"
            logger.warning("open order %s of account %s was %s", key.external_identifier, key.account_number, note)
            placement = placement_of(self.left.pop(key), Outcome.UNKNOWN, code=OTHER_ORIGIN, note=note)
            self.placements.append(placement)

    async def _search(self, free: Iterable[EntryKey], now: datetime) -> None:
        """Search for the ``free`` entries that it can claim: one series of polls for each account.

        Their claims are renewed from the first one on, and released if this ends early. The accounts are independent:
        the error of one is raised after all others are done. ``now`` is the journal's time.
        """
        try:
            for key in free:
                await self._claim(key)
            accounts = defaultdict[str, dict[str, JournalEntry]](dict)
            for key, (entry, _) in self.held.items():
                accounts[key.account_number][key.external_identifier] = entry
            searches = [self._recover_account(account, wanted, now) for account, wanted in accounts.items()]
            await _gather(searches, note="another account failed as well")
        finally:
            if not await outlasting(self._release_rest()):
                raise asyncio.CancelledError  # it came here first: nothing else would say so

    async def _claim(self, key: EntryKey) -> None:
        """Claim an entry, unless another worker has claimed or handled it in the meantime."""
        before, attempt = self.left[key], Attempt(self.context.attempts, key)
        self.held[key] = before, attempt  # before it is known: a statement that fails may have taken effect
        entry = await attempt.claim()
        if entry is None:
            del self.held[key]
            return
        self.held[key] = entry, attempt
        del self.left[key]
        if _is_handled(entry, before):
            await attempt.release(entry.note, looked=False)
            del self.held[key]

    async def _release_rest(self) -> None:
        """Release unhandled entries, unchanged, to the next worker."""
        while self.held:
            _, (entry, attempt) = self.held.popitem()
            await attempt.release(entry.note, looked=False)

    async def _recover_account(self, account: str, wanted: dict[str, JournalEntry], now: datetime) -> None:
        replacements = [wanted.pop(name) for name, entry in tuple(wanted.items()) if entry.replaces]
        searches = [self._recover_replacement(entry) for entry in replacements]
        searches += [self._recover_orders(account, wanted, now)] if wanted else []
        await _gather(searches)

    async def _recover_replacement(self, entry: JournalEntry) -> None:
        change = await find_replacement(self.context, entry, self.policy)
        is_known, is_applied = change.outcome is not ChangeOutcome.UNKNOWN, change.outcome is ChangeOutcome.APPLIED
        outcome = Outcome.PLACED if is_applied else Outcome.REFUSED if is_known else Outcome.UNKNOWN
        note = f"replacement of order {entry.replaces}: {change.outcome}, found by recover()"
        code = None if is_known else UNDETERMINED
        placement = placement_of(entry, outcome, code=code, note=note, error=change.error)
        shown = {"order": change.order, "order_id": change.order_id} if is_applied else {"order": change.order}
        await self._close(attrs.evolve(placement, **shown))

    async def _recover_orders(self, account: str, wanted: dict[str, JournalEntry], now: datetime) -> None:
        windows = (Window.since(entry.opened_at, now) for entry in wanted.values())
        widest = min(windows, key=lambda window: window.opened_at)

        async def settle(name: str, finding: Finding) -> None:
            if finding.result is SearchResult.FOUND:
                note = joined("found by recover()", finding.note)
                placement = placement_of(wanted[name], Outcome.PLACED, order=finding.order, note=note)
            else:
                code, error = CODES.get(finding.result, UNDETERMINED), finding.error
                placement = placement_of(wanted[name], Outcome.UNKNOWN, code=code, error=error, note=finding.note)
            await self._close(placement)

        await IdentifierSearch(self.context, account, widest, wanted).run(self.policy, settle)

    async def _close(self, placement: Placement) -> None:
        """Record an outcome. It joins the results first: a cancelled write may have taken effect."""
        key = self.context.key_of(placement.account_number, placement.external_identifier)
        place = len(self.placements)
        self.placements.append(placement)
        try:
            self.placements[place] = await close(self.held.pop(key)[1], placement)
        except asyncio.CancelledError as cancelled:
            self.placements[place] = getattr(cancelled, "placement", None) or placement
            raise


async def _gather(searches: Iterable[Awaitable[None]], note: str = "") -> None:
    """Run all to their end. Raise the first error, with a ``note`` of each other one. Cancelled, cancel them all."""
    errors = [error for error in await asyncio.gather(*searches, return_exceptions=True) if error is not None]
    for error in errors:
        if not isinstance(error, Exception):
            raise error
    for other in errors[1:] if note else ():
        errors[0].add_note(f"{note}: {other!r}")
    if errors:
        raise errors[0]
