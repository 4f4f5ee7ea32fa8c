"""What a call under shared limits costs in client CPU beside the same call under local ones, and what a decision costs.

    python -m benchmarks.fleet [--rounds 20] [--calls 500]

Needs ``redis-server``. A server process answers with a fixed body. Rounds of both clients alternate in one process, and
what counts is the CPU time of this process per call, 50 at once. Then the script is run for crowds of workers.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator

from brokerage_async import Client, Environment, Limits, StaticToken
from brokerage_async.fleet import Fleet, RedisLimits
from brokerage_async.fleet.limits import BUCKET, bucket_of
from tests.fleet.engines import EngineServer, engine_server, missing

from .calls import ANSWERS, many
from .rounds import Result, command, result, turns
from .service import running, serve_fixed

BOUND = 1000.0
"""Microseconds of CPU that a question to the engine may add to a call: 5 % of a core at 50 requests/s.

It is not a ratio: each call asks, and a command of redis-py alone costs two thirds of a local call.
"""
BUDGET = 20_000.0


async def compare(base_url: str, server: EngineServer, rounds: int, calls: int) -> Result:
    """Return the microseconds that shared limits add to a call."""
    environment, token = Environment.sandbox(base_url), StaticToken("a" * 400)
    async with Fleet(server.url) as fleet:
        limits = RedisLimits(fleet, requests_per_second=BUDGET, local_share=1.0)
        async with (
            Client(environment, token, limits=limits) as shared,
            Client(environment, token, limits=Limits()) as local,
        ):
            contenders = {
                "local": many(lambda: local.market_metrics.dividends("AAPL"), calls, 50),
                "shared": many(lambda: shared.market_metrics.dividends("AAPL"), calls, 50),
            }
            await shared.market_metrics.dividends("AAPL")
            await asyncio.sleep(3)  # the engine grants nothing before all workers could be seen
            taken = await turns(contenders, rounds, warm_up=2)
    each = {name: [seconds / (calls // 50 * 50) * 1e6 for seconds in found] for name, found in taken.items()}
    added = [a - b for a, b in zip(each["shared"], each["local"], strict=True)]
    note = f"{statistics.median(each['shared']):.1f} and {statistics.median(each['local']):.1f} us a call"
    return result("50 calls at once, CPU that shared limits add to one", added, bound=BOUND, unit="us", note=note)


async def decision(server: EngineServer, workers: int) -> Result:
    """Return what one decision costs the engine, with a crowd of ``workers`` that wait."""
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
        if isinstance(stats, dict):
            engine = stats["cmdstat_evalsha"]["usec_per_call"]
        else:
            engine = float(stats.decode().partition("cmdstat_evalsha:")[2].partition("usec_per_call=")[2].split(",")[0])
        memory = sum([await fleet.connection.command("MEMORY", "USAGE", key) or 0 for key in keys])
    note = f"{client:.1f} us of the worker, {memory / 1024:.0f} kB"
    return result(f"a decision with {workers} workers, CPU of the engine", [engine], unit="us", note=note)


def measure(rounds: int = 20, calls: int = 500) -> Iterator[Result]:
    """Measure calls, then decisions."""
    if reason := missing():
        print(f"skipped: {reason}")
        return
    with running(serve_fixed, ANSWERS) as pipe, engine_server() as server:
        yield asyncio.run(compare(pipe.recv(), server, rounds, calls))
        for workers in (1, 10, 100, 1000):
            yield asyncio.run(decision(server, workers))


if __name__ == "__main__":
    command(measure)
