"""In-memory WebSocket: the client's end of a session of the simulator."""

from __future__ import annotations

import asyncio
from collections import deque
from urllib.parse import urlsplit

from ..._secrets import Secret, revealed
from ...errors import RequestNotSentError, ResponseLostError
from ..api.brokerage import Brokerage
from ..clock import Clock
from ..streams.session import Session
from .pump import Pump

__all__ = ["MemorySocket", "open_socket"]


class MemorySocket:
    """Connection to a session; messages arrive in the loop's next turn, or after their delay."""

    def __init__(self, brokerage: Brokerage, clock: Clock, session: Session, pump: Pump) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._session = session
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._arrived: deque[str] = deque()
        self._changed = asyncio.Event()
        self._is_closed = False
        session.connect(self._deliver, self._end)

    async def send(self, message: str | Secret) -> None:
        """Send a message.

        Raises:
            ResponseLostError: the connection is closed.
        """
        if self._is_closed:
            raise ResponseLostError("simulated: the connection is closed")
        self._loop.call_soon(self._receive, revealed(message))

    async def receive(self) -> str | bytes:
        """Return the next message.

        Raises:
            ResponseLostError: the connection is closed.
        """
        while not self._arrived:
            if self._is_closed:
                raise ResponseLostError("simulated: the service closed the connection")
            self._changed.clear()
            await self._changed.wait()
        return self._arrived.popleft()

    async def close(self) -> None:
        """Close the connection. Calling it again does nothing."""
        self._end()
        self._brokerage.streams.forget(self._session)
        self._pump.check()

    def _receive(self, message: str) -> None:
        if not self._is_closed:
            now = self._clock.now()
            self._brokerage.advance(now)
            self._session.receive(message, now)

    def _deliver(self, message: str, delay: float) -> None:
        if delay > 0:
            self._loop.call_later(delay, self._arrive, message)
        else:
            self._arrive(message)

    def _arrive(self, message: str) -> None:
        if not self._is_closed:
            self._arrived.append(message)
            self._changed.set()

    def _end(self) -> None:
        self._is_closed = True
        self._changed.set()


def open_socket(brokerage: Brokerage, clock: Clock, pump: Pump, url: str) -> MemorySocket:
    """Return the client's end of a new session.

    Raises:
        RequestNotSentError: nothing is served at that address.
    """
    session = brokerage.streams.open(urlsplit(url).path, clock.now())
    if session is None:
        raise RequestNotSentError(f"simulated: no stream at {url}")
    pump.start()
    return MemorySocket(brokerage, clock, session, pump)
