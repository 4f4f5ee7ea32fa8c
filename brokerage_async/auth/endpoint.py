"""The token endpoint: one request per call, sent once, through a separate lane."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from .._generated.operations import OAUTH_TOKEN
from .._secrets import Secret
from ..config import AuthorizationCode, RefreshToken, RetryPolicy
from ..errors import RequestNotSentError, ResponseDecodeError, ResponseLostError, TokenError
from ..http.limiter import Lane
from ..observers import Event, TokenRequest
from ..protocol.request import build
from ..protocol.retry import pause_after_429
from ..protocol.token import Grant, grant_request, read_grant, unreachable

if TYPE_CHECKING:
    from ..http.transport import Transport


class TokenEndpoint:
    """Client of the token endpoint of one environment.

    Args:
        base_url: base address of the environment, the only destination of these credentials.
        headers: headers of every request of the client.
        timeout: maximum seconds of one request.
        report: called with a record of each request.
        permit: called right before each request. Returns when it may be sent.
    """

    __slots__ = ("_base_url", "_headers", "_lane", "_permit", "_policy", "_report", "_timeout", "_transport")

    def __init__(
        self,
        transport: Transport,
        lane: Lane,
        *,
        base_url: str,
        headers: Mapping[str, str],
        policy: RetryPolicy,
        timeout: float | None,
        report: Callable[[Event], None] | None = None,
        permit: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._transport = transport
        self._lane = lane
        self._base_url = base_url
        self._headers = {**headers, "Content-Type": "application/json"}
        self._policy = policy
        self._timeout = timeout
        self._report = report
        self._permit = permit

    async def __call__(self, credentials: RefreshToken | AuthorizationCode) -> Grant:
        """Exchange credentials for an access token, with one request.

        Raises:
            TokenError: the answer is missing, or rejects the credentials. See `read_grant`.
        """
        request = build(
            OAUTH_TOKEN.bind(body=grant_request(credentials)),
            base_url=self._base_url,
            headers=self._headers,
            timeout=self._timeout,
        )
        # Tracebacks keep frames, including aiohttp's, where the body is a local variable.
        request = attrs.evolve(request, body=None, secret_body=Secret((request.body or b"").decode()))
        loop = asyncio.get_running_loop()
        if not self._lane.try_acquire(loop.time()):
            await self._lane.acquire()
        sent_at = loop.time()
        try:
            if self._permit is not None:
                await self._permit()
                sent_at = loop.time()
            try:
                response = await self._transport.send(request)
            except (RequestNotSentError, ResponseLostError, ResponseDecodeError) as error:
                raise unreachable(error) from error
            has_id = credentials.client_id is not None
            grant = read_grant(response, now=time.time(), base_url=self._base_url, with_client_id=has_id)
            self._lane.succeeded(sent_at)
            self._note("success", loop.time() - sent_at)
            return grant
        except TokenError as error:
            self._note("transient" if error.transient else "refused", loop.time() - sent_at)
            if error.status == 429:
                pause_of = pause_after_429(error, policy=self._policy, chance=self._policy.jitter())
                self._lane.throttled(loop.time(), sent_at, pause_of)
            raise
        finally:
            self._lane.release()

    def _note(self, outcome: str, elapsed: float) -> None:
        if self._report is not None:
            self._report(TokenRequest(outcome=outcome, elapsed=elapsed))
