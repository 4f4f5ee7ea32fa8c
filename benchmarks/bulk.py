"""What bulk fetches and pages cost, beside the ideal, bare aiohttp and a peer SDK, in one run.

    python -m benchmarks.bulk [--rounds 7] [--rows 1000000] [--kills 20] [--only pages ...]

The simulated service runs in a process of its own. Contenders alternate round by round, so that a noisy machine
troubles all alike; what counts is the median of the ratios. Every line ends in the bound that it is held to.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import math
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import psutil

from brokerage_async import Client, Environment, RefreshToken
from brokerage_async.simulator import Simulator

LATENCY = 0.05
SYMBOLS = 10_000
BATCH = 100
AT_ONCE = 8
SPAWN = multiprocessing.get_context("spawn")

Contender = Callable[[], Awaitable[Any]]


# -- the service, in another process -----------------------------------------------------------------------------------


def serve(orders: Connection, equities: int) -> None:
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # killed clients hang up in mid-answer
    asyncio.run(serve_until_told(orders, equities))


async def serve_until_told(orders: Connection, equities: int) -> None:
    async with Simulator(equities=equities) as sim:
        table = sim.brokerage.world.catalogue.equities
        symbols = [row.symbol for row in table.definitions[:SYMBOLS]]
        table.rows(range(min(equities, SYMBOLS)))  # written once, before anybody measures
        orders.send((sim.base_url, sim.client_secret, sim.refresh_token, symbols))
        loop = asyncio.get_running_loop()
        while True:
            name, value = await loop.run_in_executor(None, orders.recv)
            if name == "stop":
                return
            if name == "write_symbols":
                Path(value).write_text("\n".join(row.symbol for row in table.definitions))  # noqa: ASYNC240
                orders.send(None)
            elif name == "count":
                orders.send(sum(entry.operation == value for entry in sim.ledger.requests))
                sim.ledger.requests.clear()
            else:
                setattr(sim, name, value)
                orders.send(None)


class Service:
    """The other process, and how to reach it."""

    def __init__(self, equities: int = SYMBOLS) -> None:
        self._orders, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=serve, args=(theirs, equities), daemon=True)
        self._process.start()
        self.base_url, self.client_secret, self.refresh_token, self.symbols = self._orders.recv()

    def tell(self, name: str, value: Any) -> Any:
        self._orders.send((name, value))
        return self._orders.recv()

    def client(self, **options: Any) -> Client:
        credentials = RefreshToken(client_secret=self.client_secret, refresh_token=self.refresh_token)
        return Client(Environment.sandbox(self.base_url), credentials, **options)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "BROKERAGE_BASE_URL": self.base_url,
            "BROKERAGE_CLIENT_SECRET": self.client_secret,
            "BROKERAGE_REFRESH_TOKEN": self.refresh_token,
        }

    def stop(self) -> None:
        self._orders.send(("stop", None))
        self._process.join(5)
        self._process.terminate()


# -- contenders --------------------------------------------------------------------------------------------------------


class TickSize(msgspec.Struct, frozen=True, gc=False):
    value: Decimal | None = None
    threshold: Decimal | None = None


class Equity(msgspec.Struct, rename="kebab", frozen=True, gc=False):
    active: bool | None = None
    borrow_rate: Decimal | None = None
    bypass_manual_review: bool | None = None
    country_of_incorporation: str | None = None
    country_of_taxation: str | None = None
    description: str | None = None
    halted_at: datetime | None = None
    instrument_sub_type: str | None = None
    instrument_type: str | None = None
    is_closing_only: bool | None = None
    is_etf: bool | None = None
    is_fractional_quantity_eligible: bool | None = None
    is_illiquid: bool | None = None
    is_index: bool | None = None
    is_options_closing_only: bool | None = None
    lendability: str | None = None
    listed_market: str | None = None
    market_time_instrument_collection: str | None = None
    overnight_trading_permitted: bool | None = None
    pre_ipo: bool | None = None
    short_description: str | None = None
    stops_trading_at: datetime | None = None
    streamer_symbol: str | None = None
    symbol: str | None = None
    underlying_product_type: str | None = None
    option_tick_sizes: list[TickSize] | None = None
    tick_sizes: list[TickSize] | None = None
    id: int | None = None
    cusip: str | None = None


class Items(msgspec.Struct):
    items: list[Equity]


class Envelope(msgspec.Struct):
    data: Items


@asynccontextmanager
async def bare_aiohttp(service: Service) -> AsyncIterator[Contender]:
    """The same batches, with nothing but aiohttp and msgspec."""
    decode = msgspec.json.Decoder(Envelope).decode
    agent = {"User-Agent": "bare/1.0", "Accept": "application/json"}
    grant = {"grant_type": "refresh_token", "client_secret": service.client_secret}
    async with aiohttp.ClientSession(service.base_url, headers=agent) as session:
        async with session.post("/oauth/token", json={**grant, "refresh_token": service.refresh_token}) as response:
            token = (await response.json())["access_token"]
        headers = {"Authorization": f"Bearer {token}"}

        async def fetch_all() -> None:
            batches = iter([service.symbols[n : n + BATCH] for n in range(0, SYMBOLS, BATCH)])
            found: list[Equity] = []

            async def lane() -> None:
                for batch in batches:
                    query = [("symbol[]", symbol) for symbol in batch] + [("per-page", str(BATCH))]
                    async with session.get("/instruments/equities", params=query, headers=headers) as response:
                        found.extend(decode(await response.read()).data.items)

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


# -- memory ------------------------------------------------------------------------------------------------------------


def stream(results: Connection, address: tuple[str, str, str], symbols: str | None) -> None:
    results.send(asyncio.run(growth(address, symbols)))


async def growth(address: tuple[str, str, str], symbols: str | None) -> tuple[float, int]:
    """MB by which this process grows at most while all rows pass through it, page by page or by the symbols of a file,
    and how many there were."""
    base_url, client_secret, refresh_token = address
    resident = psutil.Process().memory_info
    credentials = RefreshToken(client_secret=client_secret, refresh_token=refresh_token)
    async with Client(Environment.sandbox(base_url), credentials) as client:
        await client.instruments.equities(per_page=2_000).collect(4_000)  # everything is loaded now
        gc.collect()
        before = most = resident().rss
        passed = 0
        if symbols is None:
            passing: AsyncIterator[Any] = aiter(client.instruments.equities(per_page=2_000).prefetch(2))
        else:
            passing = aiter(client.bulk.equities(map(str.strip, open(symbols)), batch_size=300))  # noqa: ASYNC230, SIM115
        async for _ in passing:
            passed += 1
            if passed % 5_000 == 0:
                most = max(most, resident().rss)
    return (most - before) / 1e6, passed


def memory(rows: int) -> bool:
    service = Service(rows)
    kept = True
    with tempfile.NamedTemporaryFile() as file:
        service.tell("write_symbols", file.name)
        for symbols, name in ((None, "pages of 2,000"), (file.name, "batches by symbol, symbols from a file")):
            ours, theirs = SPAWN.Pipe()
            address = (service.base_url, service.client_secret, service.refresh_token)
            child = SPAWN.Process(target=stream, args=(theirs, address, symbols))
            child.start()
            grown, passed = ours.recv()
            child.join()
            assert passed == rows, (passed, rows)
            kept &= report(f"{rows:,} rows in {name}: MB of growth", grown, 40)
    service.stop()
    return kept


# -- SIGKILL -----------------------------------------------------------------------------------------------------------


async def kills(service: Service, count: int) -> bool:
    """Kill the console's fetch at random moments; the file after a rerun against an uninterrupted run's."""
    service.tell("latency", 0.02)
    chance = random.Random(1)
    environment = {**os.environ, **service.variables}
    same = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "symbols").write_text("\n".join(service.symbols[:2_000]))

        async def run(out: str, seconds: float | None = None) -> int:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "brokerage_async", "fetch", "equities", "--batch-size", "20",
                "--symbols", folder / "symbols", "--out", folder / out, env=environment,
                stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            try:
                return await asyncio.wait_for(process.wait(), seconds)
            except TimeoutError:
                process.send_signal(signal.SIGKILL)
                return await process.wait()

        durations = {}
        for suffix in ("jsonl", "csv", "parquet"):
            started = time.perf_counter()
            assert await run(f"whole.{suffix}") == 0
            durations[suffix] = time.perf_counter() - started
        expected = {*os.listdir(folder)}
        for number in range(count):
            suffix = list(durations)[number % 3]
            out = f"killed-{number}.{suffix}"
            expected.add(out)
            while await run(out, chance.uniform(0.3, 0.95) * durations[suffix]) != -signal.SIGKILL:
                (folder / out).unlink()  # it was done before
            assert await run(out) == 0
            same += (folder / out).read_bytes() == (folder / f"whole.{suffix}").read_bytes()
        left = {*os.listdir(folder)} - expected
    note = f"({same} of {count} the same; left behind: {', '.join(left) or 'nothing'})"
    return report("fetch killed at random moments: files that differ", count - same, 0, note)


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
                kept.append(asyncio.run(kills(service, arguments.kills)))
    finally:
        service.stop()
    if "memory" in arguments.only:
        kept.append(memory(arguments.rows))
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
