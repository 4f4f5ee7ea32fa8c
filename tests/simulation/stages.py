"""Where a seed is played: on virtual time through the in-memory door, or on a quick clock over real HTTP.

Over HTTP the plan, the traders, the trouble and the checks are the same, and the requests go through the client's real
transport, real sockets and a real server. Three things are weaker there, and the checks claim no more than that:

- The same seed has the same plan, not the same history: the kernel decides what is ready first.
- The server cannot refuse the connection of one request; ``refuse`` drops it before the request is looked at, and
  nobody can tell that from a request that was lost. Real refusals come from storms of it: the port is closed.
- The clock runs while code does, so what is late by no more than a busy machine's delay is not late.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import attrs

from brokerage_async.http.transport import AiohttpTransport, Transport
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.loops import VirtualLoop

from .chaos import Plan, Storm
from .quick_loop import QuickLoop
from .record import CALL, Record, watch_brokerage

TAG = "X-Simulation-Send"
Loop = VirtualLoop | QuickLoop


class Stage(Protocol):
    """What differs between one place and another."""

    @property
    def option(self) -> str:
        """What chooses it on the command line."""
        ...

    @property
    def tolerance(self) -> float:
        """Seconds by which something may be late there."""
        ...

    @property
    def new_loop(self) -> Callable[[], Loop]:
        """Makes the loop for one play."""
        ...

    def door(self, sim: Simulator, plan: Plan, record: Record) -> AbstractAsyncContextManager[Transport]:
        """The way to the brokerage. Leave it when the client is closed."""
        ...


@attrs.frozen
class InMemory:
    """Virtual time, no sockets: the same seed has the same history, byte for byte."""

    option: str = ""
    tolerance: float = 1e-6
    new_loop: Callable[[], Loop] = VirtualLoop

    @asynccontextmanager
    async def door(self, sim: Simulator, plan: Plan, record: Record) -> AsyncIterator[Transport]:
        """The in-memory door; what happens behind it happens in the context of the call."""
        watch_brokerage(sim.brokerage, record, lambda request: CALL.get())
        yield sim.transport()


@attrs.frozen
class OverHttp:
    """The simulator's server and the client's real transport in one quick loop."""

    option: str = "--http "
    tolerance: float = 2.0
    new_loop: Callable[[], Loop] = QuickLoop

    @asynccontextmanager
    async def door(self, sim: Simulator, plan: Plan, record: Record) -> AsyncIterator[Transport]:
        """The loopback door, closed in storms of refusals."""
        tags = Tags(AiohttpTransport(), record)
        watch_brokerage(sim.brokerage, record, tags.arrived)
        async with sim:
            closing = asyncio.create_task(_close_the_port(sim, plan, record))
            try:
                yield tags
                await closing
            finally:
                closing.cancel()
            await asyncio.sleep(0.1)  # the server takes a turn or two to notice that the client has hung up
            tags.check(sim)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, QuickLoop)
        for problem in loop.uncaught:
            record.violate(f"nobody caught {problem}")


class Tags:
    """The client's real transport; numbers what it sends, so that each arrival is known for what it is.

    Whoever sends a request twice on its own, as HTTP clients do, is found out by the number that arrives twice.
    """

    def __init__(self, inner: Transport, record: Record) -> None:
        self._inner = inner
        self._record = record
        self._calls: list[int] = []
        self._arrivals: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        """Send once."""
        tag = str(len(self._calls))
        self._calls.append(CALL.get())
        return await self._inner.send(attrs.evolve(request, headers={**request.headers, TAG: tag}))

    async def close(self) -> None:
        """Close."""
        await self._inner.close()

    def arrived(self, request: Request) -> int:
        """The number of the call for which this was sent."""
        tag = request.headers[TAG]
        self._arrivals[tag] += 1
        return self._calls[int(tag)]

    def check(self, sim: Simulator) -> None:
        """When the client is closed: nothing has arrived that was not sent, and no connection is left."""
        for tag, times in self._arrivals.items():
            if times > 1:
                self._record.violate(f"send {tag} of call {self._calls[int(tag)]} arrived {times} times")
        runner = sim._server._runner  # only the server knows what the client has left open
        assert runner is not None
        assert runner.server is not None
        left = [connection for connection in runner.server.connections if connection.transport is not None]
        if left:
            self._record.violate(f"{len(left)} connections left open by the closed client")


async def _close_the_port(sim: Simulator, plan: Plan, record: Record) -> None:
    """In storms in which (nearly) every connection is refused nobody listens: no request meets the server's version."""
    loop = asyncio.get_running_loop()

    async def until(moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - loop.time()))

    for storm in filter(_refuses, plan.storms):
        await until(storm.begins)
        record.write("* the port is closed")
        await sim.stop()
        await until(storm.ends)
        record.write("* the port is open")
        await sim.restart()


def _refuses(storm: Storm) -> bool:
    return storm.kind == "refuse" and storm.share >= 0.9


IN_MEMORY: Stage = InMemory()
OVER_HTTP: Stage = OverHttp()
