import itertools
import logging
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.watch.feed import MAX_LATENESS, MAX_RETRY_AFTER, Schedule
from tests.tables import for_each

seconds = st.floats(0.01, 100)


@given(seconds, st.lists(st.floats(0, 300), min_size=1, max_size=30))
def test_next_due_is_on_the_grid_and_skips_missed_polls(interval: float, durations: list[float]) -> None:
    schedule = Schedule(interval=interval)
    due = now = 1000.0
    for polls, duration in enumerate(durations, start=1):
        now = max(now, due) + duration  # a poll starts when it is due, or at once when that has passed
        following = schedule.next_due(due, interval, now)
        steps = (following - 1000.0) / interval
        assert steps == pytest.approx(round(steps), abs=1e-6)
        assert round(steps) >= polls
        assert following > due
        assert now - following <= MAX_LATENESS + 1e-9
        assert following <= max(due + interval, now + interval) + 1e-9
        due = following


@given(seconds, st.integers(2, 1000))
def test_next_due_short_polls_do_not_drift(interval: float, polls: int) -> None:
    schedule, due = Schedule(interval=interval), 0.0
    for _ in range(polls):
        due = schedule.next_due(due, interval, due + interval / 2)
    assert due == pytest.approx(polls * interval, rel=1e-9)


@given(st.integers(1, 2000), seconds, st.none() | st.floats(0, 500))
def test_backoff_grows_to_its_bound_and_honours_retry_after(
    failures: int, interval: float, retry_after: float | None
) -> None:
    schedule = Schedule(interval=interval, max_backoff=60)
    wait = schedule.backoff(failures, interval, retry_after)
    assert wait >= max(interval, retry_after or 0)  # as long as that is a patience that one may ask for
    assert wait <= max(interval, 60, retry_after or 0)
    assert schedule.backoff(failures + 1, interval, retry_after) >= wait


def test_backoff_doubles_up_to_the_maximum_and_retry_after_is_bounded() -> None:
    schedule = Schedule(interval=1)
    assert [schedule.backoff(failures, 1.0) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert schedule.backoff(1, 1.0, 86_400.0) == MAX_RETRY_AFTER


@for_each("wrong", [0, -1, math.nan, math.inf, None, "1", True])
async def test_current_invalid_result_of_pacing_raises(wrong: Any) -> None:
    async def pace() -> float:
        return wrong

    with pytest.raises(errors.ConfigurationError, match="result of the pacing function must be a number of seconds"):
        await Schedule(interval=pace, min_interval=1.0).current()


async def test_current_min_interval_bounds_numbers_and_pacing(caplog: pytest.LogCaptureFixture) -> None:
    async def hasty() -> float:
        return 0.1

    with caplog.at_level(logging.WARNING, "brokerage_async.watch"):
        assert await Schedule(interval=0.1, min_interval=1.0).current() == 1.0
    assert "below the minimum" in caplog.text
    assert await Schedule(interval=hasty, min_interval=1.0).current() == 1.0
    assert await Schedule(interval=2.0, min_interval=1.0).current() == 2.0


NAMES = ["interval", "min_interval", "jitter", "max_backoff"]
WRONG = [*itertools.product(NAMES, [None, "1", True, -1, math.nan, math.inf]), ("interval", 0)]


@for_each("name, wrong", [*WRONG, ("jitter", -0.1), ("jitter", 1.1)])
def test_schedule_invalid_seconds_raise(name: str, wrong: object) -> None:
    with pytest.raises(errors.ConfigurationError, match=name):
        Schedule(**({"interval": 1.0} | {name: wrong}))  # type: ignore[arg-type]
