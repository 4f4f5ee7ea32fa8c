"""Policies: what to repeat, and how fast to go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from .._arguments import check_count, check_flag, check_function, check_number, check_positive, check_rates, validator
from ..operation import PUBLISHED_RATES, PUBLISHED_TOTAL
from .random_values import chance


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """Number and timing of repetitions, where repeating is safe at all.

    Safety is not configurable: a mutation that may have arrived is never sent again.

    Attributes:
        max_attempts: sends of one call, the first included.
        base_delay, max_delay: the n-th repetition waits a random time of at most ``base_delay * 2**(n-1)`` seconds,
            and never more than ``max_delay`` (exponential backoff with full jitter).
        max_retry_after: longest wait in seconds that the service may ask for. A longer wish is cut to this.
        budget: how many tokens the client holds for repetitions over all its calls. A repetition costs 5 (10 after a
            lost answer), every success gives back, so that an outage does not multiply the load. None: no bound.
        jitter: source of random numbers in [0, 1), to be replaced where runs must be repeatable.
    """

    max_attempts: int = attrs.field(default=4, validator=validator(check_count))
    base_delay: float = attrs.field(default=0.25, validator=validator(check_number))
    max_delay: float = attrs.field(default=20.0, validator=validator(check_number))
    max_retry_after: float = attrs.field(default=60.0, validator=validator(check_number))
    budget: int | None = attrs.field(default=500, validator=validator(check_count, optional=True))
    jitter: Callable[[], float] = attrs.field(default=chance, eq=False, repr=False, validator=validator(check_function))

    @classmethod
    def none(cls) -> RetryPolicy:
        """Send every call once and report what happened."""
        return cls(max_attempts=1)


@attrs.frozen(kw_only=True)
class Limits:
    """Bounds on concurrency and rate of one client.

    Calls wait in three lanes, in order of arrival: ``reads``, ``trades`` (mutations and their dry-runs) and ``tokens``.
    A crowd of reads never holds up a cancel.

    Attributes:
        reads, trades, tokens: most requests in flight per lane. None for no bound.
        reads_per_second, trades_per_second: most requests per second of a lane. None for no bound.
        per_operation: most requests per second of single operations, such as ``{"orders.live": 0.5}``.
        adaptive: on 429 halve the lane's bound, then let it grow back slowly.
    """

    reads: int | None = attrs.field(default=32, validator=validator(check_count, optional=True))
    trades: int | None = attrs.field(default=8, validator=validator(check_count, optional=True))
    tokens: int | None = attrs.field(default=1, validator=validator(check_count, optional=True))
    reads_per_second: float | None = attrs.field(default=None, validator=validator(check_positive, optional=True))
    trades_per_second: float | None = attrs.field(default=None, validator=validator(check_positive, optional=True))
    per_operation: Mapping[str, float] = attrs.field(factory=dict, hash=False, validator=validator(check_rates))
    adaptive: bool = attrs.field(default=True, validator=validator(check_flag))

    @classmethod
    def published(cls) -> Limits:
        """Return the rates that the service's agent server keeps to.

        See ``rates_of_operations`` in the list of recorded behaviour: the service publishes no figures. Each operation
        has a rate, 20 trades a second, 30 reads, and so 50 together.
        A `fleet.RedisLimits` with these limits and ``requests_per_second=50`` keeps several processes to them.
        """
        trades = 20.0
        return cls(
            reads_per_second=PUBLISHED_TOTAL - trades, trades_per_second=trades, per_operation=dict(PUBLISHED_RATES)
        )

    @classmethod
    def unlimited(cls) -> Limits:
        """No bounds and no adaptation; 429 is still waited out, call by call."""
        return cls(reads=None, trades=None, tokens=None, adaptive=False)
