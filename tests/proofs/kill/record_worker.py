"""A recorder in a separate process: ``python -m tests.proofs.kill.record_worker DIRECTORY FIRST``.

Prices rise by a cent every 20 ms, from ``FIRST`` cents on, after the first write of the recorder: what passes while it
starts is not lost. A line with the price and the wall clock follows each.
"""

import asyncio
import sys
import time
from decimal import Decimal
from pathlib import Path

from brokerage_async.simulator import Simulator
from tests.stream.world import SMALL


async def main(directory: str, first: int) -> None:
    simulator = Simulator(**SMALL)

    def segments() -> set[Path]:
        return set(Path(directory).glob("day=*/*.arrows"))

    async def move() -> None:
        before = segments()
        while segments() <= before:  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.02)
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
