"""The in-memory door: a transport that hands requests to the brokerage without a socket.

Time is the running event loop's, so that client and brokerage live together on a virtual clock as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...errors import RequestNotSentError, ResponseLostError
from ...protocol.request import Request
from ...protocol.response import Response
from ..api.brokerage import Brokerage, Outcome
from ..api.routes import request_target
from ..api.wire import dated
from ..clock import Clock
from ..faults import Fate, Fault

__all__ = ["InMemoryTransport", "Latency"]

Latency = float | Callable[[Request], float]
"""Seconds per request, the same for all or by request."""


class InMemoryTransport:
    """Sends requests to a simulated brokerage in the same process.

    Half of the latency passes before a request is processed and half of it after. A request that is on its way is
    processed even if its sender stops waiting, as on a real network.
    """

    def __init__(self, brokerage: Brokerage, clock: Clock, latency: Callable[[Request], float]) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._latency = latency
        self._closed = False

    async def send(self, request: Request) -> Response:
        """Send ``request`` once and return the answer.

        Raises:
            RequestNotSentError: the connection was refused.
            ResponseLostError: the connection dropped, or no complete answer came within ``request.timeout``.
        """
        if self._closed:
            raise RequestNotSentError("the transport is closed")
        request.check_guard()
        self._clock.now()  # Time begins to run with the first request, not with its arrival.
        fault = self._brokerage.faults.take(request.method, request_target(request.url))
        if fault is not None and fault.fate is Fate.REFUSE:
            self._brokerage.serve(request, self._clock.now(), fault)
            raise RequestNotSentError("simulated: the connection was refused")
        latency = self._latency(request)
        before, after = latency / 2, latency / 2
        if fault is not None:
            before, after = before + fault.delay, after + fault.delay_after
        outcome = await self._arrive(request, fault, before)
        return await self._leave(request, outcome, before, after)

    async def close(self) -> None:
        """Refuse further requests. Those that are on their way are still processed."""
        self._closed = True

    async def _arrive(self, request: Request, fault: Fault | None, before: float) -> Outcome:
        """Have the request processed once it is there, whoever still waits for it."""
        if before <= 0:
            return self._brokerage.serve(request, self._clock.now(), fault)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Outcome] = loop.create_future()

        def process() -> None:
            outcome = self._brokerage.serve(request, self._clock.now(), fault)
            if not arrived.done():
                arrived.set_result(outcome)
            else:
                outcome.entry.delivered = False

        loop.call_later(before, process)
        if request.timeout is not None and request.timeout <= before:
            try:
                await asyncio.sleep(request.timeout)
            finally:
                arrived.cancel()
            raise ResponseLostError("simulated: no answer in time")
        return await arrived

    async def _leave(self, request: Request, outcome: Outcome, before: float, after: float) -> Response:
        """Let the answer travel back."""
        entry = outcome.entry
        entry.delivered = False
        left = None if request.timeout is None else request.timeout - before
        if outcome.fate is Fate.HANG or (left is not None and left <= after):
            if left is None:
                await asyncio.get_running_loop().create_future()
            await asyncio.sleep(max(0.0, left or 0.0))
            raise ResponseLostError("simulated: no answer in time")
        if after > 0:
            await asyncio.sleep(after)
        response = outcome.response
        if outcome.fate is Fate.DROP or response is None:
            raise ResponseLostError("simulated: the connection dropped")
        if outcome.fate is Fate.TRUNCATE:
            raise ResponseLostError("simulated: the connection dropped within the answer's body")
        entry.delivered = True
        return dated(response, self._clock.now())
