"""Journal entry of a replacement, so that a halt and the guard stop it, and `recover` finds it after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ..config.random_values import new_identifier
from ..errors import OrderRefusedError
from ..journal.base import EntryState, JournalEntry
from ..journal.caps import Usage
from .claims import Claim, Instant, finish, new_owner, quietly, result_of, settled
from .context import Context
from .results import ChangeOutcome, OrderChange

__all__ = ["JournaledChange"]

STATES = {
    ChangeOutcome.APPLIED: EntryState.PLACED,
    ChangeOutcome.FILLED: EntryState.REFUSED,
    ChangeOutcome.REFUSED: EntryState.REFUSED,
    ChangeOutcome.NOT_SENT: EntryState.NOT_SENT,
}
"""States of an entry after a replacement, but for an unknown one, which stays open."""


class JournaledChange:
    """One replacement of order ``order_id``, and one attempt for each request.

    Its entry has another identifier than the order, which keeps its name.
    """

    def __init__(
        self, context: Context, account_number: str, order_id: str, body: bytes, *, label: str, usage: Usage | None
    ) -> None:
        self._context = context
        self._order_id = order_id
        self._body = body
        self._label = label
        self._usage = usage
        self._claim = Claim(context.key_of(account_number, new_identifier()), new_owner(), Instant(), context.lease)
        self._opening: asyncio.Task[tuple[JournalEntry, bool]] | None = None
        self._attempts = 0

    async def attempt(self) -> None:
        """Record that the replacement is about to be sent.

        Raises:
            OrderRefusedError: a halt or a cap forbids it.
            JournalError: it cannot be recorded.
        """
        claim, since = self._claim, Instant()
        if self._opening is None:
            claim.renewed(since)
            self._opening = asyncio.ensure_future(self._open())
            try:
                await result_of(self._opening)
            except OrderRefusedError:
                self._opening = None  # nothing was recorded
                raise
            self._context.claims.add(claim)
        else:
            renew, more = self._context.journal.renew, self._attempts + 1
            claim.lost = not await renew(claim.key, owner=claim.owner, lease=claim.lease, attempts=more)
            claim.renewed(since)
        self._attempts += 1

    def objection(self) -> str | None:
        """Return why nothing may be sent, or None."""
        return self._claim.objection()

    async def close(self, change: OrderChange) -> None:
        """Record the outcome, if an attempt was recorded. The write is finished even if the caller is cancelled."""
        if change.outcome is ChangeOutcome.UNKNOWN:
            await self._finish("found no outcome", None, "")
        else:
            order_id = change.order_id if change.outcome is ChangeOutcome.APPLIED else ""
            await self._finish(str(change.error or ""), STATES[change.outcome], order_id)

    async def leave(self, fate: str, *, may_be_applied: bool) -> None:
        """Give the entry up, because an error or a cancellation ends the replacement."""
        await self._finish(fate, None if may_be_applied else EntryState.NOT_SENT, "")

    async def _open(self) -> tuple[JournalEntry, bool]:
        claim = self._claim
        return await self._context.journal.open(
            claim.key, self._body, owner=claim.owner, lease=claim.lease, label=self._label, replaces=self._order_id,
            usage=self._usage,
        )  # fmt: skip

    async def _finish(self, note: str, state: EntryState | None, order_id: str) -> None:
        if self._opening is None:
            return
        journal, claim, opening = self._context.journal, self._claim, self._opening

        async def write() -> bool:
            await settled(opening, self._open)
            if state is None:
                return await journal.release(claim.key, owner=claim.owner, note=note)
            return await journal.close(claim.key, owner=claim.owner, state=state, order_id=order_id or None, note=note)

        try:
            await _to_the_end(quietly("record the outcome of a replacement", write()))
        finally:
            self._context.claims.drop(claim)


async def _to_the_end(work: Coroutine[Any, Any, object]) -> None:
    """Await ``work``, and finish it if the caller is cancelled."""
    writing = asyncio.ensure_future(work)
    try:
        await result_of(writing)
    except asyncio.CancelledError:
        await finish(writing)
        raise
