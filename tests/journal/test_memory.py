"""The journal in memory, on a clock of its own; the suite of all journals is in `test_journals.py`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from brokerage_async.journal.base import EntryKey, EntryState
from brokerage_async.journal.memory import MemoryJournal

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "A1", "one")
OTHER = EntryKey(ORIGIN, "sandbox", "A1", "two")


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


async def test_times_are_those_of_its_clock() -> None:
    clock = Clock()
    journal = MemoryJournal(clock=clock)
    assert await journal.now() == datetime.fromtimestamp(1_000_000.0, UTC)
    entry, _ = await journal.open(KEY, b"", owner="a", lease=30)
    clock.seconds += 10
    assert (await journal.now() - entry.opened_at).total_seconds() == 10
    assert entry.claimed_until == entry.opened_at + timedelta(seconds=30)
    await journal.close(KEY, owner="a", state=EntryState.PLACED)
    (closed,) = await journal.entries()
    assert closed.closed_at == await journal.now()


async def test_a_lease_ends_when_the_clock_says_so() -> None:
    clock = Clock()
    journal = MemoryJournal(clock=clock)
    await journal.open(KEY, b"", owner="a", lease=30)
    clock.seconds += 29.9
    assert await journal.claim(KEY, owner="b", lease=30) is None
    clock.seconds += 0.1
    taken = await journal.claim(KEY, owner="b", lease=30)
    assert taken is not None
    assert taken.owner == "b"


async def test_entries_are_listed_oldest_first() -> None:
    clock = Clock()
    journal = MemoryJournal(clock=clock)
    await journal.open(OTHER, b"", owner="a", lease=1)
    clock.seconds -= 5  # a clock that was set back
    await journal.open(KEY, b"", owner="a", lease=1)
    assert [entry.key for entry in await journal.entries()] == [KEY, OTHER]


async def test_what_was_handed_out_does_not_change_afterwards() -> None:
    journal = MemoryJournal()
    entry, _ = await journal.open(KEY, b"", owner="a", lease=30)
    await journal.close(KEY, owner="a", state=EntryState.REFUSED, note="no")
    assert (entry.state, entry.note) == (EntryState.OPEN, "")


async def test_it_stays_readable_when_closed_and_shows_its_size_only() -> None:
    async with MemoryJournal() as journal:
        await journal.open(KEY, b"secret", owner="a", lease=30)
    assert await journal.find(KEY) is not None
    assert repr(journal) == "MemoryJournal(1 entries)"
