"""WebSockets: the part of a transport that streams need, and its adapter to aiohttp.

A transport that offers streams has a method ``open_socket``. See `SocketTransport`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from .._secrets import Secret, revealed
from ..config import split_address
from ..errors import ConfigurationError, MessageTooLargeError, RequestNotSentError, ResponseLostError
from .network import Network, is_loopback

if TYPE_CHECKING:
    import aiohttp

MAX_MESSAGE = 16 * 1024 * 1024
"""Largest message in bytes that is read; a larger one ends the connection."""

ERROR, MESSAGE_TOO_BIG = 0x102, 1009
"""Type of a message of aiohttp that stands for an error, and the code with which a socket is closed for that one."""

CLOSE_TIMEOUT = 1.0
"""Seconds to wait for the other side's goodbye."""


class WebSocket(Protocol):
    """An open connection that carries messages both ways."""

    async def send(self, message: str | Secret) -> None:
        """Send a message.

        Raises:
            ResponseLostError: the connection is closed.
        """
        ...

    async def receive(self) -> str | bytes:
        """Return the next message.

        Raises:
            ResponseLostError: the connection is closed.
            MessageTooLargeError: the message is larger than `MAX_MESSAGE`.
        """
        ...

    async def close(self) -> None:
        """Close the connection. Calling it again does nothing."""
        ...


@runtime_checkable
class SocketTransport(Protocol):
    """A transport that also opens WebSockets."""

    async def open_socket(self, url: str, *, user_agent: str, timeout: float) -> WebSocket:
        """Return an open connection to ``url``, within ``timeout`` seconds.

        Raises:
            RequestNotSentError: no connection came about.
        """
        ...


def check_socket_url(url: str, *, allow_http: bool) -> str:
    """Return ``url`` if a token may be sent there.

    Raises:
        ConfigurationError: it is not a WebSocket address, or an unencrypted one beyond loopback.
    """
    parts = split_address("the address of a stream", url, ("ws", "wss"), f"a wss address, got {url}")
    if parts.scheme == "ws" and not is_loopback(parts.hostname) and not allow_http:
        raise ConfigurationError(
            f"the address of a stream must be a wss address, got {url}: ws shows the token to anyone on the way. "
            "It is accepted only where base_url is a plain http address too, with allow_http=True"
        )
    return url


class AiohttpWebSocket:
    """A `WebSocket` over aiohttp, with the session it was opened on if that is its own."""

    __slots__ = ("_owned", "_socket")

    def __init__(self, socket: aiohttp.ClientWebSocketResponse[Any], owned: aiohttp.ClientSession | None) -> None:
        self._socket = socket
        self._owned = owned

    async def send(self, message: str | Secret) -> None:
        """Send a message. See `WebSocket.send`."""
        try:
            await self._socket.send_str(revealed(message))
        except asyncio.CancelledError as cancelled:
            cancelled.__traceback__ = None  # the frames of aiohttp hold the message
            raise
        except (OSError, RuntimeError) as error:
            failure = ResponseLostError(f"the connection is closed: {error}")
        else:
            return
        raise failure  # out here, where those frames do not become its context

    async def receive(self) -> str | bytes:
        """Return the next message. See `WebSocket.receive`."""
        message = await self._socket.receive()
        if message.type <= 2:  # TEXT or BINARY, compared as numbers: this runs for every message
            data: str | bytes = message.data
            return data
        code = self._socket.close_code
        if message.type == ERROR and code == MESSAGE_TOO_BIG:
            raise MessageTooLargeError(f"the service sent a message of more than {MAX_MESSAGE >> 20} MiB")
        raise ResponseLostError(f"the service closed the connection (code {code})")

    async def close(self) -> None:
        """Close the connection, and the session if it is its own."""
        try:
            await self._socket.close()
        finally:
            if self._owned is not None:
                await self._owned.close()


async def connect(
    url: str, *, user_agent: str, timeout: float, network: Network, session: aiohttp.ClientSession | None,
    trace_configs: Sequence[aiohttp.TraceConfig] = (),
) -> WebSocket:  # fmt: skip
    """Return an open connection over aiohttp, at this very address: a redirect is refused.

    It uses a separate pool, because a connection that lasts for hours would take a place from the calls. A borrowed
    ``session`` with a guarded connector is used unchanged.

    Raises:
        RequestNotSentError: no connection came about.
    """
    import aiohttp

    from .failures import describe
    from .pool import OPENING, REDIRECTED, own_session

    owned = None
    if session is None:
        session = owned = own_session(network, trace_configs)
    proxy = network.proxy
    failure: RequestNotSentError
    opening = OPENING.set([])
    try:
        async with asyncio.timeout(timeout):
            socket = await session.ws_connect(
                url,
                headers={"User-Agent": user_agent},
                proxy=None if proxy is None else proxy.url,
                proxy_headers=None if proxy is None else proxy.headers(),
                max_msg_size=MAX_MESSAGE,
                decode_text=False,  # JSON is decoded from bytes, which checks them
                timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT),  # pyright: ignore[reportCallIssue]
            )
        return AiohttpWebSocket(socket, owned)
    except BaseException as error:
        if owned is not None:
            await owned.close()
        if not isinstance(error, aiohttp.ClientError | OSError | TimeoutError | RequestNotSentError):
            error.__traceback__ = None  # the frames of aiohttp hold the headers to the proxy
            raise
        status = getattr(error, "status", None)
        if status:
            reason = f"status {status}"
        elif isinstance(error, aiohttp.RedirectClientError):  # to an address that aiohttp does not try
            reason = REDIRECTED
        else:
            reason = describe(error, timeout)
        if not reason.startswith("no connection to "):
            reason = f"no connection to {urlsplit(url).netloc}: {reason}"
        failure = RequestNotSentError(reason, status=status)
    finally:
        OPENING.reset(opening)
    raise failure  # out here, where the frames of aiohttp do not become its context
