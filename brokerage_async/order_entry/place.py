"""The steps of placing one order: dry-run, journal, submit, conclude; or the answer for one journaled already."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import attrs

from .._generated.models import PlacedOrderResponse
from .._generated.operations import ORDERS_DRY_RUN, ORDERS_SUBMIT
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError, OrderOutcomeUnknownError
from ..journal.base import EntryKey, EntryState, JournalEntry
from .decisions import Decision, Finding, LookPlan, preflight_fate_of
from .preflight import objection
from .results import Outcome, Placement
from .search import IdentifierSearch, Window
from .submit import Conclusion, Desk, Placing, holding, new_owner, quietly, undisturbed, write_outcome

__all__ = ["Submission"]

CODES: dict[Finding | None, str] = {Finding.ABSENT: "absent", Finding.CONFLICT: "identifier_conflict"}
"""Codes of an unknown outcome, by what looking for the order has shown."""
MAY_EXIST = "may have been placed: recover() will look for it"


class Submission:
    """One call of `OrderEntry.place`: these bytes, under this key, which the caller has ``named`` or not."""

    def __init__(
        self, desk: Desk, key: EntryKey, body: bytes, plan: LookPlan, resubmits: int, *, named: bool = True
    ) -> None:
        self._desk = desk
        self._key = key
        self._body = body
        self._plan = plan
        self._resubmits = resubmits
        self._named = named

    async def place(self, allow_warnings: bool | Collection[str]) -> Placement:
        """Take every step; see `OrderEntry.place` for what it returns and raises."""
        known = await self._find()
        if known is not None:
            return await self._resume(known)
        with _telling(self._key, "was not sent"):
            preview, stopped = await self._dry_run(allow_warnings)
        if stopped is not None:  # unless somebody else has sent this very order meanwhile
            known = await self._find()
            return stopped if known is None else await self._resume(known)
        owner = new_owner()
        entry, fresh = await self._open(owner)
        placement = await (self._carry_through(entry, owner, sent=False) if fresh else self._resume(entry))
        return attrs.evolve(placement, preview=preview, warnings=(preview and preview.warnings) or ())

    async def _find(self) -> JournalEntry | None:
        """The entry of this order, unless there is none, or one that says that these bytes may be sent."""
        with _telling(self._key, "was not sent by this call"):
            known = await self._desk.journal.find(self._key)
        may_be_sent = known is not None and known.state is EntryState.NOT_SENT and known.body == self._body
        return None if may_be_sent else known

    async def _dry_run(
        self, allow_warnings: bool | Collection[str]
    ) -> tuple[PlacedOrderResponse | None, Placement | None]:
        """The preview, and the placement if the order goes no further."""
        path = {"account_number": self._key.account_number}
        try:
            preview = await self._desk.executor.execute(ORDERS_DRY_RUN, path=path, body=self._body)
        except (ConfigurationError, InvalidRequestError):
            raise
        except BrokerageError as error:
            data = getattr(error, "data", None)
            shown = data if isinstance(data, PlacedOrderResponse) else None
            return shown, self._stopped(Outcome(preflight_fate_of(error).value), error, shown)
        stopped = objection(preview, allow_warnings)
        if stopped is None:
            return preview, None
        return preview, self._stopped(Outcome(stopped.fate.value), stopped.error, preview)

    async def _open(self, owner: str) -> tuple[JournalEntry, bool]:
        """Journal the order. A caller that is cancelled meanwhile leaves no open entry: nothing was sent."""
        opening = asyncio.ensure_future(
            self._desk.journal.open(self._key, self._body, owner=owner, lease=self._desk.lease)
        )

        async def withdraw() -> None:
            if (await opening)[1]:
                await self._desk.journal.close(self._key, state=EntryState.NOT_SENT, note="cancelled before sending")

        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError as cancelled:
            _tell(cancelled, self._key, "was not sent")
            await undisturbed(quietly("withdraw an entry", withdraw()))
            raise

    async def _carry_through(self, entry: JournalEntry, owner: str, *, sent: bool) -> Placement:
        """Send the order, or look for one that was ``sent`` before, until it has an outcome; and write that down."""
        journal = self._desk.journal
        try:
            window = Window.since(entry.opened_at, await journal.now() if sent else entry.opened_at)
            placing = Placing(self._desk, entry, self._plan, owner, window)
            async with holding(self._desk, {entry.key}, owner):
                conclusion = await placing.run(resubmits=self._resubmits, sent=sent)
            # Shielded: an outcome that is known is written down, also when the caller is cancelled just now.
            await asyncio.shield(write_outcome(self._desk, entry.key, conclusion, owner))
        except BaseException as gone:
            if isinstance(gone, asyncio.CancelledError):
                _tell(gone, entry.key, MAY_EXIST)
            note = f"given up: {type(gone).__name__}"
            releasing = journal.release(entry.key, owner=owner, note=note, looked=False)
            await undisturbed(quietly("release an entry", releasing))
            raise
        if isinstance(conclusion.error, ConfigurationError | InvalidRequestError):
            raise conclusion.error
        if conclusion.decision is Decision.UNKNOWN:
            code = CODES.get(conclusion.finding, "undetermined")
            raise _unknown(entry, code, conclusion.note, conclusion.attempts) from conclusion.error
        return _placement(entry, conclusion)

    async def _resume(self, entry: JournalEntry) -> Placement:
        """Answer for an order that the journal knows; nothing is sent, unless it is absent and may be sent again."""
        if not self._named:
            self._refuse("the identifier made for this order is that of an earlier one: identifiers must never repeat")
        if entry.body != self._body:
            self._refuse("this external identifier belongs to another order in the journal: take a new one")
        if entry.state is EntryState.ABANDONED:
            self._refuse(f"this order was abandoned ({entry.note}): take a new external identifier to place it again")
        if entry.state is not EntryState.OPEN:
            with _telling(entry.key, f"is in the journal as {entry.state.value}"):
                return await self._known(entry)
        owner, environment = new_owner(), entry.key.environment
        with _telling(entry.key, MAY_EXIST):
            claimed = await self._desk.journal.claim(environment, owner=owner, lease=self._desk.lease, key=entry.key)
        if not claimed:
            raise _unknown(entry, "in_progress", "another worker is placing this order right now", entry.attempts)
        return await self._carry_through(claimed[0], owner, sent=True)

    def _refuse(self, reason: str) -> None:
        raise InvalidRequestError(reason, operation=ORDERS_SUBMIT.name, code="identifier_in_use")

    async def _known(self, entry: JournalEntry) -> Placement:
        """The placement of an entry that was closed; the order as it is now, if one look shows it."""
        name, order = entry.key.external_identifier, None
        if entry.state is EntryState.PLACED:
            window = Window.since(entry.opened_at, await self._desk.journal.now())
            search = IdentifierSearch(self._desk.lists, entry.key.account_number, window, {name: entry})
            sighting = await search.look([name])
            order = sighting.orders.get(name)
        note = f"journaled before: {entry.note or entry.state.value}"
        decision = Decision(entry.state.value)
        return _placement(entry, Conclusion(decision=decision, attempts=entry.attempts, order=order, note=note))

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


def _placement(entry: JournalEntry, conclusion: Conclusion) -> Placement:
    return Placement(
        outcome=Outcome(conclusion.decision.value),
        account_number=entry.key.account_number,
        external_identifier=entry.key.external_identifier,
        order=conclusion.order,
        attempts=conclusion.attempts,
        error=conclusion.error,
        note=conclusion.note,
        body=entry.body,
        opened_at=entry.opened_at,
    )


def _unknown(entry: JournalEntry, code: str, note: str, attempts: int) -> OrderOutcomeUnknownError:
    return OrderOutcomeUnknownError(
        f"the order {entry.key.external_identifier} of account {entry.key.account_number} may or may not have been "
        f"placed: {note}",
        account_number=entry.key.account_number,
        external_identifier=entry.key.external_identifier,
        operation=ORDERS_SUBMIT.name,
        method=ORDERS_SUBMIT.method,
        path=ORDERS_SUBMIT.path,
        attempts=attempts,
        code=code,
    )


@contextmanager
def _telling(key: EntryKey, fate: str) -> Iterator[None]:
    """A step during which a caller that is cancelled is told this of its order."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        _tell(cancelled, key, fate)
        raise


def _tell(cancelled: asyncio.CancelledError, key: EntryKey, fate: str) -> None:
    """Put on a cancellation what the caller needs to find the order again."""
    cancelled.account_number = key.account_number  # type: ignore[attr-defined]
    cancelled.external_identifier = key.external_identifier  # type: ignore[attr-defined]
    cancelled.add_note(f"order {key.external_identifier} of account {key.account_number} {fate}")
