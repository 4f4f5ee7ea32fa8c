"""Market hours: boundaries, and pacing of polls."""

import asyncio
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async._generated.models import MarketSession
from brokerage_async.protocol.timetable import is_open, timetable_range
from brokerage_async.watch.market import MarketHours, boundaries, interval_at
from tests.tables import for_each

NEW_YORK = ZoneInfo("America/New_York")
HOLIDAYS = {date(2026, 11, 26)}
HALF_DAYS = {date(2026, 11, 27)}


def at(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime.combine(day, time(hour, minute), NEW_YORK)


def session(day: date) -> MarketSession:
    """Return a day of the equity market: 9:30 to 16:00, on half-days to 13:00, with extended hours around it."""
    return MarketSession(
        start_at=at(day, 8),
        open_at=at(day, 9, 30),
        close_at=at(day, 13) if day in HALF_DAYS else at(day, 16),
        close_at_ext=at(day, 17) if day in HALF_DAYS else at(day, 20),
        instrument_collection="Equity",
        session_date=day,
    )


def timetable(first: date, last: date) -> list[MarketSession]:
    days = [first + timedelta(days=count) for count in range((last - first).days + 1)]
    return [session(day) for day in days if day.weekday() < 5 and day not in HOLIDAYS]


def brief(sessions: list[MarketSession], **options: Any) -> list[str]:
    return [f"{each.kind} {each.at.astimezone(UTC):%m-%d %H:%M}" for each in boundaries(sessions, **options)]


def test_boundaries_across_a_holiday_and_a_half_day() -> None:
    assert brief(timetable(date(2026, 11, 25), date(2026, 11, 30))) == [
        "opened 11-25 14:30",
        "closed 11-25 21:00",
        "opened 11-27 14:30",
        "closed 11-27 18:00",
        "opened 11-30 14:30",
        "closed 11-30 21:00",
    ]


@for_each(
    "friday, expected",
    [
        (date(2026, 3, 6), ["opened 03-06 14:30", "closed 03-06 21:00", "opened 03-09 13:30", "closed 03-09 20:00"]),
        (date(2026, 10, 30), ["opened 10-30 13:30", "closed 10-30 20:00", "opened 11-02 14:30", "closed 11-02 21:00"]),
    ],
)
def test_boundaries_across_a_change_of_daylight_saving_time(friday: date, expected: list[str]) -> None:
    assert brief(timetable(friday, friday + timedelta(days=3))) == expected


def test_boundaries_extended_and_missing_times() -> None:
    day = date(2026, 11, 27)
    kinds = ["started 11-27 13:00", "opened 11-27 14:30", "closed 11-27 18:00", "ended 11-27 22:00"]
    assert brief([session(day)], extended=True) == kinds
    assert brief([MarketSession(open_at=at(day, 9, 30)), MarketSession()], extended=True) == ["opened 11-27 14:30"]


def test_boundary_moved_by_a_new_timetable_stays_equal() -> None:
    day = date(2026, 11, 25)
    early = MarketSession(open_at=at(day, 9, 30), close_at=at(day, 12), session_date=day)
    assert set(boundaries([session(day)])) == set(boundaries([early]))


def test_boundary_change_reports_begin_and_end() -> None:
    day = date(2026, 11, 25)
    opened, closed = (each.change() for each in boundaries([session(day)]))
    assert (opened.kind, opened.key, opened.before, opened.after) == ("opened", day, None, session(day))
    assert (closed.kind, closed.key, closed.before, closed.after) == ("closed", day, session(day), None)
    assert opened.at == at(day, 9, 30)
    assert closed.item == session(day)


WEEKS = timetable(date(2026, 11, 16), date(2026, 12, 4))
moments = st.datetimes(datetime(2026, 11, 17), datetime(2026, 12, 3), timezones=st.just(UTC))  # noqa: DTZ001


@given(moments, st.booleans())
def test_is_open_between_opening_and_closing(now: datetime, extended: bool) -> None:
    passed = [each for each in boundaries(WEEKS, extended=extended) if each.at <= now]
    last = passed[-1]
    begins = {"started", "opened", "closed"} if extended else {"opened"}
    assert is_open(WEEKS, now, extended=extended) is (last.kind in begins)


@given(moments, st.floats(0.5, 10), st.floats(10, 100_000))
def test_interval_at_never_sleeps_past_an_opening(now: datetime, trading: float, resting: float) -> None:
    interval = interval_at(WEEKS, now, trading=trading, resting=resting)
    if is_open(WEEKS, now):
        assert interval == trading
    else:
        assert 0 < interval <= resting
        coming = min(each.at for each in boundaries(WEEKS) if each.at > now)
        assert now + timedelta(seconds=interval) <= coming + timedelta(microseconds=1)
        assert interval == resting or now + timedelta(seconds=interval) == coming


def test_interval_at_unknown_future_is_resting() -> None:
    assert interval_at([], datetime.now(UTC), trading=1, resting=60) == 60


@given(moments)
def test_timetable_range_includes_last_and_next_session(now: datetime) -> None:
    first, last = timetable_range(now)
    known = boundaries(timetable(first, last))
    assert known[0].at < now < known[-1].at


class Reader:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.times: list[float] = []

    async def __call__(self) -> list[MarketSession]:
        self.times.append(asyncio.get_running_loop().time())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def hours(reader: Reader, start: datetime) -> MarketHours:
    loop = asyncio.get_running_loop()
    return MarketHours(reader, trading=60, resting=600, now=lambda: start + timedelta(seconds=loop.time()))


@pytest.mark.virtual_time
async def test_market_hours_read_the_timetable_once_an_hour() -> None:
    reader = Reader(WEEKS)
    pace = hours(reader, at(date(2026, 11, 27), 9, 15))
    waits = []
    while asyncio.get_running_loop().time() < 4 * 3600:
        waits.append(await pace())
        await asyncio.sleep(waits[-1])
    assert waits[:3] == [600, 300, 60]
    assert waits.count(60) == 3.5 * 60
    assert waits[-1] == 600
    assert reader.times == [0, 3600, 7200, 10800]


@pytest.mark.virtual_time
async def test_market_hours_transient_failures_count_as_open(caplog: pytest.LogCaptureFixture) -> None:
    reader = Reader(errors.ServerError(status=502), WEEKS, errors.ResponseLostError(), [])
    pace = hours(reader, at(date(2026, 11, 26), 10))
    assert await pace() == 60  # not known: taken for open
    assert await pace() == 60
    await asyncio.sleep(60)
    assert await pace() == 600
    await asyncio.sleep(3600)
    assert await pace() == 600
    assert reader.times == [0, 60, 3660]
    assert caplog.messages == [
        "reading the market timetable failed: ServerError",
        "reading the market timetable failed: ResponseLostError",
    ]


async def test_market_hours_fatal_failure_raises() -> None:
    with pytest.raises(errors.PermissionDeniedError):
        await hours(Reader(errors.PermissionDeniedError(status=403)), at(date(2026, 11, 26), 10))()


@pytest.mark.virtual_time
async def test_market_hours_slow_timetable_does_not_delay_polls(caplog: pytest.LogCaptureFixture) -> None:
    async def never() -> list[MarketSession]:
        await asyncio.sleep(3600)
        raise AssertionError("this read must time out")

    loop = asyncio.get_running_loop()
    pace = MarketHours(never, trading=1, resting=60, now=lambda: at(date(2026, 11, 27), 10))
    assert [await pace(), await pace()] == [1, 1]
    assert loop.time() == MarketHours.READ_TIMEOUT
    assert caplog.messages == ["reading the market timetable failed: TimeoutError"]
