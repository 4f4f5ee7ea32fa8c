"""Bugs to plant: mistakes that clients of this kind make.

A simulation that does not find them proves nothing. Each is a small, temporary patch of the library.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import attrs

from brokerage_async.auth.manager import TokenManager
from brokerage_async.errors import RequestNotSentError, ResponseLostError, TokenError
from brokerage_async.http.call import Call
from brokerage_async.http.limiter import Lane
from brokerage_async.operation import Effect
from brokerage_async.protocol import retry
from brokerage_async.protocol.retry import Action, Outcome
from brokerage_async.protocol.token import Lease

from .record import RecordingTransport

Patches = list[Any]
BUGS: dict[str, Callable[[], Patches]] = {}


def bug(function: Callable[[], Patches]) -> Callable[[], Patches]:
    """Register a bug under the name of its function."""
    BUGS[function.__name__] = function
    return function


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Patch the library with a bug within the context."""
    patches = BUGS[name]()
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


def _table(outcome: Outcome) -> Any:
    return patch.dict(retry.TABLE, {Effect.MUTATE: retry.TABLE[Effect.MUTATE] | {outcome: Action.REPEAT}})


@bug
def mutation_repeated_when_lost() -> Patches:
    return [_table(Outcome.LOST)]


@bug
def mutation_repeated_after_5xx() -> Patches:
    return [_table(Outcome.SERVER_ERROR)]


@bug
def timeout_taken_for_not_sent() -> Patches:
    original = RecordingTransport.send

    async def send(self: RecordingTransport, request: Any) -> Any:
        try:
            return await original(self, request)
        except ResponseLostError as error:
            raise RequestNotSentError(*error.args) from error

    return [patch.object(RecordingTransport, "send", send)]


@bug
def silent_resend_when_dropped() -> Patches:
    """Resend dropped requests, as aiohttp does by default."""
    original = RecordingTransport.send

    async def send(self: RecordingTransport, request: Any) -> Any:
        try:
            return await original(self, request)
        except ResponseLostError:
            return await self._inner.send(request)

    return [patch.object(RecordingTransport, "send", send)]


@bug
def no_single_flight() -> Patches:
    async def get(self: TokenManager) -> str:
        requested_at = asyncio.get_running_loop().time()
        grant = await self._exchange(self._credentials)
        self._lease = Lease.start(grant.access_token, grant.expires_in, requested_at)
        return self._lease.authorization

    return [patch.object(TokenManager, "get", get)]


@bug
def refresh_dies_with_its_starter() -> Patches:
    async def get(self: TokenManager) -> str:
        authorization = self.peek(asyncio.get_running_loop().time())
        if authorization is not None:
            return authorization
        if self._task is None:
            self._start()
        assert self._task is not None
        await self._task  # without a shield
        if self._lease is None:
            raise TokenError("no token")
        return self._lease.authorization

    return [patch.object(TokenManager, "get", get)]


@bug
def late_401_drops_the_newer_token() -> Patches:
    def invalidate(self: TokenManager, authorization: str) -> bool:
        self._lease = None
        return True

    return [patch.object(TokenManager, "invalidate", invalidate)]


@bug
def refused_credentials_hammered() -> Patches:
    return [patch.object(TokenManager, "_rest", lambda self, error, pause: None)]


@bug
def slot_leaked_on_cancellation() -> Patches:
    original = Lane.release

    def release(self: Lane) -> None:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            original(self)

    return [patch.object(Lane, "release", release)]


@bug
def slot_leaked_by_cancelled_waiter() -> Patches:
    async def acquire(self: Lane) -> None:
        loop = asyncio.get_running_loop()
        self.in_flight += 1
        waiter = loop.create_future()
        self._waiters.append(waiter)
        self.in_flight -= 1
        self._admit(loop)
        await waiter

    return [patch.object(Lane, "acquire", acquire)]


@bug
def gate_ignored_after_429() -> Patches:
    return [patch.object(Lane, "throttled", lambda self, now, started, pause: None)]


@bug
def bound_not_kept() -> Patches:
    original = Lane.__init__

    def init(self: Lane, capacity: int | None, *arguments: Any, **options: Any) -> None:
        original(self, capacity and capacity + 1, *arguments, **options)

    return [patch.object(Lane, "__init__", init)]


@bug
def deadline_forgets_the_lane() -> Patches:
    async def in_time(self: Call, waiting: Any, *_: Any) -> Any:
        return await waiting

    return [patch.object(Call, "_in_time", in_time)]


@bug
def deadline_forgets_the_send() -> Patches:
    original = Call._next_request

    def next_request(self: Call, now: float) -> Any:
        request = original(self, now)
        return attrs.evolve(request, timeout=self._options.timeout)

    return [patch.object(Call, "_next_request", next_request)]


@bug
def token_never_renewed() -> Patches:
    def peek(self: TokenManager, now: float) -> str | None:
        return None if self._lease is None else self._lease.authorization

    return [patch.object(TokenManager, "peek", peek), patch.object(TokenManager, "invalidate", lambda *_: False)]
