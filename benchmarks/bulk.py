"""What bulk fetches and pages cost, beside the ideal and bare aiohttp, in one run.

    python -m benchmarks.bulk [--rounds 7] [--rows 1000000] [--only pages ...]

The simulated service runs in a separate process. Contenders alternate round by round, so that a noisy machine
troubles all alike. What counts is the median of the ratios. Memory is measured over a million rows.
"""

import asyncio
import gc
import math
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from brokerage_async import Client, models

from . import peers
from .rounds import Contender, Result, command, ratios, result, turns
from .service import SYMBOLS, Service, authorization, running, simulated

LATENCY = 0.05
BATCH = 100
AT_ONCE = 8


def by_symbol(client: Client, symbols: Sequence[str]) -> Contender:
    async def fetch_all() -> None:
        assert len((await client.bulk.equities(symbols)).found) == SYMBOLS

    return fetch_all


async def pages(service: Service, rounds: int) -> Result:
    async with Client.from_env() as client:

        async def ours() -> None:
            assert len(await client.instruments.equities(per_page=100).prefetch(8).collect()) == SYMBOLS

        return await beside_ideal("100 pages, prefetch 8", 1 + math.ceil(99 / 8), ours, rounds, bound=1.25)


async def symbols(service: Service, rounds: int) -> Result:
    ideal = math.ceil(SYMBOLS / BATCH / AT_ONCE)
    async with Client.from_env() as client:
        ours = by_symbol(client, service.symbols)
        return await beside_ideal("10,000 equities by symbol", ideal, ours, rounds, bound=1.35)


async def beside_ideal(title: str, requests: int, ours: Contender, rounds: int, *, bound: float) -> Result:
    """Measure how many times the latency of ``requests`` one after the other is needed."""
    taken = await turns({"ours": ours}, rounds, clock=time.perf_counter)
    spent = [each / requests / LATENCY for each in taken["ours"]]
    return result(f"{title}, x ideal rounds", spent, bound=bound)


async def work(service: Service, rounds: int) -> Result:
    service.set(latency=0.0)
    decode = peers.struct_decoder(models.Equity)
    headers = {"User-Agent": "bare/1.0", "Accept": "application/json", **authorization()}
    base_url = service.environ["BROKERAGE_BASE_URL"]
    async with Client.from_env() as client, aiohttp.ClientSession(base_url, headers=headers) as session:

        async def bare() -> None:
            """Fetch the same batches with nothing but aiohttp and msgspec structs."""
            batches = iter([service.symbols[n : n + BATCH] for n in range(0, SYMBOLS, BATCH)])
            found: list[Any] = []

            async def lane() -> None:
                for batch in batches:
                    query = [("symbol[]", symbol) for symbol in batch] + [("per-page", str(BATCH))]
                    async with session.get("/instruments/equities", params=query) as response:
                        found.extend(decode(await response.read()))

            await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
            assert len(found) == SYMBOLS

        taken = await turns({"ours": by_symbol(client, service.symbols), "bare": bare}, 2 * rounds)
    note = f"{statistics.median(taken['ours']) * 1e3:.0f} ms and {statistics.median(taken['bare']) * 1e3:.0f} ms"
    title = "the same at 0 ms: client CPU, x bare aiohttp and msgspec"
    return result(title, ratios(taken["ours"], taken["bare"]), bound=1.5, note=note)


async def throttled(service: Service, rounds: int) -> Result:
    service.set(rate_limit=20)
    sent = []
    for _ in range(3):
        async with Client.from_env() as client:
            await by_symbol(client, service.symbols)()
        sent.append(service.set()["instruments.equities"] / (SYMBOLS / BATCH))
        await asyncio.sleep(1)  # the service's own window
    service.set(rate_limit=None)
    return result("10,000 symbols at 20 requests/s: sent / needed", sent, bound=1.3)


def stream(port: Connection, symbols: str | None) -> None:
    """Pass all rows by, and report by how many MB this process grew at most, and how many rows there were."""
    resident = psutil.Process().memory_info

    async def main() -> tuple[float, int]:
        async with Client.from_env() as client:
            await client.instruments.equities(per_page=1_000).collect(4_000)  # everything is loaded now
            gc.collect()
            before = most = resident().rss
            passed = 0
            if symbols is None:
                passing: AsyncIterator[Any] = aiter(client.instruments.equities(per_page=1_000).prefetch(2))
            else:
                passing = aiter(client.bulk.equities(map(str.strip, open(symbols)), batch_size=300))  # noqa: ASYNC230, SIM115
            async for _ in passing:
                passed += 1
                if passed % 5_000 == 0:
                    most = max(most, resident().rss)
        return (most - before) / 1e6, passed

    port.send(asyncio.run(main()))


def memory(rows: int) -> Iterator[Result]:
    """Pass all rows through a separate process in each way, and yield by how much it grows."""
    with simulated(rows, SYMBOLS) as service, tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_text("\n".join(service.symbols))
        for source, name in ((None, "pages of 2,000"), (file.name, "batches by symbol, symbols from a file")):
            with running(stream, source) as child:
                grown, passed = child.recv()
            assert passed == rows, (passed, rows)
            yield result(f"{rows:,} rows in {name}: growth", [grown], bound=40, unit="MB")


MEASURES = {"pages": pages, "symbols": symbols, "work": work, "throttled": throttled}


def measure(rounds: int = 7, rows: int = 1_000_000, only: Sequence[str] = (*MEASURES, "memory")) -> Iterator[Result]:
    """Measure each part that is asked for."""
    with simulated(SYMBOLS, SYMBOLS) as service:
        for name, part in MEASURES.items():
            if name in only:
                service.set(latency=LATENCY)
                yield asyncio.run(part(service, rounds))
    if "memory" in only:
        yield from memory(rows)


if __name__ == "__main__":
    command(measure)
