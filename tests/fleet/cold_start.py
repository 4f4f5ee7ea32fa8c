"""Cold processes that share one token request, whose holder is killed at random points.

``python -m tests.fleet.cold_start [PROCESSES] [KILLS] [SEED]``
"""

import asyncio
import contextlib
import os
import random
import signal
import sys
import time

import attrs

from brokerage_async.fleet import Fleet
from brokerage_async.fleet.fleet import Connection
from brokerage_async.simulator import Simulator
from tests.fleet.crowd import as_table, at_work, prefer_the_service, small_simulator
from tests.fleet.engines import engine_server
from tests.fleet.workers import get_token

LEASE = 1.0
LATENCY = 0.3
"""Seconds that the service takes for a token."""


@attrs.frozen(kw_only=True)
class Round:
    """Token requests of one cold start, and the longest wait in seconds: from the start, or from the kill if any."""

    requests: int
    got: int
    longest: float


async def holder(connection: Connection) -> int:
    """Return the process that holds the turn, as soon as there is one."""
    while True:
        for key in await connection.command("KEYS", connection.key("token", "*")):
            turn = await connection.command("HGET", key, "turn")
            if turn is not None:
                return int(turn.split(b"-")[1])
        await asyncio.sleep(0.002)


async def one_round(sim: Simulator, engine: str, number: int, processes: int, kill_after: float | None) -> Round:
    before, name = sim.ledger.count("oauth.token"), f"round-{number}"
    async with (
        Fleet(engine, name=name) as fleet,
        at_work(sim, engine, get_token, [(LEASE, name)] * processes) as people,
    ):
        since = time.monotonic()
        if kill_after is not None:
            victim = await holder(fleet.connection)
            await asyncio.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it had its token and has ended
                os.kill(victim, signal.SIGKILL)
            since = time.monotonic()
        await people.wait_for_all(60)
        moments = [moment for _, (_, moment) in people.of("token")]
    return Round(requests=sim.ledger.count("oauth.token") - before, got=len(moments), longest=max(moments) - since)


async def cold_start(processes: int, kills: int, seed: int) -> list[Round]:
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
