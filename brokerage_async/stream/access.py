"""Access of the streams to their client: its addresses, tokens, clock and sockets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from urllib.parse import urlsplit

from .._generated.endpoints import Endpoints
from .._secrets import Secret
from ..errors import ConfigurationError
from ..http.network import is_loopback
from ..http.session import BrokerageSession
from ..http.websocket import SocketTransport, WebSocket, check_socket_url
from ..protocol.request import DEFAULT_USER_AGENT


class StreamAccess:
    """Parts of a client that streams use."""

    def __init__(self, session: BrokerageSession) -> None:
        self.session: BrokerageSession = session
        self.endpoints: Endpoints = Endpoints(session)

    @property
    def user_agent(self) -> str:
        """Name and version of the program."""
        return self.session.options.headers.get("User-Agent", DEFAULT_USER_AGENT)

    @property
    def strict(self) -> bool:
        """Whether a value that does not fit is an error."""
        return self.session.options.strict

    def now(self) -> datetime:
        """Return the time by the service's clock. By this machine's until an answer has shown it."""
        return self.session.service_now() or datetime.now(UTC)

    def account_url(self) -> str:
        """Return the address of the account stream, or raise ConfigurationError."""
        url = self.session.engine.environment.streamer_url
        if url is None:
            raise ConfigurationError(
                "Environment.streamer_url must be the address of the account stream, got None: pass streamer_url=, "
                "or set BROKERAGE_STREAMER_URL"
            )
        return self.checked(url)

    def checked(self, url: str) -> str:
        """Return the address of a stream if a token may be sent there. See `check_socket_url`.

        A plain one beyond loopback follows ``base_url``: a client takes a plain one only with ``allow_http``.
        """
        base = urlsplit(self.session.engine.environment.base_url)
        return check_socket_url(url, allow_http=base.scheme == "http" and not is_loopback(base.hostname))

    async def token(self) -> Secret:
        """Return a valid ``Authorization`` value."""
        tokens = self.session.engine.tokens
        return tokens.peek(asyncio.get_running_loop().time()) or await tokens.get()

    def invalidate(self, token: Secret) -> None:
        """Drop a token that the service has refused."""
        self.session.engine.tokens.invalidate(token)

    async def open_socket(self, url: str, timeout: float) -> WebSocket:
        """Return an open connection, or raise ConfigurationError if the transport of the client cannot open any."""
        transport = self.session.engine.transport
        if not isinstance(transport, SocketTransport):
            raise ConfigurationError(
                f"transport must have a method open_socket for streams, got {type(transport).__name__}: "
                "see brokerage_async.http.websocket.SocketTransport"
            )
        return await transport.open_socket(url, user_agent=self.user_agent, timeout=timeout)
