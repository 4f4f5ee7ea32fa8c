"""A recorder in a separate process, of prices that rise by a cent every 20 ms."""

import asyncio
import time
from decimal import Decimal
from multiprocessing.connection import Connection
from pathlib import Path

from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL


async def record(channel: Connection, directory: str, first: int) -> None:
    """Record prices from ``first`` cents on, and say when each was set, until killed.

    They begin to rise after the first write of the recorder: what passes while it starts is not lost.
    """
    simulator = Simulator(**SMALL)

    def segments() -> set[Path]:
        return set(Path(directory).glob("day=*/*.arrows"))

    async def move() -> None:
        before = segments()
        while segments() <= before:  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.02)
        for cents in range(first, 10**9):
            simulator.set_price("AAPL", Decimal(cents) / 100)
            channel.send(("set", (cents, time.time())))
            await asyncio.sleep(0.02)

    async with simulator.client() as client:
        mover = asyncio.create_task(move())
        await client.stream.record(directory, ["AAPL"], ["Trade"], contract="STREAM")
        await mover
