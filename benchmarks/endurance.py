"""What bulk fetches do to a process over a million rows, and to their file when they are killed."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from brokerage_async import Client, Environment, RefreshToken

from .service import SPAWN, Service


def stream(results: Connection, address: tuple[str, str, str], symbols: str | None) -> None:
    results.send(asyncio.run(growth(address, symbols)))


async def growth(address: tuple[str, str, str], symbols: str | None) -> tuple[float, int]:
    """Return the peak growth of this process, in MB, while all rows pass through it, page by page or by the symbols of
    a file, and the number of rows."""
    base_url, client_secret, refresh_token = address
    resident = psutil.Process().memory_info
    credentials = RefreshToken(client_secret=client_secret, refresh_token=refresh_token)
    async with Client(Environment.sandbox(base_url), credentials) as client:
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


def memory(rows: int) -> Iterator[tuple[str, float]]:
    """Return the MB of growth in a separate process, for each way to pass all rows through it."""
    service = Service(rows)
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
            yield name, grown
    service.stop()


async def kills(service: Service, count: int) -> tuple[int, str]:
    """Kill the console's fetch at random moments; return how many files differ after a rerun from an uninterrupted
    run's, and how many were left behind."""
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
    return count - same, f"({same} of {count} the same; left behind: {', '.join(left) or 'nothing'})"
