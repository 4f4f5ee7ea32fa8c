"""Plan of one seed: the client's options, and the faults with their times."""

import random
from collections.abc import Callable

import attrs

from brokerage_async.config import Limits, RetryPolicy
from brokerage_async.protocol.request import Request
from brokerage_async.simulator import faults
from brokerage_async.simulator.faults import Fault

HOUR = 3600.0
MIN_LENGTH = 600.0
"""Minimum seconds of a run; the last five minutes have no planned events."""

DRAWN: dict[str, Callable[[random.Random], Fault | str]] = {
    "delay": lambda rng: faults.delay(round(rng.uniform(0, 60), 3)),
    "delay_after": lambda rng: faults.delay_after(round(rng.uniform(0, 60), 3)),
    "status": lambda rng: f"status({rng.choice([500, 502, 503, 504])})",
    "after_status": lambda rng: f"after_status({rng.choice([500, 503])})",
    "html": lambda rng: f"html({rng.choice([502, 503])})",
    "after_html": lambda rng: "after_html(502)",
}
FAULTS = ("refuse", "drop_before", "drop_after", "hang", "hang_after", "truncate", "garbage", "rate_limited",
          "unauthorized", *DRAWN)  # fmt: skip
"""Every fault of one request. A seed uses a few of them, so that rare combinations occur."""


@attrs.frozen(kw_only=True)
class FaultBurst:
    """Period when many requests meet the same fault."""

    begins: float
    ends: float
    kind: str
    share: float


@attrs.frozen(kw_only=True)
class Plan:
    """Everything that is decided before the first request: options of the client and of its traders, and faults."""

    length: float
    limits: Limits
    retry: RetryPolicy
    timeout: float
    deadline: float | None
    traders: int
    pause: float
    cancelled: float
    latency: tuple[float, float]
    kinds: tuple[str, ...]
    share: float
    bursts: tuple[FaultBurst, ...]
    expiries: tuple[float, ...]
    leaps: tuple[tuple[float, float], ...]
    sleeps: tuple[tuple[float, float], ...]
    rate_limits: tuple[tuple[float, float, float], ...]
    revoked_at: float | None


def plan_of(seed: int, length: float = HOUR) -> Plan:
    """In a shorter run the same events happen sooner, and the machine sleeps less."""
    if length < MIN_LENGTH:
        raise ValueError(f"length must be at least {MIN_LENGTH:g} s, got {length:g}")
    rng = random.Random(f"plan {seed}")
    kinds = tuple(rng.sample(sorted(FAULTS), rng.choice([0, 1, 2, 3, 5, 15])))

    def moments(max_count: int) -> tuple[float, ...]:
        return tuple(sorted(round(rng.uniform(60, length - 300), 3) for _ in range(rng.randint(0, max_count))))

    bursts = tuple(
        FaultBurst(
            begins=begins,
            ends=begins + rng.uniform(5, 120),
            kind=rng.choice(["rate_limited", "status", "refuse", "hang", "drop_after", "html"]),
            share=rng.choice([0.5, 0.9, 1.0]),
        )
        for begins in moments(3)
    )
    return Plan(
        length=length,
        limits=Limits(
            reads=rng.choice([1, 2, 4, 8]),
            trades=rng.choice([1, 2, 4]),
            reads_per_second=rng.choice([None, None, 5.0]),
            adaptive=rng.random() < 0.8,
        ),
        retry=RetryPolicy(
            max_attempts=rng.choice([1, 2, 3, 4, 6]),
            base_delay=rng.choice([0.1, 0.25, 1.0]),
            max_delay=rng.choice([5.0, 20.0]),
            jitter=random.Random(f"jitter {seed}").random,
        ),
        timeout=rng.choice([2.0, 10.0, 30.0]),
        deadline=rng.choice([None, None, 5.0, 20.0]),
        traders=rng.randint(3, 8),
        pause=rng.uniform(15, 45),
        cancelled=rng.choice([0.0, 0.05, 0.2]),
        latency=rng.choice([(0.0, 0.0), (0.005, 0.05), (0.05, 0.5), (0.01, 3.0)]),
        kinds=kinds,
        share=rng.choice([0.01, 0.05, 0.15]) if kinds else 0.0,
        bursts=bursts,
        expiries=moments(4),
        leaps=tuple((moment, rng.uniform(10, 4000)) for moment in moments(2)),
        sleeps=tuple((moment, rng.uniform(1, 2000) * (length / HOUR)) for moment in moments(1)),
        rate_limits=tuple((moment, moment + rng.uniform(10, 200), rng.choice([1, 3])) for moment in moments(2)),
        revoked_at=rng.uniform(length / 2, length - 300) if rng.random() < 0.05 else None,
    )


class RandomFaults:
    """Replacement for the simulator's fault plan that draws a fault for each request."""

    def __init__(self, plan: Plan, seed: int, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._rng = random.Random(f"trouble {seed}")
        self._clock = clock
        self.over = False

    def take(self, method: str, target: str) -> Fault | None:
        kind = None if self.over else self._kind(self._clock())
        if kind is None:
            return None
        if kind == "unauthorized" and target.endswith("/oauth/token"):
            return None  # this would reject the credentials
        made = DRAWN[kind](self._rng) if kind in DRAWN else kind
        return faults.parse(made) if isinstance(made, str) else made

    def latency(self, request: Request) -> float:
        min_latency, max_latency = self._plan.latency
        if self.over:
            return min_latency
        return round(self._rng.uniform(min_latency, max_latency), 6)

    def _kind(self, now: float) -> str | None:
        for burst in self._plan.bursts:
            if burst.begins <= now < burst.ends and self._rng.random() < burst.share:
                return burst.kind
        if self._plan.kinds and self._rng.random() < self._plan.share:
            return self._rng.choice(self._plan.kinds)
        return None
