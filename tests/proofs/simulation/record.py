"""History of a seed, and the invariants that must hold after it."""

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import msgspec

from brokerage_async import Client
from brokerage_async.config import Limits, RetryPolicy
from brokerage_async.errors import BrokerageError
from brokerage_async.http.limiter import LaneName
from brokerage_async.http.transport import Transport
from brokerage_async.observers import Attempt
from brokerage_async.operation import Effect, Operation
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator.api.brokerage import Brokerage, ServedRequest
from brokerage_async.simulator.faults import Fault
from brokerage_async.simulator.ledger import RequestRecord

from .chaos import HOUR, Plan

CALL: contextvars.ContextVar[int] = contextvars.ContextVar("CALL", default=0)
"""Number of the call that the running code works for."""

MIN_TOKEN_AGE = 700.0
"""Seconds within which a token must not be renewed."""

NEVER_DONE = {"RequestNotSentError", "RateLimitError", "AuthenticationError", "TokenError", "ConfigurationError",
              "InvalidRequestError"}  # fmt: skip
"""Errors that guarantee that nothing was done."""


@attrs.define(kw_only=True)
class CallRecord:
    number: int = 0
    operation: Operation[Any]
    deadline: float | None = None
    began: float = 0.0
    ended: float | None = None
    result: str = "running"
    cancelled: bool = False
    maybe_processed: bool | None = None
    sends: int = 0
    records: list[RequestRecord] = attrs.field(factory=list)


class Record:
    def __init__(self) -> None:
        self.history: list[str] = []
        self.violations: list[str] = []
        self.calls: dict[int, CallRecord] = {}
        self.counts: Counter[str] = Counter()
        self.token_times: list[float] = []
        self.sleeps: list[tuple[float, float]] = []
        self.running: dict[int, asyncio.Task[Any]] = {}

    def write(self, message: str) -> None:
        self.history.append(f"{asyncio.get_running_loop().time():.6f} {message}")

    def violate(self, message: str) -> None:
        self.write(f"VIOLATION {message}")
        self.violations.append(message)

    def begin(self, operation: Operation[Any], deadline: float | None) -> CallRecord:
        number, began = len(self.calls) + 1, asyncio.get_running_loop().time()
        self.calls[number] = call = CallRecord(number=number, operation=operation, deadline=deadline, began=began)
        CALL.set(number)
        self.running[number] = asyncio.current_task()
        self.write(f"call {number} {operation.name}")
        return call

    def cancel(self, number: int) -> None:
        self.calls[number].cancelled = True
        self.running[number].cancel()

    def end(self, call: CallRecord, error: BaseException | None) -> None:
        """Record the end of a call, in one of the permitted ways."""
        call.ended = asyncio.get_running_loop().time()
        del self.running[call.number]
        if error is None:
            call.result = "ok"
        elif isinstance(error, asyncio.CancelledError):
            call.result = "cancelled"
            if not call.cancelled:
                self.violate(f"call {call.number} {call.operation.name} was cancelled without a request")
        elif isinstance(error, BrokerageError):
            call.result = type(error).__name__
            call.maybe_processed = getattr(error, "maybe_processed", None)
        else:
            call.result = type(error).__name__
            self.violate(f"call {call.number} {call.operation.name} raised a bare {call.result}: {error}")
        self.counts[call.result] += 1
        self.write(f"done {call.number} {call.result}")


class RecordingTransport:
    """Transport under the client that counts sends and watches lanes, gates and tokens."""

    def __init__(self, inner: Transport, record: Record, limits: Limits, retry: RetryPolicy) -> None:
        self._inner = inner
        self._record = record
        self._bounds = {"reads": limits.reads, "trades": limits.trades, "tokens": limits.tokens}
        self._min_pause = 0.5 * min(retry.max_delay, retry.base_delay * 2)
        self._gates: dict[str, float] = {}
        self._retry = retry
        self._token: tuple[str, float] | None = None
        self.in_flight: Counter[str] = Counter()
        self.closed = False

    async def send(self, request: Request) -> Response:
        changes = request.operation.effect is not Effect.READ
        lane = "tokens" if request.operation.scope is None else "trades" if changes else "reads"
        sent_at = asyncio.get_running_loop().time()
        number = self._observe_request(request, lane)
        self.in_flight[lane] += 1
        try:
            response = await self._inner.send(request)
        except BaseException as error:
            self._record.write(f"  {number} {lane} {type(error).__name__}")
            raise
        finally:
            self.in_flight[lane] -= 1
        self._record.write(f"  {number} {lane} {response.status} {len(response.body)}")
        self._observe_response(request, response, lane, sent_at)
        return response

    async def close(self) -> None:
        self.closed = True
        await self._inner.close()

    def _observe_response(self, request: Request, response: Response, lane: str, sent_at: float) -> None:
        now = asyncio.get_running_loop().time()
        if response.status == 429:
            self._gates[lane] = max(self._gates.get(lane, 0.0), now + self._min_pause)
        elif lane == "tokens" and response.status == 200 and b"access_token" in response.body:
            self._token = (f"Bearer {msgspec.json.decode(response.body)['access_token']}", sent_at)
        elif response.status == 401 and self._token and request.revealed_headers()["Authorization"] == self._token[0]:
            self._token = None

    def _observe_request(self, request: Request, lane: str) -> int:
        now = asyncio.get_running_loop().time()
        record = self._record
        number = 0 if lane == "tokens" else CALL.get()
        record.counts[f"sends {lane}"] += 1
        bound = self._bounds[lane]
        if bound is not None and self.in_flight[lane] >= bound:
            record.violate(f"{self.in_flight[lane] + 1} requests at once in lane {lane}, which admits {bound}")
        if now < self._gates.get(lane, 0.0) - 1e-6:
            record.violate(f"a request in lane {lane} {self._gates[lane] - now:.3f} s before the gate opens after 429")
        if lane == "tokens":
            record.token_times.append(now)
            if self._token is not None and now < self._token[1] + MIN_TOKEN_AGE:
                record.violate("a token was requested while the last one was new and not rejected")
            return number
        call = record.calls[number]
        call.sends += 1
        if call.sends > self._retry.max_attempts:
            record.violate(f"call {number} sent {call.sends} times, {self._retry.max_attempts} allowed")
        if call.ended is not None:
            record.violate(f"call {number} sends after it has ended")
        return number


def watch_brokerage(brokerage: Brokerage, record: Record, whose: Callable[[Request], int]) -> None:
    """Assign every request that reaches the brokerage to a call, which ``whose`` returns."""
    serve = brokerage.serve

    def watched(request: Request, now: float, fault: Fault | None) -> ServedRequest:
        served = serve(request, now, fault)
        call = record.calls.get(whose(request))
        if call is not None and served.record.operation == call.operation.name:
            call.records.append(served.record)
        return served

    brokerage.serve = watched  # type: ignore[method-assign]


MAX_TOKEN_REQUESTS_PER_MINUTE = 20
"""Maximum requests to the token endpoint within a minute."""


def check_all(record: Record, attempts: list[Attempt], tolerance: float) -> None:
    """Compare calls, counters and tokens of a run that has ended; ``tolerance`` is the clock's."""
    for call in record.calls.values():
        check_call(call, record, tolerance)
    check_counters(record, attempts)
    times = record.token_times
    for first, last in zip(times, times[MAX_TOKEN_REQUESTS_PER_MINUTE:], strict=False):
        if last - first < 60:
            record.violate(f"over {MAX_TOKEN_REQUESTS_PER_MINUTE} token requests within a minute, from {first:.3f} s")
            break


def check_call(call: CallRecord, record: Record, tolerance: float) -> None:
    """Compare one call with the ledger."""
    name = f"call {call.number} {call.operation.name} ({call.result})"
    if call.ended is None:
        record.violate(f"{name} never ended")
        return
    asleep = sum(length for moment, length in record.sleeps if call.began <= moment <= call.ended)
    if call.deadline is not None and call.ended > call.began + call.deadline + asleep + tolerance:
        record.violate(f"{name} took {call.ended - call.began:.3f} s, deadline {call.deadline:g} s")
    done = sum(entry.processed for entry in call.records)
    if call.operation.effect is Effect.MUTATE and done > 1:
        record.violate(f"{name} was processed {done} times")
    denied = call.result in NEVER_DONE or (call.result == "DeadlineExceededError" and call.maybe_processed is False)
    if call.operation.effect is Effect.MUTATE and denied and done:
        record.violate(f"{name} reports that nothing was done, but it was")
    if call.result == "ok" and not done:
        record.violate(f"{name} was never processed")
    if call.sends < len(call.records):
        record.violate(f"{name}: {call.sends} sends, {len(call.records)} arrivals")


def check_counters(record: Record, attempts: list[Attempt]) -> None:
    observed = Counter(attempt.outcome for attempt in attempts)
    sends = record.counts["sends reads"] + record.counts["sends trades"]
    answered = sum(observed.values()) - observed["abandoned"]
    if not answered <= sends <= sum(observed.values()):
        record.violate(f"{sends} sends, but observers saw {answered} to {sum(observed.values())}")
    ended = sum(call.result == "ok" for call in record.calls.values())
    if observed["success"] < ended:
        record.violate(f"{ended} calls succeeded, but observers saw {observed['success']} successes")


def check_end(client: Client, transport: RecordingTransport, record: Record) -> None:
    limiter = client.session.engine.limiter
    for name in LaneName:
        inside, waiting = limiter[name].in_flight, limiter[name].waiting
        if inside or waiting:
            record.violate(f"lane {name} ends with {inside} inside and {waiting} waiting")
    if +transport.in_flight:
        record.violate(f"requests in flight after closing: {dict(+transport.in_flight)}")
    if not transport.closed:
        record.violate("the transport was not closed")
    leftover = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if leftover:
        record.violate(f"{len(leftover)} tasks left: {leftover[0]}")


def check_liveness(probe: CallRecord, plan: Plan, record: Record) -> None:
    if plan.revoked_at is None and probe.result != "ok":
        record.violate(f"a read after the faults ended with {probe.result}")
    if plan.revoked_at is not None and probe.result not in {"TokenError", "AuthenticationError"}:
        record.violate(f"a read with a revoked grant ended with {probe.result}")
    if probe.ended is not None and probe.ended > plan.length + HOUR:
        record.violate("recovery took an hour")
