"""Place one order: preflight, journal, submit, reconcile, close. Or answer for one that is journaled already.

Single and complex orders take the same steps; `kinds` has what differs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager

import attrs

from .._generated.models import PlacedOrderResponse
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, OrderRefusedError
from ..journal.base import EntryKey, EntryState, JournalEntry
from ..journal.caps import Usage
from .claims import Claim, Instant, finish, new_owner, quietly, result_of, settled
from .context import Context
from .decisions import ReconcilePolicy, preflight_outcome
from .exposure import usage_of
from .kinds import AskedOrder
from .lists import Window
from .preflight import rejection
from .results import Outcome, Placement, joined, placement_of, unknown_error
from .search import IdentifierSearch
from .submit import ABSENT, CONFLICT, Submission

__all__ = ["IN_PROGRESS", "PlaceOrder", "close", "describe"]

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

IN_PROGRESS, CLAIM_LOST = "in_progress", "claim_lost"
"""Codes of an unknown outcome: another worker holds the entry; this one cannot prove that it does."""
Followed = Callable[[Placement, Claim], Awaitable[Placement]]
"""What goes on with an order once it is placed, while its entry is still open and claimed."""
MAY_EXIST = "may have been placed: recover() will look for it"
WORKS_ON = "was placed, and is left as it is: recover() will find it"

STATES = {
    Outcome.PLACED: EntryState.PLACED,
    Outcome.REFUSED: EntryState.REFUSED,
    Outcome.NOT_SENT: EntryState.NOT_SENT,
}
OUTCOMES = {state: outcome for outcome, state in STATES.items()}
SUMMARY = {
    Outcome.PLACED: "was placed",
    Outcome.REFUSED: "was refused",
    Outcome.NOT_SENT: "was not sent",
    Outcome.UNKNOWN: MAY_EXIST,
}
GONE = "this worker no longer holds the journal entry"


class PlaceOrder:
    """One call of `OrderEntry.place`: this order under this key, which the caller has ``named`` or not.

    The entry stays open while ``followed`` goes on with the order: after a crash, `recover` finds it.
    An ``exempt`` order is placed without the guard, and during a halt: it only closes positions. It has no
    ``resubmits``.
    """

    def __init__(
        self,
        context: Context,
        key: EntryKey,
        asked: AskedOrder,
        policy: ReconcilePolicy,
        resubmits: int,
        *,
        named: bool = True,
        label: str = "",
        exempt: bool = False,
        followed: Followed | None = None,
    ) -> None:
        self._context = context
        self._key = key
        self._asked = asked
        self._body = asked.body
        self._policy = policy
        self._resubmits = resubmits
        self._named = named
        self._label = label
        self._exempt = exempt
        self._followed = followed

    async def run(self, allow_warnings: bool | Collection[str]) -> Placement:
        """Take every step; `OrderEntry.place` documents its results and errors."""
        known = await self._find()
        if known is not None:
            return await self._resume(known)
        with _describing(self._key, "was not sent"):
            try:
                usage = await self._usage()
            except OrderRefusedError as refused:
                return self._stopped(Outcome.REFUSED, refused, None)
            preview, stopped = await self._preflight(allow_warnings)
        if stopped is not None:  # unless another worker has sent this very order in the meantime
            known = await self._find()
            return stopped if known is None else await self._resume(known)
        claim = Claim(self._key, new_owner(), Instant(), self._context.lease)
        try:
            entry, fresh = await self._journal(claim, usage)
        except OrderRefusedError as refused:
            return self._stopped(Outcome.REFUSED, refused, preview)
        if fresh:
            placement = await self._submit(entry, claim)
        else:
            placement = await self._resume(entry)
        warnings = (preview and preview.warnings) or ()
        return attrs.evolve(placement, preview=preview, warnings=(*warnings, *placement.warnings))

    async def _usage(self) -> Usage | None:
        """Measure the order for the guard. Raise OrderRefusedError if it alone passes a cap."""
        if self._exempt:
            return None
        return await usage_of(self._context, self._key.account_number, self._key.external_identifier, self._asked.terms)

    async def _find(self) -> JournalEntry | None:
        """Return the entry of this order, unless these bytes may be sent.

        Raises:
            InvalidRequestError: the identifier is open under another address of the service.
        """
        with _describing(self._key, "was not sent by this call"):
            known = await self._context.journal.find(self._key, any_origin=self._named)
        if known is not None and known.key != self._key:
            origin = known.key.origin
            self._refuse(f"this identifier is open in the journal for {origin}: adopt or abandon that entry first")
        may_be_sent = known is not None and known.state is EntryState.NOT_SENT and known.body == self._body
        return None if may_be_sent else known

    async def _preflight(
        self, allow_warnings: bool | Collection[str]
    ) -> tuple[PlacedOrderResponse | None, Placement | None]:
        """Dry-run the order. Return the preview, and the placement if the order goes no further."""
        call = self._asked.dry_run.bind(account_number=self._key.account_number, body=self._body)
        try:
            preview = await self._context.executor.execute(call)
        except (ConfigurationError, InvalidRequestError):
            raise
        except BrokerageError as error:
            data = getattr(error, "data", None)
            shown = data if isinstance(data, PlacedOrderResponse) else None
            return shown, self._stopped(preflight_outcome(error), error, shown)
        stopped = rejection(preview, allow_warnings, self._asked.dry_run.name)
        if stopped is None:
            return preview, None
        return preview, self._stopped(stopped.outcome, stopped.error, preview)

    async def _journal(self, claim: Claim, usage: Usage | None) -> tuple[JournalEntry, bool]:
        """Journal the order. A caller that is cancelled here leaves no open entry: nothing was sent.

        Raises:
            OrderRefusedError: a halt or a cap forbids it.
        """
        journal = self._context.journal

        async def start() -> tuple[JournalEntry, bool]:
            return await journal.open(
                claim.key, self._body, owner=claim.owner, lease=claim.lease, label=self._label, usage=usage,
                exempt=self._exempt,
            )  # fmt: skip

        opening = asyncio.ensure_future(start())

        async def withdraw() -> bool:
            _, fresh = await settled(opening, start)
            state, note = EntryState.NOT_SENT, "cancelled before sending"
            return fresh and await journal.close(claim.key, owner=claim.owner, state=state, note=note)

        try:
            return await result_of(opening)
        except asyncio.CancelledError as cancelled:
            describe(cancelled, self._key, "was not sent")
            await finish(asyncio.ensure_future(quietly("withdraw a journal entry", withdraw())))
            raise

    async def _submit(
        self, entry: JournalEntry, claim: Claim, *, sent: bool = False, taken_over: bool = False
    ) -> Placement:
        """Submit the order, or search for one ``sent`` before, until it has an outcome. And record that."""
        policy = self._policy
        if taken_over and self._resubmits:
            # Its last worker may believe in its claim for one more lease, should its clock disagree with the journal's.
            policy = attrs.evolve(policy, visibility_delay=policy.visibility_delay + claim.lease)
        with self._context.claims.keep(claim):
            try:
                opened_at = entry.opened_at
                window = (
                    Window.since(opened_at, await self._context.journal.now()) if sent else Window.from_now(opened_at)
                )
                submission = Submission(self._context, self._asked, entry, claim, policy, window)
                placement = await submission.run(resubmits=self._resubmits, sent=sent)
                if self._followed is not None and placement.outcome is Outcome.PLACED:
                    placement = await self._followed(placement, claim)
            except BaseException as gone:
                seen: Placement | None = getattr(gone, "placement", None)
                describe(gone, entry.key, MAY_EXIST if seen is None else WORKS_ON, seen)
                releasing = asyncio.ensure_future(_release(self._context, claim, f"ended by {type(gone).__name__}"))
                if not await finish(releasing) and not isinstance(gone, asyncio.CancelledError):
                    cancelled = asyncio.CancelledError()
                    describe(cancelled, entry.key, MAY_EXIST)
                    raise cancelled from gone
                raise
            placement = await close(self._context, claim, placement)
        if placement.outcome is Outcome.UNKNOWN:
            raise unknown_error(placement) from placement.error
        if placement.outcome is Outcome.NOT_SENT and isinstance(
            placement.error, ConfigurationError | InvalidRequestError
        ):
            raise placement.error  # only then: it says that nothing was sent, and an earlier submit may have been
        return placement

    async def _resume(self, entry: JournalEntry) -> Placement:
        """Answer for an order that the journal knows. Send it only if it is absent and may be sent again."""
        if not self._named:
            self._refuse("the identifier made for this order is that of an earlier one: identifiers must never repeat")
        if entry.state is EntryState.PRUNED:
            self._refuse("this external identifier belongs to an order that was pruned: take a new one")
        if entry.body != self._body:
            self._refuse("this external identifier belongs to another order in the journal: take a new one")
        if entry.state is EntryState.ABANDONED:
            self._refuse(f"this order was abandoned ({entry.note}): take a new external identifier to place it again")
        if entry.state is not EntryState.OPEN:
            with _describing(entry.key, f"is in the journal as {entry.state.value}"):
                return await self._answer(entry)
        claimed, claim = await self._claim(entry.key)
        if claimed is None:
            note = "another worker is placing this order right now"
            raise unknown_error(placement_of(entry, Outcome.UNKNOWN, code=IN_PROGRESS, note=note))
        return await self._submit(claimed, claim, sent=True, taken_over=entry.owner is not None)

    async def _claim(self, key: EntryKey) -> tuple[JournalEntry | None, Claim]:
        """Claim an open entry. A caller that is cancelled here leaves no claim behind."""
        claim = Claim(key, new_owner(), Instant(), self._context.lease)
        journal = self._context.journal

        async def start() -> JournalEntry | None:
            return await journal.claim(key, owner=claim.owner, lease=claim.lease)

        claiming = asyncio.ensure_future(start())

        async def withdraw() -> bool:
            held, note = await settled(claiming, start), "cancelled before searching"
            return held is not None and await journal.release(key, owner=claim.owner, note=note, looked=False)

        try:
            return await result_of(claiming), claim
        except asyncio.CancelledError as cancelled:
            describe(cancelled, key, MAY_EXIST)
            await finish(asyncio.ensure_future(quietly("release a journal entry", withdraw())))
            raise

    def _refuse(self, reason: str) -> None:
        raise InvalidRequestError(reason, operation=self._asked.submit.name, code="identifier_in_use")

    async def _answer(self, entry: JournalEntry) -> Placement:
        """Return the placement of a closed entry, with the current order if one poll shows it."""
        name, order = entry.key.external_identifier, None
        note = f"journaled before: {entry.note or entry.state.value}"
        if entry.state is EntryState.PLACED:
            window = Window.since(entry.opened_at, await self._context.journal.now())
            search = IdentifierSearch(self._context, entry.key.account_number, window, {name: entry})
            sighting = await search.poll([name])
            order = sighting.orders.get(name)
            if order is None:
                note = joined(note, "not listed any more" if sighting.complete else "could not be read back")
        return placement_of(entry, OUTCOMES[entry.state], order=order, note=note)

    def _stopped(self, outcome: Outcome, error: BrokerageError, preview: PlacedOrderResponse | None) -> Placement:
        return Placement(
            outcome=outcome,
            account_number=self._key.account_number,
            external_identifier=self._key.external_identifier,
            preview=preview,
            warnings=(preview and preview.warnings) or (),
            error=error,
            note=str(error),
            body=self._body,
        )


async def close(context: Context, claim: Claim, placement: Placement) -> Placement:
    """Record the outcome of an order, and return the placement to report.

    The write is finished even if the caller is cancelled just now. The cancellation carries the placement then.
    """
    for warning in placement.warnings:
        logger.warning("order %s: %s (%s)", claim.key.external_identifier, warning.message, warning.code)
    recording = asyncio.ensure_future(_record(context, claim, placement))
    try:
        return await result_of(recording)
    except asyncio.CancelledError as cancelled:
        recorded = asyncio.ensure_future(settled(recording, lambda: _record(context, claim, placement)))
        if await finish(recorded):
            placement = recorded.result()
        describe(cancelled, claim.key, SUMMARY[placement.outcome], placement)
        raise


async def _record(context: Context, claim: Claim, placement: Placement) -> Placement:
    """Write an outcome to the journal, and qualify it if that fails.

    A journal that fails here loses nothing: the entry stays open and is recovered. An entry that this worker no longer
    holds is never ignored: another worker may have sent the order since, so "no such order exists" cannot be said.
    """
    journal, key, note = context.journal, claim.key, placement.note
    if placement.outcome is Outcome.UNKNOWN:
        # Only a conclusive search counts as one: another worker may be able to read what this one could not.
        await _release(context, claim, note, looked=placement.code in (ABSENT, CONFLICT))
        return placement
    state, order_id = STATES[placement.outcome], placement.order_id or None
    closing = journal.close(key, owner=claim.owner, state=state, order_id=order_id, note=note)
    recorded = await quietly("record an outcome", closing)
    if recorded:
        return placement
    if recorded is None:
        reason, code, certain = "the journal did not acknowledge this outcome", CLAIM_LOST, claim.holds()
    else:
        reason, code, certain = GONE, IN_PROGRESS, False
        logger.warning("outcome %s of order %s was not recorded: %s", state, key.external_identifier, GONE)
    if placement.outcome is Outcome.PLACED or certain:
        return attrs.evolve(placement, note=joined(note, reason))
    return attrs.evolve(placement, outcome=Outcome.UNKNOWN, code=code, note=joined(note, reason))


async def _release(context: Context, claim: Claim, note: str, *, looked: bool = False) -> None:
    releasing = context.journal.release(claim.key, owner=claim.owner, note=note, looked=looked)
    if await quietly("release a journal entry", releasing) is False:
        logger.warning("order %s: %s", claim.key.external_identifier, GONE)


@contextmanager
def _describing(key: EntryKey, fate: str) -> Iterator[None]:
    """Put ``fate`` on a cancellation of the block."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        describe(cancelled, key, fate)
        raise


def describe(gone: BaseException, key: EntryKey, fate: str, placement: Placement | None = None) -> None:
    """Put on a cancellation or an unexpected error the names of the order, and its placement where known."""
    gone.account_number = key.account_number  # type: ignore[attr-defined]
    gone.external_identifier = key.external_identifier  # type: ignore[attr-defined]
    gone.placement = placement  # type: ignore[attr-defined]
    gone.add_note(f"order {key.external_identifier} of account {key.account_number} {fate}")
