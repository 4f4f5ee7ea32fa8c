"""The script of the shared budget: rate, order, fairness, 429, and clocks that are set back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from brokerage_async.fleet import Fleet
from brokerage_async.fleet.ask import ASK, LEAVE
from brokerage_async.fleet.budget import Grant, bucket_of
from tests.fleet.engines import EngineServer, missing
from tests.fleet.shared_budget import busiest_second, settled

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


class Workers:
    """Asks the script in the name of several workers."""

    def __init__(self, fleet: Fleet, budget: float) -> None:
        self._fleet, self._budget = fleet, budget
        parts = ("state", "seen", "lost", "queue", "due", "tags")
        self._keys = [fleet.connection.key("limits", "requests", part) for part in parts]

    async def ask(
        self, worker: str, *, trades: int = 0, reads: int = 0, held: int = 0, target: int = 0, local: bool = False,
        pause: int = 0, spent: int = 0, share: float = 2.0,
    ) -> Grant:  # fmt: skip
        arguments = (
            worker, *bucket_of(self._budget), trades, reads, held, target, int(share * 1000),
            int(local), spent, pause, 40,
        )  # fmt: skip
        return Grant.read(await self._fleet.connection.script(ASK, self._keys, arguments), 0.0, 0.0)

    async def leave(self, worker: str) -> None:
        await self._fleet.connection.script(LEAVE, self._keys, [worker])


@asynccontextmanager
async def workers(server: EngineServer, budget: float) -> AsyncIterator[Workers]:
    async with Fleet(server.url) as fleet:
        asking = Workers(fleet, budget)
        await asking.ask("first", local=True)
        await settled(fleet)
        yield asking


async def test_new_state_grants_nothing_until_all_workers_could_be_seen(server: EngineServer) -> None:
    async with Fleet(server.url) as fleet:
        found = await Workers(fleet, 50).ask("a", trades=1, reads=1)
    assert (found.trades, found.reads, found.hold) == ((), (), 0)
    assert 2.0 < found.grace <= 2.5


async def test_trades_go_at_once_while_reads_wait(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        await asyncio.sleep(0.15)  # the bucket fills up
        reads = await fleet.ask("a", reads=20)
        assert 1 <= len(reads.reads) < 8
        assert reads.wait > 0
        trades = await fleet.ask("b", trades=2)
        assert len(trades.trades) == 2
        assert max(trades.trades) < 0.08


async def test_any_second_has_at_most_the_budget(server: EngineServer) -> None:
    """Greedy workers book whatever they get; moments are those of the slots."""
    moments: list[float] = []
    async with workers(server, 50) as fleet:
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            for worker in "abc":
                found = await fleet.ask(worker, reads=10, trades=int(worker == "a"))
                now = time.monotonic()
                moments += [now + delay for delay in (*found.reads, *found.trades)]
            await asyncio.sleep(0.003)
    assert busiest_second(moments) <= 51
    assert len(moments) > 80


async def test_reads_are_granted_in_turn(server: EngineServer) -> None:
    counts = dict.fromkeys("abcde", 0)
    async with workers(server, 50) as fleet:
        end = time.monotonic() + 2
        while time.monotonic() < end:
            for number, worker in enumerate(counts):
                for _ in range(number + 1):  # some ask more often, and for more
                    counts[worker] += len((await fleet.ask(worker, reads=1 + 5 * number)).reads)
            await asyncio.sleep(0.002)
    assert max(counts.values()) - min(counts.values()) <= 2, counts


async def test_worker_that_does_not_come_back_is_passed_over(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        for worker in "abcdefgh":
            await fleet.ask(worker, reads=10)
        began, got = time.monotonic(), 0
        while got < 20:
            got += len((await fleet.ask("z", reads=10)).reads)
            await asyncio.sleep(0.005)
        assert time.monotonic() - began < 1.5


async def test_held_tokens_count_as_still_in_the_bucket(server: EngineServer) -> None:
    async with workers(server, 1000) as fleet:
        await asyncio.sleep(0.12)  # the bucket fills up: 100 tokens
        held = sum([(await fleet.ask(name, target=64)).hold for name in "abc"])
        assert 36 <= held <= 50  # at most half of the bucket
        await asyncio.sleep(0.2)
        burst = await fleet.ask("d", trades=200)
        assert sum(moment == 0.0 for moment in burst.trades) <= 100 - held + 5


async def test_many_workers_together_hold_no_more_than_half_the_bucket(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        assert sum([(await fleet.ask(f"w{n}", target=64)).hold for n in range(100)]) <= 3


async def test_429_halves_the_rate_once_and_pauses_all(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        before = (await fleet.ask("a")).rate
        after = await fleet.ask("a", pause=2000)
        assert after.rate == pytest.approx((before + 2) / 2 - 2, abs=0.5)
        again = await fleet.ask("b", pause=100)
        assert again.rate == pytest.approx(after.rate, abs=0.5)
        blocked = await fleet.ask("c", trades=1, reads=1)
        assert (blocked.trades, blocked.reads) == ((), ())
        assert 0.5 < blocked.paused <= 2.0
        await asyncio.sleep(2.0)
        assert (await fleet.ask("c", trades=1)).trades


async def test_local_workers_keep_their_share(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        assert (await fleet.ask("a", local=True)).rate == 45 - 2 * 2
        assert (await fleet.ask("b", local=True)).rate == 45 - 3 * 2
        assert (await fleet.ask("b")).rate == 45 - 2 * 2


async def test_clock_set_back_delays_little(server: EngineServer) -> None:
    async with Fleet(server.url) as fleet:
        asking = Workers(fleet, 50)
        await asking.ask("a")
        ahead = 4_000_000_000_000
        state = fleet.connection.key("limits", "requests", "state")
        moments = ("empty_at", "gate", "throttled_at", "factor_at", "asked_at", "since")
        await fleet.connection.command("HSET", state, *(word for name in moments for word in (name, ahead)))
        assert (await asking.ask("a", trades=1)).grace <= 2.5  # as if the engine were new
        await settled(fleet)
        assert (await asking.ask("a", trades=1)).trades[0] < 0.1


async def test_clock_set_back_leaves_no_dead_worker_in_the_way(server: EngineServer) -> None:
    async with workers(server, 50) as asking, Fleet(server.url) as fleet:

        async def set_back(command: str, part: str, field: str) -> None:
            await fleet.connection.command(command, fleet.connection.key("limits", "requests", part), 300_000, field)

        await asking.ask("dead", trades=5, reads=20, held=3)  # waits for its turn, and is never seen again
        for part in ("seen", "due"):
            await set_back("ZINCRBY", part, "dead")
        await fleet.connection.command(
            "HINCRBYFLOAT", fleet.connection.key("limits", "requests", "state"), "asked_at", 300_000
        )
        found = await asking.ask("a", reads=1)
        assert (found.workers, found.waiting) == (1, 0)
        assert 2.0 < found.grace <= 2.5  # as if the engine were new
        await settled(fleet)
        assert (await asking.ask("a", reads=1)).waiting <= 1


async def test_a_thousand_workers_fit(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        began = time.monotonic()
        found = [await fleet.ask(f"w{number}", reads=1) for number in range(1000)]
        assert found[-1].workers == 1001
        assert found[-1].waiting > 500
        assert found[-1].wait > 10
        assert time.monotonic() - began < 30


async def test_spent_tokens_are_paid_for_later(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        first = (await fleet.ask("a", trades=1, spent=20)).trades[0]
        assert 0.2 < first < 0.6


async def test_worker_that_leaves_is_not_counted_and_returns_its_share(server: EngineServer) -> None:
    async with workers(server, 50) as fleet:
        before = await fleet.ask("a")
        await fleet.ask("b", local=True)
        both = await fleet.ask("a")
        assert (both.workers, both.rate) == (before.workers + 1, before.rate - 2)
        await fleet.leave("b")
        after = await fleet.ask("a")
        assert (after.workers, after.rate) == (before.workers, before.rate)
