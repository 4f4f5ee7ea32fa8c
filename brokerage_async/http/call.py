"""Attempts of one call: limiter, token, one send, and the decision about the next step."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import time
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import attrs
import msgspec

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
from ..operation import BoundCall, Guard, Operation
from ..protocol.redaction import headers_without_token, without_token
from ..protocol.request import ACCEPT_VERSION, Request, make_request
from ..protocol.response import Response, deprecation_of, is_success, note_arguments, read_error
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


@functools.cache
def _warn_of_deprecation(name: str) -> None:
    logger.warning("%s is deprecated by the service and may end", name)


class Call(msgspec.Struct, eq=False):  # quicker to make than by attrs
    """Attempts of one call, in order.

    Attributes:
        attempt: number of the attempt under way, the first is 1.
        maybe_processed: whether an earlier attempt may have changed something.
    """

    _engine: Engine
    _options: Options
    _call: BoundCall[Any]
    _operation: Operation[Any]
    _loop: asyncio.AbstractEventLoop
    _deadline_at: float | None
    _url: str
    _headers: Mapping[str, str]
    _body: bytes | None
    _previous_body: bytes | None
    _guard: Guard | None
    _authorization: Secret = Secret()
    _last: BrokerageError | None = None
    _waiting_for: str = "its turn to be sent"
    _refreshed: bool = False
    _price: int = 0
    attempt: int = 0
    maybe_processed: bool = False
    # Of the attempt under way:
    _began: float = 0.0
    _sent_at: float | None = None
    _place: tuple[Rate, asyncio.TimerHandle] | None = None
    _response: Response | None = None
    _failure: BrokerageError | None = None

    async def run(self) -> Response:
        """Return the first success, or raise the failure that ends the call."""
        if self._operation.deprecated:
            _warn_of_deprecation(self._operation.name)
        while True:
            self.attempt += 1
            self._began = self._loop.time()
            self._sent_at = self._place = self._response = self._failure = None
            try:
                lane = await self._enter()
                try:
                    self._sent_at = self._loop.time()
                    try:
                        response = await self._engine.transport.send(self._next_request(self._sent_at))
                    except (RequestNotSentError, ResponseLostError, ResponseDecodeError) as error:
                        error.attempts = self.attempt
                        self._failure = error
                    else:
                        self._take(response, self._sent_at)
                    outcome, following = self._judge(lane, self._sent_at)
                finally:  # only now: the next call in the lane must find the gate that a 429 has closed
                    self._leave(lane)
            except BaseException:
                self._report(ABANDONED, None)
                raise
            if self._engine.observers.active:
                self._report(outcome, following if isinstance(following, float) else None)
            if isinstance(following, Response):
                self._engine.budget.earn(self._price)
                return following
            if isinstance(following, BrokerageError):
                raise note_arguments(following, self._call)
            if following:
                await asyncio.sleep(following)

    async def _enter(self) -> Lane:
        """Wait for this call's turn, note the token to send, and return the lane, which the caller has to release."""
        loop, tokens, limiter = self._loop, self._engine.tokens, self._engine.limiter
        lane, rate = limiter.route(self._operation)
        if rate is not None and not rate.try_acquire(self._began):
            await self._in_time(rate.acquire(), f"the rate of {self._operation.name} (Limits.per_operation)")
        try:
            now = loop.time()
            entered = lane.try_acquire(now)
            while True:  # most calls find nothing to wait for
                if not entered:
                    turn = lane.acquire()
                    await (turn if self._deadline_at is None else self._in_time(turn, "a free slot (Limits)", lane))
                    now = loop.time()
                try:
                    ready = tokens.peek(now)
                    if ready is None:
                        ready = await self._in_time(tokens.get(), ACCESS)
                        now = loop.time()
                    self._authorization = ready
                    if limiter.shared is not None and lane.is_open(now):
                        await self._in_time(limiter.permit(self._operation), "the shared limits (RedisLimits)")
                        now = loop.time()
                    if lane.is_open(now):
                        break
                except BaseException:
                    lane.release()
                    raise
                lane.release()  # a 429 has closed the gate in the meantime: queue again
                entered = False
        except BaseException:
            if rate is not None:
                rate.withdraw()
            raise
        if rate is not None:
            self._place = rate, rate.sent()
        return lane

    def _leave(self, lane: Lane) -> None:
        lane.release()
        if self._place is not None and self._response is not None:
            rate, timer = self._place
            rate.answered(timer)

    def _next_request(self, now: float) -> Request:
        """Return the request to send, its timeout within the deadline. Raise if its guard objects."""
        timeout = self._options.timeout
        if self._deadline_at is not None:
            left = self._deadline_at - now
            if left <= 0:
                raise self._too_late(self._waiting_for)
            timeout = left if timeout is None else min(timeout, left)
        request = make_request(
            method=self._operation.method,
            url=self._url,
            headers={**self._headers},
            body=self._body,
            operation=self._operation,
            timeout=timeout,
            previous_body=self._previous_body,
            guard=self._guard,
            authorization=self._authorization,
            secret_body=None,
        )
        if self._guard is not None:
            request.check_guard()
        return request

    def _take(self, response: Response, sent_at: float) -> None:
        """Note the response and, if it is not a success, the failure."""
        self._response = response
        operation, engine = self._operation, self._engine
        if operation.host is None:  # another host may have another clock
            engine.service_clock.observe(response.headers.get("date"), sent_at, self._loop.time())
        if announced := deprecation_of(response.headers):
            version = self._headers.get(ACCEPT_VERSION, "by default")
            message = f"interface version {version} is deprecated ({announced})"
            if message not in engine.announced and len(engine.announced) < MAX_ANNOUNCED:
                engine.announced.add(message)
                logger.warning("%s: %s; set accept_version, or update the library", operation.name, message)
        if not is_success(response):
            failure = self._failure = read_error(
                operation,
                self.without_token(response),
                attempts=self.attempt,
                now=time.time(),
                base_url=engine.environment.address_of(operation.host),
                version=self._headers.get(ACCEPT_VERSION),
            )
            is_market_data = operation.name.partition(".")[0] in MARKET_DATA
            if is_market_data and response.status >= 500 and not engine.environment.is_production:
                failure.args = (f"{failure.message}; {NO_MARKET_DATA}",)

    def without_token(self, response: Response) -> Response:
        """Return the response without the token of the last attempt, should the response quote it."""
        headers = headers_without_token(response.headers, self._authorization)
        return attrs.evolve(response, headers=headers, body=without_token(response.body, self._authorization))

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

    def _judge(self, lane: Lane, sent_at: float) -> tuple[Outcome, Response | BrokerageError | float]:
        """Return the outcome of an attempt, and the success, the failure to raise, or the pause before a repeat.

        Inform lane and tokens of it.
        """
        failure = self._failure
        if failure is None:
            assert self._response is not None
            self._engine.tokens.accept(self._authorization)
            lane.succeeded(sent_at)
            return Outcome.SUCCESS, self._response
        self._last = failure
        policy, outcome = self._options.retry, outcome_of(failure)
        self.maybe_processed |= outcome.maybe_processed
        if outcome is Outcome.THROTTLED:
            pause_of = pause_after_429(failure, policy=policy, chance=policy.jitter())
            lane.throttled(self._loop.time(), sent_at, pause_of)
        elif outcome in _ANSWERED:
            lane.succeeded(sent_at)
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
            return outcome, self._fail(failure)
        if action is not Action.REPEAT:  # with another token, or in the lane, behind its gate
            self._refreshed |= action is Action.REFRESH
            return outcome, 0.0
        price = self._engine.budget.spend(outcome)
        if price is None:
            return outcome, self._fail(failure)
        self._price = price
        pause = pause_before_repeat(failure, attempt=self.attempt, policy=policy, chance=policy.jitter())
        left = math.inf if self._deadline_at is None else self._deadline_at - self._loop.time()
        if pause >= left:
            return outcome, self._too_late(f"the next one, in {pause:.3g} s" if left > 0 else _awaited(failure))
        return outcome, pause

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

    def _report(self, outcome: str, pause: float | None) -> None:
        """Report the attempt that has just ended to observers and log."""
        observers = self._engine.observers
        if not observers.active:
            return
        operation, now = self._operation, self._loop.time()
        sent_at = now if self._sent_at is None else self._sent_at
        response, failure = (None, None) if outcome == ABANDONED else (self._response, self._failure)
        observers(
            Attempt(
                operation=operation.name,
                effect=operation.effect,
                number=self.attempt,
                method=operation.method,
                path=operation.path,
                status=None if response is None else response.status,
                outcome=str(outcome),
                code=None if failure is None else failure.code,
                request_bytes=len(self._body or b""),
                response_bytes=0 if response is None else len(response.body),
                waited=sent_at - self._began,
                elapsed=now - sent_at,
                pause=pause,
                origin="/".join(self._url.split("/", 3)[:3]),
            )
        )


def _awaited(failure: BrokerageError) -> str:
    """Return for what a send waited that the deadline cut short."""
    if isinstance(failure, RequestNotSentError):
        return "a connection"
    return "the response" if failure.status is None else "the rest of the response body"
