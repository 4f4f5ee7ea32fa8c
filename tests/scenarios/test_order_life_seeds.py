"""Whole trading days with the whole life of orders: every report matches the brokerage's books.

``python -m tests.scenarios.test_order_life_seeds 1000`` plays a day of a thousand seeds. A program places, cancels and
replaces orders while a watcher follows them, and may end at any moment. Another one recovers its orders at the close.
Rare events in the life of an order happen by the seed, lost answers and held submits by scripted faults.
"""

import asyncio
import contextlib
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import Client, errors, models
from brokerage_async.journal import EntryState, MemoryJournal
from brokerage_async.order_entry import ChangeOutcome, OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.protocol.order_status import TERMINAL, is_complete
from brokerage_async.simulator import Simulator, run
from tests.seeded import play_seeds
from tests.trading import SMALL, originals, random_ticket

START, CLOSE = "2026-06-10T10:30-04:00", "2026-06-10T16:00-04:00"
POLICY = ReconcilePolicy(visibility_delay=60.0, give_up=300.0)
FAULTS = ("drop_after", "hang_after", "after_status(502)", "delay(45)", "status(503)", "drop_before", "truncate")
SYMBOLS = ("AAPL", "MSFT", "GLD", "KO")


@attrs.define
class Day:
    """Everything reported to the program, for comparison with the books."""

    client: Client
    sim: Simulator
    chance: random.Random
    journal: MemoryJournal
    account: str
    entry: OrderEntry
    named: dict[str, Outcome | None] = attrs.field(factory=dict)
    cancels: dict[str, list[ChangeOutcome]] = attrs.field(factory=dict)
    replaced: dict[str, list[tuple[ChangeOutcome, str | None]]] = attrs.field(factory=dict)
    seen: dict[str, models.Order] = attrs.field(factory=dict)
    awaited: dict[str, models.Order] = attrs.field(factory=dict)
    tally: Counter[str] = attrs.field(factory=Counter)

    async def trade(self, number: int) -> None:
        await asyncio.sleep(self.chance.uniform(0, 4 * 3600))
        name, symbol = f"order-{number}", SYMBOLS[number % len(SYMBOLS)]
        ticket = random_ticket(self.chance, symbol, self.sim.price(symbol))
        if self.chance.random() < 0.15:
            self.sim.faults.add("POST", r"/(complex-)?orders$", self.chance.choice(FAULTS))
        self.named[name] = None
        placement: Any
        if isinstance(ticket, models.NewComplexOrder):
            trigger = attrs.evolve(ticket.trigger_order, external_identifier=name)
            placement = await self.entry.place_complex(self.account, attrs.evolve(ticket, trigger_order=trigger))
        else:
            placement = await self.entry.place(self.account, attrs.evolve(ticket, external_identifier=name))
        self.named[name] = placement.outcome
        if placement.outcome is not Outcome.PLACED or placement.complex_order is not None:
            return
        order_id = placement.order_id
        if self.chance.random() < 0.3:
            with contextlib.suppress(errors.DeadlineExceededError):
                self.awaited[order_id] = await self.client.watch.order(
                    "me", self.account, order_id, timeout=self.chance.uniform(5, 3000)
                )
        await asyncio.sleep(self.chance.choice([0.0, 0.5, 0.8, 1.1, self.chance.uniform(0, 1800)]))
        if self.chance.random() < 0.1:
            self.sim.faults.add("*", r"/orders/\d+$", self.chance.choice(["drop_after", "hang_after", "status(503)"]))
        if self.chance.random() < 0.6:
            change = await self.entry.cancel(self.account, order_id)
            self.cancels.setdefault(order_id, []).append(change.outcome)
        elif isinstance(ticket, models.NewOrder) and ticket.price is not None:
            edit = models.OrderEdit.of(ticket, price=ticket.price - Decimal("0.05"), external_identifier=name)
            change = await self.entry.replace(self.account, order_id, edit)
            self.replaced.setdefault(order_id, []).append((change.outcome, change.order_id))

    async def watch(self) -> None:
        """Keep the last state of each order that the watcher shows."""
        async with self.client.watch.orders("me", [self.account], interval=60.0) as changes:
            async for change in changes:
                if change.item.id is not None:
                    self.seen[change.item.id] = change.item

    # Books

    def books(self) -> dict[str, Any]:
        self.sim.settle()
        state = self.sim.brokerage.state
        account = state.accounts.get(self.account)
        return {str(order.number): order for order in state.order_store.of([account])}

    def history(self, order_id: str) -> list[str]:
        return [event.after for event in self.sim.ledger.events if event.order_id == order_id]

    async def check(self) -> None:
        books = self.books()
        later = OrderEntry(self.client, self.journal, reconcile=POLICY)
        recovered = {each.external_identifier: each for each in await later.recover()}
        entries = {each.key.external_identifier: each for each in await self.journal.entries("sandbox")}
        for name, told in self.named.items():
            placed = originals(self.sim.ledger.orders(external_identifier=name))
            assert len(placed) <= 1, f"{name} was placed {len(placed)} times"
            final = recovered[name].outcome if name in recovered else told
            if final is None:
                assert name not in entries or entries[name].state is not EntryState.OPEN, f"{name} is still open"
                continue
            self.tally[f"place {final}"] += 1
            assert (final is Outcome.PLACED) == bool(placed), f"{name}: {final}, but the books have {placed}"
        for order_id, outcomes in self.cancels.items():
            self.check_cancel(order_id, outcomes)
        for order_id, changes in self.replaced.items():
            self.check_replacement(order_id, changes)
        for order_id, order in self.awaited.items():
            self.tally[f"watch.order {order.status}"] += 1
            assert order.status in TERMINAL
            assert order.status == books[order_id].status, f"watch.order({order_id}) said {order.status}"
        for order_id, order in books.items():
            self.check_seen(order_id, order)

    def check_cancel(self, order_id: str, outcomes: list[ChangeOutcome]) -> None:
        """Check that an applied cancel is in the books and the order is over, and a refused one cancelled nothing."""
        history = self.history(order_id)
        for outcome in outcomes:
            self.tally[f"cancel {outcome}, {history[-1]}"] += 1
            asked = "Cancel Requested" in history or history[-1] == "Cancelled"
            if outcome is ChangeOutcome.APPLIED:
                assert asked, f"cancel of {order_id}: {history}"
                assert history[-1] in ("Cancelled", "Filled"), f"cancel of {order_id}: {history}"
            elif outcome is not ChangeOutcome.UNKNOWN:
                assert history[-1] != "Cancelled" or "Replace Requested" in history, f"{order_id}, {outcome}: {history}"

    def check_replacement(self, order_id: str, changes: list[tuple[ChangeOutcome, str | None]]) -> None:
        """Check that an applied replacement has a successor in the books, and a refused one none that worked."""
        successors = [each.order_id for each in self.sim.ledger.orders() if each.replaces_order_id == order_id]
        for outcome, new in changes:
            ends = [self.history(each)[-1] for each in successors]
            self.tally[f"replace {outcome}, {' '.join(ends) or 'no successor'}"] += 1
            if outcome is ChangeOutcome.APPLIED:
                assert successors == [new], f"replacement of {order_id}: {new}, the books have {successors}"
            elif outcome is not ChangeOutcome.UNKNOWN:
                worked = [each for each in successors if "Routed" in self.history(each)]
                assert worked == [], f"replacement of {order_id} was {outcome}, the books have {worked}"

    def check_seen(self, order_id: str, order: Any) -> None:
        shown = self.seen[order_id]
        assert shown.status == order.status, f"the watcher shows {shown.status}: {self.history(order_id)}"
        fills = [sum((fill.quantity or Decimal(0) for fill in leg.fills or ()), Decimal(0)) for leg in shown.legs or ()]
        assert fills == [leg.quantity - leg.remaining for leg in order.legs], f"fills of {order_id}: {fills}"
        assert is_complete(shown) is order.is_terminal
        before = self.history(order_id)[-2:-1]
        self.tally[f"order {order.status}{' after ' + before[0] if before else ''}"] += 1


async def day(client: Client, sim: Simulator) -> Counter[str]:
    chance = random.Random(sim.brokerage.settings.seed)
    journal = MemoryJournal(clock=sim.clock.now)
    entry = OrderEntry(client, journal, reconcile=POLICY, lease=30.0)
    here = Day(client, sim, chance, journal, sim.account_numbers[0], entry)
    watching = asyncio.create_task(here.watch())
    trades = [asyncio.create_task(here.trade(number)) for number in range(12)]
    if chance.random() < 0.2:  # the program dies
        await asyncio.sleep(chance.uniform(0, 4 * 3600))
        for task in trades:
            task.cancel()
    for result in await asyncio.gather(*trades, return_exceptions=True):
        if isinstance(result, BaseException) and not isinstance(
            result, asyncio.CancelledError | errors.OrderOutcomeUnknownError | errors.TransportError | errors.APIError
        ):
            raise result
    sim.faults.clear()
    left = 6 * 3600 - (sim.clock.now() - sim.brokerage.settings.start)
    await asyncio.sleep(max(600.0, left))  # until the close, and until the last fills
    await here.check()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return here.tally


def play(seed: int) -> Counter[str]:
    return run(day, start=START, seed=seed, client_options={"timeout": 10.0}, **SMALL)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_told_is_what_the_books_have(seed: int) -> None:
    assert sum(play(seed).values()) > 10


if __name__ == "__main__":
    play_seeds(play)
