"""In-memory transport: passes requests and the messages of streams to the brokerage without a socket.

It uses the running event loop's time, so that client and brokerage can share a virtual clock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from urllib.parse import urlsplit

from ..._secrets import Secret, revealed
from ...errors import RequestNotSentError, ResponseLostError
from ...protocol.request import Request
from ...protocol.response import Response
from ..api.brokerage import Brokerage, ServedRequest
from ..api.request_parser import request_target
from ..api.wire import dated
from ..clock import Clock
from ..faults import ConnectionAction, Fault
from ..streams.session import Session

MAX_NAP = 60.0
"""Longest wait in seconds between two looks at the clock."""


class Pump:
    """Task that advances the brokerage while there are connections."""

    def __init__(self, brokerage: Brokerage, clock: Clock) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Run until the last connection is closed."""
        if self._task is None or self._task.done():
            self._wake = asyncio.Event()
            self._brokerage.state.event_queue.on_schedule = lambda _: self._wake.set()
            self._clock.on_advance = self._wake.set
            self._task = asyncio.get_running_loop().create_task(self._run(), name="simulator streams")
        self._wake.set()

    async def stop(self) -> None:
        task, self._task = self._task, None
        self._brokerage.state.event_queue.on_schedule = self._clock.on_advance = None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    def check(self) -> None:
        """End the task after the last connection."""
        if not self._brokerage.streams.sessions and self._task is not None:
            self._brokerage.state.event_queue.on_schedule = self._clock.on_advance = None
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        queue = self._brokerage.state.event_queue
        while True:
            self._wake.clear()
            now = self._clock.now()
            self._brokerage.advance(now)
            due = queue.next_due
            speed = self._clock.speed
            nap = MAX_NAP if due is None or not speed else min(MAX_NAP, max(0.0, due - now) / speed)
            try:
                async with asyncio.timeout(nap):
                    await self._wake.wait()
            except TimeoutError:
                pass


class MemorySocket:
    """Connection to a session. Messages arrive in the loop's next turn, or after their delay."""

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

        def arrive() -> None:
            if not self._is_closed:
                now = self._clock.now()
                self._brokerage.advance(now)
                self._session.receive(revealed(message), now)

        self._loop.call_soon(arrive)

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
        self._end()
        self._brokerage.streams.forget(self._session)
        self._pump.check()

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


Latency = float | Callable[[Request], float]
"""Seconds per request, the same for all or by request."""


def met(
    brokerage: Brokerage, request: Request, latency: Callable[[Request], float]
) -> tuple[Fault | None, float, float]:
    """Return the fault that a request meets, if any, and the seconds until it arrives and then until its answer."""
    fault, half = brokerage.faults.take(request.method, request_target(request.url)), latency(request) / 2
    return (fault, half, half) if fault is None else (fault, half + fault.delay, half + fault.delay_after)


class InMemoryTransport:
    """Transport to a simulated brokerage in the same process.

    Half of the latency passes before a request is processed, the other half after. A request on its way is processed
    even if its sender stops waiting, as on a real network.
    """

    def __init__(self, brokerage: Brokerage, clock: Clock, latency: Callable[[Request], float], pump: Pump) -> None:
        self._brokerage = brokerage
        self._pump = pump
        self._clock = clock
        self._latency = latency
        self._closed = False

    async def send(self, request: Request) -> Response:
        """Send ``request`` once and return the response.

        Raises:
            RequestNotSentError: the connection was refused.
            ResponseLostError: the connection dropped, or no complete response came within ``request.timeout``.
        """
        if self._closed:
            raise RequestNotSentError("transport is closed")
        request = request.revealed()
        self._clock.now()  # Time starts with the first request, not with its arrival.
        fault, before, after = met(self._brokerage, request, self._latency)
        if fault is not None and fault.connection_action is ConnectionAction.REFUSE:
            self._brokerage.serve(request, self._clock.now(), fault).record.delivered = False
            raise RequestNotSentError("simulated: connection refused")
        time = asyncio.get_running_loop().time
        sent = time()
        served = await self._arrive(request, fault, before)
        served.record.delivered = False
        left = None if request.timeout is None else request.timeout - before
        try:
            if served.connection_action is ConnectionAction.HANG or (left is not None and left <= after):
                if left is None:
                    await asyncio.get_running_loop().create_future()
                await asyncio.sleep(max(0.0, left or 0.0))
                raise ResponseLostError("simulated: no response in time")
            if after > 0:
                await asyncio.sleep(after)
        finally:
            served.record.elapsed = time() - sent
        response = served.response
        if served.connection_action is ConnectionAction.DROP or response is None:
            raise ResponseLostError("simulated: connection dropped")
        if served.connection_action is ConnectionAction.TRUNCATE:
            raise ResponseLostError("simulated: connection dropped within the response body")
        served.record.delivered = True
        return dated(response, self._clock.now())

    async def open_socket(self, url: str, *, user_agent: str, timeout: float) -> MemorySocket:
        """Open a stream.

        Raises:
            RequestNotSentError: nothing is served at that address.
        """
        if self._closed:
            raise RequestNotSentError("transport is closed")
        session = self._brokerage.streams.open(urlsplit(url).path, self._clock.now())
        if session is None:
            raise RequestNotSentError(f"simulated: no stream at {url}")
        self._pump.start()
        return MemorySocket(self._brokerage, self._clock, session, self._pump)

    async def close(self) -> None:
        """Reject further requests. Those on their way are still processed."""
        self._closed = True

    async def _arrive(self, request: Request, fault: Fault | None, before: float) -> ServedRequest:
        """Process the request once it arrives, even if its sender has stopped waiting."""
        if before <= 0:
            return self._brokerage.serve(request, self._clock.now(), fault)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[ServedRequest] = loop.create_future()

        def process() -> None:
            served = self._brokerage.serve(request, self._clock.now(), fault)
            if not arrived.done():
                arrived.set_result(served)
            else:
                served.record.delivered = False

        loop.call_later(before, process)
        if request.timeout is not None and request.timeout <= before:
            try:
                await asyncio.sleep(request.timeout)
            finally:
                arrived.cancel()
            raise ResponseLostError("simulated: no response in time")
        return await arrived
