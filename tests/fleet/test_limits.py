"""One budget for all workers: rate, order, fairness, 429, and what happens while the engine is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from brokerage_async import Client
from brokerage_async.config import Limits
from brokerage_async.errors import ConfigurationError, NotFoundError
from brokerage_async.fleet import Fleet, RedisLimits
from brokerage_async.fleet.ask import ASK
from brokerage_async.fleet.budget import Grant, capacity_of
from brokerage_async.http.limiter import Lane, LaneName
from brokerage_async.simulator import Simulator
from tests.fleet.crowd import small_simulator
from tests.fleet.engines import EngineServer, engine_server, missing
from tests.fleet.shared_budget import busiest_second

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture(scope="module")
def running() -> Iterator[EngineServer]:
    with engine_server() as started:
        yield started


@pytest.fixture
async def server(running: EngineServer) -> EngineServer:
    async with Fleet(running.url) as fleet:
        await fleet.connection.command("FLUSHALL")
    return running


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with small_simulator() as started:
        yield started


async def settled(fleet: Fleet) -> None:
    """Make the engine forget that it has just begun."""
    await fleet.connection.command("HSET", fleet.connection.key("limits", "requests", "state"), "since", 1)


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
            worker, self._budget, capacity_of(self._budget), trades, reads, held, target, int(share * 1000),
            int(local), spent, pause, 40,
        )  # fmt: skip
        return Grant.read(await self._fleet.connection.script(ASK, self._keys, arguments), 0.0, 0.0)


@asynccontextmanager
async def workers(server: EngineServer, budget: float) -> AsyncIterator[Workers]:
    async with Fleet(server.url) as fleet:
        asking = Workers(fleet, budget)
        await asking.ask("first", local=True)
        await settled(fleet)
        yield asking


class TestScript:
    async def test_new_state_grants_nothing_until_all_workers_could_be_seen(self, server: EngineServer) -> None:
        async with Fleet(server.url) as fleet:
            found = await Workers(fleet, 50).ask("a", trades=1, reads=1)
        assert (found.trades, found.reads, found.hold) == ((), (), 0)
        assert 2.0 < found.grace <= 2.5

    async def test_trades_go_at_once_while_reads_wait(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            await asyncio.sleep(0.15)  # the bucket fills up
            reads = await fleet.ask("a", reads=20)
            assert 1 <= len(reads.reads) < 8
            assert reads.wait > 0
            trades = await fleet.ask("b", trades=2)
            assert len(trades.trades) == 2
            assert max(trades.trades) < 0.08

    async def test_any_second_has_at_most_the_budget(self, server: EngineServer) -> None:
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

    async def test_reads_are_granted_in_turn(self, server: EngineServer) -> None:
        counts = dict.fromkeys("abcde", 0)
        async with workers(server, 50) as fleet:
            end = time.monotonic() + 2
            while time.monotonic() < end:
                for number, worker in enumerate(counts):
                    for _ in range(number + 1):  # some ask more often, and for more
                        counts[worker] += len((await fleet.ask(worker, reads=1 + 5 * number)).reads)
                await asyncio.sleep(0.002)
        assert max(counts.values()) - min(counts.values()) <= 2, counts

    async def test_worker_that_does_not_come_back_is_passed_over(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            for worker in "abcdefgh":
                await fleet.ask(worker, reads=10)
            began, got = time.monotonic(), 0
            while got < 20:
                got += len((await fleet.ask("z", reads=10)).reads)
                await asyncio.sleep(0.005)
            assert time.monotonic() - began < 1.5

    async def test_held_tokens_count_as_still_in_the_bucket(self, server: EngineServer) -> None:
        async with workers(server, 1000) as fleet:
            await asyncio.sleep(0.12)  # the bucket fills up: 100 tokens
            held = sum([(await fleet.ask(name, target=64)).hold for name in "abc"])
            assert 36 <= held <= 50  # at most half of the bucket
            await asyncio.sleep(0.2)
            burst = await fleet.ask("d", trades=200)
            assert sum(moment == 0.0 for moment in burst.trades) <= 100 - held + 5

    async def test_many_workers_together_hold_no_more_than_half_the_bucket(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            assert sum([(await fleet.ask(f"w{n}", target=64)).hold for n in range(100)]) <= 3

    async def test_429_halves_the_rate_once_and_pauses_all(self, server: EngineServer) -> None:
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

    async def test_local_workers_keep_their_share(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            assert (await fleet.ask("a", local=True)).rate == 45 - 2 * 2
            assert (await fleet.ask("b", local=True)).rate == 45 - 3 * 2
            assert (await fleet.ask("b")).rate == 45 - 2 * 2

    async def test_clock_set_back_delays_little(self, server: EngineServer) -> None:
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

    async def test_a_thousand_workers_fit(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            began = time.monotonic()
            found = [await fleet.ask(f"w{number}", reads=1) for number in range(1000)]
            assert found[-1].workers == 1001
            assert found[-1].waiting > 500
            assert found[-1].wait > 10
            assert time.monotonic() - began < 30

    async def test_spent_tokens_are_paid_for_later(self, server: EngineServer) -> None:
        async with workers(server, 50) as fleet:
            first = (await fleet.ask("a", trades=1, spent=20)).trades[0]
            assert 0.2 < first < 0.6


@asynccontextmanager
async def client(sim: Simulator, url: str, budget: float = 50.0, **options: float) -> AsyncIterator[Client]:
    async with Fleet(url) as fleet:
        limits = RedisLimits(fleet, requests_per_second=budget, **options)  # type: ignore[arg-type]
        async with sim.client(limits=limits) as opened:
            opened.fleet = fleet  # type: ignore[attr-defined]
            yield opened


def new_requests(sim: Simulator) -> Callable[[], list[float]]:
    seen = len(sim.ledger.requests)
    return lambda: [record.at for record in sim.ledger.requests[seen:]]


class TestClient:
    async def test_two_clients_share_the_budget(self, server: EngineServer, sim: Simulator) -> None:
        moments = new_requests(sim)
        async with client(sim, server.url) as one, client(sim, server.url) as two:
            counts = [0, 0]

            async def read(number: int, each: Client) -> None:
                async with asyncio.timeout(5):
                    while True:
                        await each.market_time.equity_holidays()
                        counts[number] += 1

            tasks = [read(n, each) for n, each in enumerate((one, two)) for _ in range(2 + 4 * n)]
            await asyncio.gather(*tasks, return_exceptions=True)
            status = (await one.fleet.status()).parts["limits"]  # type: ignore[attr-defined]
        assert busiest_second(moments()) <= 51
        assert sum(counts) > 80
        assert abs(counts[0] - counts[1]) <= 0.2 * max(counts)
        assert (status.workers, status.is_local) == (2, False)

    async def test_cancel_overtakes_the_reads_of_others(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url) as reading, client(sim, server.url) as trading:
            reads = [asyncio.create_task(reading.market_time.equity_holidays()) for _ in range(400)]
            await asyncio.sleep(3.5)
            loop, waits = asyncio.get_running_loop(), list[float]()
            for _ in range(5):
                began = loop.time()
                with pytest.raises(NotFoundError):
                    await trading.orders.cancel(sim.account_numbers[0], "1")
                waits.append(loop.time() - began)
                await asyncio.sleep(0.1)
            assert any(not read.done() for read in reads)
            assert sorted(waits)[2] < 0.2
            for read in reads:
                read.cancel()
            await asyncio.gather(*reads, return_exceptions=True)

    async def test_usual_call_asks_nothing(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url, 1000.0, local_share=1.0) as quiet:
            await quiet.market_time.equity_holidays()
            await settled(quiet.fleet)  # type: ignore[attr-defined]
            await asyncio.sleep(3.0)
            limits = quiet.fleet._parts["limits"]  # type: ignore[attr-defined]
            await quiet.market_time.equity_holidays()
            before = limits._asks
            for _ in range(20):
                await quiet.market_time.equity_holidays()
            assert limits._asks - before <= 2

    async def test_cancelled_calls_leave_the_others_going(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url) as one:
            await one.authorize()
            for delay in (0, 0.001, 0.01, 0.05):
                tasks = [asyncio.create_task(one.market_time.equity_holidays()) for _ in range(10)]
                await asyncio.sleep(delay)
                for task in tasks[:-1]:
                    task.cancel()
                async with asyncio.timeout(5):
                    await tasks[-1]
                await asyncio.gather(*tasks, return_exceptions=True)

    async def test_429_of_one_slows_the_other_down(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url) as one, client(sim, server.url) as two:
            await one.authorize()
            await two.authorize()
            await asyncio.sleep(3.2)
            await two.market_time.equity_holidays()
            sim.faults.add("GET", r"/holidays", "rate_limited")
            await one.market_time.equity_holidays()
            await two.market_time.equity_holidays()
            status = (await two.fleet.status()).parts["limits"]  # type: ignore[attr-defined]
            assert status.rate < 30


class TestEngineAway:
    async def test_without_engine_trades_go_on_the_local_share(self, sim: Simulator) -> None:
        moments = new_requests(sim)
        async with client(sim, "redis://127.0.0.1:1", 50.0) as alone:
            loop = asyncio.get_running_loop()
            began = loop.time()
            for _ in range(3):
                with pytest.raises(NotFoundError):
                    await alone.orders.cancel(sim.account_numbers[0], "1")
            assert loop.time() - began < 3.5  # a token and three requests at 1.75 per second
            status = (await alone.fleet.status()).parts["limits"]  # type: ignore[attr-defined]
            assert status.is_local
            assert status.local_rate == pytest.approx(1.75)
        assert busiest_second(moments()) <= 2

    async def test_silent_engine_holds_no_trade_up(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url, 50.0) as one:
            await one.authorize()
            await asyncio.sleep(3.2)
            with pytest.raises(NotFoundError):
                await one.orders.cancel(sim.account_numbers[0], "1")
            server.pause()
            try:
                loop, waits = asyncio.get_running_loop(), list[float]()
                for _ in range(4):
                    began = loop.time()
                    with pytest.raises(NotFoundError):
                        await one.orders.cancel(sim.account_numbers[0], "1")
                    waits.append(loop.time() - began)
                    await asyncio.sleep(0.6)
                assert max(waits) < 0.8
            finally:
                server.resume()

    async def test_budget_is_shared_again_when_the_engine_is_back(self, sim: Simulator) -> None:
        with engine_server() as mortal:
            moments = new_requests(sim)
            async with client(sim, mortal.url) as one, client(sim, mortal.url) as two:
                ended = False

                async def read(each: Client) -> None:
                    while not ended:
                        await each.market_time.equity_holidays()

                tasks = [asyncio.create_task(read(each)) for each in (one, two) for _ in range(3)]
                await asyncio.sleep(3.5)
                mortal.kill()
                await asyncio.sleep(1.5)
                assert (await one.fleet.status()).parts["limits"].is_local  # type: ignore[attr-defined]
                mortal.start()
                await asyncio.sleep(4.5)
                status = (await one.fleet.status()).parts["limits"]  # type: ignore[attr-defined]
                ended = True
                await asyncio.gather(*tasks)
            assert not status.is_local
            assert status.workers == 2
            assert busiest_second(moments()) <= 51

    async def test_state_lost_in_the_middle_never_exceeds_the_budget(
        self, server: EngineServer, sim: Simulator
    ) -> None:
        moments = new_requests(sim)
        async with client(sim, server.url) as one, client(sim, server.url) as two:
            ended = False

            async def read(each: Client) -> None:
                while not ended:
                    await each.market_time.equity_holidays()

            tasks = [asyncio.create_task(read(each)) for each in (one, two) for _ in range(3)]
            await asyncio.sleep(3.2)
            for _ in range(3):
                await one.fleet.connection.command("FLUSHALL")  # type: ignore[attr-defined]
                await one.fleet.connection.command("SCRIPT", "FLUSH")  # type: ignore[attr-defined]
                await asyncio.sleep(0.4)
            ended = True
            await asyncio.gather(*tasks)
        assert busiest_second(moments()) <= 51

    async def test_wrong_type_under_the_key_leaves_the_local_share(self, server: EngineServer, sim: Simulator) -> None:
        async with Fleet(server.url) as fleet:
            await fleet.connection.command("SET", fleet.connection.key("limits", "requests", "queue"), "x")
            await fleet.connection.command("SET", fleet.connection.key("limits", "requests", "state"), "x")
        async with client(sim, server.url) as one:
            await one.market_time.equity_holidays()
            assert (await one.fleet.status()).parts["limits"].is_local  # type: ignore[attr-defined]


class TestArguments:
    @pytest.mark.parametrize(
        "options",
        [
            {"requests_per_second": 0},
            {"requests_per_second": float("inf")},
            {"requests_per_second": "50"},
            {"requests_per_second": 50, "local_share": 0},
            {"requests_per_second": 50, "local_share": 1.5},
            {"requests_per_second": 50, "limits": 5},
        ],
    )
    async def test_limits_refuse_what_they_cannot_use(self, options: dict[str, object]) -> None:
        async with Fleet("redis://127.0.0.1:1") as fleet:
            with pytest.raises(ConfigurationError):
                RedisLimits(fleet, **options)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="fleet must be a Fleet"):
            RedisLimits("redis://127.0.0.1:1", requests_per_second=50)  # type: ignore[arg-type]

    async def test_bounds_of_each_worker_apply_as_well(self) -> None:
        async with Fleet("redis://127.0.0.1:1") as fleet:
            limits = RedisLimits(fleet, requests_per_second=50, limits=Limits(reads=1))
            lane = Lane(1, pacer=limits.pacer(LaneName.READS))
            assert lane.try_acquire(0.0) is False  # nothing was granted yet
            lane.close(lambda: ConfigurationError("closed"))
            await limits.aclose()
