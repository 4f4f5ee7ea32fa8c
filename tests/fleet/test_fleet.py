"""The `Fleet`: its parts, its status, and its end, over an engine that the test plays."""

import asyncio
import os
from typing import Any
from unittest.mock import AsyncMock, Mock, call

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineStatus, Fleet, FleetStatus
from brokerage_async.observers import FeedLag
from tests.http.calls import raised_by


def member(state: str = "well") -> Any:
    return Mock(status=AsyncMock(return_value=state), aclose=AsyncMock())


@pytest.fixture
def engine() -> Any:
    """Return a client of an engine that answers every command."""
    answering = AsyncMock(return_value=b"PONG")
    return Mock(spec=["execute_command", "aclose"], execute_command=answering, aclose=AsyncMock())


def fleet_over(engine: Any, **options: Any) -> Fleet:
    return Fleet(engine, name="desk", **options)


async def test_status_names_engine_worker_and_parts(engine: Any) -> None:
    fleet = fleet_over(engine)
    for state in ("first", "second", "third"):
        fleet.add("limits", member(state))
    fleet.add("tokens", member("other"))
    found = await fleet.status()
    latency = found.engine.latency
    assert latency is not None
    assert 0 <= latency < 1
    assert found == FleetStatus(
        name="desk",
        worker=fleet.worker,
        engine=EngineStatus(is_away=False, away_for=None, reason=None, latency=latency),
        parts={"limits": "first", "limits 2": "second", "limits 3": "third", "tokens": "other"},
    )
    engine.execute_command.assert_awaited_once_with("PING")


@pytest.mark.virtual_time
async def test_status_while_the_engine_is_away_includes_the_parts(engine: Any) -> None:
    fleet = fleet_over(engine)
    fleet.add("limits", member())
    engine.execute_command.side_effect = OSError("top-secret")
    first = await fleet.status()
    assert first.engine == EngineStatus(is_away=True, away_for=0.0, reason="OSError", latency=None)
    assert first.parts == {"limits": "well"}
    await asyncio.sleep(3)
    later = (await fleet.status()).engine
    assert (later.is_away, later.away_for) == (True, 3.0)
    engine.execute_command.side_effect = None
    await asyncio.sleep(0.5)
    back = (await fleet.status()).engine
    assert (back.is_away, back.away_for, back.reason) == (False, None, None)
    assert "top-secret" not in repr([first, later])


async def test_aclose_closes_every_part_and_leaves_a_borrowed_client_open(engine: Any) -> None:
    parts = [member(), member()]
    async with fleet_over(engine) as fleet:
        for part in parts:
            fleet.add("limits", part)
    assert [part.aclose.await_count for part in parts] == [1, 1]
    await fleet.aclose()  # a second time
    assert engine.mock_calls == []
    await raised_by(fleet.status(), ConfigurationError, "the fleet is closed")


def test_worker_is_another_one_in_each_fleet_and_after_a_fork(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = fleet_over(engine), fleet_over(engine)
    assert one.worker != other.worker
    before, process = one.worker, os.getpid()
    assert one.worker == before
    monkeypatch.setattr(os, "getpid", lambda: process + 1)
    assert one.worker != before
    assert repr(one) == f"Fleet(name='desk', worker={one.worker!r})"


def test_report_reaches_observers_of_events_only(engine: Any) -> None:
    observing = Mock(on_event=Mock())  # from Python 3.12 on, protocols look for attributes that exist
    attempts_only = Mock(spec=[])
    lag = FeedLag(feed="things", group="", lag=1.0)
    fleet_over(engine, observers=[observing, attempts_only]).report(lag)
    assert observing.mock_calls == [call.on_event(lag)]
    attempts_only.assert_not_called()
