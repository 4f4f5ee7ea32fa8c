"""Attempts of one call: limiter, token, one send, and the decision about the next step."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

import attrs

from .._secrets import Secret
from ..errors import (
    BrokerageError,
    DeadlineExceededError,
    RequestNotSentError,
    ResponseDecodeError,
    ResponseLostError,
    TransportError,
)
from ..observers import Attempt
from ..operation import BoundCall, Operation
from ..protocol.notes import note_arguments
from ..protocol.redaction import headers_without_token, without_token
from ..protocol.request import ACCEPT_VERSION, Request
from ..protocol.response import Response, deprecation_of, is_success, read_error
from ..protocol.retry import TABLE, Action, Outcome, decide, outcome_of, pause_after_429, pause_before_repeat
from .limiter import Lane, Rate
from .shared import MARKET_DATA, Engine, Options

T = TypeVar("T")

_UNAUTHORIZED = frozenset({Outcome.UNAUTHORIZED, Outcome.UNAUTHORIZED_PAGE})
_ANSWERED = _UNAUTHORIZED | {Outcome.REFUSED, Outcome.AMBIGUOUS}
"""Failures that are answers, and no sign of too many requests."""

ABANDONED = "abandoned"
"""Outcome of an attempt that was cancelled, out of time before sending, or without a token."""

ACCESS = "an access token"

MAX_ANNOUNCED = 20
"""Different deprecations that are logged: a service could word each of its announcements anew."""

logger: logging.Logger = logging.getLogger("brokerage_async.session")

NO_MARKET_DATA = (
    "the sandbox was recorded without market data and metrics: pass Client(market_data=), a client of production"
)


@attrs.define
class _Attempt:
    """Times and results of one attempt so far."""

    began: float
    place: tuple[Rate, asyncio.TimerHandle] | None = None
    sent_at: float | None = None
    response: Response | None = None
    failure: BrokerageError | None = None
    outcome: Outcome = Outcome.SUCCESS


@functools.cache
def _warn_of_deprecation(name: str) -> None:
    logger.warning("%s is deprecated by the service and may end", name)


@attrs.define(eq=False)
class Call:
    """Attempts of one call, in order.

    Attributes:
        attempt: number of the attempt under way, the first is 1.
        maybe_processed: whether an earlier attempt may have changed something.
    """

    _engine: Engine
    _options: Options
    _call: BoundCall[Any]
    _request: Request
    _loop: asyncio.AbstractEventLoop
    _authorization: Secret = attrs.field(default=Secret(), init=False)
    _deadline_at: float | None = attrs.field(init=False)
    _last: BrokerageError | None = attrs.field(default=None, init=False)
    _operation: Operation[Any] = attrs.field(init=False)
    _waiting_for: str = attrs.field(default="its turn to be sent", init=False)
    _refreshed: bool = attrs.field(default=False, init=False)
    _price: int = attrs.field(default=0, init=False)
    attempt: int = attrs.field(default=0, init=False)
    maybe_processed: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._operation = self._call.operation
        deadline = self._options.deadline
        self._deadline_at = None if deadline is None else self._loop.time() + deadline

    async def run(self) -> Response:
        """Return the first success, or raise the failure that ends the call."""
        if self._operation.deprecated:
            _warn_of_deprecation(self._operation.name)
        while True:
            self.attempt += 1
            attempt = _Attempt(self._loop.time())
            try:
                lane = await self._enter(attempt)
                try:
                    await self._send(attempt)
                    following = self._judge(attempt, lane)
                finally:  # only now: the next call in the lane must find the gate that a 429 has closed
                    lane.release()
                    if attempt.place is not None and attempt.response is not None:
                        attempt.place[0].answered(attempt.place[1])
            except BaseException:
                self._report(attempt, ABANDONED, None)
                raise
            if isinstance(following, Response):
                self._engine.budget.earn(self._price)
                self._report(attempt, attempt.outcome, None)
                return following
            if isinstance(following, BrokerageError):
                self._report(attempt, attempt.outcome, None)
                raise note_arguments(following, self._call)
            self._report(attempt, attempt.outcome, following)
            if following:
                await asyncio.sleep(following)

    async def _enter(self, attempt: _Attempt) -> Lane:
        """Wait for this call's turn, note the token to send, and return the lane, which the caller has to release."""
        lane, rate = self._engine.limiter.route(self._operation)
        if rate is None:
            return await self._enter_lane(lane)
        if not rate.try_acquire(attempt.began):
            await self._in_time(rate.acquire(), f"the rate of {self._operation.name} (Limits.per_operation)")
        try:
            await self._enter_lane(lane)
        except BaseException:
            rate.withdraw()
            raise
        attempt.place = rate, rate.sent()
        return lane

    async def _enter_lane(self, lane: Lane) -> Lane:
        tokens, limiter = self._engine.tokens, self._engine.limiter
        entered = lane.try_acquire(self._loop.time())
        while True:  # most calls find nothing to wait for
            if not entered:
                await self._in_time(lane.acquire(), "a free slot (Limits)", lane)
            try:
                ready = tokens.peek(self._loop.time())
                if ready is None:
                    ready = await self._in_time(tokens.get(), ACCESS)
                self._authorization = ready
                if limiter.shared is not None and lane.is_open(self._loop.time()):
                    await self._in_time(limiter.permit(self._operation), "the shared limits (RedisLimits)")
                if lane.is_open(self._loop.time()):
                    return lane
            except BaseException:
                lane.release()
                raise
            lane.release()  # a 429 has closed the gate in the meantime: queue again
            entered = False

    async def _send(self, attempt: _Attempt) -> None:
        """Send once, and note the response and, if it is not a success, the failure."""
        attempt.sent_at = self._loop.time()
        try:
            request = self._next_request(attempt.sent_at)
            if request.guard is not None:
                request.check_guard()
            response = await self._engine.transport.send(request)
        except (RequestNotSentError, ResponseLostError, ResponseDecodeError) as error:
            error.attempts = self.attempt
            attempt.failure = error
        else:
            attempt.response = response
            if self._operation.host is None:  # another host may have another clock
                self._engine.service_clock.observe(response.headers.get("date"), attempt.sent_at, self._loop.time())
            if announced := deprecation_of(response.headers):
                version = request.headers.get(ACCEPT_VERSION) or "by default"
                message = f"interface version {version} is deprecated ({announced})"
                logged = self._engine.announced
                if message not in logged and len(logged) < MAX_ANNOUNCED:
                    logged.add(message)
                    logger.warning("%s: %s; set accept_version, or update the library", self._operation.name, message)
            if not is_success(response):
                base_url = self._engine.environment.address_of(self._operation.host)
                attempt.failure = read_error(
                    self._operation,
                    self.without_token(response),
                    attempts=self.attempt,
                    now=time.time(),
                    base_url=base_url,
                    version=request.headers.get(ACCEPT_VERSION),
                )
                has_prices = self._engine.environment.is_production
                if not has_prices and self._operation.name.partition(".")[0] in MARKET_DATA and response.status >= 500:
                    attempt.failure.args = (f"{attempt.failure.message}; {NO_MARKET_DATA}",)

    def without_token(self, response: Response) -> Response:
        """Return the response without the token of the last attempt, should the response quote it."""
        headers = headers_without_token(response.headers, self._authorization)
        return attrs.evolve(response, headers=headers, body=without_token(response.body, self._authorization))

    def _next_request(self, now: float) -> Request:
        """Return the request to send, its timeout within the deadline."""
        timeout = self._options.timeout
        if self._deadline_at is not None:
            left = self._deadline_at - now
            if left <= 0:
                raise self._too_late(self._waiting_for)
            timeout = left if timeout is None else min(timeout, left)
        request = self._request
        typed = {} if request.body is None else {"Content-Type": "application/json"}
        return Request(
            method=request.method,
            url=request.url,
            headers={**request.headers, **typed},
            authorization=self._authorization,
            body=request.body,
            operation=self._operation,
            timeout=timeout,
            previous_body=request.previous_body,
            guard=request.guard,
        )

    async def _in_time(self, waiting: Awaitable[T], what: str, lane: Lane | None = None) -> T:
        """Return the result of ``waiting`` if it comes before the deadline. Else raise an error that says for what."""
        if self._deadline_at is None:
            return await waiting
        self._waiting_for = what
        try:
            async with asyncio.timeout_at(self._deadline_at):
                return await waiting
        except TimeoutError:
            if lane is not None and not lane.is_open(self._loop.time()):
                what = "the end of the pause after a 429"
            if what is ACCESS:
                self._last = self._engine.tokens.failure or self._last
            raise self._too_late(what) from self._last

    def _judge(self, attempt: _Attempt, lane: Lane) -> Response | BrokerageError | float:
        """Return the success, the failure to raise, or the pause before a repeat. Inform lane and tokens of it."""
        assert attempt.sent_at is not None
        failure = attempt.failure
        if failure is None:
            assert attempt.response is not None
            self._engine.tokens.accept(self._authorization)
            lane.succeeded(attempt.sent_at)
            return attempt.response
        self._last = failure
        policy, outcome = self._options.retry, outcome_of(failure)
        attempt.outcome = outcome
        self.maybe_processed |= outcome.maybe_processed
        if outcome is Outcome.THROTTLED:
            pause_of = pause_after_429(failure, policy=policy, chance=policy.jitter())
            lane.throttled(self._loop.time(), attempt.sent_at, pause_of)
        elif outcome in _ANSWERED:
            lane.succeeded(attempt.sent_at)
        another_token = True
        if outcome in _UNAUTHORIZED:
            try:
                another_token = self._engine.tokens.invalidate(self._authorization)
            except BrokerageError:
                if TABLE[self._operation.effect][outcome] is Action.REFRESH:
                    raise
                another_token = False  # the error to raise is the answer: the mutation may have been processed
        action = decide(self._operation.effect, outcome, attempt=self.attempt, policy=policy, refreshed=self._refreshed)
        if action is Action.RAISE or self._engine.closed or not another_token:
            return self._fail(failure)
        if action is Action.REFRESH:
            self._refreshed = True
            return 0.0
        if action is Action.WAIT:  # in the lane, behind its gate
            return 0.0
        price = self._engine.budget.spend(outcome)
        if price is None:
            return self._fail(failure)
        self._price = price
        pause = pause_before_repeat(failure, attempt=self.attempt, policy=policy, chance=policy.jitter())
        left = math.inf if self._deadline_at is None else self._deadline_at - self._loop.time()
        if pause >= left:
            return self._too_late(f"the next one, in {pause:.3g} s" if left > 0 else _awaited(failure))
        return pause

    def _fail(self, failure: BrokerageError) -> BrokerageError:
        """Return the failure to raise, which is a `DeadlineExceededError` if the deadline cut a send short."""
        late = self._deadline_at is not None and self._loop.time() >= self._deadline_at
        return self._too_late(_awaited(failure)) if late and isinstance(failure, TransportError) else failure

    def _too_late(self, what: str) -> DeadlineExceededError:
        """Return the error of a deadline that passed while the call waited for ``what``. It chains the last failure."""
        operation = self._operation
        attempts = f"{self.attempt} attempt{'' if self.attempt == 1 else 's'}"
        error = DeadlineExceededError(
            f"deadline of {self._options.deadline:g} s exceeded after {attempts}, while waiting for {what}",
            maybe_processed=self.maybe_processed,
            operation=operation.name,
            method=operation.method,
            path=operation.path,
            attempts=self.attempt,
        )
        error.__cause__ = self._last
        return error

    def _report(self, attempt: _Attempt, outcome: str, pause: float | None) -> None:
        """Report the attempt that has just ended to observers and log."""
        observers = self._engine.observers
        if not observers.active:
            return
        operation, now, response = self._operation, self._loop.time(), attempt.response
        sent_at = now if attempt.sent_at is None else attempt.sent_at
        abandoned = outcome == ABANDONED
        observers(
            Attempt(
                operation=operation.name,
                effect=operation.effect,
                number=self.attempt,
                method=operation.method,
                path=operation.path,
                status=None if response is None or abandoned else response.status,
                outcome=str(outcome),
                code=None if attempt.failure is None or abandoned else attempt.failure.code,
                request_bytes=len(self._request.body or b""),
                response_bytes=0 if response is None or abandoned else len(response.body),
                waited=sent_at - attempt.began,
                elapsed=now - sent_at,
                pause=pause,
                origin="/".join(self._request.url.split("/", 3)[:3]),
            )
        )


def _awaited(failure: BrokerageError) -> str:
    """Return for what a send waited that the deadline cut short."""
    if isinstance(failure, RequestNotSentError):
        return "a connection"
    return "the response" if failure.status is None else "the rest of the response body"
