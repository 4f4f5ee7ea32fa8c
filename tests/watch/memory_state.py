"""State of a watcher that outlives it in memory, for tests of the writes of a watcher."""

from collections.abc import Iterable, Mapping, Sequence

from brokerage_async.watch.state import Standing, StoredChange, WatchStateError


class MemoryState:
    """Keeps the state in memory instead of a file. ``failing`` makes every method fail."""

    def __init__(self) -> None:
        self.feed: str | None = None
        self.begun: set[str] = set()
        self.items: dict[str, bytes] = {}
        self.reported: dict[int, StoredChange] = {}
        self.sequence = 0
        self.acknowledged: list[StoredChange] = []
        self.failing = False
        self.writes = 0
        self.is_open = False

    async def open(self, feed: str) -> Standing:
        self._check()
        if self.feed not in (None, feed):
            raise WatchStateError(f"belongs to {self.feed}, not to {feed}")
        self.feed = feed
        self.is_open = True
        reported = tuple(self.reported[number] for number in sorted(self.reported))
        begun = frozenset(self.begun)
        return Standing(identity="s", begun=begun, items=dict(self.items), reported=reported, sequence=self.sequence)

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        self._check()
        self.writes += 1
        for part, items in begun.items():
            self.begun.add(part)
            self.items |= items
        for change in changes:
            assert change.sequence > self.sequence
            self.reported[change.sequence] = change
            self.sequence = change.sequence

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        self._check()
        for sequence in sorted(sequences):
            change = self.reported.pop(sequence)
            self.acknowledged.append(change)
            if change.after is None:
                self.items.pop(change.key, None)
            else:
                self.items[change.key] = change.after

    async def aclose(self) -> None:
        self.is_open = False

    def _check(self) -> None:
        if self.failing:
            raise WatchStateError("the disk is full")
