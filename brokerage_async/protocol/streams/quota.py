"""Published caps of one session of the market-data stream, and how much of them is used."""

from __future__ import annotations

from collections import Counter, deque

from ..._generated.stream_caps import CHANGES_PER_MINUTE, SUBSCRIPTIONS, SUBSCRIPTIONS_BY_TYPE

__all__ = ["Quota"]

_MINUTE = 60.0


class Quota:
    """Count of the subscriptions of one session, and of their changes within the last minute."""

    def __init__(self) -> None:
        self._active: Counter[str] = Counter()
        self._changes: deque[tuple[float, int]] = deque()

    def room(self, kind: str) -> int:
        """Return how many further subscriptions to events of a type the service takes."""
        of_type = SUBSCRIPTIONS_BY_TYPE.get(kind, SUBSCRIPTIONS) - self._active[kind]
        return max(0, min(of_type, SUBSCRIPTIONS - self._active.total()))

    def changes(self, now: float) -> int:
        """Return how many changes the service takes now."""
        while self._changes and now >= self._changes[0][0] + _MINUTE:
            self._changes.popleft()
        return CHANGES_PER_MINUTE - sum(count for _, count in self._changes)

    def next_change(self) -> float:
        """Return when the service takes further changes, after it has taken all of a minute."""
        return self._changes[0][0] + _MINUTE

    def use(self, kind: str, *, subscriptions: int, changes: int, now: float) -> None:
        """Count changes that go out, and by how much they change the number of subscriptions."""
        self._active[kind] += subscriptions
        if changes:
            self._changes.append((now, changes))
