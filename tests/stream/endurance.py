"""A day of quotes of 500 symbols with 1,000 reconnects, on virtual time: memory stays flat.

    python -m tests.stream.endurance [--batches]

It compares the traced memory after a quarter of the day with that at the end, and exits with 1 if it has grown by more
than 2 MB. With ``--batches`` the quotes come as record batches of a minute, whose memory counts too.
"""

import asyncio
import gc
import sys
import tracemalloc

import pyarrow

from brokerage_async import models
from brokerage_async.simulator import Simulator
from brokerage_async.stream import Gap, gaps_of
from tests.loops import on_virtual_time

DAY = 24 * 3600
SYMBOLS, RECONNECTS = 500, 1000
LIMIT = 2_000_000


async def day(*, batches: bool) -> tuple[int, int, int, int]:
    """Return the memory after a quarter and at the end, and the numbers of quotes and gaps."""
    simulator = Simulator(equities=SYMBOLS + 50, equity_options=50, chain_rows=50)
    quotes = gaps = early = 0
    async with simulator.client() as client:
        listed = await client.instruments.equities().collect(max_items=SYMBOLS)
        async with client.stream.quotes([str(each.symbol) for each in listed], [models.Quote]) as stream:
            await stream.ready()
            loop = asyncio.get_running_loop()
            start = loop.time()
            dropping = asyncio.create_task(drop_often(simulator))
            async for event in stream.batches(seconds=60) if batches else stream:
                passed = loop.time() - start
                if isinstance(event, pyarrow.RecordBatch):
                    gaps += len(gaps_of(event))
                    quotes += event.num_rows
                elif isinstance(event, Gap):
                    gaps += 1
                else:
                    quotes += 1
                if not early and passed > DAY / 4:
                    early = traced()
                if passed > DAY:
                    break
            await dropping
            return early, traced(), quotes, gaps


async def drop_often(simulator: Simulator) -> None:
    for _ in range(RECONNECTS):
        simulator.streams.drop()
        await asyncio.sleep(DAY / RECONNECTS)


def traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0] + pyarrow.total_allocated_bytes()


def main() -> int:
    tracemalloc.start()
    early, late, quotes, gaps = on_virtual_time(day)(batches="--batches" in sys.argv)
    print(f"{quotes} quotes, {gaps} gaps; {early / 1e6:.2f} MB after 6 hours, {late / 1e6:.2f} MB after 24")
    return 0 if late - early < LIMIT and gaps >= RECONNECTS * 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
