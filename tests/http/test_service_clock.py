"""The service's time, from the Date headers of its answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from brokerage_async.http.service_clock import ServiceClock
from brokerage_async.order_entry import OrderEntry
from tests.loops import on_virtual_time
from tests.trading import floor, order

NOON = "Wed, 10 Jun 2026 12:00:00 GMT"
AT_NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)


def test_now_before_any_answer_is_unknown() -> None:
    assert ServiceClock().now(5.0) is None


def test_now_follows_the_clock_of_the_loop() -> None:
    clock = ServiceClock()
    clock.observe(NOON, 100.0)
    assert clock.now(100.0) == AT_NOON
    assert clock.now(160.5) == AT_NOON + timedelta(seconds=60.5)


def test_observe_reads_a_header_every_half_minute_only() -> None:
    clock = ServiceClock()
    clock.observe(NOON, 100.0)
    clock.observe("Wed, 10 Jun 2026 13:00:00 GMT", 129.0)
    assert clock.now(130.0) == AT_NOON + timedelta(seconds=30)
    clock.observe("Wed, 10 Jun 2026 13:00:00 GMT", 131.0)
    assert clock.now(131.0) == AT_NOON + timedelta(hours=1)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Wed, 99 Jun 2026 12:00:00 GMT", "0", "x" * 10_000])
def test_observe_ignores_a_header_without_meaning(date: str | None) -> None:
    clock = ServiceClock()
    clock.observe(date, 1.0)
    assert clock.now(1.0) is None


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_now_at_the_ends_of_time_never_raises(year: str) -> None:
    clock = ServiceClock()
    clock.observe(f"Mon, 01 Jan {year} 00:00:00 GMT", 1.0)
    clock.now(1e15)
    clock.now(-1e15)


@on_virtual_time
async def test_session_knows_the_time_of_the_service_after_its_first_answer() -> None:
    """Whatever the clock of this machine says: the simulated day is one in June."""
    async with floor() as here:
        assert here.client.session.service_now() is None
        await OrderEntry(here.client, here.journal).place(here.account, order())
        now = here.client.session.service_now()
        assert now is not None
        assert abs(now.timestamp() - here.sim.clock.now()) < 2
