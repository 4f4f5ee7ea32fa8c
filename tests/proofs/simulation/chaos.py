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


class Plan:
    """Everything that is decided before the first request: options of the client and of its traders, and faults.

    In a shorter run the same events happen sooner, and the machine sleeps less.
    """

    def __init__(self, seed: int, length: float = HOUR) -> None:
        if length < MIN_LENGTH:
            raise ValueError(f"length must be at least {MIN_LENGTH:g} s, got {length:g}")
        rng = random.Random(f"plan {seed}")

        def moments(max_count: int) -> list[float]:
            return sorted(round(rng.uniform(60, length - 300), 3) for _ in range(rng.randint(0, max_count)))

        self.length = length
        self.kinds = rng.sample(sorted(FAULTS), rng.choice([0, 1, 2, 3, 5, 15]))
        self.bursts = [
            FaultBurst(
                begins=begins,
                ends=begins + rng.uniform(5, 120),
                kind=rng.choice(["rate_limited", "status", "refuse", "hang", "drop_after", "html"]),
                share=rng.choice([0.5, 0.9, 1.0]),
            )
            for begins in moments(3)
        ]
        self.limits = Limits(
            reads=rng.choice([1, 2, 4, 8]),
            trades=rng.choice([1, 2, 4]),
            reads_per_second=rng.choice([None, None, 5.0]),
            adaptive=rng.random() < 0.8,
        )
        self.retry = RetryPolicy(
            max_attempts=rng.choice([1, 2, 3, 4, 6]),
            base_delay=rng.choice([0.1, 0.25, 1.0]),
            max_delay=rng.choice([5.0, 20.0]),
            jitter=random.Random(f"jitter {seed}").random,
        )
        self.timeout = rng.choice([2.0, 10.0, 30.0])
        self.deadline = rng.choice([None, None, 5.0, 20.0])
        self.traders = rng.randint(3, 8)
        self.pause = rng.uniform(15, 45)
        self.cancelled = rng.choice([0.0, 0.05, 0.2])
        self.latency = rng.choice([(0.0, 0.0), (0.005, 0.05), (0.05, 0.5), (0.01, 3.0)])
        self.share = rng.choice([0.01, 0.05, 0.15]) if self.kinds else 0.0
        self.expiries = moments(4)
        self.leaps = [(moment, rng.uniform(10, 4000)) for moment in moments(2)]
        self.sleeps = [(moment, rng.uniform(1, 2000) * (length / HOUR)) for moment in moments(1)]
        self.rate_limits = [(moment, moment + rng.uniform(10, 200), rng.choice([1, 3])) for moment in moments(2)]
        self.revoked_at = rng.uniform(length / 2, length - 300) if rng.random() < 0.05 else None


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
