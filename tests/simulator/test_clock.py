"""Simulated time and scheduled events."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from brokerage_async.simulator.clock import DEFAULT_START, Clock, EventQueue
from tests.loops import VirtualLoop, run_in


def test_clock_starts_at_the_first_reading_and_never_goes_back() -> None:
    clock = Clock()
    start = DEFAULT_START.timestamp()
    assert clock.now() == start
    clock.advance(3600)
    assert start + 3600 <= clock.now() < start + 3601
    clock.set(DEFAULT_START + timedelta(days=2))
    assert clock.time - DEFAULT_START >= timedelta(days=2)
    naive = datetime(2027, 6, 10)  # noqa: DTZ001
    for act, value, message in (
        (clock.advance, -1, "cannot go back"),
        (clock.set, DEFAULT_START, "cannot go back"),
        (Clock, naive, "time zone"),
        (clock.set, naive, "time zone"),
    ):
        with pytest.raises(ValueError, match=message):
            act(value)
    clock.restore(DEFAULT_START.timestamp() + 60)
    assert DEFAULT_START.timestamp() + 60 <= clock.now() < DEFAULT_START.timestamp() + 61


def test_time_beyond_the_calendars_and_invalid_speed_raise() -> None:
    clock = Clock()
    before = clock.now()
    for seconds in (float("nan"), float("inf"), 1e300, 200 * 366 * 86400):
        with pytest.raises(ValueError, match="seconds must"):
            clock.advance(seconds)
    assert clock.now() - before < 60
    for year in (1970, 1971, 2191):
        with pytest.raises(ValueError, match=f"start must be in the years 1972 to 2190, got {year}-06-01"):
            Clock(datetime(year, 6, 1, tzinfo=UTC))
    for speed in (-1, 1e9, float("nan")):
        with pytest.raises(ValueError, match="speed must be from 0 to 86400"):
            Clock().speed = speed


def test_clock_continues_in_another_loop() -> None:
    clock = Clock(datetime(2026, 1, 5, tzinfo=UTC))

    class Shifted(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return super().time() - 1e9

    async def read() -> float:
        return clock.now()

    readings = []
    for loop in (asyncio.new_event_loop(), Shifted()):
        readings.append(loop.run_until_complete(read()))
        loop.close()
    assert readings[0] <= readings[1] < readings[0] + 1


def test_speed_scales_stops_and_never_jumps() -> None:
    async def main() -> list[float]:
        clock, start = Clock(), DEFAULT_START.timestamp()
        clock.now()
        readings = []
        for speed in (60.0, 0.0, 1.0):
            clock.speed = speed
            readings.append(clock.now() - start)
            await asyncio.sleep(10)
            readings.append(clock.now() - start)
        return readings

    assert run_in(VirtualLoop(), main()) == [0, 600, 600, 600, 600, 610]


def test_events_run_at_their_time_with_what_they_schedule_unless_cancelled() -> None:
    queue, seen = EventQueue(), list[float]()
    cancelled = queue.at(1, seen.append)
    for _ in range(2):
        cancelled.cancel()
    assert queue.next_due is None
    queue.at(1, lambda now: queue.at(now + 1, seen.append) and None)
    queue.at(5, seen.append)
    queue.run(3)
    assert seen == [2]
    queue.run(4.9)
    assert (seen, queue.next_due) == ([2], 5)
