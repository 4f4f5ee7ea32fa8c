"""Cold processes that share one token request, whose holder is killed at random points.

``python -m tests.fleet.cold_start [PROCESSES] [KILLS] [SEED]``
"""

import asyncio
import contextlib
import logging
import os
import random
import signal
import sys
import time

import attrs

from brokerage_async.fleet import Fleet
from brokerage_async.fleet.fleet import Connection
from brokerage_async.simulator import Simulator
from tests.fleet.crowd import as_table, prefer_the_service, small_simulator
from tests.fleet.engines import engine_server
from tests.fleet.workers import get_token
from tests.processes import Service, crowd

LEASE = 1.0
LATENCY = 0.3
"""Seconds that the service takes for a token."""


@attrs.frozen(kw_only=True)
class Round:
    """Token requests of one cold start, and the longest wait in seconds: from the start, or from the kill if any."""

    requests: int
    got: int
    longest: float
    killed_after: float | None = None


def token_requests(sim: Simulator) -> int:
    return sum(record.operation == "oauth.token" for record in sim.ledger.requests)


async def holder(connection: Connection) -> int:
    """Return the process that holds the turn, as soon as there is one."""
    while True:
        for key in await connection.command("KEYS", connection.key("token", "*")):
            turn = await connection.command("HGET", key, "turn")
            if turn is not None:
                return int(turn.split(b"-")[1])
        await asyncio.sleep(0.002)


async def one_round(sim: Simulator, engine: str, number: int, processes: int, kill_after: float | None) -> Round:
    before, name = token_requests(sim), f"round-{number}"
    async with crowd() as people, Fleet(engine, name=name) as fleet:
        for _ in range(processes):
            people.start(get_token, Service.of(sim, engine), LEASE, name)
        await people.wait_for(lambda each: len(each.of("ready")) == processes, 120)
        people.go()
        began, died = time.monotonic(), None
        if kill_after is not None:
            victim = await holder(fleet.connection)
            await asyncio.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it had its token and has ended
                os.kill(victim, signal.SIGKILL)
            died = time.monotonic()
        await people.wait_for_all(60)
        moments = [moment for _, (_, moment) in people.of("token")]
    since = began if died is None else died
    return Round(
        requests=token_requests(sim) - before, got=len(moments), longest=max(moments) - since, killed_after=kill_after
    )


async def cold_start(processes: int, kills: int, seed: int) -> list[Round]:
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    chance = random.Random(seed)
    with engine_server() as server:
        async with small_simulator() as sim:
            sim.latency = lambda request: LATENCY if request.url.endswith("/oauth/token") else 0.0
            points = [None, *(chance.uniform(0, LATENCY * 1.2) for _ in range(kills))]
            return [await one_round(sim, server.url, n, processes, point) for n, point in enumerate(points)]


def main() -> None:
    processes, kills, seed = (int(each) for each in (*sys.argv[1:], *("20", "20", "0")[len(sys.argv) - 1 :]))
    prefer_the_service()
    peace, *others = asyncio.run(cold_start(processes, kills, seed))
    rows: dict[str, object] = {
        f"{processes} processes in peace": f"{peace.requests} request, longest wait {peace.longest:.2f} s",
        "kills of the holder": len(others),
        "requests of a round with a kill": sorted(each.requests for each in others),
        "longest wait after a kill": f"{max(each.longest for each in others):.2f} s",
        "lease plus one exchange": f"{LEASE + LATENCY:.2f} s",
    }
    print(as_table(rows))
    assert peace.requests == 1
    assert peace.got == processes
    assert all(each.requests <= 2 and each.got >= processes - 1 for each in others)
    assert all(each.longest <= LEASE + LATENCY for each in others)


if __name__ == "__main__":
    main()
