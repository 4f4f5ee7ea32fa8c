"""Lanes: order of arrival, bounds, rates, adaptation, and no slot lost to a cancellation."""

import asyncio
import random
from collections.abc import Iterable
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async.config import Limits
from brokerage_async.errors import RequestNotSentError
from brokerage_async.http.limiter import Lane, LaneName, Limiter
from brokerage_async.operation import Effect, Operation, Shape
from tests.http.calls import Shared, now, raised_by
from tests.loops import on_virtual_time
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


def operation(name: str, effect: Effect = Effect.READ, scope: str | None = "read") -> Operation[object]:
    return Operation(name=name, method="GET", path="/", effect=effect, shape=Shape.NONE, scope=scope)


async def enter(lane: Lane) -> None:
    if not lane.try_acquire(now()):
        await lane.acquire()


async def visit(lane: Lane, log: list[tuple[float, int]], number: int, stay: float = 1.0) -> None:
    await enter(lane)
    log.append((now(), number))
    try:
        await asyncio.sleep(stay)
    finally:
        lane.release()


async def test_bound_and_order_of_arrival() -> None:
    lane, log = Lane(2), []
    await asyncio.gather(*(visit(lane, log, number) for number in range(7)))
    assert log == [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 6)]
    assert (lane.in_flight, lane.waiting) == (0, 0)


async def test_nobody_overtakes_a_waiting_call() -> None:
    lane = Lane(1)
    await enter(lane)
    waiting = asyncio.create_task(lane.acquire())
    await asyncio.sleep(0)
    lane.release()
    assert not lane.try_acquire(0.0)
    await waiting


async def test_rate_spaces_admissions_if_there_is_one() -> None:
    lane, log = Lane(None, rate=2.0), []
    await asyncio.gather(*(visit(lane, log, number, stay=0) for number in range(4)))
    assert log == [(0, 0), (0.5, 1), (1.0, 2), (1.5, 3)]
    lane, log = Lane(None), []
    await asyncio.gather(*(visit(lane, log, number) for number in range(1000)))
    assert {moment for moment, _ in log} == {1.5}


class TestAdaptation:
    async def test_429_halves_the_bound_once_for_all_in_flight(self) -> None:
        lane = Lane(16)
        assert all(lane.try_acquire(0.0) for _ in range(16))
        for _ in range(16):
            lane.throttled(1.0, 0.0, lambda streak: float(streak))
            lane.release()
        assert (lane.window, lane.streak) == (8, 1)

    async def test_pauses_grow_with_refusals_in_a_row(self) -> None:
        lane, pause = Lane(4), Mock(return_value=0.0)
        for moment in (0.0, 1.0, 2.0):
            lane.throttled(moment, moment, pause)
        lane.succeeded(1.5)  # of a call from before the last refusal
        lane.throttled(2.0, 1.5, pause)
        lane.succeeded(2.5)
        lane.throttled(3.0, 3.0, pause)
        assert [each.args[0] for each in pause.call_args_list] == [1, 2, 3, 3, 1]

    async def test_bound_recovers_slowly_and_never_beyond_its_capacity(self) -> None:
        lane = Lane(8)
        for moment in range(5):
            lane.throttled(float(moment), float(moment), lambda streak: 0.0)
        assert lane.window == 1
        for _ in range(4):  # a place is won back by several rounds of successes, not by one
            assert lane.window < 2
            lane.succeeded(9.0)
        for _ in range(40):
            lane.succeeded(9.0)
        assert 4 <= lane.window < 6
        for _ in range(1000):
            lane.succeeded(9.0)
        assert lane.window == 8

    async def test_can_be_switched_off(self) -> None:
        lane = Lane(8, adaptive=False)
        lane.throttled(0.0, 0.0, lambda streak: 5.0)
        assert lane.window == 8
        assert not lane.try_acquire(4.9)
        assert lane.try_acquire(5.0)


class TestCancellation:
    async def test_call_cancelled_just_when_admitted_passes_its_slot_on(self) -> None:
        lane = Lane(1)
        await enter(lane)
        first, second = asyncio.create_task(lane.acquire()), asyncio.create_task(lane.acquire())
        await asyncio.sleep(0)
        lane.release()
        first.cancel()
        await asyncio.wait({first, second})
        assert first.cancelled()
        assert lane.in_flight == 1

    @given(
        capacity=st.integers(1, 4),
        rate=st.sampled_from([None, 3.0]),
        visitors=st.lists(
            st.tuples(st.integers(0, 20), st.integers(0, 8), st.none() | st.integers(0, 30)), min_size=1, max_size=25
        ),
        refusals=st.lists(st.integers(0, 20), max_size=4),
    )
    @settings(max_examples=200)
    @on_virtual_time
    async def test_no_slot_is_ever_lost(self, capacity: int, rate: Any, visitors: Any, refusals: Any) -> None:
        """Visitors come, stay and are cancelled at any time, 429 falls in between. In the end all slots are free."""
        lane = Lane(capacity, rate)
        loop = asyncio.get_running_loop()
        inside = most = 0

        async def visitor(come: int, stay: int) -> None:
            nonlocal inside, most
            await asyncio.sleep(come / 10)
            await enter(lane)
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(stay / 10)
            finally:
                inside -= 1
                lane.release()

        tasks = []
        for come, stay, cancelled in visitors:
            tasks.append(asyncio.create_task(visitor(come, stay)))
            if cancelled is not None:
                loop.call_later(cancelled / 10, tasks[-1].cancel)
        for moment in refusals:
            loop.call_later(moment / 10, lambda: lane.throttled(loop.time(), loop.time(), lambda streak: 0.3))
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 600)
        assert most <= capacity
        assert (lane.in_flight, lane.waiting) == (0, 0)
        await asyncio.sleep(30)
        assert lane.try_acquire(loop.time())


async def test_closing_turns_away_who_waits() -> None:
    lane = Lane(1)
    await enter(lane)
    waiting = [asyncio.create_task(lane.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    lane.close(lambda: RequestNotSentError("the client was closed"))
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(error) for error in found} == {RequestNotSentError}
    assert len({id(error) for error in found}) == 3
    lane.release()
    assert (lane.in_flight, lane.waiting) == (0, 0)


def test_lanes_follow_the_effect_and_the_scope() -> None:
    limiter = Limiter(Limits())
    for call, lane in (
        (operation("instruments.equities"), LaneName.READS),
        (operation("orders.dry_run", Effect.PREFLIGHT, "trade"), LaneName.TRADES),
        (operation("orders.cancel", Effect.MUTATE, "trade"), LaneName.TRADES),
        (operation("oauth.token", Effect.READ, None), LaneName.TOKENS),
    ):
        assert limiter.route(call) == (limiter[lane], None), call.name


class TestShared:
    async def test_permit_waits_for_the_shared_limits_with_lane_and_operation(self) -> None:
        shared = Shared()
        limiter = Limiter(shared)
        waiting = asyncio.create_task(limiter.permit(operation("orders.cancel", Effect.MUTATE, "trade")))
        await asyncio.sleep(60)
        assert (waiting.done(), shared.asked) == (False, [(LaneName.TRADES, "orders.cancel")])
        shared.allow()
        await waiting
        await Limiter(Limits()).permit(operation("orders.live"))

    async def test_close_fails_calls_that_wait_for_a_permission(self) -> None:
        limiter = Limiter(Shared())
        waiting = asyncio.create_task(limiter.permit(operation("orders.live")))
        await asyncio.sleep(0)
        limiter.close(lambda: RequestNotSentError("closed"))
        await raised_by(waiting, RequestNotSentError)

    def test_429_of_any_lane_reaches_the_shared_limits(self) -> None:
        shared = Shared()
        limiter = Limiter(shared)
        for number, name in enumerate(LaneName):
            limiter[name].throttled(0.0, 0.0, lambda streak, number=number: 2.0 + number)
        assert shared.pauses == [2.0, 3.0, 4.0]
        assert limiter[LaneName.READS].window == 1.0


async def sends(rate: float, waits: Iterable[tuple[float, float | None]]) -> list[tuple[float, float]]:
    """Return when calls were sent and answered. Each waits before its send, then for its answer, or never sends."""
    limiter, found = Limiter(Limits(per_operation={"positions.list": rate})), list[tuple[float, float]]()
    _, each = limiter.route(operation("positions.list"))
    assert each is not None

    async def call(wait: float, latency: float | None) -> None:
        await each.acquire()
        await asyncio.sleep(wait)  # for the lane, or a token
        if latency is None:
            each.withdraw()
            return
        sent, place = now(), each.sent()
        await asyncio.sleep(latency)
        each.answered(place)
        found.append((round(sent, 6), round(now(), 6)))

    await asyncio.gather(*(call(*wait) for wait in waits))
    await asyncio.sleep(10)
    assert (each.turn.in_flight, each.places.in_flight) == (0, 0)
    return sorted(found)


@for_each(
    "waits, expected",
    [
        ([(5.0, 0.0), (0.0, 0.0), (0.0, None), (0.0, 0.0)], [5.0, 6.0, 8.0]),  # a turn is not a send
        ([(0.0, 60.0), (0.0, 0.0)], [0.0, 2.0]),  # a lost answer is waited for a second at most
    ],
)
@on_virtual_time
async def test_rate_of_an_operation_spaces_sends(waits: Any, expected: list[float]) -> None:
    assert [sent for sent, _ in await sends(1.0, waits)] == expected


@for_each("seed", range(20))
@on_virtual_time
async def test_rate_of_an_operation_holds_whenever_requests_arrive(seed: int) -> None:
    """No second has three requests of two allowed, if each arrives at some moment between its send and its answer."""
    chance = random.Random(seed)
    found = await sends(2.0, [(0.0, chance.choice([0.0, 0.1, chance.random()])) for _ in range(40)])
    for _ in range(20):
        arrivals = sorted(chance.choice([sent, answered, chance.uniform(sent, answered)]) for sent, answered in found)
        assert all(third - first >= 1.0 - 1e-5 for first, third in zip(arrivals, arrivals[2:], strict=False))
