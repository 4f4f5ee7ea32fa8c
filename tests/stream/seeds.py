"""Streams and watchers with push against a faulty service, one history per seed, on virtual time.

    python -m tests.stream.seeds 1000 [--first 0]

Every seed trades for minutes while connections drop, fall silent and refuse tokens, and while messages are lost,
doubled, reordered and late. Consumers of all speeds come, are cancelled and go. Afterwards these hold:

- a watcher with push reports every order from its first to its last state, without a break and never twice;
- a consumer of the account stream sees a gap wherever its connection was another one, and no event out of the blue;
- no task, connection, route or buffer is left.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from brokerage_async import Client, errors
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.account_session import AccountSession
from brokerage_async.stream import AccountEvent, Gap
from brokerage_async.watch import is_terminal
from tests.loops import on_virtual_time
from tests.stream.world import SMALL, buy

SYMBOLS = ("AAPL", "SPY", "MSFT")
MESSAGE_FAULTS = ("lose", "duplicate", "reorder", "late(0.5)", "late(7)", "unknown", "garbage", "drop")
MINUTES = 6


class History:
    """One seed: its events, and the problems found."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sim = Simulator(seed=seed, **SMALL)
        self.account = self.sim.account_numbers[0]
        self.problems: list[str] = []
        self.counts = dict.fromkeys(("orders", "changes", "events", "gaps", "cancelled", "slow"), 0)
        self.most_waiting = 0

    def check(self, holds: object, problem: str) -> None:
        """Note a problem unless something holds."""
        if not holds:
            self.problems.append(problem)

    async def run(self) -> None:
        """Trade, break things, and look for leftovers."""
        number_sessions(self.sim)
        async with self.sim.client() as client:
            watching = asyncio.ensure_future(self.watch(client))
            tasks = [asyncio.ensure_future(each) for each in (self.trade(client), self.break_things())]
            tasks += [asyncio.ensure_future(self.come_and_go(client)) for _ in range(4)]
            await asyncio.gather(*tasks)
            self.sim.streams.faults.clear()
            await asyncio.sleep(90)  # the last orders end, the last connections recover
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await asyncio.sleep(3)
            self.check(not self.sim.streams.sessions, f"connections left: {self.sim.streams.sessions}")
            links = (client.stream._account_link, client.stream._quote_link)
            self.check(not any(link._sinks for link in links), "sinks left")
            self.check(not links[1]._routes and not links[1]._last, "routes left")

    async def watch(self, client: Client) -> None:
        """Watch the orders with push, at a speed of its own, and compare with the ledger at the end."""
        last: dict[Any, Any] = {}
        interval, slowness = self.random.choice((1, 5, 20)), self.random.choice((0.0, 0.0, 0.3, 5.0))
        watcher = client.watch.orders("me", [self.account], interval=interval, push=True, on_error=lambda _: None)
        try:
            async for change in watcher:
                self.counts["changes"] += 1
                self.check(last.get(change.key) == change.before, f"order {change.key}: a change is missing or doubled")
                self.check(change.before != change.after, f"order {change.key}: a change without a difference")
                before = last.get(change.key)
                if before is not None and is_terminal(before):
                    self.check(change.after is None, f"order {change.key} changed after its end")
                last[change.key] = change.after
                await asyncio.sleep(self.random.random() * slowness)
        finally:
            await watcher.aclose()
            for record in self.sim.ledger.orders(account_number=self.account):
                seen = last.get(record.order_id)
                self.check(seen is not None, f"order {record.order_id} was never reported")
                if seen is not None:
                    self.check(
                        seen.status == record.status, f"order {record.order_id}: {seen.status}, not {record.status}"
                    )

    async def trade(self, client: Client) -> None:
        """Place and cancel orders, and move prices."""
        ids: list[str] = []
        for _ in range(MINUTES * 6):
            await asyncio.sleep(self.random.random() * 20)
            symbol = self.random.choice(SYMBOLS)
            price = self.sim.price(symbol)
            if self.random.random() < 0.5:
                self.sim.set_price(symbol, (price * Decimal(self.random.uniform(0.97, 1.03))).quantize(Decimal("0.01")))
            limit = None if self.random.random() < 0.4 else str((price * Decimal("0.99")).quantize(Decimal("0.01")))
            placed = await client.orders.submit(self.account, buy(symbol, self.random.randint(1, 9), limit))
            self.counts["orders"] += 1
            ids.append(str(placed.order.id if placed.order else ""))
            if self.random.random() < 0.4:
                with contextlib.suppress(errors.UnprocessableError):  # it has ended already
                    await client.orders.cancel(self.account, self.random.choice(ids))

    async def break_things(self) -> None:
        """Break connections and messages."""
        faults = self.sim.streams.faults
        for _ in range(MINUTES * 4):
            await asyncio.sleep(self.random.random() * 30)
            match self.random.randrange(5):
                case 0:
                    self.sim.streams.drop()
                case 1:
                    faults.is_half_open = True
                    await asyncio.sleep(self.random.choice((1, 30, 90)))
                    faults.is_half_open = False
                case 2:
                    faults.refusals = self.random.randint(1, 2)
                    self.sim.streams.drop()
                case 3:
                    self.sim.faults.add("GET", "/orders/live", "status(503)", times=2)
                case _:
                    faults.add(self.random.choice(MESSAGE_FAULTS), times=self.random.randint(1, 3))

    async def come_and_go(self, client: Client) -> None:
        """Consume streams for a while, at any speed, and leave by closing, cancelling or letting go."""
        for _ in range(MINUTES):
            consume = self.random.choice((self.consume_account, self.consume_quotes))
            task = asyncio.ensure_future(consume(client, self.random.choice((0.0, 0.01, 2.0))))
            await asyncio.sleep(self.random.random() * 60)
            task.cancel()
            self.counts["cancelled"] += 1
            try:
                await task
            except asyncio.CancelledError:
                pass
            except errors.SlowConsumerError:
                self.counts["slow"] += 1
            except errors.StreamRefusedError:
                pass  # several refusals came in a row
            await asyncio.sleep(self.random.random() * 10)

    async def consume_account(self, client: Client, slowness: float) -> None:
        stream = client.stream.account([self.account], limit=self.random.choice((5, 10_000)))
        session, has_gap = None, True
        async with stream:
            async for event in stream:
                self.most_waiting = max(self.most_waiting, stream.waiting)
                if isinstance(event, Gap):
                    self.counts["gaps"] += 1
                    has_gap = True
                elif isinstance(event, AccountEvent) and event.type != "Weather":
                    self.counts["events"] += 1
                    self.check(event.account_number == self.account, "an event of another account")
                    self.check(event.sequence == session or has_gap, "another connection without a gap")
                    session, has_gap = event.sequence, False
                await asyncio.sleep(self.random.random() * slowness)

    async def consume_quotes(self, client: Client, slowness: float) -> None:
        chosen = self.random.sample(SYMBOLS, self.random.randint(1, 3))
        stream = client.stream.quotes(chosen, ["Quote", self.random.choice(("Trade", "Greeks", "Candle"))], period="1m")
        if self.random.random() < 0.3:
            await stream.ready()
        async for event in stream:
            self.most_waiting = max(self.most_waiting, stream.waiting)
            if isinstance(event, Gap):
                self.counts["gaps"] += 1
            elif getattr(event, "event_symbol", None) is not None:
                self.counts["events"] += 1
                self.check(str(event.event_symbol).partition("{")[0] in chosen, "an event of another symbol")  # type: ignore[union-attr]
            await asyncio.sleep(self.random.random() * slowness)


def number_sessions(sim: Simulator) -> None:
    """Let every event of the account stream carry the number of its connection, as ``ws-sequence``."""
    open_session, count = sim.streams.open, 0

    def opened(path: str, now: float) -> Any:
        nonlocal count
        count += 1
        session = open_session(path, now)
        if isinstance(session, AccountSession):
            push, number = session.push, count

            def numbered(message: dict[str, Any], *, kind: str = "") -> None:
                push({**message, "ws-sequence": number} if kind else message, kind=kind)

            session.push = numbered  # type: ignore[method-assign]
        return session

    sim.streams.open = opened  # type: ignore[method-assign]


def run_seed(seed: int) -> History:
    """Run one history; raise AssertionError if a task is left behind."""
    history = History(seed)
    run: Callable[[], None] = on_virtual_time(history.run)
    run()
    return history


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.stream.seeds")
    parser.add_argument("seeds", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    started, failed, totals = time.monotonic(), 0, dict[str, int]()
    most_waiting = 0
    for seed in range(options.first, options.first + options.seeds):
        history = run_seed(seed)
        for name, count in history.counts.items():
            totals[name] = totals.get(name, 0) + count
        most_waiting = max(most_waiting, history.most_waiting)
        if history.problems:
            failed += 1
            print(f"seed {seed}: {'; '.join(history.problems[:5])}", flush=True)
    done = ", ".join(f"{count} {name}" for name, count in totals.items())
    print(f"{options.seeds} seeds in {time.monotonic() - started:.0f} s: {done}; at most {most_waiting} events waited")
    print(f"{failed} seeds failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
