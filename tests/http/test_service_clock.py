"""The service's time, from the Date headers of its answers."""

import email.utils
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.http.service_clock import ServiceClock
from tests.tables import for_each

NOON = "Wed, 10 Jun 2026 12:00:00 GMT"
AT_NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)


def at(seconds: float) -> str:
    """Return a ``Date`` header for a time given in seconds after noon."""
    return email.utils.format_datetime(AT_NOON + timedelta(seconds=seconds), usegmt=True)


def seconds_at(clock: ServiceClock, loop_time: float) -> float:
    """Return the seconds since noon at a time of the loop."""
    now = clock.now(loop_time)
    assert now is not None
    return (now - AT_NOON).total_seconds()


def test_observe_several_answers_narrow_the_time_down() -> None:
    clock = ServiceClock()
    clock.observe(at(0), 0.5, 0.9)
    assert seconds_at(clock, 0.9) == pytest.approx(0)
    clock.observe(at(1), 1.05, 1.1)  # the second had begun by then
    assert seconds_at(clock, 1.1) == pytest.approx(1)
    clock.observe(at(2), 2.9, 2.99)  # less precise
    assert seconds_at(clock, 2.99) == pytest.approx(2.89, abs=0.001)


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0, 3), st.floats(0, 3)), min_size=1, max_size=20))
def test_now_is_never_early_and_late_by_a_second_and_a_call_at_most(calls: list[tuple[float, float, float]]) -> None:
    clock, loop_time, offset = ServiceClock(), 0.0, 1234.567
    for pause, there, back in calls:
        sent = loop_time + pause
        loop_time = sent + there + back
        clock.observe(at(math.floor(sent + there + offset)), sent, loop_time)
        late = loop_time + offset - seconds_at(clock, loop_time)
        assert -1e-5 <= late <= 1 + back + 1e-5


@for_each("jump", [-3600, -2, 2, 3600, 86400 * 900])
def test_observe_contradicting_answer_replaces_the_earlier_ones(jump: int) -> None:
    clock = ServiceClock()
    clock.observe(at(0), 100.0, 100.0)
    clock.observe(at(10 + jump), 110.0, 110.0)
    assert seconds_at(clock, 110.0) == pytest.approx(10 + jump)


def test_observe_drifting_clock_is_followed() -> None:
    """Follow a clock that gains half a second an hour: no early answer may hold the time back for days."""
    clock = ServiceClock()
    for minute in range(0, 60 * 24 * 7, 5):
        loop_time = minute * 60.0
        truth = loop_time * (1 + 0.5 / 3600)
        clock.observe(at(math.floor(truth)), loop_time, loop_time)
        assert -0.1 <= truth - seconds_at(clock, loop_time) <= 1.1


def test_is_stale_after_this_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = 1e9
    monkeypatch.setattr("time.time", lambda: wall)
    clock = ServiceClock()
    assert not clock.is_stale(0.0)
    clock.observe(NOON, 0.0, 0.0)
    wall += 100
    assert not clock.is_stale(100.0)
    wall += 8 * 3600
    assert clock.is_stale(100.0)  # the loop's clock stood still
    clock.observe(at(8 * 3600 + 100), 100.0, 100.0)
    assert not clock.is_stale(100.0)
    wall -= 10**9
    assert not clock.is_stale(101.0)  # set back: it says nothing
    wall += 3600
    assert clock.is_stale(102.0)  # slept after that
    wall -= 3600
    assert clock.is_stale(103.0)  # set back: no answer has shown the time yet
    clock.observe(NOON, 104.0, 104.0)
    assert not clock.is_stale(104.0)


@for_each("date", [None, "", "yesterday", "Wed, 99 Jun 2026 12:00:00 GMT", "0", "x" * 10_000])
def test_observe_ignores_a_header_without_meaning(date: str | None) -> None:
    clock = ServiceClock()
    clock.observe(date, 1.0, 1.0)
    assert clock.now(1.0) is None


@for_each("year", ["0001", "9999"])
def test_now_at_the_ends_of_time_never_raises(year: str) -> None:
    clock = ServiceClock()
    clock.observe(f"Mon, 01 Jan {year} 00:00:00 GMT", 1.0, 1.0)
    clock.now(1e15)
    clock.now(-1e15)
