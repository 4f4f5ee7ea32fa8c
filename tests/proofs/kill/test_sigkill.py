"""Processes that place orders and are killed with SIGKILL at random points, and processes that recover after them.

Everything is real here: processes, HTTP, disk, database. ``python -m tests.proofs.kill.test_sigkill 200``
plays many runs, with ``postgres`` as a second argument on a PostgreSQL journal.
"""

import asyncio
import contextlib
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator

import attrs
import pytest

from brokerage_async.journal import EntryKey, EntryState
from brokerage_async.simulator import Simulator
from tests import journal_servers
from tests.journal_servers import Durable
from tests.processes import DRIVER, Service, crowd, preload
from tests.proofs.kill import worker
from tests.proofs.kill.verdict import BookedOrder, judge
from tests.proofs.kill.worker import POINTS, Job
from tests.seeded import play_drawn
from tests.trading import SMALL, order

preload("tests.proofs.kill.worker", "brokerage_async.simulator", "brokerage_async.journal.sqlite", *DRIVER)
ABSENT = journal_servers.missing()
LIMIT = 120.0
"""Seconds that a process may take: a search gives up before, but a busy machine may not let it run."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@contextlib.asynccontextmanager
async def service(journal: Durable) -> AsyncIterator[tuple[Simulator, Job]]:
    async with Simulator(latency=0.01, **SMALL) as sim:
        yield sim, Job(service=Service.of(sim), journal=journal)


async def place_and_die(job: Job, delay: float) -> None:
    """A process that dies at the point its job says, or else ``delay`` seconds after it began to trade."""
    async with crowd() as people:
        number = people.start(worker.place, job)
        await people.wait_for(lambda each: bool(each.of("ready")), LIMIT)
        if job.point:
            await people.wait_for_all(LIMIT)
        else:
            await asyncio.sleep(delay)
        assert await people.end(number) == -9


async def recover_in_a_process(job: Job) -> list[tuple[str, str, str]]:
    async with crowd() as people:
        number = people.start(worker.recover, job)
        await people.wait_for_all(LIMIT)
        assert await people.end(number) == 0
        ((_, answer),) = people.of("recovered")
    return list(answer)


async def check_books(sim: Simulator, job: Job) -> int:
    """Check that the journal agrees with the books and has no open entry. Return the number of its entries."""
    books = defaultdict[tuple[str, str], list[BookedOrder]](list)
    for each in sim.ledger.orders(account_number=job.service.account):
        name = job.service.account, each.external_identifier or ""
        books[name].append(BookedOrder(each.order_id, *name, sender="a worker", arrived=0.0))
    async with job.journal.open() as journal:
        entries = await journal.entries("sandbox")
    assert judge(books, entries, reports=()) == []
    assert [entry for entry in entries if entry.state is EntryState.OPEN] == []
    return len(entries)


async def play(runs: int, seed: int, journal: Durable) -> Counter[str]:
    chance, tally = random.Random(seed), Counter[str]()
    async with service(journal) as (sim, plain):
        for run in range(runs):
            point = chance.choice([*POINTS, ""])
            job = attrs.evolve(plain, name=f"run-{run}", point=point, at_order=chance.randrange(4))
            await place_and_die(job, chance.uniform(0, 0.3))
            recovered = await recover_in_a_process(job)
            tally[point or "at a random time"] += 1
            tally.update(f"recovered as {outcome}" for _, outcome, _ in recovered)
            for name, outcome, note in recovered:
                exists = bool(sim.ledger.orders(external_identifier=name))
                assert outcome == ("placed" if exists else "unknown"), f"{name}: {outcome}, {note}"
        tally["entries"] = await check_books(sim, plain)
        tally["orders"] = len(sim.ledger.orders(account_number=plain.service.account))
    return tally


@contextlib.contextmanager
def fresh(kind: str) -> Iterator[Durable]:
    place = journal_servers.postgres_server() if kind == "postgres" else tempfile.TemporaryDirectory()
    with place as where:
        yield Durable(kind, where if kind == "postgres" else f"{where}/orders.journal", "orders")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def journal(request: pytest.FixtureRequest) -> Iterator[Durable]:
    if request.param == "postgres" and ABSENT:
        pytest.skip(ABSENT)
    with fresh(request.param) as made:
        yield made


async def test_a_process_killed_at_any_point_loses_and_doubles_nothing(journal: Durable) -> None:
    tally = await play(runs=9, seed=1, journal=journal)
    assert tally["orders"] > 0


async def test_two_processes_that_recover_the_same_journal_handle_each_order_once(journal: Durable) -> None:
    async with service(journal) as (sim, job):
        names = await leave_open(sim, job)
        answers = await asyncio.gather(*(recover_in_a_process(job) for _ in range(2)))
        handled = [(name, outcome) for answer in answers for name, outcome, _ in answer]
        assert sorted(handled) == sorted(names.items())
        await check_books(sim, job)


async def leave_open(sim: Simulator, job: Job) -> dict[str, str]:
    """Orders of a process that died: half of them reached the brokerage."""
    names = {}
    async with job.service.client() as client, job.journal.open() as journal:
        for number in range(10):
            name, arrives = f"left-{number}", number % 2 == 0
            names[name] = "placed" if arrives else "unknown"
            key = EntryKey(sim.environment.origin, "sandbox", job.service.account, name)
            await journal.open(key, b'{"external-identifier":"' + name.encode() + b'"}', owner="dead", lease=0.2)
            if arrives:
                await client.orders.submit(job.service.account, order(name, 1))
    assert len(sim.ledger.orders(account_number=job.service.account)) == 5
    return names


def main(runs: int, kind: str) -> None:
    with fresh(kind) as journal:
        held = f"{runs} runs on {kind}: 0 doubled, 0 lost, 0 misreported"
        play_drawn(lambda seed: play(runs, seed, journal), held)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else "sqlite")
