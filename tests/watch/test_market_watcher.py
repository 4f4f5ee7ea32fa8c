"""The watcher of boundaries, over a hand-fed timetable and a wall clock that can be set."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from brokerage_async._generated.models import MarketSession
from brokerage_async.errors import PermissionDeniedError, ServerError
from brokerage_async.watch.feed import Feed
from brokerage_async.watch.market import Boundary, MarketKind, MarketWatcher, boundaries, boundaries_after
from brokerage_async.watch.schedule import Schedule
from tests.loops import VirtualLoop
from tests.tables import for_each
from tests.watch.memory_state import MemoryState

pytestmark = pytest.mark.virtual_time

START = datetime(2026, 12, 31, 12, tzinfo=UTC)  # a Thursday before a holiday and a weekend


def utc_session(day: date, opens: float = 14.5, closes: float = 21.0) -> MarketSession:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return MarketSession(
        session_date=day,
        start_at=midnight + timedelta(hours=opens - 1),
        open_at=midnight + timedelta(hours=opens),
        close_at=midnight + timedelta(hours=closes),
        close_at_ext=midnight + timedelta(hours=closes + 1),
    )


WEEK = [utc_session(date(2026, 12, 30)), utc_session(date(2026, 12, 31), closes=18.0), utc_session(date(2027, 1, 4))]


class Wall:
    """A wall clock that goes with the loop's clock until it is set."""

    def __init__(self) -> None:
        self.off = timedelta(0)

    def __call__(self) -> datetime:
        return START + self.off + timedelta(seconds=asyncio.get_running_loop().time())


async def week() -> list[MarketSession]:
    return list(WEEK)


def watching(
    wall: Wall, fetch: Callable[[], Awaitable[list[MarketSession]]] = week, interval: float = 3600.0, **options: Any
) -> MarketWatcher:
    feed = Feed(fetch, key=lambda each: each.session_date, schedule=Schedule(interval=interval), now=wall)
    settings: dict[str, Any] = {"now": wall, "extended": False, "initial": False, "on_error": None} | options
    return MarketWatcher(feed, **settings)


async def take(market: MarketWatcher, count: int) -> list[tuple[str, str]]:
    changes = [await anext(market) for _ in range(count)]
    return [(change.kind.value, f"{change.at:%m-%d %H:%M}") for change in changes]


async def test_market_watcher_across_half_day_holiday_and_weekend() -> None:
    async with watching(Wall()) as market:
        assert await take(market, 4) == [
            ("opened", "12-31 14:30"),
            ("closed", "12-31 18:00"),
            ("opened", "01-04 14:30"),
            ("closed", "01-04 21:00"),
        ]
        assert asyncio.get_running_loop().time() == (4 * 24 + 9) * 3600
        assert list(market.snapshot) == [each.session_date for each in WEEK]


async def test_market_watcher_extended_hours_surround_regular_ones() -> None:
    async with watching(Wall(), extended=True) as market:
        assert [kind for kind, _ in await take(market, 5)] == ["started", "opened", "closed", "ended", "started"]


async def test_market_watcher_initial_reports_the_current_state() -> None:
    async with watching(Wall(), initial=True) as market:
        assert await take(market, 2) == [("closed", "12-30 21:00"), ("opened", "12-31 14:30")]


async def test_market_watcher_cancelled_wait_loses_nothing() -> None:
    async with watching(Wall()) as market:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(market), 600)
        assert await take(market, 1) == [("opened", "12-31 14:30")]


async def test_market_watcher_late_timetable_reports_a_passed_opening() -> None:
    loop = asyncio.get_running_loop()
    opening = 2.5 * 3600

    async def late() -> list[MarketSession]:
        if loop.time() < opening + 300:
            raise ServerError("down", status=503)
        return list(WEEK)

    async with watching(Wall(), late, on_error=lambda error: None) as market:
        assert await take(market, 1) == [("opened", "12-31 14:30")]
        assert opening + 300 <= loop.time() <= opening + 300 + 60


async def test_market_watcher_two_consumers_share_the_boundaries() -> None:
    async with watching(Wall()) as market:
        both = await asyncio.gather(anext(market), anext(market))
    assert sorted(change.kind.value for change in both) == ["closed", "opened"]


async def test_market_watcher_after_suspension_reports_every_boundary() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with watching(Wall()) as market:
        waiting = asyncio.create_task(anext(market))  # type: ignore[arg-type]
        await asyncio.sleep(60)
        loop.jump(8 * 3600)
        assert (await waiting).kind == "opened"
        assert await take(market, 1) == [("closed", "12-31 18:00")]


async def test_market_watcher_stale_clock_reads_the_timetable_at_once() -> None:
    """The clock of the loop stood still while the machine slept: an answer shows that the market has opened."""
    wall, reads, failing = Wall(), list[float](), True
    loop = asyncio.get_running_loop()

    async def fetch() -> list[MarketSession]:
        reads.append(loop.time())
        if failing and slept():
            raise ServerError("offline", status=502)
        if slept():
            wall.off = timedelta(hours=8)
        return list(WEEK)

    def slept() -> bool:
        return loop.time() > 90 and not wall.off

    async with watching(wall, fetch, is_stale=slept, on_error=lambda error: None) as market:
        waiting = asyncio.create_task(anext(market))  # type: ignore[arg-type]
        await asyncio.sleep(270)
        assert reads == [0, 120, 180, 240]
        failing = False
        assert (await waiting).kind == "opened"
        assert loop.time() == 300
        assert await take(market, 1) == [("closed", "12-31 18:00")]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(market), 3000)
        assert reads == [0, 120, 180, 240, 300]


@pytest.mark.parametrize(
    ("off", "expected"),
    [(timedelta(hours=2), 1800 + 60), (timedelta(hours=-2), 16200), (timedelta(days=-400), None)],
    ids=["ahead", "back", "far-back"],
)
async def test_market_watcher_set_wall_clock_reports_nothing_twice(off: timedelta, expected: int | None) -> None:
    wall, loop = Wall(), asyncio.get_running_loop()
    async with watching(wall) as market:
        waiting = asyncio.create_task(anext(market))  # type: ignore[arg-type]
        await asyncio.sleep(30)
        wall.off = off
        if expected is None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.shield(waiting), 24 * 3600)
            wall.off = timedelta(0)
            await waiting
        else:
            assert (await waiting).kind == "opened"
            assert loop.time() == pytest.approx(expected, abs=60)
            wall.off = timedelta(hours=-1)
            assert await take(market, 1) == [("closed", "12-31 18:00")]


async def test_market_watcher_fatal_failure_ends_after_due_changes() -> None:
    heard: list[Exception] = []
    answers: list[Any] = [WEEK, ServerError("no", status=502), PermissionDeniedError("no", status=403)]

    async def fetch() -> list[MarketSession]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    async with watching(Wall(), fetch, on_error=heard.append, initial=True) as market:
        assert await take(market, 1) == [("closed", "12-30 21:00")]
        await asyncio.sleep(4 * 3600)
        assert await take(market, 1) == [("opened", "12-31 14:30")]
        with pytest.raises(PermissionDeniedError):
            await anext(market)
        with pytest.raises(StopAsyncIteration):
            await anext(market)
    assert [type(each) for each in heard] == [ServerError]


async def test_market_watcher_closed_ends_the_polls() -> None:
    market = watching(Wall())
    waiting = asyncio.create_task(anext(market))  # type: ignore[arg-type]
    await asyncio.sleep(1)
    await market.aclose()
    with pytest.raises(StopAsyncIteration):
        await waiting
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_market_watcher_boundary_during_a_read_is_not_missed() -> None:
    wall, reads = Wall(), 0
    opening = WEEK[1].open_at
    assert opening is not None

    def tricky() -> datetime:
        nonlocal reads
        reads += 1
        return max(wall(), opening - timedelta(microseconds=1)) + timedelta(microseconds=reads > 2)

    async with watching(wall, now=tricky) as market:
        assert await take(market, 1) == [("opened", "12-31 14:30")]
        assert asyncio.get_running_loop().time() < 1


def with_state(wall: Wall, state: MemoryState, **options: Any) -> MarketWatcher:
    return watching(wall, state=state, **options)


async def test_market_watcher_with_a_state_reports_each_boundary_until_it_is_acknowledged() -> None:
    wall, state = Wall(), MemoryState()
    async with with_state(wall, state) as market:
        change = await anext(market)
        assert (change.kind, f"{change.at:%m-%d %H:%M}") == ("opened", "12-31 14:30")
        with pytest.raises(TimeoutError):  # the closing waits
            await asyncio.wait_for(anext(market), 12 * 3600)
    async with with_state(wall, state) as market:
        again = await anext(market)
        assert again == change
        assert again.kind is MarketKind.OPENED
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(market), 3600)
        async with again:
            pass
        assert await take(market, 1) == [("closed", "12-31 18:00")]
    wall.off = timedelta(days=5)  # the consumer was away for the whole of the next session
    async with with_state(wall, state) as market:
        async with await anext(market) as change:
            assert (change.kind, change.key) == ("closed", date(2026, 12, 31))
        for kind in ("opened", "closed"):
            async with await anext(market) as change:
                assert (change.kind, change.key) == (kind, date(2027, 1, 4))
    assert len(state.items) == 1


async def test_market_watcher_with_a_state_begins_where_the_first_run_began() -> None:
    wall, state = Wall(), MemoryState()
    async with with_state(wall, state) as market:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(market), 60)
    wall.off = timedelta(hours=4)
    async with with_state(wall, state, initial=True) as market:
        assert await take(market, 1) == [("opened", "12-31 14:30")]


def last(at: datetime, kind: str | None = None, day: date | None = None) -> Boundary:
    return Boundary(None if kind is None else MarketKind(kind), day, at, None)


@for_each(
    "mark, expected",
    [
        (last(START), ["opened", "closed", "opened", "closed"]),
        (last(START, "opened", date(2026, 12, 31)), ["closed", "opened", "closed"]),
        (last(START + timedelta(days=9), "closed", date(2026, 12, 31)), ["opened", "closed"]),
        (last(START + timedelta(days=1), "closed", date(2026, 12, 25)), ["opened", "closed"]),
    ],
)
def test_boundaries_after_a_mark(mark: Boundary, expected: list[str]) -> None:
    assert [each.kind for each in boundaries_after(boundaries(WEEK), mark)] == expected
