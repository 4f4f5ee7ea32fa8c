"""Where a seed runs: on virtual time in memory, or on a quick clock over real HTTP.

Over HTTP the plan, the traders, the faults and the checks are the same, and the requests go through the client's real
transport, real sockets and a real server. Three guarantees are weaker there, and the checks claim no more than that:

- The same seed has the same plan, not the same history: the kernel decides which socket is ready first.
- The server cannot refuse the connection of one request. ``refuse`` drops it before the request is processed, which
  looks like a lost request. Real refusals come from bursts of it: the port is closed.
- The clock runs while code does, so a delay that a busy machine explains is not an error.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import attrs

from brokerage_async.http.transport import AiohttpTransport, Transport
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.loops import VirtualLoop

from .chaos import Plan
from .quick_loop import QuickLoop
from .record import CALL, Record, watch_brokerage

TAG = "X-Simulation-Send"
Loop = VirtualLoop | QuickLoop


@attrs.frozen
class Stage:
    """Differences between running in memory and over HTTP. ``tolerance``: seconds that an event may be late."""

    option: str
    tolerance: float
    new_loop: Callable[[], Loop]
    connect: Callable[[Simulator, Plan, Record], AbstractAsyncContextManager[Transport]]


@asynccontextmanager
async def in_memory(sim: Simulator, plan: Plan, record: Record) -> AsyncIterator[Transport]:
    watch_brokerage(sim.brokerage, record, lambda request: CALL.get())
    yield sim.transport()


@asynccontextmanager
async def over_http(sim: Simulator, plan: Plan, record: Record) -> AsyncIterator[Transport]:
    """Serve over a loopback port, closed in bursts that refuse nearly every connection."""
    tagging = TaggingTransport(AiohttpTransport(), record)
    watch_brokerage(sim.brokerage, record, tagging.arrived)
    async with sim:
        closing = asyncio.create_task(_close_the_port(sim, plan, record))
        try:
            yield tagging
            await closing
        finally:
            closing.cancel()
        await asyncio.sleep(0.1)  # the server needs an iteration or two to notice the disconnect
        tagging.check(sim)
    for problem in asyncio.get_running_loop().uncaught:
        record.violate(f"uncaught {problem}")


class TaggingTransport:
    """The client's real transport, with a number on every send.

    A request that is sent twice below it, as HTTP clients do, is detected by the number that arrives twice.
    """

    def __init__(self, inner: Transport, record: Record) -> None:
        self._inner = inner
        self._record = record
        self._calls: list[int] = []
        self._arrivals: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        tag = str(len(self._calls))
        self._calls.append(CALL.get())
        return await self._inner.send(attrs.evolve(request, headers={**request.headers, TAG: tag}))

    async def close(self) -> None:
        await self._inner.close()

    def arrived(self, request: Request) -> int:
        tag = request.headers[TAG]
        self._arrivals[tag] += 1
        return self._calls[int(tag)]

    def check(self, sim: Simulator) -> None:
        """Check, after the client is closed, that nothing was resent and no connection is left."""
        for tag, times in self._arrivals.items():
            if times > 1:
                self._record.violate(f"send {tag} of call {self._calls[int(tag)]} arrived {times} times")
        runner = sim._server._runner  # only the server sees connections left open by the client
        left = [connection for connection in runner.server.connections if connection.transport is not None]
        if left:
            self._record.violate(f"{len(left)} connections left open by the closed client")


async def _close_the_port(sim: Simulator, plan: Plan, record: Record) -> None:
    loop = asyncio.get_running_loop()
    for burst in plan.bursts:
        if burst.kind == "refuse" and burst.share >= 0.9:
            await asyncio.sleep(max(0.0, burst.begins - loop.time()))
            record.write("* the port is closed")
            await sim.stop()
            await asyncio.sleep(max(0.0, burst.ends - loop.time()))
            record.write("* the port is open")
            await sim.restart()


IN_MEMORY = Stage(option="", tolerance=1e-6, new_loop=VirtualLoop, connect=in_memory)
OVER_HTTP = Stage(option="--http ", tolerance=2.0, new_loop=QuickLoop, connect=over_http)
