"""Markets: boundaries and paces, the watcher over a hand-fed timetable, and timetables read from a service."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import Client, errors
from brokerage_async._generated.models import MarketSession
from brokerage_async.errors import ServerError
from brokerage_async.models import converter
from brokerage_async.protocol.timetable import is_open, timetable_range
from brokerage_async.watch import Change, MarketHours, MarketKind, Watch
from brokerage_async.watch.feed import Feed, Schedule
from brokerage_async.watch.market import Boundary, MarketCursor, MarketWatcher, boundaries, boundaries_after
from tests.http.calls import raised_by
from tests.loops import VirtualLoop, on_virtual_time, run_in
from tests.tables import for_each
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import NOON, Service, quiet

pytestmark = pytest.mark.virtual_time

NEW_YORK = ZoneInfo("America/New_York")
HOLIDAYS = {date(2026, 3, 4), date(2026, 11, 26)}
HALF_DAYS = {date(2026, 3, 3), date(2026, 11, 27), date(2026, 12, 31)}
RIGHT_DAYS, WRONG_DAYS = ["2026-02-23", "2026-03-12"], ["2026-01-24", "2026-02-10"]


def new_york(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime.combine(day, time(hour, minute), NEW_YORK).astimezone(UTC)


def new_york_session(day: date) -> MarketSession:
    """Return a day of the equity market: 9:30 to 16:00, on half-days to 13:00, with extended hours around it."""
    return MarketSession(
        start_at=new_york(day, 8),
        open_at=new_york(day, 9, 30),
        close_at=new_york(day, 13) if day in HALF_DAYS else new_york(day, 16),
        close_at_ext=new_york(day, 17) if day in HALF_DAYS else new_york(day, 20),
        instrument_collection="Equity",
        session_date=day,
    )


def timetable(first: date, last: date) -> list[MarketSession]:
    days = [first + timedelta(days=count) for count in range((last - first).days + 1)]
    return [new_york_session(day) for day in days if day.weekday() < 5 and day not in HOLIDAYS]


def brief(sessions: list[MarketSession], **options: Any) -> list[str]:
    return [f"{each.kind} {each.at.astimezone(UTC):%m-%d %H:%M}" for each in boundaries(sessions, **options)]


def test_boundaries_extended_and_missing_times() -> None:
    day = date(2026, 11, 27)
    kinds = ["started 11-27 13:00", "opened 11-27 14:30", "closed 11-27 18:00", "ended 11-27 22:00"]
    assert brief([new_york_session(day)], extended=True) == kinds
    assert brief([MarketSession(open_at=new_york(day, 9, 30)), MarketSession()], extended=True) == [
        "opened 11-27 14:30"
    ]


WEEKS = timetable(date(2026, 11, 16), date(2026, 12, 4))
moments = st.datetimes(datetime(2026, 11, 17), datetime(2026, 12, 3), timezones=st.just(UTC))  # noqa: DTZ001


@given(moments, st.floats(0.5, 10), st.floats(10, 100_000))
def test_market_hours_never_sleep_past_an_opening(now: datetime, trading: float, resting: float) -> None:
    pace = MarketHours(AsyncMock(return_value=WEEKS), trading=trading, resting=resting, now=lambda: now)
    interval = run_in(VirtualLoop(), pace())
    if is_open(WEEKS, now):
        assert interval == trading
    else:
        assert 0 < interval <= resting
        coming = min(each.at for each in boundaries(WEEKS) if each.at > now)
        assert now + timedelta(seconds=interval) <= coming + timedelta(microseconds=1)
        assert interval == resting or now + timedelta(seconds=interval) == coming


async def test_market_hours_transient_failures_count_as_open(caplog: pytest.LogCaptureFixture) -> None:
    read = AsyncMock(side_effect=[errors.ServerError(status=502), WEEKS, errors.ResponseLostError()])
    loop, start = asyncio.get_running_loop(), new_york(date(2026, 11, 26), 10)
    pace = MarketHours(read, trading=60, resting=600, now=lambda: start + timedelta(seconds=loop.time()))
    assert await pace() == 60  # not known: taken for open
    assert (await pace(), read.await_count) == (60, 1)
    await asyncio.sleep(60)
    assert (await pace(), read.await_count) == (600, 2)
    await asyncio.sleep(3600)
    assert (await pace(), read.await_count) == (600, 3)
    assert caplog.messages == [
        "reading the market timetable failed: ServerError",
        "reading the market timetable failed: ResponseLostError",
    ]


async def test_market_hours_after_weeks_of_sleep_know_the_day() -> None:
    """The loop's clock stands still while the machine is suspended, and the service's does not."""
    now, is_down = new_york(date(2026, 11, 2), 3), False

    async def read() -> list[MarketSession]:
        if is_down:
            raise ServerError("down", status=503)
        return timetable(*timetable_range(now))

    pace = MarketHours(read, trading=1, resting=60, now=lambda: now)
    assert await pace() == 60
    now = new_york(date(2026, 11, 24), 10)
    assert await pace() == 1
    now, is_down = new_york(date(2026, 11, 25), 3), True
    assert await pace() == 60  # the timetable of yesterday serves
    now = new_york(date(2026, 12, 22), 10)
    assert await pace() == 1  # it is over: not known, and taken for open


async def test_market_hours_slow_timetable_does_not_delay_polls(caplog: pytest.LogCaptureFixture) -> None:
    loop, never = asyncio.get_running_loop(), partial(asyncio.sleep, 3600)
    pace = MarketHours(never, trading=1, resting=60, now=lambda: new_york(date(2026, 11, 27), 10))
    assert [await pace(), await pace()] == [1, 1]
    assert loop.time() == MarketHours.READ_TIMEOUT
    assert caplog.messages == ["reading the market timetable failed: TimeoutError"]


START = datetime(2026, 12, 31, 12, tzinfo=UTC)  # a Thursday before a holiday and a weekend


DAYS = [new_york_session(day) for day in (date(2026, 12, 30), date(2026, 12, 31), date(2027, 1, 4))]


class Wall:
    """A wall clock that goes with the loop's clock until it is set."""

    def __init__(self, start: datetime = START) -> None:
        self.start, self.off = start, timedelta(0)

    def __call__(self) -> datetime:
        return self.start + self.off + timedelta(seconds=asyncio.get_running_loop().time())


def watching(
    wall: Wall,
    fetch: Callable[[], Awaitable[list[MarketSession]]] = AsyncMock(return_value=DAYS),  # noqa: B008
    *,
    on_error: Any = None,
    state: MemoryState | None = None,
    **options: Any,
) -> MarketWatcher:
    feed = Feed(fetch, key=lambda each: each.session_date, schedule=Schedule(interval=3600.0), now=wall)
    settings: dict[str, Any] = {"now": wall, "extended": False, "initial": False} | options
    return MarketWatcher(MarketCursor(feed, **settings), on_error=on_error, state=state)


async def take(market: MarketWatcher, count: int) -> list[tuple[str, str]]:
    changes = [await anext(market) for _ in range(count)]
    return [(change.kind.value, f"{change.at:%m-%d %H:%M}") for change in changes]


async def test_market_watcher_initial_and_extended_hours_are_reported() -> None:
    async with watching(Wall(), initial=True) as market:
        assert await take(market, 2) == [("closed", "12-30 21:00"), ("opened", "12-31 14:30")]
    async with watching(Wall(), extended=True) as market:
        assert [kind for kind, _ in await take(market, 5)] == ["opened", "closed", "ended", "started", "opened"]


async def test_market_watcher_late_timetable_reports_a_passed_opening() -> None:
    loop = asyncio.get_running_loop()
    opening = 2.5 * 3600

    async def late() -> list[MarketSession]:
        if loop.time() < opening + 300:
            raise ServerError("down", status=503)
        return list(DAYS)

    async with watching(Wall(), late, on_error=lambda error: None) as market:
        assert await take(market, 1) == [("opened", "12-31 14:30")]
        assert opening + 300 <= loop.time() <= opening + 300 + 60


async def test_market_watcher_two_consumers_share_the_boundaries() -> None:
    async with watching(Wall()) as market:
        both = await asyncio.gather(anext(market), anext(market))
    assert sorted(change.kind.value for change in both) == ["closed", "opened"]


async def test_market_watcher_after_suspension_reports_every_boundary() -> None:
    loop = asyncio.get_running_loop()
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
        return list(DAYS)

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
        await quiet(market, 3000)
        assert reads == [0, 120, 180, 240, 300]


async def test_market_watcher_after_weeks_of_sleep_reads_the_timetable_at_once() -> None:
    """Another answer has shown the time: the clock is right again, and the timetable is over."""
    wall, loop = Wall(), asyncio.get_running_loop()

    async def fetch() -> list[MarketSession]:
        return timetable(*timetable_range(wall()))

    async with watching(wall, fetch) as market:
        waiting = asyncio.create_task(anext(market))  # type: ignore[arg-type]
        await asyncio.sleep(150)
        wall.off = timedelta(days=40, hours=4)  # 02-09, 16:02 UTC
        change = await waiting
        while f"{change.kind} {change.at:%m-%d %H:%M}" != "opened 02-09 14:30":
            change = await anext(market)
    assert loop.time() < 150 + 120


@for_each(
    "off, expected", [(timedelta(hours=2), 1800 + 60), (timedelta(hours=-2), 16200), (timedelta(days=-400), None)]
)
@on_virtual_time
async def test_market_watcher_set_wall_clock_reports_nothing_twice(off: timedelta, expected: int | None) -> None:
    wall, loop = Wall(), asyncio.get_running_loop()
    async with watching(wall) as market:
        waiting = asyncio.create_task(anext(market))  # type: ignore[arg-type]
        await asyncio.sleep(30)
        wall.off = off
        if expected is None:
            await raised_by(asyncio.wait_for(asyncio.shield(waiting), 24 * 3600), TimeoutError)
            wall.off = timedelta(0)
            await waiting
        else:
            assert (await waiting).kind == "opened"
            assert loop.time() == pytest.approx(expected, abs=60)
            wall.off = timedelta(hours=-1)
            assert await take(market, 1) == [("closed", "12-31 18:00")]


async def test_market_watcher_boundary_during_a_read_is_not_missed() -> None:
    wall, reads = Wall(), 0
    opening = DAYS[1].open_at

    def tricky() -> datetime:
        nonlocal reads
        reads += 1
        return max(wall(), opening - timedelta(microseconds=1)) + timedelta(microseconds=reads > 2)

    async with watching(wall, now=tricky) as market:
        assert await take(market, 1) == [("opened", "12-31 14:30")]
        assert asyncio.get_running_loop().time() < 1


async def test_market_watcher_with_a_state_reports_each_boundary_until_it_is_acknowledged() -> None:
    wall, state = Wall(), MemoryState()
    async with watching(wall, state=state) as market:
        change = await anext(market)
        assert (change.kind, f"{change.at:%m-%d %H:%M}") == ("opened", "12-31 14:30")
        await quiet(market, 12 * 3600)  # the closing waits
    async with watching(wall, state=state) as market:
        again = await anext(market)
        assert again == change
        assert again.kind is MarketKind.OPENED
        await quiet(market, 3600)
        async with again:
            pass
        assert await take(market, 1) == [("closed", "12-31 18:00")]
    wall.off = timedelta(days=5)  # the consumer was away for the whole of the next session
    async with watching(wall, state=state) as market:
        async with await anext(market) as change:
            assert (change.kind, change.key) == ("closed", date(2026, 12, 31))
        for kind in ("opened", "closed"):
            async with await anext(market) as change:
                assert (change.kind, change.key) == (kind, date(2027, 1, 4))
    assert len(state.items) == 1


async def test_market_watcher_with_a_state_begins_where_the_first_run_began() -> None:
    wall, state = Wall(), MemoryState()
    async with watching(wall, state=state) as market:
        await quiet(market, 60)
    wall.off = timedelta(hours=4)
    async with watching(wall, state=state, initial=True) as market:
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
    assert [each.kind for each in boundaries_after(boundaries(DAYS), mark)] == expected


SESSIONS = "/market-time/sessions"
WEEK = [converter.unstructure(each) for each in timetable(date(2026, 2, 27), date(2026, 3, 9))]
"""With a half-day, then a holiday. Daylight-saving time has begun on the last one."""


def market_brief(change: Change[Any]) -> str:
    elapsed = asyncio.get_running_loop().time()
    assert abs((NOON + timedelta(seconds=elapsed) - change.at).total_seconds()) < 1e-3, "reported when it happens"
    assert change.item.session_date == change.key
    assert (change.before is None, change.after is None) == (change.kind == "opened", change.kind == "closed")
    return f"{change.kind} {change.at.astimezone(UTC):%m-%d %H:%M}"


async def test_market_opens_and_closes_by_its_timetable(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = WEEK
    market = client.watch.market("Equity", interval=86_400)
    reported = [market_brief(await anext(market)) for _ in range(10)]
    assert [str(day) for day in market.snapshot] == [each["session-date"] for each in WEEK]
    await market.aclose()
    opened, closed = reported[::2], reported[1::2]
    assert opened == [*(f"opened 03-{day} 14:30" for day in ("02", "03", "05", "06")), "opened 03-09 13:30"]
    ends = ["02 21:00", "03 18:00", "05 21:00", "06 21:00", "09 20:00"]
    assert closed == [f"closed 03-{end}" for end in ends]
    assert service.times_of(SESSIONS) == [day * 86_400 for day in range(8)]
    asked = parse_qs(urlsplit(service.targets[0]).query)
    assert asked == {"from-date": ["2026-02-23"], "to-date": ["2026-03-12"], "instrument-collection": ["Equity"]}


async def test_market_moved_boundary_is_reported_once(service: Service, client: Client) -> None:
    early = WEEK[1] | {"open-at": "2026-03-02T09:45:00-05:00", "close-at": "2026-03-02T12:00:00-05:00"}
    service.answers[SESSIONS] = lambda _: WEEK if service.times[-1] < 4 * 3600 else [early, *WEEK[2:]]
    market = client.watch.market()
    reported = [await anext(market) for _ in range(3)]
    await market.aclose()
    assert [(change.kind, change.key.day) for change in reported] == [("opened", 2), ("closed", 2), ("opened", 3)]
    assert reported[1].at.hour == 12


def days_of(service: Service) -> list[list[str]]:
    """Return the first and last day that each request for sessions asks for."""
    queries = [parse_qs(urlsplit(target).query) for target in service.targets]
    return [[*query["from-date"], *query["to-date"]] for query in queries]


@pytest.mark.parametrize("first_answer", [[], 422], ids=["empty", "rejected"])
async def test_market_reads_again_when_the_answer_shows_another_date(
    service: Service, client: Client, first_answer: Any
) -> None:
    clock, wrong = Wall(NOON), timedelta(days=-30)
    clock.off = wrong  # until an answer has shown the time of the service

    def answer(target: str) -> Any:
        was, clock.off = clock.off, timedelta(0)
        return first_answer if was else WEEK

    service.answers[SESSIONS] = answer
    pace = Watch(client, now=clock).market_hours(trading=60, resting=3600)
    assert await pace() == 3600, "it is before the opening"
    assert days_of(service) == [WRONG_DAYS, RIGHT_DAYS]
    clock.off = wrong
    if first_answer == []:
        async with Watch(client, now=clock).market() as market:
            assert (await anext(market)).at == NOON + timedelta(hours=2.5)
        assert days_of(service)[2:4] == [WRONG_DAYS, RIGHT_DAYS]
        assert service.times[:4] == [0, 0, 0, 0]


@pytest.mark.parametrize("status", [200, 422])
async def test_market_date_that_changes_with_each_answer_is_read_twice(
    service: Service, client: Client, status: int
) -> None:
    clock = Wall(NOON)

    def answer(target: str) -> Any:
        clock.off += timedelta(days=30 if len(service.requests) < 9 else 0)
        return WEEK if status == 200 else status

    service.answers[SESSIONS] = answer
    pace = Watch(client, now=clock).market_hours(trading=60, resting=3600)
    with contextlib.nullcontext() if status == 200 else pytest.raises(errors.UnprocessableError):
        assert await pace() == 3600
    assert len(service.requests) == 2


@for_each("status, error", [(422, errors.UnprocessableError), (403, errors.PermissionDeniedError)])
async def test_market_hours_rejected_with_the_right_date_raises_at_once(
    service: Service, client: Client, status: int, error: type[Exception]
) -> None:
    service.requests.clear()
    service.answers[SESSIONS] = status
    await raised_by(client.watch.market_hours(trading=60, resting=3600)(), error)
    assert days_of(service) == [RIGHT_DAYS]


async def test_market_watchers_of_one_collection_share_their_reads(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = WEEK
    async with (
        client.watch.market("Equity") as one,
        client.watch.market("Equity", extended=True) as other,
        client.watch.market("Futures") as apart,
    ):
        changes = await asyncio.gather(*(anext(market) for market in (one, other, apart)))
    assert [change.kind for change in changes] == ["opened", "started", "opened"]
    read = [target for at, target in zip(service.times, service.targets, strict=True) if at == 0]
    assert sorted("Futures" in target for target in read) == [False, True]
