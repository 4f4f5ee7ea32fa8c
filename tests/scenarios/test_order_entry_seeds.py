"""Whole histories of order entry on virtual time, one per seed: random faults, delays, cancellations and deaths.

``python -m tests.scenarios.test_order_entry_seeds 1000`` plays many of them. Whatever happens, at the end

- the brokerage has at most one order, single or complex, for each external identifier,
- nothing was ever reported that its books do not bear out,
- the journal records every order of the brokerage as placed, and no entry that is still open has an order.
"""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import EntryState, JournalError, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome, Placement
from brokerage_async.simulator import faults
from tests.loops import on_virtual_time
from tests.partial_listings import hiding, unlinked, unnamed
from tests.seeded import play_seeds
from tests.trading import COMPLEX, NOTHING_LISTED, POLICY, SINGLE, TIMEOUT, Floor, Kind, floor

SUBMIT, DRY_RUN, LISTS = r"/(complex-)?orders$", r"/(complex-)?orders/dry-run$", COMPLEX.lists
LATEST = POLICY.visibility_delay * 0.6
"""How late a request may arrive and still keep the promise that the settling time stands for."""

STREAM_FAULTS = ("lose", "duplicate", "reorder", "late(3)", "garbage", "drop")


def trouble(chance: random.Random) -> faults.Fault | str:
    return chance.choice([
        "refuse", "drop_before", "drop_after", "hang", "hang_after", "truncate", "garbage", "rate_limited",
        "unauthorized", f"status({chance.choice([500, 502, 503, 504])})",
        f"after_status({chance.choice([500, 502, 503, 504])})", "html(502)", "after_html(502)",
        faults.body(chance.choice([b"", b"null", b"{}", b'{"data": []}'])),
        faults.delay(chance.uniform(0, LATEST)), faults.delay_after(chance.uniform(0, 2 * TIMEOUT)),
    ])  # fmt: skip


def script(here: Floor, chance: random.Random) -> None:
    plan = here.sim.faults
    for _ in range(chance.randrange(5)):
        plan.add("POST", SUBMIT, trouble(chance), times=chance.randint(1, 2))
    for _ in range(chance.randrange(3)):
        plan.add("POST", DRY_RUN, trouble(chance))
    if chance.random() < 0.3:  # few enough not to outlast the settling time
        plan.add("GET", LISTS, faults.body(NOTHING_LISTED), times=chance.randint(1, 8))
    for _ in range(chance.randrange(4)):
        plan.add("GET", LISTS, chance.choice(["status(503)", "drop_after", "hang", "garbage", "rate_limited"]))
    if chance.random() < 0.3:  # complex orders are shown in part
        part = [hiding("trigger-order"), hiding("oco-1-order"), unlinked(), unnamed("trigger-order"), unnamed("order")]
        plan.add("GET", LISTS, chance.choice(part), times=chance.choice([None, chance.randint(1, 12)]))
    if chance.random() < 0.2:
        plan.add("POST", r"/oauth/token$", chance.choice(["status(503)", "hang", "html(502)"]), times=2)


def kind_of(name: str) -> Kind:
    return COMPLEX if name.startswith("complex") else SINGLE


class Mortal:
    """The journal of one process. Once the process is dead, its calls fail."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._journal, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise JournalError("the process is dead")
            return await method(*args, **kwargs)

        return call

    async def die_after(self, seconds: float | None, work: list[asyncio.Task[None]]) -> bool:
        """Let the work of the process end, or let the process die after some seconds. Return whether it died."""
        done, going = await asyncio.wait(work, timeout=seconds)
        self.dead = bool(going)
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        for task in done:
            task.result()
        return self.dead


class History:
    """Requested and reported outcomes, checked against the books after each step."""

    def __init__(self, here: Floor, chance: random.Random, *, push: bool) -> None:
        self._push = push
        self._here = here
        self._chance = chance
        self.last: dict[str, Placement] = {}
        self.tally: Counter[str] = Counter()

    def note(self, placement: Placement) -> None:
        kind_of(placement.external_identifier).check(self._here, placement)
        self.last[placement.external_identifier] = placement
        self.tally[placement.outcome.value] += 1

    async def trade(self, entry: OrderEntry, name: str) -> None:
        """One caller: places an order, perhaps impatiently, and perhaps asks again."""
        await asyncio.sleep(self._chance.uniform(0, 3))
        for _ in range(self._chance.choice([1, 1, 1, 2, 3])):
            patience = self._chance.choice([None, None, self._chance.uniform(0, 2), self._chance.uniform(0, 60)])
            try:
                async with asyncio.timeout(patience):
                    times = self._chance.choice([0, 0, 1, 2])
                    self.note(await kind_of(name).place(entry, self._here.account, name, resubmit=times))
            except TimeoutError:
                self.tally["gave up"] += 1
            except OrderOutcomeUnknownError as unknown:
                self.tally[f"unknown: {unknown.code}"] += 1
            except JournalError:
                return  # this process is dead

    async def live_and_die(self, process: int) -> None:
        """One process: recovers, trades, and dies at any moment or ends in order."""
        journal = Mortal(self._here.journal)
        lease = self._chance.choice([5.0, 30.0])
        entry = OrderEntry(self._here.client, journal, reconcile=POLICY, lease=lease, push=self._push)  # type: ignore[arg-type]
        kinds = [self._chance.choice(["order", "order", "complex"]) for _ in range(self._chance.randint(1, 3))]
        names = [f"{kind}-{process}-{number}" for number, kind in enumerate(kinds)]
        if self.last and self._chance.random() < 0.5:  # one that an earlier process has tried
            names.append(self._chance.choice(sorted(self.last)))
        work = [asyncio.create_task(self.trade(entry, name)) for name in names]
        if process:
            work.append(asyncio.create_task(self.recover(entry)))
        life = self._chance.choice([None, self._chance.uniform(0, 5), self._chance.uniform(0, 90)])
        self.tally["died"] += await journal.die_after(life, work)

    async def recover(self, entry: OrderEntry) -> None:
        for placement in await entry.recover():
            self.note(placement)

    async def check_end(self) -> None:
        here = self._here
        here.sim.faults.clear()
        await asyncio.sleep(2 * LATEST)  # requests that are still on their way arrive
        await self.recover(here.another_entry())
        entries = {entry.key.external_identifier: entry for entry in await here.journaled()}
        for name, entry in entries.items():
            exists = here.orders(name)
            assert len(exists) <= 1, f"{name} was placed {len(exists)} times"
            if exists:
                assert entry.state is EntryState.PLACED, f"{name} exists, but the journal says {entry.state}"
                assert entry.order_id in (None, *kind_of(name).ids(here, name))
            else:
                assert entry.state is not EntryState.PLACED, f"{name} does not exist, but the journal says so"
        for record in here.sim.ledger.orders(account_number=here.account):
            assert str(record.external_identifier).partition(".")[0] in entries, f"{record} has no entry in the journal"
        for placement in self.last.values():
            if placement.outcome is Outcome.PLACED:
                kind_of(placement.external_identifier).check(here, placement)


@on_virtual_time
async def play(seed: int) -> Counter[str]:
    """Play the history of a seed. Every other one has push, over streams that break."""
    chance = random.Random(seed)
    async with floor(seed=seed, latency=chance.choice([0.0, 0.05, 0.5])) as here:
        history = History(here, chance, push=bool(seed % 2))
        for name in random.Random(seed).choices(STREAM_FAULTS, k=5):  # not from ``chance``: the rest stays the same
            here.sim.streams.faults.add(name)
        for process in range(chance.randint(1, 3)):
            script(here, chance)
            await history.live_and_die(process)
        await history.check_end()
        for record in here.sim.ledger.orders(account_number=here.account):
            history.tally[f"{kind_of(str(record.external_identifier)).name}s"] += "." not in record.external_identifier
        return history.tally


@pytest.mark.parametrize("seed", range(40))
def test_no_order_is_doubled_lost_or_misreported(seed: int) -> None:
    play(seed)


def test_the_same_seed_has_the_same_history() -> None:
    assert play(7) == play(7)


if __name__ == "__main__":
    play_seeds(play)
