"""Values that a journal of orders keeps, and the protocol of every journal.

A journal records each order *before* its first byte leaves, so that a crash in the middle of placing one leaves
enough behind to find out its outcome. It holds the body of the order exactly as sent, never a token or a secret.

One worker at a time works on an entry. It holds a *claim* that expires (the lease), so a crashed worker never
blocks an entry for longer than that. Every statement that a worker makes about an entry is fenced by its ownership and
safe to repeat: a worker that lost the entry changes nothing, and a lost acknowledgement does no harm.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Protocol, runtime_checkable

import attrs

from ..errors import BrokerageError
from .caps import Usage


class JournalError(BrokerageError):
    """The journal cannot be read or written (disk full, read-only, no database). The message says why.

    Raised by ``OrderEntry.place`` before this call has sent anything: an order that cannot be journaled is not placed.
    """

    default_code: ClassVar[str | None] = "journal_unavailable"


class EntryState(enum.StrEnum):
    """State of a journaled order."""

    OPEN = "open"
    """It may have been sent, and its outcome is not known yet; ``recover()`` looks for it."""
    PLACED = "placed"
    """The service has it."""
    REFUSED = "refused"
    """The service refused it: there is no such order."""
    NOT_SENT = "not_sent"
    """It provably never reached the service, or was turned away unread; the same order may be placed again under the
    same identifier."""
    ABANDONED = "abandoned"
    """A person decided that it needs no further attention."""
    PRUNED = "pruned"
    """It was closed, and removed by `Journal.prune`. Its identifier stays used."""


@attrs.frozen
class EntryKey:
    """Identity of an entry.

    Attributes:
        origin: ``scheme://host[:port]`` of the service, as `Environment.origin` gives it.
        environment: ``production`` or ``sandbox``.
        account_number, external_identifier: the account, and the identifier of the order within it.
    """

    origin: str
    environment: str
    account_number: str
    external_identifier: str


@attrs.frozen(kw_only=True)
class JournalEntry:
    """One order in the journal. Times are aware UTC date-times by the journal's own clock.

    Attributes:
        key: origin, environment, account and external identifier.
        body: the exact bytes that were, or were about to be, submitted.
        state: open, or its outcome.
        attempts: how many submits were begun, the one under way included.
        order_id: id of the order at the service, once known.
        note: why it has this state, in words.
        opened_at, closed_at: when it was journaled, and when its outcome became known.
        looked_at: when a worker last finished looking for it without an answer.
        owner, claimed_until: the worker that holds it, and until when.
        closed_by: the worker that recorded the outcome.
        label: name of the strategy that placed it, or empty.
        replaces: id of the order that it replaces, for a replacement or an edit. Empty for a new order.
    """

    key: EntryKey
    body: bytes = attrs.field(repr=False)
    state: EntryState = EntryState.OPEN
    attempts: int = 1
    order_id: str | None = None
    note: str = ""
    opened_at: datetime
    closed_at: datetime | None = None
    looked_at: datetime | None = None
    owner: str | None = None
    claimed_until: datetime | None = None
    closed_by: str | None = None
    label: str = ""
    replaces: str = ""


@attrs.frozen(kw_only=True)
class Halt:
    """A switch that is off: no attempt in its scope is recorded, and so none is sent.

    Attributes:
        account_number, label: its scope. None for every account, or every label.
        reason: who or what halted it, and why.
        halted_at: when, by the journal's clock.
    """

    account_number: str | None
    label: str | None
    reason: str
    halted_at: datetime


@runtime_checkable
class Journal(Protocol):
    """Durable record of orders, shared by any number of workers. Every method is atomic.

    Every method raises ``JournalError`` when the record cannot be read or written. The effect of a method is durable
    when it returns. When it raises, its effect is unknown, and the call may be repeated unchanged.

    ``owner`` identifies one attempt at one entry, from opening or claiming it to closing or releasing it. It is never
    reused.
    """

    async def now(self) -> datetime:
        """Return the time by the clock that leases are measured with."""
        ...

    async def open(
        self,
        key: EntryKey,
        body: bytes,
        *,
        owner: str,
        lease: float,
        label: str = "",
        replaces: str = "",
        usage: Usage | None = None,
        exempt: bool = False,
    ) -> tuple[JournalEntry, bool]:
        """Record that ``body`` is about to be sent, claimed by ``owner`` for ``lease`` seconds.

        ``usage`` holds the entry's share of the caps of a guard, which are checked in the same transaction. An
        ``exempt`` entry is opened during a halt, too.

        Returns:
            The new entry and True. Or, when the key is known already, the entry, unchanged, and False.
            An entry that is ``NOT_SENT`` with the same body is opened again and counts as new, unless this very owner
            closed it. An entry that this owner opened already counts as new: the call was repeated.

        Raises:
            OrderRefusedError: nothing was recorded, because a halt (code ``halted``) or a cap of ``usage`` (code
                ``guard_refused``) forbids it.
        """
        ...

    async def find(self, key: EntryKey, *, any_origin: bool = False) -> JournalEntry | None:
        """Return the entry of this key, or None.

        With ``any_origin``, a key without an entry gives an *open* one of another origin with the same environment,
        account and identifier.
        """
        ...

    async def entries(
        self, environment: str | None = None, *, origin: str | None = None, state: EntryState | None = None
    ) -> list[JournalEntry]:
        """Return all entries, oldest first, limited to one environment, origin and state if given."""
        ...

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        """Hold an open entry for ``lease`` seconds, unless another worker holds it.

        Of several workers that claim it at once, exactly one gets it. An owner that holds it already gets it again.

        Returns:
            The current entry, or None when it is not open or another worker holds it.
        """
        ...

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """Hold an entry for ``lease`` seconds from now, and raise its number of ``attempts`` to this if given.

        Returns False, and changes nothing, when the entry is not open or ``owner`` does not hold it.

        Raises:
            OrderRefusedError: a halt forbids another attempt. Nothing was changed.
        """
        ...

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        """Give up the claim on an entry whose outcome is still unknown, and note why.

        ``looked`` records that this worker has finished looking for it. Returns False, and changes nothing, when the
        entry is not open or ``owner`` does not hold it (any more). So does a repeated call.
        """
        ...

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        """Record the outcome of an open entry that ``owner`` holds.

        Returns:
            True when ``owner`` has closed the entry with this ``state``, by this call or by an earlier one that is
            repeated here. False when the entry is not this worker's any more. Nothing was changed then.
        """
        ...

    async def abandon(self, key: EntryKey, *, note: str) -> bool:
        """Close an open entry as abandoned, even while a worker holds it. Return False when it is not open."""
        ...

    async def adopt(self, key: EntryKey, *, origin: str) -> bool:
        """Move an open entry to another ``origin``: its service has changed its address.

        Returns:
            True when the entry is under ``origin`` now, also when the call is repeated. False, with
            nothing changed, when no such entry is open, a worker holds it, or ``origin`` already has this key.
        """
        ...

    async def halt(
        self, reason: str, *, account_number: str | None = None, label: str | None = None
    ) -> list[JournalEntry]:
        """Record no further attempt of this account and label, None for all, until `resume`.

        It takes effect even if the entries cannot be read afterwards. The reason of a halt that exists is kept.

        Returns:
            The open entries in its scope, oldest first: attempts recorded before it, which may still be sent.
        """
        ...

    async def resume(self, *, account_number: str | None = None, label: str | None = None) -> bool:
        """Lift the halt of exactly this scope, and forget the outcomes counted by `trip`. False if there is none."""
        ...

    async def halts(self) -> list[Halt]:
        """Return the halts in effect, oldest first."""
        ...

    async def trip(self, kind: str, name: str, *, count: int, seconds: float, reason: str) -> bool:
        """Count one outcome of this ``kind``, and halt everything if there were ``count`` within ``seconds``.

        Outcomes of one ``name`` count once. Returns True if that was so.
        """
        ...

    async def prune(self, *, before: datetime) -> int:
        """Remove the entries that were closed before a time, and return how many there were.

        Their identifiers stay used, and their shares of caps stay counted.

        Raises:
            InvalidRequestError: ``before`` is no datetime with a time zone.
        """
        ...

    async def aclose(self) -> None:
        """Release files and connections. Repeating it is harmless."""
        ...


async def renew_claims(journal: Journal, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
    """Renew the claims of each key's owner, and return the keys that are still held.

    A journal that has ``renew_many`` does this in one statement. For others `Journal.renew` is called for each key, and
    an error is raised after all of them were tried.
    """
    if (renew_many := getattr(journal, "renew_many", None)) is not None:
        held: set[EntryKey] = await renew_many(claims, lease=lease)
        return held
    renewing = (journal.renew(key, owner=owner, lease=lease) for key, owner in claims.items())
    results = await asyncio.gather(*renewing, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return {key for key, held in zip(claims, results, strict=True) if held is True}
