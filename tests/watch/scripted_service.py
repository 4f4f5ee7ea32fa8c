"""A service whose answers a test sets by their paths, and a wait for the next report."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from brokerage_async import Client, Environment, RetryPolicy, StaticToken
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.watch import Watch
from tests.fake_transport import FakeTransport, fail, ok

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Service(FakeTransport):
    """Answers each request with the current value of ``answers`` for its path, or for its account.

    A value is rows, a status, seconds before a list without rows, a whole response, or a function that returns one.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.answers: dict[str, Any] = {}

    @property
    def targets(self) -> list[str]:
        return [request.url.removeprefix("https://service") for request in self.requests]

    def times_of(self, path: str) -> list[float]:
        return [at for at, target in zip(self.times, self.targets, strict=True) if target.startswith(path)]

    def _answer(self, request: Request) -> Response | float:
        target = self.targets[-1]
        path = target.partition("?")[0]
        answer = self.answers[path if path in self.answers else path.split("/")[2]]
        if callable(answer):
            answer = answer(target)
        if isinstance(answer, float | Response):
            return answer
        if "page-offset=0" not in target and "page-offset" in target:
            answer = []
        return fail(answer, f"code_{answer}") if isinstance(answer, int) else ok({"items": answer})


@asynccontextmanager
async def client_of(service: FakeTransport) -> AsyncIterator[Client]:
    """Yield a client of a service whose clock shows noon when the loop's begins."""
    options: Any = {"transport": service, "retry": RetryPolicy.none()}
    async with Client(Environment.sandbox("https://service"), StaticToken("token"), **options) as client:
        client.watch = Watch(client, now=lambda: NOON + timedelta(seconds=asyncio.get_running_loop().time()))
        yield client


async def quiet(watcher: Any, seconds: float = 10.0) -> None:
    """Check that a watcher reports nothing for some time."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(watcher), seconds)
