"""Policies for slow consumers, and the buffer that applies them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import attrs

from .._arguments import check_count, validator
from ..protocol.streams.events import MARKET_EVENTS, Gap, Snapshot, UnknownEvent


@attrs.frozen(kw_only=True)
class Conflate:
    """Keep the latest event of each symbol: a slow consumer skips those between."""


@attrs.frozen(kw_only=True)
class DropOldest:
    """Keep the latest ``limit`` events of the type; ``stream.dropped`` counts those that were dropped."""

    limit: int = attrs.field(default=10_000, validator=validator(check_count))


@attrs.frozen(kw_only=True)
class Fail:
    """Keep all events. The stream ends with `SlowConsumerError` when more than ``limit`` of them wait."""

    limit: int = attrs.field(default=10_000, validator=validator(check_count))


Policy = Conflate | DropOldest | Fail
"""Policy for the events of one type when their consumer is slow."""

_QUEUED = frozenset({"Trade", "TradeETH", "TimeAndSale", "Candle", "Series"})

MARKET_POLICIES: Mapping[type[Any], Policy] = {
    **{model: DropOldest() if name in _QUEUED else Conflate() for name, model in MARKET_EVENTS.items()},
    Snapshot: DropOldest(limit=1_000),
    UnknownEvent: DropOldest(limit=1_000),
}
"""Policy of each type of market event: trades, candles and series are queued, all others conflated by symbol."""


class BufferFullError(Exception):
    """A buffer is full that may drop nothing."""


class EventBuffer:
    """Bounded buffer of one consumer.

    Events before a gap stay before it: neither `Conflate` nor `DropOldest` reaches across. When the next gap comes
    before the consumer has read as far as the last one, conflated events and snapshots between them are dropped: the
    subscriptions have brought newer ones.

    Attributes:
        dropped: events that were dropped by `DropOldest`.
    """

    __slots__ = ("_before", "_counts", "_latest", "_order", "_policies", "_queues", "dropped")

    def __init__(self, policies: Mapping[type[Any], Policy]) -> None:
        self._policies = policies
        self._before: deque[Any] = deque()  # everything before the last gap, and that gap
        self._counts: Counter[type[Any]] = Counter()  # of those
        self._order: deque[Any] = deque()
        self._latest: dict[Any, Any] = {}
        self._queues: dict[type[Any], deque[Any]] = {
            kind: deque() for kind, policy in policies.items() if not isinstance(policy, Conflate)
        }
        self.dropped: int = 0

    def __len__(self) -> int:
        return len(self._before) + len(self._order)

    def put(self, event: Any) -> None:
        """Add an event.

        Raises:
            BufferFullError: the policy forbids to drop any, and the buffer is full.
        """
        kind = event.__class__
        policy = self._policies[kind]
        if policy.__class__ is Conflate:
            key = (kind, event.event_symbol)
            if key not in self._latest:
                self._order.append(key)
            self._latest[key] = event
            return
        queue = self._queues[kind]
        limit: int = policy.limit  # type: ignore[union-attr]
        if policy.__class__ is Fail and len(queue) + self._counts[kind] >= limit:
            raise BufferFullError
        if len(queue) < limit:
            self._order.append(kind)
        else:
            queue.popleft()
            self.dropped += 1
        queue.append(event)

    def put_gap(self, gap: Gap) -> None:
        """Add a gap. One that follows another gap directly extends it."""
        waiting = [self._take() for _ in range(len(self._order))]
        if self._before:
            waiting = [
                event
                for event in waiting
                if event.__class__ is not Snapshot and self._policies[event.__class__].__class__ is not Conflate
            ]
        if self._before and not waiting:
            return
        self._before += [*waiting, gap]
        self._counts.update(map(type, waiting))
        # The oldest events before the last gap that exceed their limit are dropped.
        excess = Counter({
            kind: count - self._policies[kind].limit  # type: ignore[union-attr]
            for kind, count in self._counts.items()
            if kind is not Gap and self._policies[kind].__class__ is DropOldest
        })  # fmt: skip
        if not any(count > 0 for count in excess.values()):
            return
        kept: deque[Any] = deque()
        for event in self._before:
            if excess[event.__class__] > 0:
                excess[event.__class__] -= 1
                self._counts[event.__class__] -= 1
                self.dropped += 1
            elif not (event.__class__ is Gap and kept and kept[-1].__class__ is Gap):
                kept.append(event)
        self._before = kept

    def get(self) -> Any:
        """Return the next event. Raises IndexError when there is none."""
        if not self._before:
            return self._take()
        event = self._before.popleft()
        self._counts[event.__class__] -= 1
        return event

    def _take(self) -> Any:
        """Return the next event after the last gap."""
        entry = self._order.popleft()
        return self._latest.pop(entry) if entry.__class__ is tuple else self._queues[entry].popleft()

    def clear(self) -> None:
        """Drop everything."""
        self._before.clear()
        self._counts.clear()
        self._order.clear()
        self._latest.clear()
        for queue in self._queues.values():
            queue.clear()
