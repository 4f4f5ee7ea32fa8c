"""Quiet and mute days of a market-data stream, one per seed, on virtual time.

    python -m tests.stream.mute [COUNT FIRST]

Every seed streams the quotes of some symbols for forty minutes: lively ones, with bursts and lulls, and quiet ones that
change a few times, some of them in bursts. On half of the days the connection falls silent at some moment while its
heartbeats are still answered. Many days include the close, and nothing comes after it. At the end these hold:

- on a mute day the consumer has a `Gap` with the reason "stale" within `SET_TIME` seconds, whose ``since`` is no later
  than the first event that was lost, and events after it;
- there is no other gap, and none at all on a quiet day.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from brokerage_async import Client
from brokerage_async.protocol.streams.timing import LIVELY, LONGEST
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.stream import Gap
from brokerage_async.stream.quotes import SAMPLE
from tests.loops import on_virtual_time
from tests.seeded import play_seeds
from tests.stream.world import SMALL

SET_TIME = LONGEST + 2 * SAMPLE
"""Seconds within which a mute stream is found."""

LASTS = 2400.0
SYMBOLS = ("AAPL", "SPY", "MSFT", "QQQ", "NVDA", "AMZN")
NEW_YORK = ZoneInfo("America/New_York")


class Day:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_mute = seed % 2 == 1
        minute = self.random.choice((0, 60, 180, 300, 340, 365))  # of a session of 390 minutes
        self.open_for = (390 - minute) * 60.0
        start = datetime(2026, 6, 10, 9, 30, tzinfo=NEW_YORK) + timedelta(minutes=minute)
        self.sim = Simulator(seed=seed, start=start, **SMALL)
        self.gaps: list[tuple[float, Gap]] = []
        self.events = 0
        self.lost_at: datetime | None = None
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
                latest = min(LASTS, self.open_for) - SET_TIME - 60
                await asyncio.sleep(self.random.uniform(LIVELY + 60, latest))
                self.sim.streams.mute()
                muted_at = loop.time()
            await asyncio.sleep(begin + LASTS - loop.time())
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
        if at - muted_at > SET_TIME:
            self.problems.append(f"found after {at - muted_at:.0f} s")
        if self.lost_at is None or gap.since is None or gap.since > self.lost_at:
            self.problems.append(f"the gap begins at {gap.since}, the first loss was at {self.lost_at}")

    def symbols(self) -> list[str]:
        return list(SYMBOLS[: self.random.randint(1, len(SYMBOLS))])

    async def consume(self, client: Client) -> None:
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


def play(seed: int) -> Counter[str]:
    """Run one day. Raise AssertionError if it has a problem or leaves a task behind."""
    random.seed(seed)
    day = Day(seed)
    run: Callable[[], None] = on_virtual_time(day.run)
    run()
    assert day.problems == [], "; ".join(day.problems)
    return Counter({"events": day.events, "mute days" if day.is_mute else "quiet days": 1})


if __name__ == "__main__":
    play_seeds(play)
