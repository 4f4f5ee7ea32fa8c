import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from brokerage_async.simulator.clock import DEFAULT_START, Clock


def test_clock_starts_at_the_first_reading_and_can_be_advanced() -> None:
    clock = Clock()
    start = DEFAULT_START.timestamp()
    assert clock.now() == start
    clock.advance(3600)
    assert start + 3600 <= clock.now() < start + 3601
    clock.set(DEFAULT_START + timedelta(days=2))
    assert clock.time - DEFAULT_START >= timedelta(days=2)


def test_clock_never_goes_back() -> None:
    clock = Clock()
    clock.advance(10)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.set(DEFAULT_START)


def test_naive_datetime_raises() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Clock(datetime(2026, 6, 10))  # noqa: DTZ001
    with pytest.raises(ValueError, match="time zone"):
        Clock().set(datetime(2027, 6, 10))  # noqa: DTZ001


@pytest.mark.parametrize("year", [1970, 1971, 2191])
def test_start_beyond_the_calendars_raises(year: int) -> None:
    with pytest.raises(ValueError, match=f"start must be in the years 1972 to 2190, got {year}-06-01"):
        Clock(datetime(year, 6, 1, tzinfo=UTC))


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
