"""Times of snapshots and intervals of a history."""

from datetime import UTC, date, datetime

from brokerage_async.models import NetLiqRange, TimeOfDay
from brokerage_async.simulator.api.balances import Interval, intervals, snapshots
from tests.tables import for_each


def at(moment: str) -> float:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


OPENED = at("2025-06-02T12:00")
NOW = at("2026-06-10T14:02")
"""Wednesday, 32 minutes after the opening."""


def test_snapshots_are_those_that_were_taken() -> None:
    taken = list(snapshots(date(2026, 6, 5), date.max, OPENED, NOW))
    assert [(f"{one.day:%d}", one.time_of_day) for one in taken] == [
        ("05", TimeOfDay.BOD), ("05", TimeOfDay.EOD), ("08", TimeOfDay.BOD), ("08", TimeOfDay.EOD),
        ("09", TimeOfDay.BOD), ("09", TimeOfDay.EOD), ("10", TimeOfDay.BOD),
    ]  # fmt: skip
    assert (taken[0].at, taken[1].at) == (at("2026-06-05T12:00"), at("2026-06-05T20:00"))
    first = next(snapshots(date.min, date.max, OPENED + 1, NOW))
    assert (first.day, first.time_of_day) == (date(2025, 6, 2), TimeOfDay.EOD)


def test_intervals_begin_at_the_opening_or_at_the_start_asked_for() -> None:
    assert list(Interval(0, 180, 60).times()) == [0, 60, 120, 180]
    assert list(Interval(0, 150, 60).times()) == [0, 60, 120, 150]
    rows = list(intervals({"time_back": NetLiqRange.DAY}, OPENED, NOW))
    assert (rows[0].start, rows[0].end, rows[0].step) == (at("2026-06-10T13:30"), at("2026-06-10T13:35"), 60)
    assert (rows[-1].start, rows[-1].end, len(rows)) == (at("2026-06-10T14:00"), NOW, 7)
    query = {"time_back": NetLiqRange.YEAR, "start_time": at("2026-06-09T13:30"), "end_time": at("2026-06-09T13:45")}
    assert [row.start for row in intervals(query, OPENED, NOW)] == [at(f"2026-06-09T13:{m}") for m in (30, 35, 40)]
    assert list(intervals({"start_time": NOW + 60}, OPENED, NOW)) == []


@for_each("now", ["2026-06-10T13:00", "2026-06-09T23:00"])
def test_a_day_is_the_last_session_while_the_market_is_closed(now: str) -> None:
    rows = list(intervals({"time_back": NetLiqRange.DAY}, OPENED, at(now)))
    assert (rows[0].start, rows[-1].end, len(rows)) == (at("2026-06-09T13:30"), at("2026-06-09T20:00"), 78)


@for_each(
    "time_back, count, length",
    [("1w", 5 * 7, 3600.0), ("1m", 22, 23400.0), ("3m", 64, 23400.0), ("1y", 252, 23400.0), ("all", 258, 23400.0)],
)
def test_longer_ranges_have_hours_or_sessions(time_back: str, count: int, length: float) -> None:
    rows = list(intervals({"time_back": NetLiqRange(time_back)}, OPENED, NOW))
    assert (len(rows), rows[0].end - rows[0].start) == (count, length)
    assert rows[-1].end == NOW
    assert rows == sorted(rows, key=lambda row: row.start)
