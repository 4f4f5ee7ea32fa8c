"""The part of a fleet's request budget that this process may spend now. No clock, no I/O."""

from __future__ import annotations

from collections import deque

import attrs

__all__ = ["Budget", "Grant", "capacity_of", "local_rate"]

RESERVE = 0.1
"""Share of the budget that is not spread evenly over a second but kept for trades and for tokens to hold."""

SAFE_SHARE = 0.7
"""Share of the budget that all workers together use while they work locally."""

HELD_LIFE = 3.0
"""Seconds after which held tokens lapse, from the moment at which they were asked for."""

MAX_DELAY = 0.25
"""Seconds after its moment at which an unused slot lapses."""


def capacity_of(budget: float) -> float:
    """Return the capacity of the bucket; what is left of the budget is the rate at which it fills."""
    return max(RESERVE * budget, min(1.0, budget / 2))


def local_rate(budget: float, local_share: float, workers: int) -> float:
    """Return the requests per second of one worker that works locally."""
    return budget * min(local_share, SAFE_SHARE / max(1, workers))


@attrs.frozen(kw_only=True)
class Grant:
    """Answer of the engine, in seconds and on the clock of the event loop."""

    asked_at: float
    received_at: float
    grace: float = 0.0
    workers: int = 1
    rate: float = 0.0
    paused: float = 0.0
    hold: int = 0
    wait: float = 0.0
    trades: tuple[float, ...] = ()
    reads: tuple[float, ...] = ()
    waiting: int = 0

    @classmethod
    def read(cls, reply: list[object], asked_at: float, received_at: float) -> Grant:
        """Read the reply of the script."""
        grace, workers, rate, paused, hold, wait, trades, reads, waiting = reply
        return cls(
            asked_at=asked_at,
            received_at=received_at,
            grace=_int(grace) / 1e3,
            workers=_int(workers),
            rate=_int(rate) / 1e3,
            paused=_int(paused) / 1e3,
            hold=_int(hold),
            wait=_int(wait) / 1e4,
            trades=_moments(trades, received_at),
            reads=_moments(reads, received_at),
            waiting=_int(waiting),
        )


class Budget:
    """Tokens, slots and the local share of this process.

    Attributes:
        held: tokens that may be used at any time until they lapse.
        local_until: until when the local share applies; infinity while the engine is away.
        spent: requests on the local share that the engine does not know of.
        refill_at: number of held tokens at which to ask for more, -1 for none.
        trade_waits: whether a trade waits, which reads must not overtake.
    """

    __slots__ = ("_held_until", "_next_local", "_spacing", "held", "local_until", "reads", "refill_at", "spent",
                 "trade_waits", "trades")  # fmt: skip

    def __init__(self, local_rate: float) -> None:
        self.held: int = 0
        self._held_until = float("-inf")
        self.refill_at: int = -1
        self.trades: deque[float] = deque()
        self.reads: deque[float] = deque()
        self.local_until: float = float("-inf")
        self._next_local = float("-inf")
        self._spacing = 1.0 / local_rate
        self.spent: int = 0
        self.trade_waits: bool = False

    def take(self, now: float, *, is_trade: bool) -> bool:
        """Spend the permission for one request, if there is one now."""
        if self.trade_waits and not is_trade:
            return False
        if now < self.local_until:
            return self.take_local(now)
        if self.held and now < self._held_until:
            self.held -= 1
        else:
            first, second = (self.trades, self.reads) if is_trade else (self.reads, self.trades)
            if not _take_slot(first, now) and not _take_slot(second, now):
                return False
        self._next_local = now + self._spacing  # should the engine go away now: this second has seen a request
        return True

    def stagger(self, now: float, fraction: float) -> None:
        """Delay the next request of the local share by a random fraction of its spacing.

        Workers lose the engine at the same moment. What they sent in the second before counts as well.
        """
        if self._next_local <= now:
            self._next_local = now + fraction * self._spacing

    def take_local(self, now: float) -> bool:
        """Spend one request of the local share."""
        if now < self._next_local:
            return False
        self._next_local = now + self._spacing
        return True

    def bridge(self, now: float) -> bool:
        """Spend one request of the local share while the engine is slow, and note it for the engine."""
        if not self.take_local(now):
            return False
        self.spent += 1
        return True

    def ready_at(self, now: float) -> float:
        """Return when `take` may succeed next, infinity if only the engine can say."""
        if now < self.local_until:
            return max(now, self._next_local)
        return min((slots[0] for slots in (self.trades, self.reads) if slots), default=float("inf"))

    def receive(self, grant: Grant, local_rate: float) -> None:
        """Add what the engine has granted."""
        self._spacing = 1.0 / local_rate
        if grant.grace:
            self.local_until = max(self.local_until, grant.received_at + grant.grace)
        self.held += grant.hold
        self._held_until = grant.asked_at + HELD_LIFE
        self.refill_at = self.held // 2 if self.held else -1
        self.trades.extend(grant.trades)
        self.reads.extend(grant.reads)

    def current_held(self, now: float) -> int:
        """Return the number of held tokens, without those that have lapsed."""
        if now >= self._held_until:
            self.held = 0
        return self.held

    def drop(self) -> None:
        """Drop everything granted, after a 429 or when the engine is away."""
        self.held, self.refill_at = 0, -1
        self.trades.clear()
        self.reads.clear()


def _take_slot(slots: deque[float], now: float) -> bool:
    while slots and slots[0] <= now:
        if slots.popleft() >= now - MAX_DELAY:
            return True
    return False


def _int(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]


def _moments(delays: object, now: float) -> tuple[float, ...]:
    return tuple(now + _int(each) / 1e4 for each in delays)  # type: ignore[attr-defined]
