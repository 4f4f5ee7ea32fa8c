"""A recorder in a separate process: ``python -m tests.proofs.kill.record_worker DIRECTORY FIRST``.

Prices rise by a cent every 20 ms, from ``FIRST`` cents on. A line with the price and the wall clock follows each.
"""

from __future__ import annotations

import asyncio
import sys
import time
from decimal import Decimal

from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL


async def main(directory: str, first: int) -> None:
    simulator = Simulator(**SMALL)

    async def move() -> None:
        await asyncio.sleep(0.3)
        for cents in range(first, 10**9):
            simulator.set_price("AAPL", Decimal(cents) / 100)
            print(cents, time.time(), flush=True)
            await asyncio.sleep(0.02)

    async with simulator.client() as client:
        mover = asyncio.create_task(move())
        await client.stream.record(directory, ["AAPL"], ["Trade"], contract="STREAM")
        await mover


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
