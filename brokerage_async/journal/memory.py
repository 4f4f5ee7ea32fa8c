"""Journal in memory, for tests, trials and simulations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any

import attrs

from .base import EntryKey, EntryState, JournalEntry

__all__ = ["MemoryJournal"]


class MemoryJournal:
    """Keeps entries in a dictionary: nothing survives the process, so nothing can be recovered after a crash.

    ``clock`` gives epoch seconds; pass another one to run on simulated time.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries: dict[EntryKey, JournalEntry] = {}
        self._origins: set[str] = set()

    def __repr__(self) -> str:
        return f"MemoryJournal({len(self._entries)} entries)"

    async def __aenter__(self) -> MemoryJournal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def now(self) -> datetime:
        """See ``Journal.now``."""
        return self._now()

    async def open(self, key: EntryKey, body: bytes, *, owner: str, lease: float) -> tuple[JournalEntry, bool]:
        """See ``Journal.open``."""
        known = self._entries.get(key)
        if known is not None and not _may_be_reopened(known, body, owner):
            return known, known.state is EntryState.OPEN and known.owner == owner
        now = self._now()
        entry = JournalEntry(
            key=key,
            body=body,
            attempts=1 if known is None else known.attempts + 1,
            opened_at=now,
            owner=owner,
            claimed_until=now + timedelta(seconds=lease),
        )
        return self._put(entry), True

    async def find(self, key: EntryKey, *, any_origin: bool = False) -> JournalEntry | None:
        """See ``Journal.find``."""
        known = self._entries.get(key)
        if known is not None or not any_origin:
            return known
        elsewhere = (self._open_entry(attrs.evolve(key, origin=origin)) for origin in self._origins - {key.origin})
        return next(filter(None, elsewhere), None)

    async def entries(
        self, environment: str | None = None, *, origin: str | None = None, state: EntryState | None = None
    ) -> list[JournalEntry]:
        """See ``Journal.entries``."""
        chosen = [
            entry
            for entry in self._entries.values()
            if environment in (None, entry.key.environment)
            and origin in (None, entry.key.origin)
            and state in (None, entry.state)
        ]
        return sorted(chosen, key=lambda entry: entry.opened_at)

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        """See ``Journal.claim``."""
        entry = self._open_entry(key)
        if entry is None or (entry.owner != owner and self._is_claimed(entry)):
            return None
        return self._put(attrs.evolve(entry, owner=owner, claimed_until=self._now() + timedelta(seconds=lease)))

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """See ``Journal.renew``."""
        entry = self._held(key, owner)
        if entry is None:
            return False
        until = self._now() + timedelta(seconds=lease)
        self._put(attrs.evolve(entry, claimed_until=until, attempts=max(entry.attempts, attempts or 0)))
        return True

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        """See ``BatchRenewal.renew_many``."""
        return {key for key, owner in claims.items() if await self.renew(key, owner=owner, lease=lease)}

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        """See ``Journal.release``."""
        entry = self._held(key, owner)
        if entry is None:
            return False
        looked_at = self._now() if looked else entry.looked_at
        self._put(attrs.evolve(entry, owner=None, claimed_until=None, looked_at=looked_at, note=note))
        return True

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        """See ``Journal.close``."""
        if self._held(key, owner) is None:
            known = self._entries.get(key)
            return known is not None and (known.state, known.closed_by) == (state, owner)
        self._close(key, state=state, order_id=order_id, note=note, closed_by=owner)
        return True

    async def abandon(self, key: EntryKey, *, note: str) -> bool:
        """See ``Journal.abandon``."""
        if self._open_entry(key) is None:
            return False
        self._close(key, state=EntryState.ABANDONED, note=note)
        return True

    async def adopt(self, key: EntryKey, *, origin: str) -> bool:
        """See ``Journal.adopt``."""
        adopted = attrs.evolve(key, origin=origin)
        entry = self._open_entry(key)
        if entry is None or adopted in self._entries or self._is_claimed(entry):
            return key not in self._entries and adopted in self._entries
        del self._entries[key]
        self._put(attrs.evolve(entry, key=adopted, owner=None, claimed_until=None))
        return True

    async def aclose(self) -> None:
        """Do nothing; the entries stay readable."""

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _open_entry(self, key: EntryKey) -> JournalEntry | None:
        entry = self._entries.get(key)
        return entry if entry is not None and entry.state is EntryState.OPEN else None

    def _held(self, key: EntryKey, owner: str) -> JournalEntry | None:
        entry = self._open_entry(key)
        return entry if entry is not None and entry.owner == owner else None

    def _is_claimed(self, entry: JournalEntry) -> bool:
        return entry.claimed_until is not None and entry.claimed_until > self._now()

    def _close(self, key: EntryKey, **outcome: Any) -> None:
        released = attrs.evolve(self._entries[key], owner=None, claimed_until=None, closed_at=self._now())
        self._put(attrs.evolve(released, **{"order_id": None, **outcome}))

    def _put(self, entry: JournalEntry) -> JournalEntry:
        self._entries[entry.key] = entry
        self._origins.add(entry.key.origin)
        return entry


def _may_be_reopened(entry: JournalEntry, body: bytes, owner: str) -> bool:
    return entry.state is EntryState.NOT_SENT and entry.body == body and entry.closed_by != owner
