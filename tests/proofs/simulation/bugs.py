"""Bugs to plant: mistakes that clients of this kind make.

A simulation that does not find them proves nothing. Each is a small, temporary patch of the library.
"""

import asyncio
from collections.abc import Callable
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

_send, _release, _init, _next_request = RecordingTransport.send, Lane.release, Lane.__init__, Call._next_request


def _repeated(outcome: Outcome) -> Any:
    return patch.dict(retry.TABLE, {Effect.MUTATE: retry.TABLE[Effect.MUTATE] | {outcome: Action.REPEAT}})


BUGS: dict[str, Any] = {
    "mutation_repeated_when_lost": _repeated(Outcome.LOST),
    "mutation_repeated_after_5xx": _repeated(Outcome.SERVER_ERROR),
    "refused_credentials_hammered": patch.object(TokenManager, "_rest", lambda *_: None),
    "gate_ignored_after_429": patch.object(Lane, "throttled", lambda *_: None),
    "deadline_forgets_the_lane": patch.object(Call, "_in_time", lambda _, waiting, *__: waiting),
    "token_never_renewed": patch.multiple(
        TokenManager,
        peek=lambda self, now: None if self._lease is None else self._lease.authorization,
        invalidate=lambda *_: False,
    ),
}
"""Bugs by name: context managers within which the library has them."""


def bug(owner: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """List a bug under the name of its function, which takes the place of an attribute."""

    def listed(function: Callable[..., Any]) -> Callable[..., Any]:
        BUGS[function.__name__] = patch.object(owner, name, function)
        return function

    return listed


@bug(RecordingTransport, "send")
async def timeout_taken_for_not_sent(self: RecordingTransport, request: Any) -> Any:
    try:
        return await _send(self, request)
    except ResponseLostError as error:
        raise RequestNotSentError(*error.args) from error


@bug(RecordingTransport, "send")
async def silent_resend_when_dropped(self: RecordingTransport, request: Any) -> Any:
    """Resend dropped requests, as aiohttp does by default."""
    try:
        return await _send(self, request)
    except ResponseLostError:
        return await self._inner.send(request)


@bug(TokenManager, "get")
async def no_single_flight(self: TokenManager) -> str:
    requested_at = asyncio.get_running_loop().time()
    grant = await self._exchange(self._credentials)
    self._lease = Lease.start(grant.access_token, grant.expires_in, requested_at)
    return self._lease.authorization


@bug(TokenManager, "get")
async def refresh_dies_with_its_starter(self: TokenManager) -> str:
    authorization = self.peek(asyncio.get_running_loop().time())
    if authorization is not None:
        return authorization
    if self._task is None:
        self._start()
    await self._task  # without a shield
    if self._lease is None:
        raise TokenError("no token")
    return self._lease.authorization


@bug(TokenManager, "invalidate")
def late_401_drops_the_newer_token(self: TokenManager, authorization: str) -> bool:
    self._lease = None
    return True


@bug(Lane, "release")
def slot_leaked_on_cancellation(self: Lane) -> None:
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        _release(self)


@bug(Lane, "acquire")
async def slot_leaked_by_cancelled_waiter(self: Lane) -> None:
    loop = asyncio.get_running_loop()
    self.in_flight += 1
    waiter = loop.create_future()
    self._waiters.append(waiter)
    self.in_flight -= 1
    self._admit(loop)
    await waiter


@bug(Lane, "__init__")
def bound_not_kept(self: Lane, capacity: int | None, *arguments: Any, **options: Any) -> None:
    _init(self, capacity and capacity + 1, *arguments, **options)


@bug(Call, "_next_request")
def deadline_forgets_the_send(self: Call, now: float) -> Any:
    return attrs.evolve(_next_request(self, now), timeout=self._options.timeout)
