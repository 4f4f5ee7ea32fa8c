"""Workers that share orders over a database that is killed, behind a proxy that drops acknowledgements.

``python -m tests.proofs.kill.postgres_proof [IDENTIFIERS] [KILLS] [SEED] [CAP]`` judges a long run. With a CAP, a guard
lets as many orders through, and as many workers are killed as databases.
"""

import asyncio
import contextlib
import logging
import random
import sys
import time
from collections import Counter
from typing import Any

import attrs

from brokerage_async.journal import PostgresJournal
from tests import journal_servers
from tests.lossy_proxy import LossyProxy, at_random
from tests.processes import DRIVER, Crowd, crowd, preload
from tests.proofs.kill.scripted_brokerage import ScriptedBrokerage
from tests.proofs.kill.sharing_worker import LEASE, Report, Share, work
from tests.proofs.kill.verdict import judge

WORKERS = 3
ORDERS_OF_AN_ACCOUNT = 40
DROPPED, DELAYED = 0.06, 0.01
"""Share of the effects whose acknowledgement is dropped, and of the messages that take 200 ms longer."""
SLOWLY_CONNECTED = 0.25
"""Seconds that a connection to the database takes at most."""
SHORT_OUTAGE, LONG_OUTAGE = 0.5, LEASE + 1.0
"""Seconds of an outage at most; every second one outlasts all claims."""
LIMIT = 270.0
"""Seconds after which workers begin no placement any more."""
preload("tests.proofs.kill.sharing_worker", *DRIVER)


class _Workers(Crowd):
    """The processes and their reports. ``killed``: those that another one has succeeded."""

    def __init__(self) -> None:
        super().__init__()
        self.reports: list[Report] = []
        self.finished: set[int] = set()
        self.killed: set[int] = set()
        self._shares: list[Share] = []
        self._settled: set[tuple[str, str]] = set()

    def note(self, number: int, kind: str, content: Any) -> None:
        if kind == "report":
            self.reports.append(content)
            if content.is_final:
                self._settled.add((content.sender[: len("worker/0")], content.identifier))
        elif kind == "finished":
            self.finished.add(number)

    @property
    def settled(self) -> int:
        """How many outcomes are final, once for each worker and its successors."""
        return len(self._settled)

    @property
    def is_over(self) -> bool:
        """Whether every worker has finished its part, or one has died before."""
        return len(self.finished) == WORKERS or bool(self.ended - self.finished - self.killed)

    def employ(self, share: Share) -> None:
        self.start(work, share)
        self._shares.append(share)

    async def replace_one(self, chance: random.Random) -> None:
        """Kill a worker that has not finished, and start another one in its place."""
        working = set(range(len(self._shares))) - self.finished - self.killed
        if working:
            number = chance.choice(sorted(working))
            self.killed.add(number)
            await self.end(number)
            self.employ(attrs.evolve(self._shares[number], sender=f"{self._shares[number].sender}+"))

    async def wait_for_settled(self, settled: int, seconds: float) -> bool:
        """Return True once ``settled`` of them are, False if the workers or the time end before."""
        with contextlib.suppress(TimeoutError):
            await self.wait_for(lambda each: each.settled >= settled or each.is_over, seconds)
        return self.settled >= settled

    async def wait_for_finish(self, seconds: float) -> None:
        await self.wait_for(lambda each: each.is_over, seconds)
        assert len(self.finished) == WORKERS, "a worker has died; its traceback is on standard error"


async def prove(
    identifiers: int, kills: int, seed: int, *, limit: float = LIMIT, cap: int = 0
) -> tuple[list[str], Counter[str]]:
    """Judge a run of ``identifiers`` shared orders and ``kills`` of the database, and count the events in it.

    ``cap``: how many of them the guard of the workers lets through, 0 for no guard. With one, workers are killed too.
    """
    chance, connecting, began = random.Random(seed), random.Random(seed), time.monotonic()
    names = tuple((f"5WT{n // ORDERS_OF_AN_ACCOUNT:05}", f"shared-{seed}-{n}") for n in range(identifiers))
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(journal_servers.mortal_server())
        treatment = at_random(seed, drop=DROPPED, delay=DELAYED)
        proxy = await stack.enter_async_context(LossyProxy(server.dsn, treatment))
        proxy.connecting = lambda: connecting.uniform(0, SLOWLY_CONNECTED)
        brokerage = await stack.enter_async_context(ScriptedBrokerage(seed))
        async with crowd(_Workers) as workers:
            for number in range(WORKERS):
                workers.employ(
                    Share(
                        sender=f"worker/{number}",
                        base_url=brokerage.base_url,
                        dsn=proxy.dsn,
                        names=names,
                        seed=seed,
                        seconds=limit,
                        cap=cap,
                        attempts=1 if number else 2,  # one waits out a 429 while it holds the order, others give it up
                    )
                )
            killed = 0
            for number in range(kills):
                share = (number + chance.random()) / kills
                if not await workers.wait_for_settled(int(share * WORKERS * identifiers), limit):
                    break
                if cap:
                    await workers.replace_one(chance)
                    await asyncio.sleep(chance.uniform(0, SHORT_OUTAGE))
                await asyncio.to_thread(server.kill)
                await asyncio.sleep(LONG_OUTAGE if number % 2 else chance.uniform(0, SHORT_OUTAGE))
                await asyncio.to_thread(server.start)
                killed += 1
            await workers.wait_for_finish(limit + 60)
            settled = workers.settled
            proxy.treatment, brokerage.calm = None, True
            workers.finished.clear()
            workers.go()
            await workers.wait_for_finish(60)
        async with PostgresJournal(server.dsn) as journal:
            entries = await journal.entries()
        tally = Counter(f"brokerage: {what}" for what in brokerage.met.elements())
        tally.update(f"entries: {entry.state.value}" for entry in entries)
        tally.update(f"calls: {report.outcome}" for report in workers.reports)
        tally["brokerage: orders"] = sum(map(len, brokerage.books.values()))
        tally["server killed"], tally["workers killed"] = killed, len(workers.killed)
        tally["acknowledgements dropped"] = proxy.dropped
        tally["left unsettled (of every worker)"] = WORKERS * identifiers - settled
        tally["seconds"] = round(time.monotonic() - began)
        return judge(brokerage.books, entries, workers.reports), tally


def main(identifiers: int = 2_000, kills: int = 20, seed: int | None = None, cap: int = 0) -> int:
    logging.disable(logging.CRITICAL)
    seed = random.randrange(10**6) if seed is None else seed
    violations, tally = asyncio.run(prove(identifiers, kills, seed, cap=cap))
    print(f"{identifiers} identifiers, {WORKERS} workers, seed {seed}: {len(violations)} doubled, lost or misreported")
    for violation in violations:
        print(f"  VIOLATION {violation}")
    for what, count in sorted(tally.items()):
        print(f"  {what}: {count}")
    complete = tally["server killed"] == kills and not tally["left unsettled (of every worker)"]
    within = not cap or tally["brokerage: orders"] <= cap
    return 0 if not violations and complete and within else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
