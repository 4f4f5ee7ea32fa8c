"""Calls of each effect through a client on a fake transport."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from brokerage_async._generated.operations import ORDERS_CANCEL, ORDERS_DRY_RUN, WATCHLISTS_LIST
from brokerage_async.client import Client
from brokerage_async.config import Environment, Limits, RefreshToken, RetryPolicy
from brokerage_async.http.limiter import LaneName
from brokerage_async.operation import Effect
from brokerage_async.protocol.response import Response

SANDBOX = Environment.sandbox("https://api.example.com/v1")
REFRESH = RefreshToken(client_secret="cs-s3cr3t", refresh_token="rt-s3cr3t")
STEADY = RetryPolicy(base_delay=1.0, jitter=lambda: 0.5)
ORDER = {"account_number": "5WT1", "id": "7"}


def client_of(transport: Any, credentials: Any = REFRESH, environment: Any = SANDBOX, **options: Any) -> Client:
    return Client(environment, credentials, transport=transport, **({"retry": STEADY} | options))


def token(value: str) -> Response:
    return Response(status=200, body=b'{"access_token": "%s", "expires_in": 900}' % value.encode())


def now() -> float:
    return asyncio.get_running_loop().time()


async def read(client: Client) -> Any:
    return await client.session.execute(WATCHLISTS_LIST.bind())


async def mutate(client: Client) -> Any:
    return await client.session.execute(ORDERS_CANCEL.bind(**ORDER))


async def preflight(client: Client) -> Any:
    return await client.session.execute(ORDERS_DRY_RUN.bind(account_number="5WT1", body=b"{}"))


CALLS = {Effect.READ: read, Effect.PREFLIGHT: preflight, Effect.MUTATE: mutate}


async def failure(kind: Any, *client: Any, call: Any = read, match: str | None = None, **options: Any) -> Any:
    """Return the error of this class that a call of a new client raises."""
    async with client_of(*client, **options) as opened:
        return await raised_by(call(opened), kind, match)


async def cancelled(task: asyncio.Future[Any]) -> None:
    """Cancel a task, which has to end by that."""
    task.cancel()
    await raised_by(task, asyncio.CancelledError)


async def raised_by(call: Awaitable[Any], kind: Any, match: str | None = None) -> Any:
    """Return the error of a call that has to fail with one of this class."""
    with pytest.raises(kind, match=match) as caught:
        await call
    return caught.value


class Shared:
    """Shared limits whose permissions are given by `allow`."""

    def __init__(self) -> None:
        self.limits = Limits(reads=3)
        self.asked: list[tuple[LaneName, str]] = []
        self.pauses: list[float] = []
        self._permissions = asyncio.Semaphore(0)

    async def acquire(self, lane: LaneName, operation: str) -> None:
        self.asked.append((lane, operation))
        await self._permissions.acquire()

    def throttled(self, pause: float) -> None:
        self.pauses.append(pause)

    def allow(self) -> None:
        self._permissions.release()
