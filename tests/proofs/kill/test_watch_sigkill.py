"""Consumers of a durable watcher that are killed with SIGKILL at random points.

Everything is real here: processes, HTTP, disk. ``python -m tests.proofs.kill.test_watch_sigkill 200`` plays many runs.
"""

import asyncio
import contextlib
import json
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest

from brokerage_async.errors import OrderNotCancellableError
from brokerage_async.simulator import Simulator
from brokerage_async.watch import StoredChange
from tests.processes import Service, crowd, preload
from tests.proofs.kill import watch_worker
from tests.proofs.kill.watch_worker import POINTS, Job
from tests.seeded import play_drawn
from tests.trading import SMALL, order

preload("tests.proofs.kill.watch_worker", "brokerage_async.simulator")

WORKING = 8
SETTLED = 8.0
"""Seconds without a change after which a consumer is up to date, also on a busy machine."""

AUDIT = """
CREATE TABLE audit (sequence, key, kind, at, before, after);
CREATE TRIGGER acknowledged AFTER DELETE ON reported BEGIN
    INSERT INTO audit VALUES (old.sequence, old.key, old.kind, old.at, old.before, old.after);
END;
"""
"""Records every acknowledgement in the transaction that makes it."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def consume(job: Job, delay: float | None) -> bool:
    """Run a consumer that dies at its point, or ``delay`` seconds after it is ready. Return True if it was killed."""
    async with crowd() as people:
        number = people.start(watch_worker.consume, job)
        await people.wait_for(lambda each: bool(each.of("ready") or each.ended), 60)
        with contextlib.suppress(TimeoutError):
            await people.wait_for_all(1000 if delay is None else delay)
        code = await people.end(number)
    assert code in (0, -9)
    return code == -9


async def trade(sim: Simulator, chance: random.Random) -> None:
    """Place orders, and cancel each of them a second later, until cancelled."""
    account, working = sim.account_numbers[0], list[str]()
    async with sim.client() as client:
        while True:
            await asyncio.sleep(chance.uniform(0.02, 0.2))
            placed = (await client.orders.submit(account, order(quantity=1))).order
            working.append(placed.id)
            if len(working) > WORKING:
                with contextlib.suppress(OrderNotCancellableError):  # on a busy machine it may not be live yet
                    await client.orders.cancel(account, working.pop(0))


def check(job: Job, expected: dict[str, str]) -> Counter[str]:
    """Compare the acknowledgements in the state with the log of the consumers and the orders of the brokerage."""
    names = ("sequence", "key", "kind", "at", "before", "after")
    with contextlib.closing(sqlite3.connect(job.state)) as connection:
        rows = connection.execute(f"SELECT {', '.join(names)} FROM audit ORDER BY rowid").fetchall()
        (identity,) = connection.execute("SELECT identity FROM owner").fetchone()
        (left,) = connection.execute("SELECT count(*) FROM reported").fetchone()
    audit = [StoredChange(**dict(zip(names, row, strict=True))) for row in rows]
    assert left == 0
    assert len({change.sequence for change in audit}) == len(audit), "acknowledged twice"
    last: dict[str, bytes | None] = {}
    for change in audit:
        assert last.get(change.key) == change.before, f"out of order, or one is missing: {change}"
        last[change.key] = change.after
    final = {json.loads(key): json.loads(item)["status"] for key, item in last.items() if item is not None}
    differing = {key for key in final | expected if final.get(key) != expected.get(key)}
    assert not differing, [(key, final.get(key), expected.get(key)) for key in sorted(differing)[:5]]
    handled: dict[str, Any] = {}
    acknowledged, again = set(), 0
    for line in Path(job.log).read_text().splitlines():
        fact = json.loads(line)
        key = fact["key"]
        if fact["what"] == "acknowledged":
            acknowledged.add(key)
            continue
        assert key not in acknowledged, "reported again after it was acknowledged"
        again += key in handled
        assert handled.setdefault(key, fact) == fact, "one idempotency key, two changes"
    assert {change.idempotency_key(identity) for change in audit} == set(handled)
    return Counter({"changes acknowledged": len(audit), "reported again after a crash": again, "orders": len(final)})


async def play(runs: int, seed: int, folder: str) -> Counter[str]:
    chance, tally = random.Random(seed), Counter[str]()
    async with Simulator(latency=0.002, **SMALL) as sim:
        plain = Job(service=Service.of(sim), state=f"{folder}/watch.db", log=f"{folder}/log")
        await consume(attrs.evolve(plain, quiet=0.2, early=True), None)
        with contextlib.closing(sqlite3.connect(plain.state)) as connection:
            connection.executescript(AUDIT)
        trading = asyncio.create_task(trade(sim, chance))
        for _ in range(runs):
            point = chance.choice([*POINTS, "early", ""])
            job = attrs.evolve(plain, at_change=chance.randrange(6), push=chance.random() < 0.3)
            job = attrs.evolve(job, early=True) if point == "early" else attrs.evolve(job, point=point)
            assert await consume(job, chance.uniform(0, 0.4) if point in ("", "early") else 20)
            tally[f"killed: {point or 'at a random time'}"] += 1
        trading.cancel()
        await asyncio.wait({trading})
        await consume(attrs.evolve(plain, quiet=SETTLED, early=True), None)
        async with sim.client() as client:
            orders = await client.orders.live("me", [plain.service.account])
        tally += check(plain, {order.id: str(order.status) for order in orders if order.id is not None})
    return tally


async def test_every_change_is_acknowledged_once_by_consumers_that_are_killed(tmp_path: Path) -> None:
    tally = await play(runs=6, seed=1, folder=str(tmp_path))
    assert tally["changes acknowledged"] > 0


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play_drawn(lambda seed: play(runs, seed, folder), f"{runs} kills: every change acknowledged exactly once")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
