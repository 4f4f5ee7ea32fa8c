"""Guard on connection pools: no connection with an unsolicited answer on it, and a last check before each send.

An unsolicited answer would be read as the answer to the next request. A 429 of that kind has an order sent twice. A 422
has one that was taken pass for refused.

A WebSocket opens at its address or not at all. aiohttp follows redirects of the upgrade and has no option against that,
so the pool refuses a connection to a second address.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import aiohttp

from ..errors import RequestNotSentError
from ..protocol.request import Request
from .network import Network

if TYPE_CHECKING:
    from aiohttp.connector import Connection

GUARDED: ContextVar[Request | None] = ContextVar("guarded request", default=None)
"""The request that the running task is about to send: a pool calls its guard once it has a connection."""

REDIRECTED = "it answers with a redirect, which is never followed"

OPENING: ContextVar[list[str] | None] = ContextVar("address of the WebSocket", default=None)
"""Addresses that the running task connects to while it opens a WebSocket; one that is not the first is a redirect."""


def own_session(
    network: Network, trace_configs: Sequence[aiohttp.TraceConfig], connections: int = 0
) -> aiohttp.ClientSession:
    """Return a session over a pool of its own, without cookies and without credentials from the surroundings."""
    connector = aiohttp.TCPConnector(limit=connections, ssl=True if network.ssl is None else network.ssl)
    guard_connector(connector)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        trace_configs=list(trace_configs),
    )


_GUARDED_CONNECTORS: WeakSet[aiohttp.BaseConnector] = WeakSet()


def guard_connector(connector: aiohttp.BaseConnector) -> None:
    """Guard a pool, for all requests from now on, also those of a session that was borrowed with it.

    It gives out no connection with unread bytes, and none for a request whose guard objects.
    """
    if connector in _GUARDED_CONNECTORS:
        return
    _GUARDED_CONNECTORS.add(connector)
    connect = connector.connect
    # Only connections that have served before are checked: those in use now, and idle ones.
    idle = [protocol for some in getattr(connector, "_conns", {}).values() for protocol, _ in some]
    used = WeakSet[object]([*getattr(connector, "_acquired", ()), *idle])

    async def guarded(req: aiohttp.ClientRequest, *arguments: Any, **options: Any) -> Connection:
        if (addresses := OPENING.get()) is not None:
            addresses.append(str(req.url))
            if addresses[-1] != addresses[0]:
                raise RequestNotSentError(REDIRECTED)
        while True:
            connection = await connect(req, *arguments, **options)
            protocol = connection.protocol
            if protocol is None or not protocol.should_close or protocol not in used:
                break
            connection.close()
        if protocol is not None and protocol not in used:
            used.add(protocol)
        request = GUARDED.get()
        if request is not None:  # after any wait for a connection. Nothing waits from here to the first byte
            try:
                request.check_guard()
            except RequestNotSentError:
                connection.release()
                raise
        return connection

    connector.connect = guarded  # type: ignore[method-assign]
