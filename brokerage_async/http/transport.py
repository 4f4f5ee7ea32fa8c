"""Transports: each sends one request exactly once.

`Transport` is the only view of the network that the rest of the library has. `AiohttpTransport` and
`failures` are the only code that knows aiohttp's client. Tests and simulations plug in other transports.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import aiohttp
from yarl import URL

from ..errors import BrokerageError, ConfigurationError
from ..protocol.request import Request
from ..protocol.response import Response, make_response
from .failures import TooLargeError, failure_of, harmless
from .network import Network
from .pool import GUARDED, guard_connector, own_session
from .websocket import WebSocket, connect

MAX_BODY = 64 * 1024 * 1024
"""Largest response body in bytes, after decompression."""


class Transport(Protocol):
    """Sends requests. One call of `send` is one request on the wire, never two."""

    async def send(self, request: Request) -> Response:
        """Send ``request`` once and return the whole answer, whatever its status, within ``request.timeout`` seconds.

        Raises:
            RequestNotSentError: it provably did not reach the service, or its guard objected.
            ResponseLostError: it may have been processed, and no complete answer came.
            ResponseDecodeError: the body of a success is larger than the transport reads.
        """
        ...

    async def close(self) -> None:
        """Release every connection. Calling it again does nothing."""
        ...


class ConnectionDroppedError(Exception):
    """Carries an exception past aiohttp's resending. Trace callbacks see it, callers never do."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class SingleSend:
    """Client middleware for one request that keeps aiohttp from silently sending it again.

    When a kept-alive connection drops, aiohttp repeats idempotent methods on its own, PUT and DELETE included. It
    recognises the occasion by exception class. Here those exceptions leave wrapped in a `ConnectionDroppedError`.
    Whether any of the request was written shows afterwards in its response object, which is created at that moment.
    """

    _request: aiohttp.ClientRequest | None = None

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Pass the request on, and note it."""
        self._request = request
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise ConnectionDroppedError(error) from None

    @property
    def seen(self) -> bool:
        """Whether aiohttp handed the request to its middlewares."""
        return self._request is not None

    @property
    def written(self) -> bool:
        """Whether a socket may have got any part of the request. Unknown, so True, under mocks without middlewares."""
        return self._request is None or self._request.response is not None


_DIRECT = Network()


@lru_cache(maxsize=64)  # the rest of a deadline is a new number each time
def _timeout(seconds: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, ceil_threshold=float("inf"))


class AiohttpTransport:
    """Sends over one pool of connections, opened at the first request in the event loop that makes it.

    No cookies, no redirects, no proxies or credentials from the surroundings, no silent resending.

    Args:
        http_session: an ``aiohttp.ClientSession`` to send over instead. It is borrowed and never closed. Its
            middlewares do not see these requests, because they could send one twice. Its pool is guarded like the
            transport's own, from now on and for all its requests. See `guard_connector`.
        trace_configs: aiohttp trace configurations for the transport's own pool.
        connections: most connections of the transport's own pool open at once, 0 for no bound.
        network: proxy and certificates of the transport's own pool.
        max_body: largest body in bytes that is read.
    """

    def __init__(
        self,
        http_session: aiohttp.ClientSession | None = None,
        *,
        trace_configs: Sequence[aiohttp.TraceConfig] = (),
        connections: int = 0,
        network: Network = _DIRECT,
        max_body: int = MAX_BODY,
    ) -> None:
        if http_session is not None and not isinstance(http_session, aiohttp.ClientSession):
            raise ConfigurationError(
                f"http_session must be an aiohttp.ClientSession, or None, not {type(http_session).__name__}"
            )
        for config in trace_configs:
            if not isinstance(config, aiohttp.TraceConfig):
                raise ConfigurationError(
                    f"trace_configs must hold aiohttp.TraceConfig objects, not {type(config).__name__}"
                )
        if http_session is not None and trace_configs:
            raise ConfigurationError("trace_configs belong to the aiohttp session: give them to http_session itself")
        if http_session is not None and http_session.auth is not None:
            raise ConfigurationError("http_session has an auth of its own, beside which no token can be sent")
        if http_session is not None and http_session.connector is not None:  # None once it is closed
            guard_connector(http_session.connector)
        self._session = http_session
        self._owned = http_session is None
        self._closed = False
        self._trace_configs = list(trace_configs)
        self._connections = connections
        self._network = network
        self._max_body = max_body

    async def send(self, request: Request) -> Response:
        """Send ``request`` once. See `Transport.send`."""
        if self._session is None:
            if self._closed:
                raise ConfigurationError("the client is closed")
            self._session = own_session(self._network, self._trace_configs, self._connections)
        once, proxy = SingleSend(), self._network.proxy
        response: aiohttp.ClientResponse | None = None
        failure: BrokerageError | None
        guarded = None if request.guard is None else GUARDED.set(request)
        try:
            response = await self._session.request(
                request.method,
                URL(request.url, encoded=True),
                data=request.body if request.secret_body is None else request.revealed_body(),
                headers=request.revealed_headers()
                if proxy is None or not request.url.startswith("http:")  # it gets its own by way of the tunnel
                else request.revealed_headers() | proxy.headers(),
                proxy=None if proxy is None else proxy.url,
                proxy_headers=None if proxy is None else proxy.headers(),
                timeout=_timeout(request.timeout),
                allow_redirects=False,
                raise_for_status=False,  # a borrowed session may be set to raise, and would hide what an error says
                auto_decompress=True,
                middlewares=(once,),
                skip_auto_headers=("Content-Type",)  # which aiohttp would make up for a request without a body
                if request.body is None and request.secret_body is None and request.method != "GET"
                else None,
            )
            arrived = response.content.is_eof()  # as most bodies have, together with the headers
            previous = request.previous_body
            body = response.content.read_nowait() if arrived else await self._read(response, previous)
            if len(body) > self._max_body:
                raise TooLargeError(self._max_body)
            if previous is not None and body == previous:
                body = previous
        except asyncio.CancelledError as cancelled:
            task, session = asyncio.current_task(), self._session
            closed_here = self._closed or (session is not None and session.closed)
            if not closed_here or task is None or task.cancelling():  # else the pool cancelled it, and not a caller
                cancelled.__traceback__ = None  # the frames of aiohttp hold the headers
                raise
            closed = aiohttp.ClientConnectionError("the client was closed")
            failure = failure_of(request, closed, once.written)
        except Exception as error:  # whatever aiohttp raises, what counts is how far the request came
            failure = self._failure(request, error, once, response)
        else:
            return make_response(status=response.status, headers=response.headers, body=body)
        finally:
            if guarded is not None:
                GUARDED.reset(guarded)
        if failure is None:
            assert response is not None
            return Response(status=response.status, headers=response.headers)
        raise failure  # out here, where the frames of aiohttp, which hold the headers, do not become its context

    def _failure(
        self, request: Request, error: Exception, once: SingleSend, response: aiohttp.ClientResponse | None
    ) -> BrokerageError | None:
        """Return the failure to raise, in a frame that no traceback shows: the error may hold a password.

        None for an error answer whose body is unreadable: its status is enough.
        """
        if self._session is not None and self._session.closed and not once.seen:
            return ConfigurationError("the http_session of the client is closed")
        if response is not None and response.status >= 400:
            return None
        status = None if response is None else response.status
        cause = error.error if isinstance(error, ConnectionDroppedError) else error
        failure = failure_of(request, cause, once.written, status, self._network.proxy)
        failure.__cause__ = harmless(cause)
        return failure.with_traceback(None)

    async def open_socket(self, url: str, *, user_agent: str, timeout: float) -> WebSocket:
        """Open a WebSocket. See `SocketTransport`."""
        if self._closed:
            raise ConfigurationError("the client is closed")
        borrowed = None if self._owned else self._session
        return await connect(
            url, user_agent=user_agent, timeout=timeout, network=self._network, session=borrowed,
            trace_configs=self._trace_configs,
        )  # fmt: skip

    async def close(self) -> None:
        """Close the pool, unless it is borrowed."""
        self._closed = True
        session, self._session = self._session, None
        if self._owned and session is not None:
            await session.close()
            await asyncio.sleep(0)  # connections of older aiohttp close their sockets in the next turn of the loop

    def __del__(self, _warn: Any = warnings.warn) -> None:
        session = getattr(self, "_session", None)
        if session is not None and self._owned and not session.closed:
            _warn("unclosed Client: use `async with`, or `await client.aclose()`", ResourceWarning, source=self)
            closing = session.close()
            try:
                # As far as it goes without waiting: sockets are closed, and aiohttp does not warn a second time.
                closing.send(None)
            except (StopIteration, RuntimeError):
                return
            closing.close()

    async def _read(self, response: aiohttp.ClientResponse, previous: bytes | None) -> bytes:
        """Return the whole body, counted while it arrives, because a small compressed one may be huge.

        As long as it equals the ``previous`` one, it is compared and not gathered.
        """
        chunks: list[bytes] = []
        size = 0
        try:
            length = response.content_length
            if previous is None and length is not None and "Content-Encoding" not in response.headers:
                if length > self._max_body:
                    raise TooLargeError(self._max_body)
                return await response.read()
            while chunk := await response.content.readany():
                if previous is not None and not previous.startswith(chunk, size):
                    chunks, previous = [previous[:size]], None
                if previous is None:
                    chunks.append(chunk)
                size += len(chunk)
                if size > self._max_body:
                    raise TooLargeError(self._max_body)
        except BaseException:
            response.close()
            raise
        response.release()
        if previous is None:
            return b"".join(chunks)
        return previous if size == len(previous) else previous[:size]
