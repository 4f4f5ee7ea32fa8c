"""Plays the ladders of one seed on virtual time: faults, fills, impatient callers, and processes that die.

Whatever happens, by the brokerage's books at most one order of the ladder works at any moment, and no more is filled
than was ordered. What a call reports is what the books say, and after a last `recover` the journal knows the order.
``python -m tests.proofs.hands.ladders 500`` plays 500 seeds.
"""

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import EntryState, JournalError
from brokerage_async.order_entry import OrderEntry, Outcome, Placement
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator import faults
from tests.loops import on_virtual_time
from tests.scenarios.test_order_entry_seeds import LATEST, Mortal, trouble
from tests.seeded import play_seeds
from tests.trading import LISTS, NOTHING_LISTED, POLICY, SUBMIT, Floor, floor, order

ONE_ORDER, NAME, QUANTITY = r"/orders/\d+$", "worked", 10
IDLE = TERMINAL | {"Contingent"}
"""Statuses of an order that cannot be filled: over, or waiting for the one that it replaces."""


def script(here: Floor, chance: random.Random) -> None:
    for method, path, most in (
        ("POST", SUBMIT, 2),
        ("PUT", ONE_ORDER, 5),
        ("POST", r"/orders/\d+/dry-run$", 2),
        ("DELETE", ONE_ORDER, 3),
    ):
        for _ in range(chance.randrange(most + 1)):
            here.sim.faults.add(method, path, trouble(chance), times=chance.randint(1, 2))
    for _ in range(chance.randrange(5)):
        here.sim.faults.add("GET", LISTS, chance.choice(["status(503)", "drop_after", "hang", "garbage"]))
    if chance.random() < 0.3:
        here.sim.faults.add("GET", LISTS, faults.body(NOTHING_LISTED), times=chance.randint(1, 4))


class History:
    def __init__(self, here: Floor, chance: random.Random) -> None:
        self.here = here
        self.chance = chance
        self.tally: Counter[str] = Counter()
        self._state = here.sim.brokerage.state
        self._prices = [Decimal(10 + step) for step in range(chance.randint(1, 6))]

    def orders(self) -> list[Any]:
        found = [self._state.order_store.find(record.order_id) for record in self.here.orders(NAME)]
        return [each for each in found if each is not None]

    def filled(self) -> Decimal:
        return sum((leg.quantity - leg.remaining for each in self.orders() for leg in each.legs), Decimal(0))

    async def market(self) -> None:
        """Fill parts of whatever works, at any moment."""
        for _ in range(self.chance.choice([0, 0, 1, 2, 4])):
            await asyncio.sleep(self.chance.uniform(0.5, 15))
            working = [each for each in self.orders() if each.status not in IDLE]
            if working and working[0].legs[0].remaining:
                part = self.chance.randint(1, int(working[0].legs[0].remaining))
                self.here.sim.fill_order(str(working[0].number), part)
                self.tally["parts filled"] += 1

    async def call(self, entry: OrderEntry) -> None:
        chance = self.chance
        moment = self.here.sim.clock.now() + chance.uniform(5, 60)
        end = None if chance.random() < 0.7 else datetime.fromtimestamp(moment, UTC)
        try:
            async with asyncio.timeout(chance.choice([None, None, chance.uniform(0, 60)])):
                options = {"every": chance.uniform(1, 12), "until": end, "allow_warnings": True}
                self.check(await entry.work(self.here.account, order(NAME, QUANTITY), self._prices, **options))
        except TimeoutError:
            self.tally["gave up"] += 1
        except OrderOutcomeUnknownError as unknown:
            self.tally[f"unknown: {unknown.code}"] += 1
        except JournalError:
            return  # this process is dead

    def check(self, placement: Placement) -> None:
        self.tally[placement.outcome] += 1
        if placement.outcome is not Outcome.PLACED:
            assert not self.orders(), f"reported as {placement.outcome}, but the books have {self.orders()}"
            return
        status = None if placement.order is None else placement.order.status
        self.tally[str(status)] += 1
        self.tally["replaced"] += len(placement.replaced)
        if "may still work" in placement.note or "left as it is" in placement.note:
            self.tally["left at work"] += 1
            return
        working = [each.number for each in self.orders() if each.status not in TERMINAL]
        assert not working, f"reported as over ({status}), but {working} still work: {placement.note}"
        reported = sum((fill.quantity or Decimal(0) for fill in placement.fills), Decimal(0))
        assert reported == self.filled(), f"reported {reported} filled, the books say {self.filled()}"

    async def live_and_die(self, process: int) -> None:
        """One process: perhaps recovers, works the order, and dies at any moment or ends in order."""
        journal, chance = Mortal(self.here.journal), self.chance
        lease = chance.choice([5.0, 30.0])
        entry = OrderEntry(self.here.client, journal, reconcile=POLICY, lease=lease)
        if process and chance.random() < 0.5:
            await entry.recover()
        work = [asyncio.create_task(self.call(entry)) for _ in range(chance.choice([1, 1, 1, 2]))]
        self.tally["died"] += await journal.die_after(chance.choice([None, chance.uniform(0, 60)]), work)

    async def check_end(self) -> None:
        """Check the books from the first moment on, and what `recover` finds."""
        self.here.sim.faults.clear()
        await asyncio.sleep(2 * LATEST)
        recovered = await self.here.another_entry().recover()
        entries = {each.key.external_identifier: each for each in await self.here.journaled()}
        entry = entries.get(NAME)
        orders = self.orders()
        if orders:
            assert entry is not None, "the journal has no entry"
            assert entry.state is EntryState.PLACED, f"the journal says {entry}"
            assert entry.order_id in {str(each.number) for each in orders}
        for placement in [each for each in recovered if each.external_identifier == NAME]:
            self.tally["recovered"] += 1
            assert (placement.outcome is Outcome.PLACED) == bool(orders), f"recovered as {placement}"
        originals = [each for each in orders if each.replaces is None]
        assert len(originals) <= 1, f"placed {len(originals)} times"
        assert self.filled() <= QUANTITY, f"{self.filled()} were filled of {QUANTITY}"
        self.tally["orders"] += len(orders)
        statuses = dict[str, str]()
        events = [event for event in self.here.sim.ledger.events if event.external_identifier == NAME]
        for at, now in groupby(events, key=lambda event: event.at):
            statuses |= {event.order_id: event.after for event in now}
            working = [f"{number} {status}" for number, status in statuses.items() if status not in IDLE]
            assert len(working) <= 1, f"at {at} there worked {', '.join(working)}"


@on_virtual_time
async def play(seed: int) -> Counter[str]:
    chance = random.Random(seed)
    async with floor(seed=seed, latency=chance.choice([0.0, 0.05, 0.5])) as here:
        history = History(here, chance)
        for process in range(chance.randint(1, 3)):
            script(here, chance)
            market = asyncio.create_task(history.market())
            await history.live_and_die(process)
            market.cancel()
            await asyncio.gather(market, return_exceptions=True)
        await history.check_end()
        return history.tally


if __name__ == "__main__":
    play_seeds(play)
