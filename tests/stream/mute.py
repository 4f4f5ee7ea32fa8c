"""Quiet and mute days of a market-data stream, one per seed, on virtual time.

    python -m tests.stream.mute 1000 [--first 0]

Every seed streams the quotes of some symbols for forty minutes: lively ones, with bursts and lulls, and quiet ones that
change a few times, some of them in bursts. On half of the days the connection falls silent at some moment while its
heartbeats are still answered. Many days include the close, and nothing comes after it. At the end these hold:

- on a mute day the consumer has a `Gap` with the reason "stale" within `SET_TIME` seconds, whose ``since`` is no later
  than the first event that was lost, and events after it;
- there is no other gap, and none at all on a quiet day.
"""

import argparse
import asyncio
import logging
import random
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from brokerage_async import Client
from brokerage_async.protocol.streams.liveliness import Liveliness
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.stream import Gap
from brokerage_async.stream.quotes import SAMPLE
from tests.loops import on_virtual_time
from tests.stream.world import SMALL

SET_TIME = Liveliness().longest + 2 * SAMPLE
"""Seconds within which a mute stream is found."""

SYMBOLS = ("AAPL", "SPY", "MSFT", "QQQ", "NVDA", "AMZN")
NEW_YORK = ZoneInfo("America/New_York")


class Day:
    """One seed: its events, and the problems found."""

    def __init__(self, seed: int, *, lasts: float = 2400.0) -> None:
        self.random = random.Random(seed)
        self.is_mute = seed % 2 == 1
        self.lasts = lasts
        minute = self.random.choice((0, 60, 180, 300, 340, 365))  # of a session of 390 minutes
        self.open_for = (390 - minute) * 60.0
        start = datetime(2026, 6, 10, 9, 30, tzinfo=NEW_YORK) + timedelta(minutes=minute)
        self.sim = Simulator(seed=seed, start=start, **SMALL)
        self.gaps: list[tuple[float, Gap]] = []
        self.events = 0
        self.lost_at: datetime | None = None
        self.found_after: float | None = None
        self.problems: list[str] = []

    async def run(self) -> None:
        """Stream, fall silent or not, and look at the gaps."""
        loop = asyncio.get_running_loop()
        async with self.sim.client() as client:
            await client.market_time.equity_holidays()
            consumer = asyncio.ensure_future(self.consume(client))
            begin = loop.time()
            tickers = [asyncio.ensure_future(self.tick(symbol, begin)) for symbol in self.symbols()]
            muted_at = None
            if self.is_mute:
                latest = min(self.lasts, self.open_for) - SET_TIME - 60
                await asyncio.sleep(self.random.uniform(Liveliness().lively + 60, latest))
                self.sim.streams.mute()
                muted_at = loop.time()
            await asyncio.sleep(begin + self.lasts - loop.time())
            for task in (*tickers, consumer):
                task.cancel()
            await asyncio.gather(*tickers, consumer, return_exceptions=True)
        if muted_at is None:
            self.problems += [f"a gap on a quiet day: {gap}" for _, gap in self.gaps]
            return
        if [gap.reason for _, gap in self.gaps] != ["stale"]:
            self.problems.append(f"gaps on a mute day: {[gap.reason for _, gap in self.gaps]}")
            return
        [(at, gap)] = self.gaps
        self.found_after = at - muted_at
        if self.found_after > SET_TIME:
            self.problems.append(f"found after {self.found_after:.0f} s")
        if self.lost_at is None or gap.since is None or gap.since > self.lost_at:
            self.problems.append(f"the gap begins at {gap.since}, the first loss was at {self.lost_at}")

    def symbols(self) -> list[str]:
        """Return the symbols of the day. The first one is lively."""
        return list(SYMBOLS[: self.random.randint(1, len(SYMBOLS))])

    async def consume(self, client: Client) -> None:
        """Take every event."""
        loop = asyncio.get_running_loop()
        async with client.stream.quotes(SYMBOLS) as stream:
            async for event in stream:
                self.events += 1
                if isinstance(event, Gap):
                    self.gaps.append((loop.time(), event))

    async def tick(self, symbol: str, begin: float) -> None:
        """Push quotes of a symbol at its pace until the close."""
        loop, chance = asyncio.get_running_loop(), self.random
        is_lively = symbol == SYMBOLS[0] or chance.random() < 0.4
        pace = chance.uniform(1.0, 3.0) if is_lively else chance.choice((1 / 15, 1 / 60, 1 / 400))
        factor, until = 1.0, 0.0
        while True:
            if loop.time() >= until:  # a lull or a burst of some minutes
                until = loop.time() + chance.uniform(60, 600)
                factor = chance.uniform(0.6, 2.0) if is_lively else chance.choice((1.0, 1.0, 0.3, 20.0))
                until -= (factor == 20.0) * chance.uniform(0, until - loop.time())
            await asyncio.sleep(chance.expovariate(pace * factor))
            if loop.time() - begin >= self.open_for:
                return
            for session in [each for each in self.sim.streams.sessions if isinstance(each, DxLinkSession)]:
                if session.is_mute and self.lost_at is None:
                    self.lost_at = self.sim.clock.time
                session.prices_changed({symbol: True}, self.sim.clock.now())


def run_day(seed: int, **options: Any) -> Day:
    """Run one day. Raise AssertionError if a task is left behind."""
    random.seed(seed)
    day = Day(seed, **options)
    run: Callable[[], None] = on_virtual_time(day.run)
    run()
    return day


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.stream.mute")
    parser.add_argument("seeds", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    logging.getLogger("brokerage_async").setLevel(logging.CRITICAL)
    started, failed, events, quiet, found = time.monotonic(), 0, 0, 0, list[float]()
    for seed in range(options.first, options.first + options.seeds):
        day = run_day(seed)
        events += day.events
        quiet += not day.is_mute
        if day.found_after is not None:
            found.append(day.found_after)
        if day.problems:
            failed += 1
            print(f"seed {seed}: {'; '.join(day.problems)}", flush=True)
    print(f"{options.seeds} days in {time.monotonic() - started:.0f} s, {events} events; {quiet} quiet ones")
    if found:
        print(f"{len(found)} mute ones found, after {median(found):.0f} s (median) and {max(found):.0f} s at most")
    print(f"{failed} days failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
