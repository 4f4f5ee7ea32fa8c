"""Retry table, and the arithmetic of waiting. No clock, no randomness.

The table alone decides about safety. `RetryPolicy` says only how often and how soon::

                     not sent   sent, no answer   5xx      429              401              401 page   other
    read, preflight  repeat     repeat            repeat   wait, repeat     refresh, repeat  as 401     final
    mutate           repeat     never             never    wait, repeat     refresh, repeat  never      final

The row of an answer follows from its status, never from the code in its body: a 409 with the code ``unauthorized`` may
come from a proxy behind which the request was processed.

* 401 with a code of `HOPELESS` is final: a fresh token would be rejected as well.
* 401 counts as a rejection before processing only in the service's own error envelope. A 401 page is what the gateway
  in front of the service sends, for a missing User-Agent for example, but a proxy can send one after it has passed the
  request on. A read may be repeated all the same, a mutation may not.
* 429 counts whatever its body is, because the service's own 429 has neither headers nor, at times, a body. A rate
  limiter answers instead of passing a request on. This assumes that no proxy on the way repeats a mutation by itself
  and returns the 429 of its second attempt.
* Every other answer is final. It proves a refusal only under the conditions of `APIError.maybe_processed`.
"""

from __future__ import annotations

import enum

from ..config import RetryPolicy
from ..errors import (
    PROXY_AUTHENTICATION,
    WITHHELD,
    APIError,
    BrokerageError,
    RequestNotSentError,
    ResponseDecodeError,
    ServerError,
    TransportError,
)
from ..operation import Effect

__all__ = [
    "TABLE",
    "Action",
    "Outcome",
    "RetryBudget",
    "backoff",
    "bounded_wait",
    "decide",
    "outcome_of",
    "throttle_pause",
]


class Outcome(enum.StrEnum):
    """Outcome of one attempt, as far as repeating is concerned."""

    SUCCESS = "success"
    NOT_SENT = "not-sent"
    WITHHELD = "withheld"
    PROXY_LOGIN = "proxy-login"
    LOST = "lost"
    SERVER_ERROR = "server-error"
    THROTTLED = "throttled"
    UNAUTHORIZED = "unauthorized"
    UNAUTHORIZED_PAGE = "unauthorized-page"
    REFUSED = "refused"
    AMBIGUOUS = "ambiguous"

    @property
    def maybe_processed(self) -> bool:
        """Whether a request with this outcome may have changed something."""
        return self in _MAYBE_PROCESSED


_MAYBE_PROCESSED = frozenset(
    {Outcome.SUCCESS, Outcome.LOST, Outcome.SERVER_ERROR, Outcome.UNAUTHORIZED_PAGE, Outcome.AMBIGUOUS}
)


class Action(enum.StrEnum):
    """Reaction to an outcome."""

    RAISE = "raise"
    REPEAT = "repeat"
    WAIT = "wait"
    REFRESH = "refresh"


_SAFE = {
    Outcome.NOT_SENT: Action.REPEAT,
    Outcome.WITHHELD: Action.RAISE,
    Outcome.PROXY_LOGIN: Action.RAISE,  # proxies lock accounts after a few wrong passwords
    Outcome.LOST: Action.REPEAT,
    Outcome.SERVER_ERROR: Action.REPEAT,
    Outcome.THROTTLED: Action.WAIT,
    Outcome.UNAUTHORIZED: Action.REFRESH,
    Outcome.UNAUTHORIZED_PAGE: Action.REFRESH,
    Outcome.REFUSED: Action.RAISE,
    Outcome.AMBIGUOUS: Action.RAISE,
}
_UNSAFE = (Outcome.LOST, Outcome.SERVER_ERROR, Outcome.UNAUTHORIZED_PAGE)
TABLE = {
    Effect.READ: _SAFE,
    Effect.PREFLIGHT: _SAFE,
    Effect.MUTATE: _SAFE | dict.fromkeys(_UNSAFE, Action.RAISE),
}
"""Reaction to every outcome of every effect."""


HOPELESS = frozenset({"unconfirmed_user", "invalid_credentials"})
"""Codes of a 401 that a fresh token does not mend: the user must do something."""


def outcome_of(error: BrokerageError) -> Outcome:
    """Classify ``error`` for the table: an answer by its status, and by whether the service wrote it."""
    match error:
        case RequestNotSentError(code=code) if code == WITHHELD:
            return Outcome.WITHHELD
        case RequestNotSentError(code=code) if code == PROXY_AUTHENTICATION:
            return Outcome.PROXY_LOGIN
        case RequestNotSentError():
            return Outcome.NOT_SENT
        case TransportError():
            return Outcome.LOST
        case ServerError():
            return Outcome.SERVER_ERROR
        case APIError(status=int(status)) if status >= 500:
            return Outcome.SERVER_ERROR
        case APIError(status=429):
            return Outcome.THROTTLED
        case APIError(status=401, code=code) if error.from_service and code in HOPELESS:
            return Outcome.REFUSED
        case APIError(status=401):
            return Outcome.UNAUTHORIZED if error.from_service else Outcome.UNAUTHORIZED_PAGE
        case APIError(maybe_processed=True) | ResponseDecodeError():
            return Outcome.AMBIGUOUS
    return Outcome.REFUSED


def decide(effect: Effect, outcome: Outcome, *, attempt: int, policy: RetryPolicy, refreshed: bool) -> Action:
    """Return the reaction to ``outcome`` of send number ``attempt`` (the first is 1).

    ``refreshed`` says that this call has had a fresh token already: a second 401 is final.
    """
    action = TABLE[effect][outcome]
    if attempt >= policy.max_attempts or (action is Action.REFRESH and refreshed):
        return Action.RAISE
    return action


def backoff(policy: RetryPolicy, attempt: int, fraction: float) -> float:
    """Return the seconds to wait after send number ``attempt``; ``fraction`` in [0, 1) is the full jitter."""
    return fraction * min(policy.max_delay, policy.base_delay * 2.0 ** min(attempt - 1, 60))


def throttle_pause(policy: RetryPolicy, streak: int, fraction: float) -> float:
    """Return the seconds to pause after ``streak`` consecutive 429s; at least half of it is not random."""
    ceiling = min(policy.max_delay, policy.base_delay * 2.0 ** min(streak, 60))
    return ceiling * (0.5 + 0.5 * fraction)


def bounded_wait(policy: RetryPolicy, wish: float | None) -> float | None:
    """Return the wait that the service asked for, cut to the maximum of the policy; None stays None."""
    return None if wish is None else min(wish, policy.max_retry_after)


class RetryBudget:
    """Token bucket that all calls of a client share: repeating spends, succeeding earns.

    While most calls succeed it stays full and never matters. When everything fails it is soon empty, and each call is
    then sent once instead of ``max_attempts`` times.
    """

    __slots__ = ("capacity", "tokens")

    COST = 5
    COST_AFTER_LOSS = 10
    REWARD = 1

    def __init__(self, capacity: int | None) -> None:
        self.capacity: int | None = capacity
        self.tokens: int = capacity or 0

    def spend(self, outcome: Outcome) -> int | None:
        """Pay for a repetition after ``outcome``; return the price, or None if the budget is too small."""
        price = self.COST_AFTER_LOSS if outcome is Outcome.LOST else self.COST
        if self.capacity is None:
            return 0
        if price > self.tokens:
            return None
        self.tokens -= price
        return price

    def earn(self, refund: int) -> None:
        """Refund the last repetition of a success, or a little if it needed none."""
        if self.capacity is not None and self.tokens < self.capacity:
            self.tokens = min(self.capacity, self.tokens + (refund or self.REWARD))
