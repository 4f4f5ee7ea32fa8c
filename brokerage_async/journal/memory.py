"""A journal that lives and dies with the process: for tests, trials and simulations."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType

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
        if known is not None and not (known.state is EntryState.NOT_SENT and known.body == body):
            return known, False
        now = self._now()
        entry = JournalEntry(
            key=key,
            body=body,
            attempts=1 if known is None else known.attempts + 1,
            opened_at=now,
            owner=owner,
            claimed_until=now + timedelta(seconds=lease),
        )
        self._entries[key] = entry
        return entry, True

    async def find(self, key: EntryKey) -> JournalEntry | None:
        """See ``Journal.find``."""
        return self._entries.get(key)

    async def entries(self, environment: str | None = None, *, state: EntryState | None = None) -> list[JournalEntry]:
        """See ``Journal.entries``."""
        chosen = [
            entry
            for entry in self._entries.values()
            if environment in (None, entry.key.environment) and state in (None, entry.state)
        ]
        return sorted(chosen, key=lambda entry: entry.opened_at)

    async def claim(
        self, environment: str, *, owner: str, lease: float, key: EntryKey | None = None, due_at: datetime | None = None
    ) -> list[JournalEntry]:
        """See ``Journal.claim``."""
        now = self._now()
        free = [
            entry
            for entry in await self.entries(environment, state=EntryState.OPEN)
            if (entry.claimed_until is None or entry.claimed_until <= now)
            and key in (None, entry.key)
            and (due_at is None or (entry.opened_at <= due_at and (entry.looked_at or due_at) <= due_at))
        ]
        until = now + timedelta(seconds=lease)
        return [self._put(attrs.evolve(entry, owner=owner, claimed_until=until)) for entry in free]

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """See ``Journal.renew``."""
        entry = self._held(key, owner)
        if entry is None:
            return False
        until = self._now() + timedelta(seconds=lease)
        self._put(attrs.evolve(entry, claimed_until=until, attempts=attempts or entry.attempts))
        return True

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        """See ``Journal.release``."""
        entry = self._held(key, owner)
        if entry is None:
            return False
        looked_at = self._now() if looked else entry.looked_at
        self._put(attrs.evolve(entry, owner=None, claimed_until=None, looked_at=looked_at, note=note))
        return True

    async def close(self, key: EntryKey, *, state: EntryState, order_id: str | None = None, note: str = "") -> bool:
        """See ``Journal.close``."""
        entry = self._entries.get(key)
        if entry is None or entry.state is not EntryState.OPEN:
            return False
        released = attrs.evolve(entry, owner=None, claimed_until=None, closed_at=self._now())
        self._put(attrs.evolve(released, state=state, order_id=order_id, note=note))
        return True

    async def aclose(self) -> None:
        """Nothing to let go of; the entries stay readable."""

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _held(self, key: EntryKey, owner: str) -> JournalEntry | None:
        entry = self._entries.get(key)
        return entry if entry is not None and entry.state is EntryState.OPEN and entry.owner == owner else None

    def _put(self, entry: JournalEntry) -> JournalEntry:
        self._entries[entry.key] = entry
        return entry
