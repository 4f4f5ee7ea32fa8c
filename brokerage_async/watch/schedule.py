"""Schedule of a polling loop: when to poll next and when to give up, decided without a clock."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable

import attrs

from .._arguments import check_number, check_seconds, validator
from ..protocol.retry import Backoff, Fault, verdict_of

Pacing = Callable[[], Awaitable[float]]
"""Returns the current interval in seconds, and is called after every poll."""

MAX_LATENESS = 0.25
"""Seconds by which a poll may be late and still take place. A later one is skipped."""

MAX_RETRY_AFTER = 900.0
"""Maximum seconds of a ``Retry-After`` that is honoured. Longer ones are cut to this."""

MAX_CONSECUTIVE_REJECTIONS = 10
"""Polls in a row whose access token may be rejected, each after a fresh one, before polling ends."""

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


@attrs.frozen(kw_only=True)
class Schedule:
    """Times of the polls of one loop.

    Attributes:
        interval: seconds from one poll to the next, or a `Pacing` that returns them.
        min_interval: minimum interval in seconds. A shorter one is raised to it.
        jitter: every poll is delayed by up to this fraction (0 to 1) of the interval. The delays do not add up.
        max_backoff: maximum seconds between polls that fail, unless the service asks for more.
    """

    interval: float | Pacing
    min_interval: float = attrs.field(default=0.0, validator=validator(check_number))
    jitter: float = attrs.field(default=0.0, validator=validator(check_number, maximum=1))
    max_backoff: float = attrs.field(default=60.0, validator=validator(check_number))

    def __attrs_post_init__(self) -> None:
        if not callable(self.interval) and check_seconds("interval", self.interval) < self.min_interval:
            logger.warning(
                "interval of %g s is below the minimum: polling every %g s", self.interval, self.min_interval
            )

    async def current(self) -> float:
        """Return the current interval.

        Raises:
            ConfigurationError: the pacing function returned something other than seconds greater than 0.
        """
        interval = self.interval
        if callable(interval):
            interval = check_seconds("result of the pacing function", await interval())
        return max(interval, self.min_interval)

    def next_due(self, due: float, interval: float, now: float) -> float:
        """Return the time of the next poll, on the grid of the interval.

        ``due`` is when the last poll was due, ``now`` when it ended.
        Polls late by more than `MAX_LATENESS` are skipped, so that no burst follows a stall.
        """
        following = due + interval
        if now - following <= MAX_LATENESS:
            return following
        return following + math.ceil((now - following) / interval) * interval

    def backoff(self, failures: int, interval: float, retry_after: float | None = None) -> float:
        """Return the pause after ``failures`` in a row, doubling up to ``max_backoff``."""
        backoff = Backoff(first=interval, maximum=self.max_backoff, max_wish=MAX_RETRY_AFTER)
        return max(interval, backoff.pause(failures, wish=retry_after))


def is_fatal(error: Exception, repeated: int) -> bool:
    """Return True if polling must end after this failure.

    ``repeated`` counts the failures of this class in a row.

    Lost answers, 429, 5xx, undecodable bodies and transient token failures are worth another poll, and so are rejected
    tokens, up to `MAX_CONSECUTIVE_REJECTIONS` in a row. A missing permission or resource, a revoked grant, a closed
    client or a bug in the fetch itself are not.
    """
    verdict = verdict_of(error)
    return verdict.lasts or (verdict.fault is Fault.CREDENTIALS and repeated >= MAX_CONSECUTIVE_REJECTIONS)
