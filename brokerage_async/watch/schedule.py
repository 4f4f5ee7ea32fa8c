"""When to poll next and when to give up: the decisions of a polling loop, without a clock of their own."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable

import attrs

from .._arguments import is_number
from ..errors import (
    AuthenticationError,
    ConfigurationError,
    RateLimitError,
    ResponseDecodeError,
    ServerError,
    TokenError,
    TransportError,
)

__all__ = ["CATCH_UP", "Cadence", "Pacing", "Streak", "is_fatal"]

Pacing = Callable[[], Awaitable[float]]
"""Tells the present interval in seconds; asked after every poll."""

CATCH_UP = 0.25
"""Seconds by which a poll may be late and still be made up for; beyond that it is left out."""

MOST_PATIENCE = 900.0
"""Seconds of silence that the service may ask for (``Retry-After``); a longer wish is cut to this."""

MOST_REFUSALS = 10
"""Polls in a row that may be refused for their access token, each after a fresh one, before that is taken to last."""

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


@attrs.frozen(kw_only=True)
class Cadence:
    """When to poll.

    Attributes:
        interval: seconds from one poll to the next, or a `Pacing` that tells them.
        floor: the least interval in seconds; a shorter one is raised to it.
        jitter: every poll waits up to this fraction (0 to 1) of the interval longer; the delays do not add up.
        max_backoff: most seconds between polls that fail, unless the service asks for more patience.
    """

    interval: float | Pacing
    floor: float = 0.0
    jitter: float = 0.0
    max_backoff: float = 60.0

    def __attrs_post_init__(self) -> None:
        if not is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise ConfigurationError(f"jitter must be a fraction from 0 to 1, not {self.jitter!r}")
        for name, seconds in (("floor", self.floor), ("max_backoff", self.max_backoff)):
            if not is_number(seconds) or not 0 <= seconds < math.inf:
                raise ConfigurationError(f"{name} must be a number of seconds from 0 on, not {seconds!r}")
        if not callable(self.interval) and _checked("interval", self.interval) < self.floor:
            logger.warning("polling every %g s is too often, it will be every %g s", self.interval, self.floor)

    async def current(self) -> float:
        """The interval that holds now.

        Raises:
            ConfigurationError: the pace told something else than a number of seconds greater than 0.
        """
        interval = self.interval
        if callable(interval):
            interval = _checked("what a pace tells", await interval())
        return max(interval, self.floor)

    def next_due(self, due: float, interval: float, now: float) -> float:
        """When to poll after the poll that was due at ``due`` is over at ``now``: on the grid of the interval.

        Polls that are late by more than `CATCH_UP` are left out, so that no burst follows a stall.
        """
        following = due + interval
        if now - following <= CATCH_UP:
            return following
        return following + math.ceil((now - following) / interval) * interval

    def backoff(self, failures: int, interval: float, retry_after: float | None = None) -> float:
        """Seconds to wait after ``failures`` in a row: doubling from the interval up to ``max_backoff``."""
        doubled = min(interval * 2.0 ** min(failures - 1, 30), self.max_backoff)
        return max(interval, doubled, min(retry_after or 0.0, MOST_PATIENCE))


def _checked(name: str, interval: object) -> float:
    if not is_number(interval) or not 0 < interval < math.inf:
        raise ConfigurationError(f"{name} must be a number of seconds greater than 0, not {interval!r}")
    return interval


@attrs.define
class Streak:
    """Failures since the last success: how many ``in_all``, and how many ``alike`` (of the class of the last one)."""

    in_all: int = 0
    alike: int = 0
    last: Exception | None = None

    def note(self, failure: Exception | None) -> None:
        """Count a poll that failed, or start again after one that did not."""
        if failure is None:
            self.in_all = self.alike = 0
        else:
            self.in_all += 1
            self.alike = self.alike + 1 if type(failure) is type(self.last) else 1
        self.last = failure


def is_fatal(error: Exception, repeated: int) -> bool:
    """Whether polling on is pointless; ``repeated`` counts the failures of this kind in a row, this one included.

    Lost answers, 429, 5xx, undecodable bodies and passing token failures are worth another poll, and so are refused
    tokens, up to `MOST_REFUSALS` in a row. A missing permission or resource, a dead grant, a closed client, or a
    mistake in the fetch itself are not.
    """
    if isinstance(error, TokenError):
        return not error.transient
    if isinstance(error, AuthenticationError):
        return repeated >= MOST_REFUSALS
    return not isinstance(error, (TransportError, RateLimitError, ServerError, ResponseDecodeError, OSError))
