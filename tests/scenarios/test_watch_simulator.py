"""Watchers of a simulated brokerage with faults, compared with its ledger."""

import asyncio
import contextlib
import itertools
import json
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import TypeVar

import pytest

from brokerage_async import Client, RetryPolicy, errors, tickets
from brokerage_async.models import NewOrder, Order, TimeInForce, converter
from brokerage_async.simulator import Simulator
from brokerage_async.watch import Change, Watch, Watcher, is_terminal
from tests.trading import SMALL

T = TypeVar("T")

LIVE = r"/orders/live"
TROUBLE = ("html(502)", "status(503)", "rate_limited", "drop_before", "drop_after", "truncate", "refuse", "garbage",
           "unauthorized", "delay(40)", "hang", "after_html(504)")  # fmt: skip


def order(rng: random.Random) -> NewOrder:
    """Most fill at once, others rest until they are cancelled or expire, or live on for days."""
    leg = tickets.buy_to_open(rng.choice(["AAPL", "MSFT"]), rng.randint(1, 5))
    if rng.random() < 0.6:
        return tickets.market(leg)
    return tickets.limit(leg, price=5, time_in_force=TimeInForce.GTC if rng.random() < 0.2 else TimeInForce.DAY)


class Log:
    """Changes that a consumer received, across restarts."""

    def __init__(self) -> None:
        self.statuses: dict[str, list[str]] = defaultdict(list)
        self.ends: Counter[tuple[str, str]] = Counter()

    def add(self, change: Change[Order]) -> None:
        if change.after is None:
            return
        status = str(change.after.status)
        if not self.statuses[change.key] or self.statuses[change.key][-1] != status:
            self.statuses[change.key].append(status)
        if is_terminal(change.after) and (change.before is None or not is_terminal(change.before)):
            self.ends[change.key, status] += 1

    def compare(self, simulator: Simulator, accounts: Iterable[str], start: int = 0) -> None:
        """Every end exactly once, none invented. Every status one that the order really had, in the true order."""
        events = [event for event in simulator.ledger.events[start:] if event.account_number in accounts]
        assert self.ends == Counter((event.order_id, event.after) for event in events if event.terminal)
        truth: dict[str, list[str]] = defaultdict(list)
        for event in events:
            truth[event.order_id].append(event.after)
        for key, told in self.statuses.items():
            rest = iter(truth[key])
            assert all(status in rest for status in told), (key, told, truth[key])


async def consume(watcher: Watcher[Order], log: Log, rng: random.Random) -> None:
    async for change in watcher:
        log.add(change)
        if rng.random() < 0.002:
            await asyncio.sleep(rng.uniform(0, 5))


async def trade(client: Client, account: str, rng: random.Random, count: int) -> None:
    for _ in range(count):
        placed = await patiently(lambda: client.orders.submit(account, order(rng)))
        number = placed.order.id
        await asyncio.sleep(rng.uniform(0, 4))
        if rng.random() < 0.2:
            with contextlib.suppress(errors.OrderNotCancellableError):
                await patiently(lambda number=number: client.orders.cancel(account, number))


async def patiently(act: Callable[[], Awaitable[T]]) -> T:
    """Tokens are revoked here faster than a client asks for new ones, which it does not do without measure."""
    while True:
        try:
            return await act()
        except errors.AuthenticationError:  # refused, so nothing was done
            await asyncio.sleep(20)


async def make_trouble(simulator: Simulator, rng: random.Random) -> None:
    for fault in itertools.cycle(rng.sample(TROUBLE, len(TROUBLE))):
        await asyncio.sleep(rng.uniform(0, 8))
        simulator.faults.add("GET", LIVE, fault, times=rng.randint(1, 3))
        if rng.random() < 0.2:
            simulator.expire_tokens()


class Process:
    def __init__(self, simulator: Simulator, accounts: list[str], log: Log, rng: random.Random) -> None:
        self.simulator, self.accounts, self.log, self.rng = simulator, accounts, log, rng
        self.written: str | None = None
        self.failures: list[Exception] = []

    async def start(self) -> None:
        self.client = self.simulator.client(retry=RetryPolicy(max_attempts=2), timeout=5)
        seed = None if self.written is None else converter.structure(json.loads(self.written), list[Order])
        watch = Watch(self.client, now=lambda: self.simulator.clock.time)
        self.watcher = watch.orders(
            "me", self.accounts, interval=1.0, jitter=0.1, seed=seed, on_error=self.failures.append
        )
        self.task = asyncio.create_task(consume(self.watcher, self.log, self.rng))

    async def kill(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})
        assert self.task.cancelled(), self.task.exception()
        self.written = json.dumps(converter.unstructure(list(self.watcher.snapshot.values())))
        await self.watcher.aclose()
        await self.client.aclose()


@pytest.mark.virtual_time
async def test_every_end_is_told_exactly_once_whatever_happens() -> None:
    rng, log = random.Random(1), Log()
    simulator = Simulator(seed=1, **SMALL)
    accounts = [simulator.account_numbers[0], simulator.account_numbers[2]]
    async with simulator.client() as client:
        process = Process(simulator, accounts, log, rng)
        await process.start()
        for day in range(2):
            trouble = asyncio.create_task(make_trouble(simulator, rng))
            await asyncio.gather(*[trade(client, rng.choice(accounts), rng, 12) for _ in range(20)])
            if day == 1:
                await process.kill()
                await asyncio.gather(*[trade(client, rng.choice(accounts), rng, 5) for _ in range(20)])
                await process.start()
            await asyncio.gather(*[trade(client, rng.choice(accounts), rng, 12) for _ in range(20)])
            trouble.cancel()
            simulator.clock.set(simulator.clock.time.replace(hour=19, minute=59, second=50))
            simulator.faults.clear()
            await asyncio.sleep(300)
            simulator.clock.set((simulator.clock.time + timedelta(days=1)).replace(hour=14, minute=0))
            await asyncio.sleep(5)
        await process.kill()
    simulator.settle()
    log.compare(simulator, accounts)
    events = sum(event.account_number in accounts for event in simulator.ledger.events)
    assert events > 4_000
    assert len({entry.fault for entry in simulator.ledger.requests if entry.fault is not None}) > 8
    assert process.failures
