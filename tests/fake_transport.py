"""Scripted service for tests of the layers around a send, on any clock."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from brokerage_async.errors import RequestNotSentError, ResponseLostError
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response

Step = Response | BaseException | Callable[[Request], Any] | float


def ok(data: Any = None) -> Response:
    """Return a success with ``data`` in its envelope, by default a list of one empty object."""
    return Response(status=200, body=json.dumps({"data": data if data is not None else {"items": [{}]}}).encode())


def fail(status: int, code: str | None = None, **headers: str) -> Response:
    """Return an error in the documented envelope, or without a body."""
    body = json.dumps({"error": {"code": code, "message": "no"}}).encode() if code else b""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers=named, body=body)


NOT_SENT = RequestNotSentError("refused")
LOST = ResponseLostError("dropped")


class FakeTransport:
    """Transport that issues tokens ``t1``, ``t2``... and otherwise follows ``script``, whose last step repeats.

    A step is a response, an exception, a function of the request that returns one of these, or a number: seconds before
    an ordinary success. ``requests`` are kept as they go out, ``received`` ones with their secrets hidden.
    """

    def __init__(self, *script: Step, latency: float = 0.0, token_script: tuple[Step, ...] = ()) -> None:
        self.script = list(script) or [ok()]
        self.token_script = list(token_script)
        self.latency = latency
        self.requests: list[Request] = []
        self.received: list[Request] = []
        self.times: list[float] = []
        self.token_requests: list[Request] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.closed = 0

    async def send(self, request: Request) -> Response:
        self.received.append(request)
        request = request.revealed()
        is_token = request.operation is not None and request.operation.name == "oauth.token"
        if is_token:
            self.token_requests.append(request)
            step: Step = self.token_script.pop(0) if self.token_script else self._token()
        else:
            self.requests.append(request)
            self.times.append(asyncio.get_running_loop().time())
            step = self.script[min(len(self.requests), len(self.script)) - 1]
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            return await self._perform(request, step)
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        self.closed += 1

    @property
    def tokens_used(self) -> list[str]:
        return [request.headers["Authorization"] for request in self.requests]

    def _token(self) -> Response:
        body = {"access_token": f"t{len(self.token_requests)}", "token_type": "Bearer", "expires_in": 900}
        return Response(status=200, body=json.dumps(body).encode())

    async def _perform(self, request: Request, step: Step) -> Response:
        if callable(step) and not isinstance(step, BaseException):
            step = step(request)
        seconds = float(step) if isinstance(step, int | float) else self.latency
        if request.timeout is not None and seconds > request.timeout:
            await asyncio.sleep(request.timeout)
            raise ResponseLostError(f"timeout after {request.timeout:g} s")
        if seconds:
            await asyncio.sleep(seconds)
        if isinstance(step, BaseException):
            raise type(step)(*step.args)
        return step if isinstance(step, Response) else ok()
