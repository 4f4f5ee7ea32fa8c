"""One call on its way: its attempts, and the order of things around each of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from ..errors import (
    BrokerageError,
    DeadlineExceededError,
    RequestNotSentError,
    ResponseDecodeError,
    ResponseLostError,
    TransportError,
)
from ..observers import Attempt
from ..operation import Operation
from ..protocol.request import Request
from ..protocol.response import Response, is_success, read_error
from ..protocol.retry import TABLE, Action, Outcome, backoff, bounded_wait, decide, outcome_of, throttle_pause
from .shared import Engine, Options

__all__ = ["Call"]

T = TypeVar("T")

NEVER = -1.0

_UNAUTHORIZED = frozenset({Outcome.UNAUTHORIZED, Outcome.UNAUTHORIZED_PAGE})
_ANSWERED = _UNAUTHORIZED | {Outcome.REFUSED, Outcome.AMBIGUOUS}
"""Failures that are answers, and no sign of too many requests."""


class Call:
    """One call on its way: its attempts, and what is known of them so far."""

    __slots__ = ("_authorization", "_began", "_deadline_at", "_engine", "_lane", "_loop", "_operation", "_options",
                 "_out_of_time", "_rate", "_refreshed", "_refund", "_request", "_sent_at", "attempt",
                 "maybe_processed")  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        options: Options,
        operation: Operation[Any],
        request: Request,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._engine = engine
        self._options = options
        self._operation = operation
        self._request = request
        self._loop = loop
        self._lane, self._rate = engine.limiter.route(operation)
        self._deadline_at = None if options.deadline is None else loop.time() + options.deadline
        self._authorization = ""
        self._refreshed = False
        self._out_of_time = False
        self._refund = 0
        self._began = self._sent_at = NEVER
        self.attempt: int = 0
        self.maybe_processed: bool = False

    async def run(self) -> Response:
        """The first success; raises the failure after which nothing more is done."""
        while True:
            self.attempt += 1
            self._began = self._loop.time()
            self._sent_at = NEVER
            try:
                await self._enter()
                try:
                    response, failure = await self._try_once()
                    action = Action.RAISE if failure is None else self._learn(failure)
                finally:  # only now: whoever waits next must find the gate that a 429 has closed
                    self._lane.release()
            except BaseException:  # cancelled, out of time while waiting, or without a token
                self._tell(None, "abandoned", None, None)
                raise
            if failure is None:
                assert response is not None
                self._tell(response, Outcome.SUCCESS, None, None)
                return response
            outcome = outcome_of(failure)
            pause = self._pause(action, outcome, failure)
            self._tell(response, outcome, failure.code, pause)
            if pause is None:
                raise self._final(failure)
            if pause:
                await asyncio.sleep(pause)

    async def _enter(self) -> None:
        """Wait for this call's turn, and have a token for it."""
        if self._rate is not None:
            if not self._rate.try_acquire(self._began):
                await self._in_time(self._rate.acquire())
            self._rate.release()
        lane, tokens = self._lane, self._engine.tokens
        entered = lane.try_acquire(self._began)
        if entered:
            authorization = tokens.peek(self._began)
            if authorization is not None:  # the usual way: nothing to wait for
                self._authorization = authorization
                return
        while True:
            if not entered:
                await self._in_time(lane.acquire())
            try:
                ready = tokens.peek(self._loop.time())
                self._authorization = await self._in_time(tokens.get()) if ready is None else ready
                if lane.is_open(self._loop.time()):
                    return
            except BaseException:
                lane.release()
                raise
            lane.release()  # while this call was on its way, a 429 has closed the gate: get in line again
            entered = False

    async def _try_once(self) -> tuple[Response | None, BrokerageError | None]:
        """One send: the response, and what failed if it is no success."""
        engine = self._engine
        self._sent_at = self._loop.time()
        try:
            request = self._next_request()
            request.check_guard()
            response = await engine.transport.send(request)
        except (RequestNotSentError, ResponseLostError, ResponseDecodeError) as error:
            error.attempts = self.attempt
            return None, error
        engine.service_clock.observe(response.headers.get("date"), self._loop.time())
        if is_success(response):
            self._lane.succeeded(self._sent_at)
            engine.budget.earn(self._refund)
            engine.tokens.accept(self._authorization)
            return response, None
        return response, read_error(self._operation, response, attempts=self.attempt, now=time.time())

    def _next_request(self) -> Request:
        """The request as it goes out, within what is left of the deadline."""
        timeout = self._options.timeout
        if self._deadline_at is not None:
            left = self._deadline_at - self._sent_at
            if left <= 0:
                raise self._too_late()
            timeout = left if timeout is None else min(timeout, left)
        request = self._request
        headers = {**request.headers, "Authorization": self._authorization}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        return Request(
            method=request.method,
            url=request.url,
            headers=headers,
            body=request.body,
            operation=self._operation,
            timeout=timeout,
            known=request.known,
            guard=request.guard,
        )

    async def _in_time(self, waiting: Awaitable[T]) -> T:
        """The result of ``waiting``, if it comes before the deadline."""
        if self._deadline_at is None:
            return await waiting
        try:
            async with asyncio.timeout_at(self._deadline_at):
                return await waiting
        except TimeoutError:
            raise self._too_late() from None

    def _learn(self, failure: BrokerageError) -> Action:
        """Tell lane and tokens of a failed attempt, and look up what to do about it."""
        policy, lane, outcome = self._options.retry, self._lane, outcome_of(failure)
        another_token = True
        self.maybe_processed |= outcome.maybe_processed
        if outcome is Outcome.THROTTLED:
            wish, fraction = bounded_wait(policy, failure.retry_after), policy.jitter()
            lane.throttled(
                self._loop.time(), self._sent_at, lambda streak: wish or throttle_pause(policy, streak, fraction)
            )
        elif outcome in _UNAUTHORIZED:
            another_token = self._drop_token(outcome)
        if outcome in _ANSWERED:
            lane.succeeded(self._sent_at)
        if self._engine.closed or not another_token:
            return Action.RAISE
        return decide(self._operation.effect, outcome, attempt=self.attempt, policy=policy, refreshed=self._refreshed)

    def _drop_token(self, outcome: Outcome) -> bool:
        """Invalidate the token that was rejected; return whether another one can be had."""
        try:
            return self._engine.tokens.invalidate(self._authorization)
        except BrokerageError:
            if TABLE[self._operation.effect][outcome] is Action.REFRESH:
                raise
            return False  # the error to raise is the answer: the mutation may have been processed

    def _pause(self, action: Action, outcome: Outcome, failure: BrokerageError) -> float | None:
        """The seconds until the next attempt, or None when there is to be none."""
        policy = self._options.retry
        if action is Action.RAISE:
            return None
        if action is Action.REFRESH:
            self._refreshed = True
            return 0.0
        if action is Action.WAIT:  # in the lane, behind its gate
            return 0.0
        price = self._engine.budget.spend(outcome)
        if price is None:
            return None
        self._refund = price
        pause = max(backoff(policy, self.attempt, policy.jitter()), bounded_wait(policy, failure.retry_after) or 0.0)
        self._out_of_time = self._deadline_at is not None and self._loop.time() + pause >= self._deadline_at
        return None if self._out_of_time else pause

    def _final(self, failure: BrokerageError) -> BrokerageError:
        """What the caller gets to see: the last failure, or the deadline if that cut things short."""
        late = self._deadline_at is not None and self._loop.time() >= self._deadline_at
        if self._out_of_time or (late and isinstance(failure, TransportError)):
            error = self._too_late()
            error.__cause__ = failure
            return error
        return failure

    def _too_late(self) -> DeadlineExceededError:
        operation = self._operation
        return DeadlineExceededError(
            f"not done within {self._options.deadline:g} s, after {self.attempt} attempts",
            maybe_processed=self.maybe_processed,
            operation=operation.name,
            method=operation.method,
            path=operation.path,
            attempts=self.attempt,
        )

    def _tell(self, response: Response | None, outcome: str, code: str | None, pause: float | None) -> None:
        """Tell observers and log of the attempt that has just ended."""
        watchers = self._engine.watchers
        if not watchers.active:
            return
        operation, now = self._operation, self._loop.time()
        sent_at = now if self._sent_at == NEVER else self._sent_at
        watchers(
            Attempt(
                operation=operation.name,
                effect=operation.effect,
                number=self.attempt,
                method=operation.method,
                path=operation.path,
                status=None if response is None else response.status,
                outcome=str(outcome),
                code=code,
                request_bytes=len(self._request.body or b""),
                response_bytes=0 if response is None else len(response.body),
                waited=sent_at - self._began,
                elapsed=now - sent_at,
                pause=pause,
            )
        )
