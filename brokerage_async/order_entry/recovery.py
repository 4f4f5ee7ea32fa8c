"""Find the outcome of orders that earlier runs left open. Nothing is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta

import attrs

from ..journal.base import EntryKey, EntryState, JournalEntry
from ..observers.records import OpenEntries
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


async def recover(
    context: Context, policy: ReconcilePolicy, report: Callable[[str], object] | None = None
) -> list[Placement]:
    """Search for every order that is open now. Return those that this worker handled, oldest first.

    An error or cancellation that ends it early carries them as its attribute ``placements``: they are recorded, and no
    later call returns them.
    """
    placements = list[Placement]()
    try:
        await _recover(context, policy, placements, report)
    except BaseException as gone:
        put_on(gone, placements=_in_order(placements))
        raise
    return _in_order(placements)


async def _recover(
    context: Context,
    policy: ReconcilePolicy,
    placements: list[Placement],
    report: Callable[[str], object] | None,
) -> None:
    """Handle the open entries, and ``report`` what is waited for.

    Entries that another worker holds are waited for until it has handled them, or until its claim ends. The entries
    themselves show which ones are left, not the clock, which may be set back.
    """
    said = set[str]()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            logger.info("recover: %s", text)
            if report is not None:
                report(text)

    now = await context.journal.now()
    left = await _open_entries(context)
    placements += _of_other_origins(context, left)
    while left:
        now_open = await _open_entries(context)
        for key, before in tuple(left.items()):
            if key not in now_open or _is_handled(now_open[key], before):
                del left[key]
        now = await context.journal.now()
        ends = {key: now_open[key].claimed_until or now for key in left}
        free, handled = [key for key in left if ends[key] <= now], len(placements)
        for key in left.keys() - set(free):
            until = f"until {ends[key]:%H:%M:%S} UTC, when its claim ends"
            say(f"waits for order {key.external_identifier}, which {now_open[key].owner} holds, {until}")
        if free:
            at_best, at_worst = (now + timedelta(seconds=seconds) for seconds in search_bounds(policy))
            accounts = ", ".join(sorted({key.account_number for key in free}))
            number = "1 order" if len(free) == 1 else f"{len(free)} orders"
            until = f"until {at_best:%H:%M:%S} UTC, or {at_worst:%H:%M:%S} if the lists cannot be read"
            say(f"searches for {number} of account {accounts} until found, at most {until}")
            await _Sweep(context, policy, placements).run(left, free, now)
        if left and len(placements) == handled:
            wait = min(ends[key] for key in left) - now
            await asyncio.sleep(min(max(wait.total_seconds(), MIN_WAIT), MAX_WAIT))
    opened = [each.opened_at for each in placements if each.outcome is Outcome.UNKNOWN]
    ages = [(now - at).total_seconds() for at in opened if at is not None]
    context.report(OpenEntries(count=len(ages), oldest=max(ages, default=0.0)))


def _of_other_origins(context: Context, left: dict[EntryKey, JournalEntry]) -> list[Placement]:
    """Take the entries of other origins out of ``left``. Return them as unknown: they cannot be searched for here."""
    placements = []
    for key in [key for key in left if key.origin != context.origin]:
        cure = "adopt() it if that is the same service, or abandon() it"
        note = f"journaled for {key.origin}, not for {context.origin}: {cure}"
        placement = placement_of(left.pop(key), Outcome.UNKNOWN, code=OTHER_ORIGIN, note=note)
        logger.warning("open order %s of account %s was %s", key.external_identifier, key.account_number, note)
        placements.append(placement)
    return placements


def _in_order(placements: Iterable[Placement]) -> list[Placement]:
    return sorted(placements, key=lambda placement: placement.opened_at.timestamp() if placement.opened_at else 0.0)


async def _open_entries(context: Context) -> dict[EntryKey, JournalEntry]:
    return {each.key: each for each in await context.journal.entries(context.environment, state=EntryState.OPEN)}


def _is_handled(entry: JournalEntry, before: JournalEntry) -> bool:
    """Return True if a worker has searched for an open entry, or reopened it, since it was ``before``."""
    return (entry.looked_at, entry.opened_at) != (before.looked_at, before.opened_at)


class _Sweep:
    """Handles the entries that are free together: one series of polls for each account. Adds to ``placements``."""

    def __init__(self, context: Context, policy: ReconcilePolicy, placements: list[Placement]) -> None:
        self._context = context
        self._policy = policy
        self._held = dict[EntryKey, tuple[JournalEntry, Attempt]]()
        self._placements = placements

    async def run(self, left: dict[EntryKey, JournalEntry], free: Iterable[EntryKey], now: datetime) -> None:
        """Search for the ``free`` entries that it can claim, removing them from ``left``. ``now``: the journal's time.

        Their claims are renewed from the first one on, and released if this ends early. The accounts are independent:
        the error of one is raised after all others are done.
        """
        try:
            for key in free:
                await self._claim(key, left)
            accounts = defaultdict[str, dict[str, JournalEntry]](dict)
            for key, (entry, _) in self._held.items():
                accounts[key.account_number][key.external_identifier] = entry
            searches = [self._recover_account(account, wanted, now) for account, wanted in accounts.items()]
            errors = [error for error in await _gather(searches) if error is not None]
        finally:
            if not await outlasting(self._release_rest()):
                raise asyncio.CancelledError  # it came here first: nothing else would say so
        if errors:
            for other in errors[1:]:
                errors[0].add_note(f"another account failed as well: {other!r}")
            raise errors[0]

    async def _claim(self, key: EntryKey, left: dict[EntryKey, JournalEntry]) -> None:
        """Claim an entry, unless another worker has claimed or handled it in the meantime."""
        before, attempt = left[key], Attempt(self._context.attempts, key)
        self._held[key] = before, attempt  # before it is known: a statement that fails may have taken effect
        entry = await attempt.claim()
        if entry is None:
            del self._held[key]
            return
        self._held[key] = entry, attempt
        del left[key]
        if _is_handled(entry, before):
            await attempt.release(entry.note, looked=False)
            del self._held[key]

    async def _release_rest(self) -> None:
        """Release unhandled entries, unchanged, to the next worker."""
        while self._held:
            _, (entry, attempt) = self._held.popitem()
            await attempt.release(entry.note, looked=False)

    async def _recover_account(self, account: str, wanted: dict[str, JournalEntry], now: datetime) -> None:
        replacements = [wanted.pop(name) for name, entry in tuple(wanted.items()) if entry.replaces]
        searches = [self._recover_replacement(entry) for entry in replacements]
        searches += [self._recover_orders(account, wanted, now)] if wanted else []
        for error in await _gather(searches):
            if error is not None:
                raise error

    async def _recover_replacement(self, entry: JournalEntry) -> None:
        change = await find_replacement(self._context, entry, self._policy)
        is_known, is_applied = change.outcome is not ChangeOutcome.UNKNOWN, change.outcome is ChangeOutcome.APPLIED
        outcome = Outcome.PLACED if is_applied else Outcome.REFUSED if is_known else Outcome.UNKNOWN
        note = f"replacement of order {entry.replaces}: {change.outcome}, found by recover()"
        code = None if is_known else UNDETERMINED
        placement = placement_of(entry, outcome, code=code, note=note, error=change.error)
        shown = {"order": change.order, "order_id": change.order_id} if is_applied else {"order": change.order}
        await self._close(attrs.evolve(placement, **shown))

    async def _recover_orders(self, account: str, wanted: dict[str, JournalEntry], now: datetime) -> None:
        windows = [Window.since(entry.opened_at, now) for entry in wanted.values()]
        widest = min(windows, key=lambda window: window.opened_at)

        async def settle(name: str, finding: Finding) -> None:
            if finding.result is SearchResult.FOUND:
                note = joined("found by recover()", finding.note)
                placement = placement_of(wanted[name], Outcome.PLACED, order=finding.order, note=note)
            else:
                code, error = CODES.get(finding.result, UNDETERMINED), finding.error
                placement = placement_of(wanted[name], Outcome.UNKNOWN, code=code, error=error, note=finding.note)
            await self._close(placement)

        await IdentifierSearch(self._context, account, widest, wanted).run(self._policy, settle)

    async def _close(self, placement: Placement) -> None:
        """Record an outcome. It joins the results first: a cancelled write may have taken effect."""
        key = self._context.key_of(placement.account_number, placement.external_identifier)
        place = len(self._placements)
        self._placements.append(placement)
        try:
            self._placements[place] = await close(self._held.pop(key)[1], placement)
        except asyncio.CancelledError as cancelled:
            self._placements[place] = getattr(cancelled, "placement", None) or placement
            raise


async def _gather(searches: Iterable[Awaitable[None]]) -> list[Exception | None]:
    """Run all to their end. Return the error of each, or None. Cancelled, cancel them all."""
    results = await asyncio.gather(*searches, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, Exception):
            raise result
    return [result if isinstance(result, Exception) else None for result in results]
