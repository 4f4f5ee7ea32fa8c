"""Place one order: preflight, journal, submit, reconcile, close. Or answer for one that is journaled already.

The service does not recognise a repeated order, so every step is in the journal before it is taken, and every decision
is taken in `decisions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import attrs

from .._generated.models import PlacedOrderResponse
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, OrderRefusedError
from ..journal.base import EntryKey, EntryState, JournalEntry
from .context import Attempt, Context, finished, logger, outlasting, reason_of
from .decisions import Delivery, DeliveryOutcome, SearchResult, Step, decide, delivery_of
from .exposure import usage_of
from .lists import Window
from .orders import AskedOrder, PlacedOrder
from .preflight import SendOptions, dry_run
from .results import Outcome, Placement, joined, placement_of, put_on, unknown_error
from .search import Finding, IdentifierSearch

IN_PROGRESS, CLAIM_LOST = "in_progress", "claim_lost"
"""Codes of an unknown outcome: another worker holds the entry; this one cannot prove that it does."""
UNDETERMINED = "undetermined"
CODES: dict[SearchResult | None, str] = {SearchResult.ABSENT: "absent", SearchResult.CONFLICT: "identifier_conflict"}
"""Codes of an unknown outcome after a search, `UNDETERMINED` for others. These two are conclusive."""
Followed = Callable[[Placement, Attempt], Awaitable[Placement]]
"""What goes on with an order once it is placed, while its entry is still open and claimed."""

NOT_SENT = "was not sent by this call"
MAY_EXIST = "may have been placed: recover() will look for it"
LEFT = "was placed, and is left as it is"
SUMMARY = {
    Outcome.PLACED: "was placed",
    Outcome.REFUSED: "was refused",
    Outcome.NOT_SENT: "was not sent",
    Outcome.UNKNOWN: MAY_EXIST,
}
GONE = "this worker no longer holds the journal entry"


@attrs.define(kw_only=True)
class PlaceOrder:
    """One call of `OrderEntry.place`: this order under this key.

    The entry stays open while ``followed`` goes on with the order: after a crash, `recover` finds it.
    An ``exempt`` order is placed without the guard, and during a halt: it only closes positions. It is not resubmitted.
    ``entry`` and ``attempt`` are set once the order is journaled, and ``window`` is how far back it is searched for.
    """

    context: Context
    key: EntryKey
    asked: AskedOrder
    options: SendOptions
    exempt: bool = False
    followed: Followed | None = None
    entry: JournalEntry = attrs.field(init=False)
    attempt: Attempt = attrs.field(init=False)
    window: Window = attrs.field(init=False)

    async def run(self) -> Placement:
        known = await self._find()
        if known is not None:
            return await self._resume(known)
        key, asked, account_number = self.key, self.asked, self.key.account_number
        try:
            with describing(key, "was not sent"):
                usage = None if self.exempt else await usage_of(self.context, account_number, asked.name, asked.terms)
                call = asked.dry_run.bind(account_number=account_number, body=asked.body)
                preview, stopped = await dry_run(self.context.executor, call, self.options.allow_warnings)
        except OrderRefusedError as refused:  # by the guard
            return self._stopped(Delivery(DeliveryOutcome.REFUSED, error=refused), None)
        if stopped is not None:  # unless another worker has sent this very order in the meantime
            known = await self._find()
            return self._stopped(stopped, preview) if known is None else await self._resume(known)
        attempt = Attempt(self.context.attempts, key)
        try:
            with describing(key, "was not sent"):  # a caller that is cancelled here leaves no open entry
                label, exempt = self.options.label, self.exempt
                entry, is_new = await attempt.open(asked.body, label=label, usage=usage, exempt=exempt)
        except OrderRefusedError as refused:  # by a cap or a halt
            return self._stopped(Delivery(DeliveryOutcome.REFUSED, error=refused), preview)
        placement = await (self._complete(entry, attempt) if is_new else self._resume(entry))
        warnings = (preview and preview.warnings) or ()
        return attrs.evolve(placement, preview=preview, warnings=(*warnings, *placement.warnings))

    async def _find(self) -> JournalEntry | None:
        """Return the entry of this order, unless these bytes may be sent. Raise if another address has it open."""
        with describing(self.key, NOT_SENT):
            known = await self.context.journal.find(self.key, any_origin=self.asked.was_named)
        if known is not None and known.key != self.key:
            origin = known.key.origin
            self._refuse(f"this identifier is open in the journal for {origin}: adopt or abandon that entry first")
        may_be_sent = known is not None and known.state is EntryState.NOT_SENT and known.body == self.asked.body
        return None if may_be_sent else known

    async def _resume(self, entry: JournalEntry) -> Placement:
        """Answer for an order that the journal knows. Send it only if it is absent and may be sent again."""
        if not self.asked.was_named:
            self._refuse("the identifier made for this order is that of an earlier one: identifiers must never repeat")
        if entry.state is EntryState.PRUNED:
            self._refuse("this external identifier belongs to an order that was pruned: take a new one")
        if entry.body != self.asked.body:
            self._refuse("this external identifier belongs to another order in the journal: take a new one")
        if entry.state is EntryState.ABANDONED:
            self._refuse(f"this order was abandoned ({entry.note}): take a new external identifier to place it again")
        if entry.state is not EntryState.OPEN:
            with describing(entry.key, f"is in the journal as {entry.state.value}"):
                return await self._answer(entry)
        attempt = Attempt(self.context.attempts, entry.key)
        with describing(entry.key, MAY_EXIST):
            claimed = await attempt.claim()
        if claimed is None:
            note = "another worker is placing this order right now"
            raise unknown_error(placement_of(entry, Outcome.UNKNOWN, code=IN_PROGRESS, note=note))
        return await self._complete(claimed, attempt, sent=True, taken_over=entry.owner is not None)

    def _refuse(self, reason: str) -> None:
        raise InvalidRequestError(reason, operation=self.asked.submit.name, code="identifier_in_use")

    async def _answer(self, entry: JournalEntry) -> Placement:
        """Return the placement of a closed entry, with the current order if one poll shows it."""
        name, order = entry.key.external_identifier, None
        note = f"journaled before: {entry.note or entry.state.value}"
        if entry.state is EntryState.PLACED:
            window = Window.since(entry.opened_at, await self.context.journal.now())
            search = IdentifierSearch(self.context, entry.key.account_number, window, {name: entry})
            sighting = await search.poll([name])
            order = sighting.orders.get(name)
            if order is None:
                note = joined(note, "not listed any more" if sighting.complete else "could not be read back")
        return placement_of(entry, Outcome(entry.state.value), order=order, note=note)

    def _stopped(self, delivery: Delivery, preview: PlacedOrderResponse | None) -> Placement:
        return Placement(
            outcome=Outcome(delivery.outcome.value),
            account_number=self.key.account_number,
            external_identifier=self.key.external_identifier,
            preview=preview,
            warnings=(preview and preview.warnings) or (),
            error=delivery.error,
            note=str(delivery.error),
            body=self.asked.body,
        )

    async def _complete(
        self, entry: JournalEntry, attempt: Attempt, *, sent: bool = False, taken_over: bool = False
    ) -> Placement:
        """Submit the order, or search for one ``sent`` before, until it has an outcome. And record that."""
        self.entry, self.attempt, policy = entry, attempt, self.options.policy
        if taken_over and self.options.resubmit:
            # Its last worker may believe in its claim for one more lease, should its clock disagree with the journal's.
            policy = attrs.evolve(policy, visibility_delay=policy.visibility_delay + attempt.lease)
            self.options = attrs.evolve(self.options, policy=policy)
        try:
            opened_at, now = entry.opened_at, self.context.journal.now
            self.window = Window.since(opened_at, await now()) if sent else Window.from_now(opened_at)
            placement = await self._outcome(sent=sent)
            if self.followed is not None and placement.outcome is Outcome.PLACED:
                placement = await self.followed(placement, attempt)
        except BaseException as gone:
            is_placed = getattr(gone, "placement", None) is not None
            _describe(gone, entry.key, f"{LEFT}: recover() will find it" if is_placed else MAY_EXIST)
            releasing = _release(attempt, f"ended by {type(gone).__name__}")
            if not await outlasting(releasing) and not isinstance(gone, asyncio.CancelledError):
                cancelled = asyncio.CancelledError()
                _describe(cancelled, entry.key, MAY_EXIST)
                raise cancelled from gone
            raise
        placement = await close(attempt, placement)
        if placement.outcome is Outcome.UNKNOWN:
            raise unknown_error(placement) from placement.error
        is_ours = isinstance(placement.error, ConfigurationError | InvalidRequestError)
        if placement.outcome is Outcome.NOT_SENT and is_ours and placement.error is not None:
            raise placement.error  # only then: it says that nothing was sent, and an earlier submit may have been
        return placement

    async def _outcome(self, *, sent: bool) -> Placement:
        """Submit the order, unless an earlier run has ``sent`` it, and find its outcome."""
        delivery = Delivery(DeliveryOutcome.UNKNOWN) if sent else await self._submit()
        resubmits, doubt = self.options.resubmit, False
        while True:
            search, note = None, str(delivery.error or "")
            order = delivery.shown if delivery.outcome is DeliveryOutcome.CONFIRMED else None
            step = decide(delivery.outcome, doubt=doubt, resubmits_left=resubmits)
            if step is Step.SEARCH:
                found = await self._search(hint=delivery.shown)
                search, order, note = found.result, found.order, joined(note, found.note)
                step = decide(delivery.outcome, search, doubt=doubt, resubmits_left=resubmits)
            if step is Step.RESUBMIT and (objection := await self._journal_attempt()) is not None:
                step, note = Outcome.UNKNOWN, joined(note, f"not sent again: {objection}")
            if isinstance(step, Outcome):
                if doubt and delivery.outcome is DeliveryOutcome.CONFIRMED:
                    note = await self._duplicates(order)
                code = CODES.get(search, UNDETERMINED) if step is Outcome.UNKNOWN else None
                return placement_of(self.entry, step, code=code, order=order, error=delivery.error, note=note)
            resubmits, doubt = resubmits - 1, True
            delivery = await self._submit()

    async def _submit(self) -> Delivery:
        """Send the journaled bytes once. The claim is checked at the last moment before each send.

        The session repeats them only if they provably did not arrive.
        """
        account_number = self.key.account_number
        call = self.asked.submit.bind(account_number=account_number, body=self.entry.body)
        try:
            answer = await self.context.executor.execute(call, guard=self.attempt.objection)
        except BrokerageError as error:
            return Delivery(delivery_of(error), error=error)
        order = answer.complex_order if self.asked.is_complex else answer.order
        if order is None or not order.id or order.account_number not in (None, account_number):
            return Delivery(DeliveryOutcome.ACCEPTED)
        if self.asked.is_named_by(order) and not self.asked.is_another(order):
            return Delivery(DeliveryOutcome.CONFIRMED, order)
        return Delivery(DeliveryOutcome.ACCEPTED, order)  # perhaps the answer to another request

    async def _search(self, hint: PlacedOrder | None) -> Finding:
        """Search as the policy says. The order that an answer ``hint``s at is read by its id, too."""
        findings = list[Finding]()

        async def keep(_: str, finding: Finding) -> None:
            findings.append(finding)

        await self._new_search(hint).run(self.options.policy, keep)
        return findings[0]

    async def _duplicates(self, order: PlacedOrder | None) -> str:
        """Return a note if the copy that was absent is listed after all, beside ``order``, the one sent again."""
        name, search = self.key.external_identifier, self._new_search()
        await search.poll([name])
        return search.duplicates(name, order)

    def _new_search(self, hint: PlacedOrder | None = None) -> IdentifierSearch:
        wanted = {self.key.external_identifier: self.entry}
        return IdentifierSearch(self.context, self.key.account_number, self.window, wanted, hint)

    async def _journal_attempt(self) -> str | None:
        """Journal one more attempt. Return why nothing may be sent, or None."""
        number = self.entry.attempts + 1
        try:
            await self.attempt.repeat(number)
        except Exception as error:
            logger.warning("not sent again: %s", reason_of(error))
            return f"the journal could not record another attempt: {reason_of(error)}"
        if self.attempt.lost:
            return self.attempt.objection()
        self.entry = attrs.evolve(self.entry, attempts=number)
        return None


async def close(attempt: Attempt, placement: Placement) -> Placement:
    """Record the outcome of an order, even if the caller is cancelled just now, and return the placement to report.

    The cancellation carries the placement then.
    """
    for warning in placement.warnings:
        logger.warning("order %s: %s (%s)", attempt.key.external_identifier, warning.message, warning.code)
    recorded = placement

    async def keep(qualified: Placement) -> None:
        nonlocal recorded
        recorded = qualified

    try:
        return await finished(lambda: _record(attempt, placement), keep)
    except asyncio.CancelledError as cancelled:
        _describe(cancelled, attempt.key, SUMMARY[recorded.outcome], recorded)
        raise


async def _record(attempt: Attempt, placement: Placement) -> Placement:
    """Write an outcome to the journal, and qualify it if that fails.

    A journal that fails here loses nothing: the entry stays open and is recovered. An entry that this worker no longer
    holds is never ignored: another worker may have sent the order since, so "no such order exists" cannot be said.
    """
    note = placement.note
    if placement.outcome is Outcome.UNKNOWN:
        # Only a conclusive search counts as one: another worker may be able to read what this one could not.
        await _release(attempt, note, looked=placement.code in CODES.values())
        return placement
    state = EntryState(placement.outcome.value)
    is_recorded = await attempt.close(state, order_id=placement.order_id or None, note=note)
    if is_recorded:
        return placement
    if is_recorded is None:
        reason, code, is_certain = "the journal did not acknowledge this outcome", CLAIM_LOST, attempt.holds()
    else:
        reason, code, is_certain = GONE, IN_PROGRESS, False
        logger.warning("outcome %s of order %s was not recorded: %s", state, attempt.key.external_identifier, GONE)
    placement = attrs.evolve(placement, note=joined(note, reason))
    if is_certain or placement.outcome is Outcome.PLACED:
        return placement
    return attrs.evolve(placement, outcome=Outcome.UNKNOWN, code=code)


async def _release(attempt: Attempt, note: str, *, looked: bool = False) -> None:
    if await attempt.release(note, looked=looked) is False:
        logger.warning("order %s: %s", attempt.key.external_identifier, GONE)


@contextmanager
def describing(key: EntryKey, fate: str, placement: Placement | None = None) -> Iterator[None]:
    """Put ``fate`` on a cancellation of the block, and the placement where known."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        _describe(cancelled, key, fate, placement)
        raise


def _describe(gone: BaseException, key: EntryKey, fate: str, placement: Placement | None = None) -> None:
    """Put on a cancellation or an unexpected error the names of the order, and its placement where known."""
    name, account_number = key.external_identifier, key.account_number
    note = f"order {name or 'without an identifier'} of account {account_number} {fate}"
    placement = placement or getattr(gone, "placement", None)
    put_on(gone, note, account_number=account_number, external_identifier=name, placement=placement)
