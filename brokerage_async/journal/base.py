"""What a journal of orders keeps, and what every journal can do.

A journal remembers each order *before* its first byte leaves, so that a process that dies in the middle of placing
one leaves enough behind to find out what became of it. It holds the body of the order as it was sent and never a
token or a secret.

An entry is worked on by one worker at a time: the worker holds a *claim* that expires by itself (the lease), so a
dead worker never blocks an entry for longer than that.
"""

from __future__ import annotations

import enum
from datetime import datetime
from typing import ClassVar, Protocol

import attrs

from ..errors import BrokerageError

__all__ = ["EntryKey", "EntryState", "Journal", "JournalEntry", "JournalError"]


class JournalError(BrokerageError):
    """The journal could not be read or written (disk full, read-only, no database); the text says why.

    Raised by ``OrderEntry.place`` before anything was sent: an order that cannot be journaled is not placed.
    """

    default_code: ClassVar[str | None] = "journal_unavailable"


class EntryState(enum.StrEnum):
    """What is known of a journaled order."""

    OPEN = "open"
    """It may have been sent and its outcome is not known yet: what ``recover()`` looks after."""
    PLACED = "placed"
    """The service has it."""
    REFUSED = "refused"
    """The service refused it: there is no such order."""
    NOT_SENT = "not_sent"
    """It provably never reached the service, or was turned away unread; the same order may be placed again under the
    same identifier."""
    ABANDONED = "abandoned"
    """A person decided that it needs no more looking after."""


@attrs.frozen
class EntryKey:
    """What names an entry: the environment, the account and the external identifier of the order."""

    environment: str
    account_number: str
    external_identifier: str


@attrs.frozen(kw_only=True)
class JournalEntry:
    """One order as the journal knows it. Times are aware UTC date-times by the journal's own clock.

    Attributes:
        key: environment, account and external identifier.
        body: the exact bytes that were, or were about to be, submitted.
        state: what is known of it.
        attempts: how many submits were begun, the one under way included.
        order_id: the order that it became, once known.
        note: why it has this state, in words.
        opened_at, closed_at: when it was journaled, and when its outcome became known.
        looked_at: when a worker last finished looking for it without an answer.
        owner, claimed_until: the worker that holds it, and until when.
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


class Journal(Protocol):
    """A durable record of orders, shared by any number of workers. Every method is atomic.

    Every method raises ``JournalError`` when the record cannot be read or written; what a method has returned from
    is durable.
    """

    async def now(self) -> datetime:
        """The time by the clock that leases are measured with."""
        ...

    async def open(self, key: EntryKey, body: bytes, *, owner: str, lease: float) -> tuple[JournalEntry, bool]:
        """Record that ``body`` is about to be sent, claimed by ``owner`` for ``lease`` seconds.

        ``owner`` names one placing of one order and is never used for another.

        Returns:
            The new entry and True; or, when the key is known already, the entry as it stands, unchanged, and False.
            An entry that is ``NOT_SENT`` with the same body is opened again and counts as new.
        """
        ...

    async def find(self, key: EntryKey) -> JournalEntry | None:
        """The entry of this key, or None."""
        ...

    async def entries(self, environment: str | None = None, *, state: EntryState | None = None) -> list[JournalEntry]:
        """All entries, oldest first; of one environment and of one state only, if given."""
        ...

    async def claim(
        self, environment: str, *, owner: str, lease: float, key: EntryKey | None = None, due_at: datetime | None = None
    ) -> list[JournalEntry]:
        """Take the open entries that nobody holds, for ``lease`` seconds; oldest first.

        ``key`` limits it to one entry; ``due_at`` to those opened, and not looked at, since then. Of several workers
        that claim at once, each entry goes to exactly one.
        """
        ...

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """Hold an entry for ``lease`` seconds from now, and record the number of ``attempts`` if given.

        Returns False, and changes nothing, when the entry is not open or another worker holds it.
        """
        ...

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        """Let go of an open entry whose outcome is still unknown, and note why. False when it was not held.

        ``looked`` records that this worker has finished looking for it.
        """
        ...

    async def close(self, key: EntryKey, *, state: EntryState, order_id: str | None = None, note: str = "") -> bool:
        """Record the outcome of an open entry. False when it was not open (any more)."""
        ...

    async def aclose(self) -> None:
        """Let go of files and connections; harmless when repeated."""
        ...
