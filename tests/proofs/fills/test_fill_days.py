"""Whole trading days of fills: each is reported once, and discrepancies are found, neither more nor fewer.

``python -m tests.proofs.fills.test_fill_days 1000`` plays a day of a thousand seeds. Programs place, cancel and replace
orders, spreads with late legs and brackets, and some of their fills are busted or corrected later. Stream events are
lost and doubled, answers too. The consumer crashes at any moment, between two writes of its state as well, and a next
one begins with what the disk had then. Some days are planted with a fill that the lists of orders lack, a position
that moved without a fill, an execution without an order or a wrong average price. On others options expire.
"""

import asyncio
import copy
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import Client, errors, models, tickets
from brokerage_async._generated.models import InstrumentType, LegAction
from brokerage_async.simulator import Simulator, run
from brokerage_async.simulator.trading.accounts import Execution
from brokerage_async.watch import Discrepancy, Fill
from tests.seeded import play_seeds
from tests.trading import SMALL, SPREAD, random_ticket
from tests.watch.memory_state import MemoryState

SYMBOLS = ("AAPL", "MSFT", "GLD")
FAULTS = ("drop_after", "hang_after", "status(503)", "drop_before", "truncate", "delay(20)")
PLANTS = ("unlisted", "lost", "position", "orderless", "average")
READS = r"/(orders|positions|transactions)"
HOUR = 3600.0


class Disk(MemoryState):
    """A state whose writes take time, so that a crash comes between two of them."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance

    async def report(self, changes: Any, begun: Any) -> None:
        await asyncio.sleep(self.chance.uniform(0, 0.05))
        await super().report(changes, begun)

    async def acknowledge(self, sequences: Any) -> None:
        await asyncio.sleep(self.chance.uniform(0, 0.05))
        await super().acknowledge(sequences)


@attrs.define
class Day:
    """One day: the brokerage, the reports to the consumer, and the plants."""

    client: Client
    sim: Simulator
    chance: random.Random
    plant: str | None
    reports: dict[str, Fill | Discrepancy] = attrs.field(factory=dict)
    acknowledged: set[str] = attrs.field(factory=set)
    required: set[tuple[str, str]] = attrs.field(factory=set)
    allowed: set[tuple[str, str]] = attrs.field(factory=set)
    hidden: set[str] = attrs.field(factory=set)
    handling: set[asyncio.Task[None]] = attrs.field(factory=set)
    tally: Counter[str] = attrs.field(factory=Counter)

    @property
    def account(self) -> Any:
        return self.sim.brokerage.state.accounts.get(self.sim.account_numbers[0])

    # Consumer

    async def consume(self, state: MemoryState, interval: float, *, push: bool) -> None:
        """Handle reports, each after a while, some without acknowledging them."""
        watcher = self.client.watch.fills(
            [self.account.number], interval=interval, push=push, state=state, on_error=lambda _: None
        )
        async with watcher:
            async for report in watcher:
                key = report.idempotency_key
                assert key is not None
                assert key not in self.acknowledged, f"reported again after it was acknowledged: {report}"
                before = self.reports.setdefault(key, report)
                assert before == report, f"reported differently: {before} and {report}"
                self.tally["reported again"] += before is not report
                task = asyncio.create_task(self.handle(report))
                self.handling.add(task)
                task.add_done_callback(self.handling.discard)

    async def handle(self, report: Fill | Discrepancy) -> None:
        await asyncio.sleep(self.chance.choice([0.0, 0.1, self.chance.uniform(0, 60), self.chance.uniform(0, 400)]))
        await report.ack()
        self.acknowledged.add(report.idempotency_key or "")

    async def live(self, until: float) -> None:
        """Run one consumer after another, each to its crash, and the last one on, perhaps from the next morning."""
        state, interval, push = Disk(self.chance), self.chance.choice([5.0, 20.0, 60.0]), self.chance.random() < 0.5
        crashes = sorted(self.chance.uniform(120, until) for _ in range(self.chance.choice([0, 0, 1, 2, 4])))
        begun, overnight = asyncio.get_running_loop().time(), self.chance.random() < 0.3
        for crash in (*crashes, until + 1.5 * HOUR):
            consumer = asyncio.create_task(self.consume(state, interval, push=push))
            left = begun + crash - asyncio.get_running_loop().time()
            await asyncio.wait({consumer}, timeout=max(left, 1500.0 if crash > until else 60.0))
            if consumer.done():
                consumer.result()
            kept = copy.copy(state)
            for name in ("begun", "items", "reported", "acknowledged"):
                setattr(kept, name, copy.copy(getattr(state, name)))
            for task in (consumer, *self.handling):
                task.cancel()
            await asyncio.gather(consumer, *self.handling, return_exceptions=True)
            self.handling.clear()
            state = kept
            self.tally["crashes"] += crash in crashes
            if crash in crashes:
                night = 18 * HOUR if overnight and crash == crashes[-1] else 0.0
                self.tally["nights"] += night > 0
                await asyncio.sleep(night or self.chance.choice([0.0, 30.0, 600.0]))

    # Programs

    async def trade(self, number: int, until: float) -> None:
        """Place an order as any program would, then leave it, cancel it, replace it, or have a fill busted."""
        await asyncio.sleep(self.chance.uniform(30, until))
        symbol, number_of = SYMBOLS[number % len(SYMBOLS)], self.account.number
        ticket = random_ticket(self.chance, symbol, self.sim.price(symbol), held=self.account.held(symbol))
        try:
            if isinstance(ticket, models.NewComplexOrder):
                await self.client.complex_orders.submit(number_of, ticket)
                return
            own = attrs.evolve(ticket, external_identifier=f"own-{number}" if number % 2 else None)
            placed = (await self.client.orders.submit(number_of, own)).order
            await asyncio.sleep(self.chance.choice([0.5, 1.0, 3.0, 400.0]))
            draw = self.chance.random()
            if draw < 0.2:
                await self.client.orders.cancel(number_of, placed.id)
            elif draw < 0.4 and ticket.price is not None:
                edit = models.OrderEdit.of(ticket, price=ticket.price + Decimal("0.05"))
                await self.client.orders.replace(number_of, placed.id, edit)
            elif draw < 0.7 and self.plant != "lost":
                await asyncio.sleep(self.chance.uniform(60, 900))
                self.decide(placed.id)
        except errors.BrokerageError:
            self.tally["refused or lost"] += 1

    def decide(self, order_id: str) -> None:
        self.sim.settle()
        order = self.sim.brokerage.state.order_store.find(order_id)
        fills = [fill for leg in order.legs for fill in leg.fills] if order is not None else []
        if fills:
            fill = self.chance.choice(fills)
            price = Decimal(fill.fill_price) + 1 if self.chance.random() < 0.5 else None  # type: ignore[arg-type]
            self.sim.bust_fill(order_id, fill.fill_id or "", price)
            self.tally["busted" if price is None else "corrected"] += 1

    # Plants

    def hide(self, order: Any, now: float) -> None:
        """Let the next fill vanish from the lists of orders, or from the transactions as well."""
        if not self.hidden and order.account is self.account and len(order.legs) == 1:
            leg = order.legs[0]
            fill = leg.fills.pop()
            leg.busted += 1
            order.touch(now)
            self.hidden.add(fill.ext_exec_id)
            if self.plant == "lost":
                rows = self.account.transactions
                rows.remove(next(each for each in rows if each.wire.exec_id == fill.ext_exec_id))
                self.required.add(("position", leg.instrument.symbol))
                self.allowed.add(("missing_fills", f"{order.number} {leg.instrument.symbol}"))

    def spoil(self) -> None:
        """Plant the discrepancy of today."""
        state, now = self.sim.brokerage.state, self.sim.clock.now()
        stock = state.catalogue.instrument(InstrumentType.EQUITY, "KO")
        match self.plant:
            case "unlisted" | "lost":
                state.exchange.on_fill(self.hide)
            case "position":
                self.account.hold(stock, Decimal(5), Decimal(60), now)
                self.required.add(("position", "KO"))
            case "orderless":
                state.bookkeeping.open_position(
                    self.account, stock, LegAction.BUY_TO_OPEN, Decimal(5), Decimal(60), now
                )
                self.required.add(("unknown_execution", f"transaction {self.account.transactions[-1].wire.id}"))
            case "average":
                self.account.positions["NVDA"].average += 1
                self.required.add(("average_price", "NVDA"))

    def deliver(self) -> None:
        state, now = self.sim.brokerage.state, self.sim.clock.now()
        for symbol in (*SYMBOLS, "NVDA"):
            stock = state.catalogue.instrument(InstrumentType.EQUITY, symbol)
            kind = self.chance.choice(["Forward Split", "Transfer", "ACAT"])
            state.bookkeeping.receive_deliver(self.account, stock, Decimal(7), Decimal(10), now, kind)

    async def break_things(self, until: float) -> None:
        for _ in range(self.chance.randint(0, 12)):
            await asyncio.sleep(self.chance.uniform(0, until / 6))
            self.sim.streams.faults.add(self.chance.choice(["lose", "duplicate", "reorder", "late(7)"]), times=3)
            if self.chance.random() < 0.5:
                self.sim.faults.add("GET", READS, self.chance.choice(FAULTS))

    # Books

    def check(self, delivered: dict[str, Decimal]) -> None:
        fills = [each for each in self.reports.values() if isinstance(each, Fill)]
        told: dict[str, list[Fill]] = {}
        for fill in fills:
            told.setdefault(fill.execution_id or "", []).append(fill)
        booked, undone = dict[str, list[Any]](), Counter[str]()
        for row in self.account.transactions:
            if isinstance(row.booked, Execution) and row.booked.order_number is not None:
                if row.wire.reverses_id is not None:
                    undone[row.booked.identifier] += 1
                else:
                    booked.setdefault(row.booked.identifier, []).append(row.booked)
        assert told.keys() <= booked.keys() | self.hidden, f"never executed: {told.keys() - booked.keys()}"
        for name, executions in booked.items():
            states = [(each.quantity, each.price, str(each.action)) for each in executions]
            events = [(str(each.kind), (each.quantity, each.price, each.action)) for each in told.get(name, [])]
            expected: list[Any] = [("fill", states[0]), *(("correction", state) for state in states[1:])]
            if undone[name] == len(executions):
                expected.append(("bust", states[-1]))
            short = [("fill", states[-1])] if expected[-1][0] != "bust" else []  # decided before it was ever seen
            self.tally["decided before it was seen"] += events != expected
            assert events == expected or (undone[name] and events == short), f"{name}: {events}, not {expected}"
            for kind, _ in events:
                self.tally[kind] += 1
        for symbol in (*SYMBOLS, *SPREAD):
            mine = {f.execution_id: f.held for f in fills if f.symbol == symbol}
            change = sum(mine.values(), Decimal(0)) + delivered.get(symbol, Decimal(0))
            if ("position", symbol) not in self.required and symbol in SYMBOLS:
                assert self.account.held(symbol) == change, (
                    f"{symbol}: {self.account.held(symbol)}, fills make {change}"
                )
        found = {(str(each.kind), each.subject) for each in self.reports.values() if isinstance(each, Discrepancy)}
        assert self.required <= found, f"not found: {self.required - found}"
        wrong = found - self.required - self.allowed
        assert not wrong, f"false alarm: {[each for each in self.reports.values() if isinstance(each, Discrepancy)]}"
        self.tally["planted and found"] += len(self.required)
        unlisted = self.plant == "unlisted" and self.hidden
        assert not unlisted or self.hidden <= told.keys(), "the fill that no list shows was not reported"
        self.tally["unlisted and reported"] += bool(unlisted)
        for kind, _ in found:
            self.tally[f"discrepancy {kind}"] += 1


async def day(client: Client, sim: Simulator) -> Counter[str]:
    chance = random.Random(sim.brokerage.settings.seed)
    here = Day(client, sim, chance, chance.choice([*PLANTS, None, None, None, None]))
    delivers = here.plant is None and chance.random() < 0.3
    length = chance.uniform(0.5, 1.5) * HOUR
    living = asyncio.create_task(here.live(length))
    await asyncio.sleep(40)
    if here.plant == "average":
        await client.orders.submit(here.account.number, tickets.market(tickets.buy_to_open("NVDA", 10)))
    work = [asyncio.create_task(here.trade(number, length)) for number in range(12)]
    work.append(asyncio.create_task(here.break_things(length)))
    await asyncio.sleep(chance.uniform(0.3, 0.6) * length)
    here.spoil()
    delivered = dict[str, Decimal]()
    if delivers:
        here.deliver()
        delivered = dict.fromkeys(SYMBOLS, Decimal(7))
    await asyncio.gather(*work)
    sim.faults.clear()
    sim.streams.faults.clear()
    await living
    sim.settle()
    here.check(delivered)
    return here.tally


def play(seed: int) -> Counter[str]:
    begins = random.Random(f"start {seed}").choice(["2026-06-10T10:30-04:00", "2026-06-10T14:45-04:00"])
    return run(day, start=begins, seed=seed, client_options={"timeout": 10.0}, **SMALL)


@pytest.mark.parametrize("seed", range(3))
def test_each_fill_is_reported_once_and_every_discrepancy_found(seed: int) -> None:
    assert play(seed)["fill"] > 5


if __name__ == "__main__":
    play_seeds(play)
