"""The script of the shared budget: rate, order, fairness, 429, and clocks that are set back."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import pytest

from brokerage_async.fleet import Fleet
from brokerage_async.fleet.limits import BUCKET, bucket_of
from tests.fleet.engines import EngineServer, missing
from tests.fleet.shared_budget import busiest_second, settled


def test_bucket_keeps_any_second_within_the_budget_and_wastes_little() -> None:
    for budget in (0.5, 1, 1.5, 2, 2.5, 3, 5, 10, 12, 19, 25, 30, 50, 1000):
        rate, places = bucket_of(budget)
        assert math.ceil(rate - 1e-9) + places <= max(1, budget), budget
        assert rate >= 0.4 * budget, budget
        assert places >= 1 or budget < 2, budget


@attrs.frozen
class Answer:
    """Answer of the script, in seconds."""

    grace: float
    workers: int
    rate: float
    wait: float
    slot: float | None


class Workers:
    """Asks the script in the name of several workers."""

    def __init__(self, fleet: Fleet, budget: float) -> None:
        self.fleet, self._budget = fleet, budget
        self.keys = [fleet.connection.key("limits", "requests", part) for part in ("state", "seen", "early")]

    async def ask(
        self, worker: str, kind: str = "", *, local: bool = False, pause: int = 0, per_second: float = 0
    ) -> Answer:
        arguments = (worker, int(local), kind, *bucket_of(self._budget), 2.0, 0.7 * self._budget, pause, per_second)
        keys = [*self.keys, f"{self.keys[0]}:positions.list"]
        grace, workers, rate, wait, slot = await self.fleet.connection.script(BUCKET, keys, arguments)
        return Answer(grace / 1e3, workers, rate / 1e3, wait / 1e4, None if slot < 0 else slot / 1e4)


@asynccontextmanager
async def workers(server: EngineServer, budget: float) -> AsyncIterator[Workers]:
    async with Fleet(server.url) as fleet:
        asking = Workers(fleet, budget)
        await asking.ask("first", local=True)
        await fleet.connection.command("ZREM", asking.keys[1], "first")
        await settled(fleet)
        yield asking


@pytest.mark.redis
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
class TestBucket:
    async def test_new_state_grants_nothing_until_all_workers_could_be_seen(self, server: EngineServer) -> None:
        async with Fleet(server.url) as fleet:
            found = await Workers(fleet, 50).ask("a", "trade")
        assert found.slot is None
        assert 2.0 < found.grace <= 2.5

    async def test_trades_go_at_once_while_reads_are_booked_ahead(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            reads = [(await fleet.ask(f"w{number}", "read")).slot for number in range(50)]
            assert reads[-1] is not None
            assert 0.9 < reads[-1] < 1.3
            trades = [(await fleet.ask("a", "trade")).slot for _ in range(10)]
            assert trades[:6] == [0.0] * 6
            assert all(slot is not None and 0.9 < slot < 1.3 for slot in trades[6:]), (
                "not before the first six are over"
            )
            first, *_ = sorted(await fleet.fleet.connection.command("ZRANGE", fleet.keys[2], 0, -1))
            await fleet.fleet.connection.command("ZADD", fleet.keys[2], 1, first)  # as if it were over
            assert (await fleet.ask("a", "trade")).slot == 0.0

    async def test_any_second_has_at_most_the_budget(self, server: EngineServer) -> None:
        """Greedy workers use whatever they book, trades beyond the places of trades included."""
        for budget in (50, 25, 3):
            moments = list[float]()
            async with workers(server, budget) as fleet:
                await fleet.fleet.connection.command("DEL", *fleet.keys[::2])
                await fleet.ask("a")
                await settled(fleet.fleet)
                began = time.monotonic()
                while time.monotonic() < began + 1.2:
                    for worker, kind in (("a", "read"), ("b", "trade"), ("c", "read")):
                        slot = (await fleet.ask(worker, kind)).slot
                        assert slot is not None
                        moments.append(time.monotonic() + slot)
                    await asyncio.sleep(0.02)
            full = [moment for moment in moments if moment < began + 3]
            assert busiest_second(moments) <= budget + 1, budget  # the answers take a moment
            assert len(full) >= 2.4 * bucket_of(budget)[0], budget

    async def test_429_halves_the_rate_once_and_pauses_all(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            before = (await fleet.ask("a")).rate
            after = await fleet.ask("a", pause=1500)
            assert after.rate == pytest.approx(before / 2, abs=0.5)
            assert (await fleet.ask("b", pause=100)).rate == pytest.approx(after.rate, abs=0.5)
            for kind in ("trade", "read"):
                blocked = await fleet.ask("c", kind)
                assert blocked.slot is None
                assert 0.5 < blocked.wait <= 1.5
            await asyncio.sleep(1.5)
            assert (await fleet.ask("c", "trade")).slot is not None

    async def test_workers_that_are_local_or_lost_keep_their_share(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            assert (await fleet.ask("a")).rate == 43
            assert (await fleet.ask("b", local=True)).rate == 43 - 2
            assert (await fleet.ask("c", local=True)).rate == 43 - 4
            assert (await fleet.ask("b")).rate == 43 - 2
            seconds, _ = await fleet.fleet.connection.command("TIME")
            await fleet.fleet.connection.command("ZADD", fleet.keys[1], (int(seconds) - 6) * 1000, "b")
            found = await fleet.ask("a")
            assert (found.rate, found.workers) == (43 - 4, 3)
            await fleet.fleet.connection.command("ZADD", fleet.keys[1], (int(seconds) - 62) * 1000, "b")
            found = await fleet.ask("a")
            assert (found.rate, found.workers) == (43 - 2, 2)

    async def test_rate_of_an_operation_holds_for_all_workers_and_holds_up_no_other(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            assert (await fleet.ask("a", "read", per_second=1.0)).slot == 0.0
            second = await fleet.ask("b", "read", per_second=1.0)
            assert second.slot is None
            assert 0.8 < second.wait <= 1.0
            other = (await fleet.ask("b", "read")).slot
            assert other is not None
            assert other < 0.05
            await asyncio.sleep(second.wait)
            assert (await fleet.ask("b", "read", per_second=1.0)).slot is not None

    async def test_clock_set_back_delays_little(self, server: EngineServer) -> None:
        async with Fleet(server.url) as fleet:
            asking, ahead = Workers(fleet, 50), 4_000_000_000_000
            await asking.ask("a")
            moments = ("next", "gate", "throttled_at", "factor_at", "asked_at", "since")
            run = fleet.connection.command
            await run("HSET", asking.keys[0], *(word for name in moments for word in (name, ahead)))
            await run("ZADD", asking.keys[1], ahead, "dead")
            await run("SET", f"{asking.keys[0]}:positions.list", ahead)
            found = await asking.ask("a", "trade")
            assert (found.workers, found.slot) == (1, None), "as if the engine were new"
            assert found.grace <= 2.5
            await settled(fleet)
            assert (await asking.ask("a", "trade")).slot == 0.0

    async def test_a_thousand_workers_fit(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            began = time.monotonic()
            found = [await fleet.ask(f"w{number}", "read") for number in range(1000)]
            assert found[-1].workers == 1000
            assert found[-1].slot is not None
            assert found[-1].slot > 10
            assert (await fleet.ask("a", "trade")).slot == 0.0
            assert time.monotonic() - began < 30
