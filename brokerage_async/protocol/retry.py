"""Verdicts on errors, the retry table, and the arithmetic of waiting. No clock, no randomness.

For every error, `verdict_of` says whether the request may have been processed, and whose fault it is. Retries, polls,
streams, bulk fetches and token requests look their decisions up there. Within a call, `TABLE` alone decides about
safety. `RetryPolicy` says only how often and how soon::

                     not sent   sent, no answer   5xx      429              401              401 page   other
    read, preflight  repeat     repeat            repeat   wait, repeat     refresh, repeat  as 401     final
    mutate           repeat     never             never    wait, repeat     refresh, repeat  never      final

The row of an answer follows from its status, never from the code in its body: a 409 with the code ``unauthorized`` may
come from a proxy behind which the request was processed.

* 401 with a code of `HOPELESS` is final: a fresh token would be rejected as well.
* 401 counts as a rejection before processing only in the service's own error envelope. A 401 page is what the gateway
  in front of the service sends, for a missing User-Agent for example, but a proxy can send one after it has passed the
  request on. A read may still be repeated, a mutation may not.
* 429 counts whatever its body is, because the service's own 429 has neither headers nor, at times, a body. A rate
  limiter answers instead of passing a request on. This assumes that no proxy on the way repeats a mutation and returns
  the 429 of the second attempt.
* Every other answer is final. It proves a refusal only under the conditions of `APIError.maybe_processed`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

import attrs

from .. import errors
from .._arguments import check_number, validator
from ..config import RetryPolicy
from ..operation import Effect


class Outcome(enum.StrEnum):
    """Outcome of one attempt, as observers see it."""

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
        return self is Outcome.SUCCESS or OUTCOMES[self][0] is not Processed.NO


class Processed(enum.Enum):
    """Whether the service may have changed something because of the request."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


class Action(enum.StrEnum):
    """Reaction to an outcome: raise it, or try again at once, behind the pause of its lane, or with a fresh token."""

    RAISE = "raise"
    REPEAT = "repeat"
    WAIT = "wait"
    REFRESH = "refresh"


class Fault(enum.Enum):
    """Where the cause of an error lies."""

    REQUEST = "arguments of the request, or the resource that it names"
    ACCESS = "permissions of the user"
    CREDENTIALS = "the access token"
    RATE = "too many requests"
    CALLER = "this side: its set-up, its grant, its time limit"
    SERVICE = "the service"
    NETWORK = "the way to the service"


@attrs.frozen
class Verdict:
    """What an error says about its request."""

    outcome: Outcome  # row of the retry table
    processed: Processed
    again: Action  # within the call, unless a repetition could change something twice: see `TABLE`
    fault: Fault
    lasts: bool  # whether later calls of the same kind fail as well, until the cause is fixed


OUTCOMES: Mapping[Outcome, tuple[Processed, Action]] = {
    Outcome.NOT_SENT: (Processed.NO, Action.REPEAT),
    Outcome.WITHHELD: (Processed.NO, Action.RAISE),
    Outcome.PROXY_LOGIN: (Processed.NO, Action.RAISE),  # proxies lock accounts after a few wrong passwords
    Outcome.LOST: (Processed.MAYBE, Action.REPEAT),
    Outcome.SERVER_ERROR: (Processed.MAYBE, Action.REPEAT),
    Outcome.THROTTLED: (Processed.NO, Action.WAIT),
    Outcome.UNAUTHORIZED: (Processed.NO, Action.REFRESH),
    Outcome.UNAUTHORIZED_PAGE: (Processed.MAYBE, Action.REFRESH),
    Outcome.REFUSED: (Processed.NO, Action.RAISE),
    Outcome.AMBIGUOUS: (Processed.MAYBE, Action.RAISE),
}
"""What each outcome proves, and the reaction to it where nothing can be changed twice."""

CLASSES: Mapping[type[Exception], tuple[Fault, bool]] = {
    errors.RequestNotSentError: (Fault.NETWORK, False),
    errors.ResponseLostError: (Fault.NETWORK, False),
    errors.TransportError: (Fault.CALLER, False),  # a time limit of this side has passed
    errors.ResponseDecodeError: (Fault.SERVICE, False),
    errors.ServerError: (Fault.SERVICE, False),
    errors.RateLimitError: (Fault.RATE, False),
    errors.AuthenticationError: (Fault.CREDENTIALS, False),
    errors.PermissionDeniedError: (Fault.ACCESS, True),
    errors.VersionNotSupportedError: (Fault.CALLER, True),
    errors.APIError: (Fault.REQUEST, True),
    errors.InvalidRequestError: (Fault.REQUEST, True),
    Exception: (Fault.CALLER, True),
    OSError: (Fault.CALLER, False),
}
"""Where the cause of an error lies, and whether it lasts, by the nearest class."""

TABLE = {
    effect: {
        outcome: Action.RAISE if effect is Effect.MUTATE and outcome.maybe_processed else again
        for outcome, (_, again) in OUTCOMES.items()
    }
    for effect in Effect
}
"""Reaction to every outcome of every effect."""

PASSING = frozenset({408, 425})
"""Statuses of 4xx that pass: the request took too long to arrive (408), or came too early (425)."""

HOPELESS = frozenset({"unconfirmed_user", "invalid_credentials"})
"""Codes of a 401 that a fresh token does not mend: the user must do something."""


def verdict_of(error: Exception) -> Verdict:
    """Return what ``error`` says: the outcome by the answer's status, the fault by it or by the error's class."""
    outcome = outcome_of(error)
    processed, again = OUTCOMES[outcome]
    fault, lasts = next(CLASSES[kind] for kind in type(error).__mro__ if kind in CLASSES)
    if outcome is Outcome.THROTTLED:
        fault, lasts = Fault.RATE, False
    elif error.transient if isinstance(error, errors.TokenError) else getattr(error, "status", None) in PASSING:
        fault, lasts = Fault.SERVICE, False
    elif isinstance(error, errors.TransportError) and not error.maybe_processed:
        processed = Processed.NO
    elif isinstance(error, errors.ResponseDecodeError) or (
        isinstance(error, errors.APIError) and 200 <= (error.status or 0) < 300
    ):
        processed = Processed.YES
    return Verdict(outcome, processed, again, fault, lasts)


def outcome_of(error: Exception) -> Outcome:
    """Return the row of the retry table: for an answer by its status, and by whether the service wrote it."""
    match error:
        case errors.RequestNotSentError(code=code):
            codes = {errors.WITHHELD: Outcome.WITHHELD, errors.PROXY_AUTHENTICATION: Outcome.PROXY_LOGIN}
            return codes.get(code or "", Outcome.NOT_SENT)
        case errors.TransportError():
            return Outcome.LOST
        case errors.ServerError():
            return Outcome.SERVER_ERROR
        case errors.APIError(status=int(status)) if status >= 500:
            return Outcome.SERVER_ERROR
        case errors.APIError(status=429):
            return Outcome.THROTTLED
        case errors.APIError(status=401, code=code) if error.from_service and code in HOPELESS:
            return Outcome.REFUSED
        case errors.APIError(status=401):
            return Outcome.UNAUTHORIZED if error.from_service else Outcome.UNAUTHORIZED_PAGE
        case errors.APIError(maybe_processed=True) | errors.ResponseDecodeError():
            return Outcome.AMBIGUOUS
        case errors.BrokerageError():
            return Outcome.REFUSED
    return Outcome.AMBIGUOUS


def decide(effect: Effect, outcome: Outcome, *, attempt: int, policy: RetryPolicy, refreshed: bool) -> Action:
    """Return the reaction to ``outcome`` of send number ``attempt`` (the first is 1).

    ``refreshed`` says that this call has had a fresh token already: a second 401 is final.
    """
    action = TABLE[effect][outcome]
    if attempt >= policy.max_attempts or (action is Action.REFRESH and refreshed):
        return Action.RAISE
    return action


@attrs.frozen(kw_only=True)
class Backoff:
    """Pauses in seconds after failures in a row: doubled each time up to a maximum, with jitter.

    ``jitter`` is the fraction (0 to 1) of each pause that is random. A longer wish of the service than ``max_wish`` is
    cut to this.
    """

    first: float = attrs.field(default=0.5, validator=validator(check_number))
    maximum: float = attrs.field(default=30.0, validator=validator(check_number))
    jitter: float = attrs.field(default=0.0, validator=validator(check_number, maximum=1))
    max_wish: float = attrs.field(default=60.0, validator=validator(check_number))

    def pause(self, failures: int, chance: float = 0.0, *, wish: float | None = None) -> float:
        """Return the pause after ``failures`` in a row, no shorter than the ``wish`` of the service.

        ``chance`` is a random number from 0 to 1.
        """
        full = min(self.first * 2.0 ** min(failures - 1, 60), self.maximum)
        return max(full * (1 - self.jitter + self.jitter * chance), min(wish or 0.0, self.max_wish))


def full_jitter(policy: RetryPolicy) -> Backoff:
    """Return the pauses between the attempts of a call."""
    return Backoff(first=policy.base_delay, maximum=policy.max_delay, jitter=1.0, max_wish=policy.max_retry_after)


def pause_before_repeat(error: errors.BrokerageError, *, attempt: int, policy: RetryPolicy, chance: float) -> float:
    """Return the pause in seconds before a call is repeated whose send number ``attempt`` ended with ``error``."""
    return full_jitter(policy).pause(attempt, chance, wish=error.retry_after)


def pause_after_429(error: errors.BrokerageError, *, policy: RetryPolicy, chance: float) -> Callable[[int], float]:
    """Return the pause of a lane by its streak: as long as the service wishes, within bounds, else growing."""
    bounded, backoff = min(error.retry_after or 0.0, policy.max_retry_after), throttling(policy)
    return lambda streak: bounded or backoff.pause(streak, chance)


def throttling(policy: RetryPolicy) -> Backoff:
    """Return the pauses after 429s. At least half of each is not random."""
    return attrs.evolve(full_jitter(policy), first=2 * policy.base_delay, jitter=0.5)


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
        """Pay for a repetition after ``outcome``. Return the price, or None if the budget is too small."""
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
