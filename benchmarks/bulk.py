"""What bulk fetches and pages cost, beside the ideal, bare aiohttp and a peer SDK, in one run.

    python -m benchmarks.bulk [--rounds 7] [--rows 1000000] [--kills 20] [--only pages ...]

The simulated service runs in a separate process. Contenders alternate round by round, so that a noisy machine
troubles all alike; what counts is the median of the ratios. Every line ends in the bound that it is held to.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from brokerage_async import models

from . import endurance, peers
from .service import SYMBOLS, Service

LATENCY = 0.05
BATCH = 100
AT_ONCE = 8

Contender = Callable[[], Awaitable[Any]]


# -- contenders --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def bare_aiohttp(service: Service) -> AsyncIterator[Contender]:
    """The same batches, with nothing but aiohttp and msgspec structs."""
    decode = peers.struct_decoder(models.Equity)
    agent = {"User-Agent": "bare/1.0", "Accept": "application/json"}
    grant = {"grant_type": "refresh_token", "client_secret": service.client_secret}
    async with aiohttp.ClientSession(service.base_url, headers=agent) as session:
        async with session.post("/oauth/token", json={**grant, "refresh_token": service.refresh_token}) as response:
            token = (await response.json())["access_token"]
        headers = {"Authorization": f"Bearer {token}"}

        async def fetch_all() -> None:
            batches = iter([service.symbols[n : n + BATCH] for n in range(0, SYMBOLS, BATCH)])
            found: list[Any] = []

            async def lane() -> None:
                for batch in batches:
                    query = [("symbol[]", symbol) for symbol in batch] + [("per-page", str(BATCH))]
                    async with session.get("/instruments/equities", params=query, headers=headers) as response:
                        found.extend(decode(await response.read()))

            await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
            assert len(found) == SYMBOLS

        yield fetch_all


@asynccontextmanager
async def peer_sdk(service: Service, per_page: int, rows: int) -> AsyncIterator[Contender]:
    """The peer's own pagination: one page after the other."""
    import tastytrade
    from tastytrade.instruments import Equity as PeerEquity

    async with tastytrade.Session(service.client_secret, service.refresh_token, is_test=True) as session:
        session._client.base_url = service.base_url

        async def fetch_all() -> None:
            found = await PeerEquity.get(session, [], per_page=per_page, page_offset=None)
            assert len(found) == rows

        yield fetch_all


# -- measuring ---------------------------------------------------------------------------------------------------------


async def wall(contender: Contender) -> float:
    started = time.perf_counter()
    await contender()
    return time.perf_counter() - started


async def cpu(contender: Contender) -> float:
    gc.collect()
    started = time.process_time()
    await contender()
    return time.process_time() - started


async def rounds_of(
    count: int, clock: Callable[[Contender], Awaitable[float]], *contenders: Contender
) -> list[list[float]]:
    """Times of each contender, taken in turns after a round to warm up."""
    times: list[list[float]] = [[] for _ in contenders]
    for number in range(count + 1):
        for contender, found in zip(contenders, times, strict=True):
            taken = await clock(contender)
            if number:
                found.append(taken)
    return times


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def report(measure: str, value: float, bound: float, note: str = "") -> bool:
    kept = value <= bound
    print(f"{measure:64s} {value:7.2f}  bound {bound:g}  {'ok' if kept else 'MISSED'}  {note}", flush=True)
    return kept


async def pages(service: Service, rounds: int) -> bool:
    service.tell("latency", LATENCY)
    ideal = (1 + math.ceil(99 / 8)) * LATENCY
    async with service.client() as client:

        async def ours() -> None:
            assert len(await client.instruments.equities(per_page=100).prefetch(8).collect()) == SYMBOLS

        (times,) = await rounds_of(rounds, wall, ours)
    return report("100 pages, prefetch 8, x ideal rounds", statistics.median(times) / ideal, 1.25)


async def symbols(service: Service, rounds: int) -> bool:
    service.tell("latency", LATENCY)
    ideal = math.ceil(SYMBOLS / BATCH / AT_ONCE) * LATENCY
    async with service.client() as client:

        async def ours() -> None:
            assert len((await client.bulk.equities(service.symbols)).found) == SYMBOLS

        (times,) = await rounds_of(rounds, wall, ours)
    return report("10,000 equities by symbol, x ideal rounds", statistics.median(times) / ideal, 1.35)


async def work(service: Service, rounds: int) -> bool:
    service.tell("latency", 0.0)
    async with service.client() as client, bare_aiohttp(service) as bare:

        async def ours() -> None:
            assert len((await client.bulk.equities(service.symbols)).found) == SYMBOLS

        mine, theirs = await rounds_of(2 * rounds, cpu, ours, bare)
    note = f"{statistics.median(mine) * 1e3:.0f} ms and {statistics.median(theirs) * 1e3:.0f} ms"
    return report("the same at 0 ms: client CPU, x bare aiohttp and msgspec", ratio(mine, theirs), 1.5, note)


async def peer(service: Service, rounds: int) -> bool:
    service.tell("latency", LATENCY)
    per_page = SYMBOLS // 25
    async with service.client() as client, peer_sdk(service, per_page, SYMBOLS) as theirs:

        async def ours() -> None:
            assert len(await client.instruments.equities(per_page=per_page).prefetch(8).collect()) == SYMBOLS

        mine, other = await rounds_of(max(3, rounds // 2), wall, ours, theirs)
    note = f"{statistics.median(mine):.2f} s and {statistics.median(other):.2f} s"
    return report("25 pages of equities, wall, x peer SDK", ratio(mine, other), 0.25, note)


async def throttled(service: Service, rounds: int) -> bool:
    service.tell("latency", LATENCY)
    service.tell("rate_limit", 20)
    service.tell("count", "")
    sent = []
    for _ in range(3):
        async with service.client() as client:
            assert len((await client.bulk.equities(service.symbols)).found) == SYMBOLS
        sent.append(service.tell("count", "instruments.equities"))
        await asyncio.sleep(1)  # the service's own window
    service.tell("rate_limit", None)
    return report("10,000 symbols at 20 requests/s: sent / needed", statistics.median(sent) / (SYMBOLS / BATCH), 1.3)


MEASURES = {"pages": pages, "symbols": symbols, "work": work, "peer": peer, "throttled": throttled}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the memory measure")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--only", nargs="+", choices=[*MEASURES, "memory", "kills"], default=[*MEASURES, "memory", "kills"]
    )
    arguments = parser.parse_args()
    kept = []
    service = Service()
    try:
        for name in arguments.only:
            if name in MEASURES:
                kept.append(asyncio.run(MEASURES[name](service, arguments.rounds)))
            elif name == "kills":
                differ, note = asyncio.run(endurance.kills(service, arguments.kills))
                kept.append(report("fetch killed at random moments: files that differ", differ, 0, note))
    finally:
        service.stop()
    if "memory" in arguments.only:
        for name, grown in endurance.memory(arguments.rows):
            kept.append(report(f"{arguments.rows:,} rows in {name}: MB of growth", grown, 40))
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
