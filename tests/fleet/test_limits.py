"""One budget for all workers: rate, order, fairness, 429, and the time while the engine is away."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from brokerage_async import Client
from brokerage_async.config import Limits
from brokerage_async.errors import NotFoundError
from brokerage_async.fleet import Fleet, RedisLimits
from brokerage_async.http.limiter import LaneName, Limiter
from brokerage_async.simulator import Simulator
from tests.fleet.crowd import small_simulator
from tests.fleet.engines import EngineServer, engine_server, missing
from tests.fleet.shared_budget import busiest_second
from tests.http.calls import raised_by

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with small_simulator() as started:
        yield started


@asynccontextmanager
async def client(
    sim: Simulator, url: str, budget: float = 50.0, *, wait: float = 0.0, timeout: float | None = None, **options: float
) -> AsyncIterator[Client]:
    """Yield a client with a token after ``wait`` seconds: from 3.2 on the engine grants requests."""
    async with Fleet(url, **({} if timeout is None else {"timeout": timeout})) as fleet:
        limits = RedisLimits(fleet, requests_per_second=budget, **options)  # type: ignore[arg-type]
        async with sim.client(limits=limits) as opened:
            opened.fleet = fleet  # type: ignore[attr-defined]
            if wait:
                await opened.authorize()
                await asyncio.sleep(wait)
            yield opened


async def limits_of(client: Client) -> Any:
    return (await client.fleet.status()).parts["limits"]  # type: ignore[attr-defined]


async def cancel(client: Client, sim: Simulator) -> float:
    """Cancel an order that does not exist. Return the seconds that it took."""
    began = asyncio.get_running_loop().time()
    await raised_by(client.orders.cancel(sim.account_numbers[0], "1"), NotFoundError)
    return asyncio.get_running_loop().time() - began


@asynccontextmanager
async def reading(*clients: Client) -> AsyncIterator[None]:
    """Let clients read as much as they may, each in three tasks."""
    ended = False

    async def read(each: Client) -> None:
        while not ended:
            await each.market_time.equity_holidays()

    tasks = [asyncio.create_task(read(each)) for each in clients for _ in range(3)]
    yield
    ended = True
    await asyncio.gather(*tasks)


def new_requests(sim: Simulator) -> Callable[[], list[float]]:
    seen = len(sim.ledger.requests)
    return lambda: [record.at for record in sim.ledger.requests[seen:]]


class TestClient:
    async def test_two_clients_share_the_budget(self, server: EngineServer, sim: Simulator) -> None:
        moments, counts = new_requests(sim), [0, 0]
        async with client(sim, server.url) as one, client(sim, server.url) as two:

            async def read(number: int, each: Client) -> None:
                async with asyncio.timeout(5):
                    while True:
                        await each.market_time.equity_holidays()
                        counts[number] += 1

            tasks = [read(n, each) for n, each in enumerate((one, two)) for _ in range(2 + 4 * n)]
            await asyncio.gather(*tasks, return_exceptions=True)
            status = await limits_of(one)
        assert busiest_second(moments()) <= 51
        assert sum(counts) > 80
        assert abs(counts[0] - counts[1]) <= 0.2 * max(counts)
        assert (status.workers, status.is_local) == (2, False)

    async def test_clients_of_one_process_are_workers_of_their_own(self, server: EngineServer, sim: Simulator) -> None:
        async with Fleet(server.url) as fleet:
            both = [RedisLimits(fleet, requests_per_second=50) for _ in range(2)]
            async with sim.client(limits=both[0]) as one, sim.client(limits=both[1]) as two:
                await asyncio.gather(one.market_time.equity_holidays(), two.market_time.equity_holidays())
                await asyncio.sleep(0.6)
                status = await fleet.status()
        assert sorted(status.parts) == ["limits", "limits 2"]
        assert status.parts["limits 2"].workers == 2

    async def test_cancelled_calls_leave_the_others_going(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url, wait=0.01) as one:
            for delay in (0, 0.001, 0.01, 0.05):
                *cancelled, last = (asyncio.create_task(one.market_time.equity_holidays()) for _ in range(10))
                await asyncio.sleep(delay)
                for task in cancelled:
                    task.cancel()
                await asyncio.wait_for(last, 5)
                await asyncio.gather(*cancelled, return_exceptions=True)

    async def test_429_of_one_slows_the_other_down(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url, wait=0.01) as one, client(sim, server.url, wait=3.2) as two:
            await two.market_time.equity_holidays()
            sim.faults.add("GET", r"/holidays", "rate_limited")
            await one.market_time.equity_holidays()
            await two.market_time.equity_holidays()
            assert (await limits_of(two)).rate < 30


class TestEngineAway:
    async def test_without_engine_trades_go_on_the_local_share(self, sim: Simulator) -> None:
        moments = new_requests(sim)
        async with client(sim, "redis://127.0.0.1:1", 50.0) as alone:
            assert sum([await cancel(alone, sim) for _ in range(3)]) < 3.5  # with a token, at 1.75 per second
            status = await limits_of(alone)
            assert status.is_local
            assert status.local_rate == pytest.approx(1.75)
        assert busiest_second(moments()) <= 2

    async def test_silent_engine_holds_no_trade_up(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url, wait=3.2) as one:
            await cancel(one, sim)
            with server.paused():
                for _ in range(4):
                    assert await cancel(one, sim) < 0.8
                    await asyncio.sleep(0.6)

    async def test_engine_that_falls_silent_while_a_trade_waits_its_turn_holds_it_up_no_longer(
        self, server: EngineServer, sim: Simulator
    ) -> None:
        async with client(sim, server.url, 1.5, wait=3.2, timeout=5, local_share=0.7) as one:
            cancels = [asyncio.create_task(cancel(one, sim)) for _ in range(5)]
            await asyncio.sleep(0.2)  # the engine has said when to ask again for the last of them
            with server.paused():
                assert max(await asyncio.gather(*cancels)) < 5.5

    async def test_budget_is_shared_again_when_the_engine_is_back(self, sim: Simulator) -> None:
        moments = new_requests(sim)
        with engine_server() as mortal:
            async with client(sim, mortal.url) as one, client(sim, mortal.url) as two, reading(one, two):
                await asyncio.sleep(3.5)
                mortal.kill()
                await asyncio.sleep(1.5)
                assert (await limits_of(one)).is_local
                mortal.start()
                await asyncio.sleep(4.5)
                status = await limits_of(one)
        assert (status.is_local, status.workers) == (False, 2)
        assert busiest_second(moments()) <= 51

    async def test_worker_keeps_to_its_local_share_until_the_others_have_noticed_that_the_engine_is_back(
        self, server: EngineServer, sim: Simulator
    ) -> None:
        async with client(sim, server.url, wait=3.2) as one:
            with server.paused():  # not for long enough that the engine itself grants nothing
                while not (await limits_of(one)).is_local:
                    await one.market_time.equity_holidays()
            resumed, moments = asyncio.get_running_loop().time(), new_requests(sim)
            counts = dict[float, int]()
            for seconds in (2.4, 6.0):
                while asyncio.get_running_loop().time() < resumed + seconds:
                    await one.market_time.equity_holidays()
                counts[seconds] = len(moments())
        assert counts[2.4] <= 2.4 * 1.75 + 2
        assert counts[6.0] > 60, "the engine is not back, so nothing is shown"

    async def test_state_lost_in_the_middle_never_exceeds_the_budget(
        self, server: EngineServer, sim: Simulator
    ) -> None:
        moments = new_requests(sim)
        async with client(sim, server.url) as one, client(sim, server.url) as two, reading(one, two):
            await asyncio.sleep(3.2)
            run = one.fleet.connection.command  # type: ignore[attr-defined]
            for _ in range(3):
                await run("FLUSHALL")
                await run("SCRIPT", "FLUSH")
                await asyncio.sleep(0.4)
        assert busiest_second(moments()) <= 51

    async def test_calls_go_on_after_the_fleet_was_closed(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url, local_share=0.2, wait=0.01) as one:
            waiting = [asyncio.create_task(one.market_time.equity_holidays()) for _ in range(8)]
            await asyncio.sleep(0.05)
            await one.fleet.aclose()  # type: ignore[attr-defined]
            async with asyncio.timeout(5):
                await asyncio.gather(*waiting)
                await one.market_time.equity_holidays()

    async def test_wrong_type_under_the_key_leaves_the_local_share(self, server: EngineServer, sim: Simulator) -> None:
        async with client(sim, server.url) as one:
            connection = one.fleet.connection  # type: ignore[attr-defined]
            for part in ("early", "state"):
                await connection.command("SET", connection.key("limits", "requests", part), "x")
            await one.market_time.equity_holidays()
            assert (await limits_of(one)).is_local


async def test_bounds_of_each_worker_apply_as_well() -> None:
    async with Fleet("redis://127.0.0.1:1") as fleet:
        limiter = Limiter(RedisLimits(fleet, requests_per_second=50, limits=Limits(reads=1)))
        assert [limiter[LaneName.READS].try_acquire(0.0) for _ in range(2)] == [True, False]


async def test_engine_that_is_far_away_still_grants_trades_their_slots(server: EngineServer) -> None:
    async with Fleet(server.url) as fleet:
        limits = RedisLimits(fleet, requests_per_second=50, local_share=0.01)  # one in two seconds
        run = fleet.connection.script

        async def far(*arguments: Any, **options: Any) -> Any:
            await asyncio.sleep(0.1)
            return await run(*arguments, **options)

        await limits.acquire(LaneName.TRADES, "orders.cancel")
        await asyncio.sleep(3)
        fleet.connection.script = far  # type: ignore[method-assign]
        began = asyncio.get_running_loop().time()
        for _ in range(5):
            await limits.acquire(LaneName.TRADES, "orders.cancel")
        assert asyncio.get_running_loop().time() - began < 4.5, "the local share alone takes 8 s"
