"""What a call under shared limits costs in client CPU beside the same call under local ones, and what a decision costs.

    python -m benchmarks.fleet [--rounds 20] [--calls 500]

Needs ``redis-server``. A server process answers with a fixed body; rounds of both clients alternate in one process, and
what counts is the CPU time of this process per call, 50 at once. Then the script is run for crowds of workers.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time

from benchmarks.overhead import Call, cpu_per_call, serve
from brokerage_async import Client, Environment, Limits, StaticToken
from brokerage_async.fleet import Fleet, RedisLimits
from brokerage_async.fleet.limits import BUCKET, bucket_of
from tests.fleet.engines import EngineServer, engine_server, missing

BOUND = 1000.0
"""Microseconds of CPU that a question to the engine may add to a call: 5 % of a core at 50 requests/s.

It is no ratio: each call asks, and a command of redis-py alone costs two thirds of a local call.
"""
BUDGET = 20_000.0


async def compare(base_url: str, server: EngineServer, rounds: int, calls: int) -> float:
    """Return the microseconds that shared limits add to a call, the median of the rounds."""
    environment, token = Environment.sandbox(base_url), StaticToken("a" * 400)
    async with Fleet(server.url) as fleet:
        limits = RedisLimits(fleet, requests_per_second=BUDGET, local_share=1.0)
        async with (
            Client(environment, token, limits=limits) as shared,
            Client(environment, token, limits=Limits()) as local,
        ):
            contenders: dict[str, Call] = {
                "local": lambda: local.market_metrics.dividends("AAPL"),
                "shared": lambda: shared.market_metrics.dividends("AAPL"),
            }
            await contenders["shared"]()
            await asyncio.sleep(3)  # the engine grants nothing before all workers could be seen
            times: dict[str, list[float]] = {name: [] for name in contenders}
            for number in range(rounds + 2):
                for name, call in contenders.items():
                    taken = await cpu_per_call(call, calls, 50)
                    if number >= 2:
                        times[name].append(taken)
    added = statistics.median(a - b for a, b in zip(times["shared"], times["local"], strict=True))
    for name, found in times.items():
        print(f"50 at once  {name:7s} {statistics.median(found):7.1f} µs a call")
    print(f"50 at once  added   {added:7.1f} µs a call (at most {BOUND:.0f}): each call asks the engine once")
    return added


async def decisions(server: EngineServer, workers: int) -> None:
    """Print the cost of one decision to the engine, with a crowd of ``workers`` that wait."""
    async with Fleet(server.url) as fleet:
        keys = [fleet.connection.key("limits", "bench", part) for part in ("state", "seen", "early")]

        async def ask(worker: int) -> None:
            arguments = (f"w{worker}", 0, "read", *bucket_of(50), 2.0, 35.0, 0, 0)
            await fleet.connection.script(BUCKET, [*keys, keys[0]], arguments)

        for worker in range(workers):
            await ask(worker)
        await fleet.connection.command("HSET", keys[0], "since", 1)
        await fleet.connection.command("CONFIG", "RESETSTAT")
        began, count = time.process_time(), 2000
        for number in range(count):
            await ask(number % workers)
        client = (time.process_time() - began) / count * 1e6
        stats = await fleet.connection.command("INFO", "commandstats")
        text = stats if isinstance(stats, dict) else stats.decode()
        engine = text["cmdstat_evalsha"]["usec_per_call"] if isinstance(text, dict) else _usec(text)
        memory = 0
        for key in keys:
            memory += await fleet.connection.command("MEMORY", "USAGE", key) or 0
        costs = f"{engine:6.1f} µs of the engine, {client:6.1f} µs of the worker"
        print(f"{workers:5d} workers  a decision: {costs}; {memory / 1024:.0f} kB")


def _usec(text: str) -> float:
    line = next(each for each in text.splitlines() if each.startswith("cmdstat_evalsha:"))
    return float(line.partition("usec_per_call=")[2].partition(",")[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=500)
    arguments = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return 0
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    service = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    service.start()
    try:
        with engine_server() as server:
            address = f"http://127.0.0.1:{ours.recv()}"
            added = asyncio.run(compare(address, server, arguments.rounds, arguments.calls))
            for workers in (1, 10, 100, 1000):
                asyncio.run(decisions(server, workers))
    finally:
        service.terminate()
        service.join()
    return int(added > BOUND)


if __name__ == "__main__":
    raise SystemExit(main())
