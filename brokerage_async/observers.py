"""Observation of a client: one record per attempt, without bodies, headers and arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import attrs

from .operation import Effect

__all__ = ["Attempt", "Observer", "ObserverList"]

logger: logging.Logger = logging.getLogger("brokerage_async.session")


@attrs.frozen(kw_only=True)
class Attempt:
    """One attempt of one call, as observers see it when it has ended.

    Attributes:
        operation: name of the operation, such as ``orders.submit``.
        effect: whether it reads, checks in advance, or changes something.
        number: the attempt of this call, the first is 1.
        method, path: HTTP method and path template (never the filled-in path).
        status: HTTP status, None without an answer.
        outcome: ``success``, ``not-sent``, ``lost``, ``server-error``, ``throttled``, ``unauthorized``,
            ``unauthorized-page``, ``refused``, ``ambiguous``, or ``abandoned`` (cancelled, out of time before sending,
            or without a token).
        code: machine-readable error code of the service, if it sent one.
        request_bytes, response_bytes: sizes of the bodies, the latter after decompression.
        waited: seconds spent waiting for a lane and a token before sending.
        elapsed: seconds from sending to the end of the answer.
        pause: seconds until the next attempt, None for no further one; 0.0 when only a lane or a token holds it up.
    """

    operation: str
    effect: Effect
    number: int
    method: str
    path: str
    status: int | None
    outcome: str
    code: str | None
    request_bytes: int
    response_bytes: int
    waited: float
    elapsed: float
    pause: float | None


Observer = Callable[[Attempt], object]
"""Called with the record of each attempt, in the event loop: it must be quick. What it raises is logged."""


class ObserverList:
    """Observers of a client, and the log as one more of them."""

    __slots__ = ("_observers",)

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    @property
    def active(self) -> bool:
        """Whether there is an observer or a log; nothing is recorded otherwise."""
        return bool(self._observers) or logger.isEnabledFor(logging.DEBUG)

    def __call__(self, attempt: Attempt) -> None:
        """Log the attempt and call every observer with it."""
        logger.debug(
            "%s attempt %d: %s (%s) in %.3f s",
            attempt.operation,
            attempt.number,
            attempt.outcome,
            attempt.status or "no answer",
            attempt.elapsed,
        )
        for observer in self._observers:
            try:
                observer(attempt)
            except Exception:
                logger.exception("an observer failed on %s", attempt.operation)
