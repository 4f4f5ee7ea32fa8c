"""What one seed holds in store: how the client is set up, and what goes wrong when."""

from __future__ import annotations

import random
from collections.abc import Callable

import attrs

from brokerage_async.config import Limits, RetryPolicy
from brokerage_async.protocol.request import Request
from brokerage_async.simulator import faults
from brokerage_async.simulator.faults import Fault

HOUR = 3600.0
SHORTEST = 600.0
"""Seconds that a play takes at least; the last five minutes bring nothing new."""

Make = Callable[[random.Random], Fault | str]

TROUBLE: dict[str, Make] = {
    "refuse": lambda chance: "refuse",
    "drop_before": lambda chance: "drop_before",
    "drop_after": lambda chance: "drop_after",
    "hang": lambda chance: "hang",
    "hang_after": lambda chance: "hang_after",
    "delay": lambda chance: faults.delay(round(chance.uniform(0, 60), 3)),
    "delay_after": lambda chance: faults.delay_after(round(chance.uniform(0, 60), 3)),
    "status": lambda chance: f"status({chance.choice([500, 502, 503, 504])})",
    "after_status": lambda chance: f"after_status({chance.choice([500, 503])})",
    "html": lambda chance: f"html({chance.choice([502, 503])})",
    "after_html": lambda chance: "after_html(502)",
    "truncate": lambda chance: "truncate",
    "garbage": lambda chance: "garbage",
    "rate_limited": lambda chance: "rate_limited",
    "unauthorized": lambda chance: "unauthorized",
}
"""Everything that can happen to one request. A seed uses a few of them: rare combinations need company of their own."""


@attrs.frozen(kw_only=True)
class Storm:
    """A time in which many requests meet the same trouble."""

    begins: float
    ends: float
    kind: str
    share: float


@attrs.frozen(kw_only=True)
class Setup:
    """The client, and the trader who uses it."""

    limits: Limits
    retry: RetryPolicy
    timeout: float
    deadline: float | None
    traders: int
    pause: float
    cancelled: float
    latency: tuple[float, float]


@attrs.frozen(kw_only=True)
class Plan:
    """All that is decided before the first request."""

    length: float
    setup: Setup
    kinds: tuple[str, ...]
    share: float
    storms: tuple[Storm, ...]
    expiries: tuple[float, ...]
    leaps: tuple[tuple[float, float], ...]
    naps: tuple[tuple[float, float], ...]
    rate_limits: tuple[tuple[float, float, float], ...]
    revoked_at: float | None


def plan_of(seed: int, length: float = HOUR) -> Plan:
    """The plan of a seed; in less time the same things happen sooner, and the machine sleeps less."""
    if length < SHORTEST:
        raise ValueError(f"a play takes at least {SHORTEST:g} s, not {length:g}")
    chance = random.Random(f"plan {seed}")
    kinds = tuple(chance.sample(sorted(TROUBLE), chance.choice([0, 1, 2, 3, 5, 15])))

    def moments(most: int) -> tuple[float, ...]:
        return tuple(sorted(round(chance.uniform(60, length - 300), 3) for _ in range(chance.randint(0, most))))

    storms = tuple(
        Storm(
            begins=begins,
            ends=begins + chance.uniform(5, 120),
            kind=chance.choice(["rate_limited", "status", "refuse", "hang", "drop_after", "html"]),
            share=chance.choice([0.5, 0.9, 1.0]),
        )
        for begins in moments(3)
    )
    return Plan(
        length=length,
        setup=_setup_of(seed, chance),
        kinds=kinds,
        share=chance.choice([0.01, 0.05, 0.15]) if kinds else 0.0,
        storms=storms,
        expiries=moments(4),
        leaps=tuple((moment, chance.uniform(10, 4000)) for moment in moments(2)),
        naps=tuple((moment, chance.uniform(1, 2000) * (length / HOUR)) for moment in moments(1)),
        rate_limits=tuple((moment, moment + chance.uniform(10, 200), chance.choice([1, 3])) for moment in moments(2)),
        revoked_at=chance.uniform(length / 2, length - 300) if chance.random() < 0.05 else None,
    )


def _setup_of(seed: int, chance: random.Random) -> Setup:
    jitter = random.Random(f"jitter {seed}").random
    return Setup(
        limits=Limits(
            reads=chance.choice([1, 2, 4, 8]),
            trades=chance.choice([1, 2, 4]),
            reads_per_second=chance.choice([None, None, 5.0]),
            adaptive=chance.random() < 0.8,
        ),
        retry=RetryPolicy(
            max_attempts=chance.choice([1, 2, 3, 4, 6]),
            base_delay=chance.choice([0.1, 0.25, 1.0]),
            max_delay=chance.choice([5.0, 20.0]),
            jitter=jitter,
        ),
        timeout=chance.choice([2.0, 10.0, 30.0]),
        deadline=chance.choice([None, None, 5.0, 20.0]),
        traders=chance.randint(3, 8),
        pause=chance.uniform(15, 45),
        cancelled=chance.choice([0.0, 0.05, 0.2]),
        latency=chance.choice([(0.0, 0.0), (0.005, 0.05), (0.05, 0.5), (0.01, 3.0)]),
    )


class Trouble:
    """Stands where the simulator looks for scripted faults, and decides for each request as it comes."""

    def __init__(self, plan: Plan, seed: int, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._chance = random.Random(f"trouble {seed}")
        self._clock = clock
        self.over = False

    def take(self, method: str, target: str) -> Fault | None:
        """The fault that this request meets, if any."""
        kind = None if self.over else self._kind(self._clock())
        if kind is None:
            return None
        if kind == "unauthorized" and target.endswith("/oauth/token"):
            return None  # which would be a refusal of the credentials
        made = TROUBLE[kind](self._chance)
        return faults.parse(made) if isinstance(made, str) else made

    def latency(self, request: Request) -> float:
        """Seconds for this request, there and back."""
        least, most = self._plan.setup.latency
        if self.over:
            return least
        return round(self._chance.uniform(least, most), 6)

    def _kind(self, now: float) -> str | None:
        for storm in self._plan.storms:
            if storm.begins <= now < storm.ends and self._chance.random() < storm.share:
                return storm.kind
        if self._plan.kinds and self._chance.random() < self._plan.share:
            return self._chance.choice(self._plan.kinds)
        return None
