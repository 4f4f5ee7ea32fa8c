"""The `Fleet`: its parts, its status, and its end, over an engine that the test plays."""

import asyncio
import os
from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineStatus, Fleet, FleetStatus
from brokerage_async.observers import Attempt, Event, FeedLag


class Engine:
    """A client of an engine that answers every command, or fails."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.commands: list[tuple[Any, ...]] = []
        self.closed = 0

    async def execute_command(self, *command: Any) -> bytes:
        self.commands.append(command)
        if self.failure is not None:
            raise self.failure
        return b"PONG"

    async def aclose(self) -> None:
        self.closed += 1


class Member:
    def __init__(self, state: str = "well") -> None:
        self.state = state
        self.closed = 0

    async def status(self) -> str:
        return self.state

    async def aclose(self) -> None:
        self.closed += 1


@pytest.fixture
def engine() -> Engine:
    return Engine()


def fleet_over(engine: Any, **options: Any) -> Fleet:
    return Fleet(engine, name="desk", **options)


async def test_status_names_engine_worker_and_parts(engine: Engine) -> None:
    fleet = fleet_over(engine)
    for state in ("first", "second", "third"):
        fleet.add("limits", Member(state))
    fleet.add("tokens", Member("other"))
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
    assert engine.commands == [("PING",)]


@pytest.mark.virtual_time
async def test_status_while_the_engine_is_away_includes_the_parts(engine: Engine) -> None:
    fleet = fleet_over(engine)
    fleet.add("limits", Member())
    engine.failure = OSError("top-secret")
    first = await fleet.status()
    assert first.engine == EngineStatus(is_away=True, away_for=0.0, reason="OSError", latency=None)
    assert first.parts == {"limits": "well"}
    await asyncio.sleep(3)
    later = (await fleet.status()).engine
    assert (later.is_away, later.away_for) == (True, 3.0)
    engine.failure = None
    await asyncio.sleep(0.5)
    back = (await fleet.status()).engine
    assert (back.is_away, back.away_for, back.reason) == (False, None, None)
    assert "top-secret" not in repr([first, later])


async def test_aclose_closes_every_part_and_leaves_a_borrowed_client_open(engine: Engine) -> None:
    parts = [Member(), Member()]
    async with fleet_over(engine) as fleet:
        for part in parts:
            fleet.add("limits", part)
    assert [part.closed for part in parts] == [1, 1]
    await fleet.aclose()  # a second time
    assert (engine.closed, engine.commands) == (0, [])
    with pytest.raises(ConfigurationError, match="the fleet is closed"):
        await fleet.status()


def test_worker_is_another_one_in_each_fleet_and_after_a_fork(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = fleet_over(engine), fleet_over(engine)
    assert one.worker != other.worker
    before, process = one.worker, os.getpid()
    assert one.worker == before
    monkeypatch.setattr(os, "getpid", lambda: process + 1)
    assert one.worker != before
    assert repr(one) == f"Fleet(name='desk', worker={one.worker!r})"


def test_report_reaches_observers_of_events_only(engine: Engine) -> None:
    events: list[Event] = []

    class Observing:
        def __call__(self, attempt: Attempt) -> None:
            raise AssertionError("a fleet makes no calls")

        def on_event(self, event: Event) -> None:
            events.append(event)

    def attempts_only(attempt: Attempt) -> None:
        raise AssertionError("a fleet makes no calls")

    lag = FeedLag(feed="things", group="", lag=1.0)
    fleet_over(engine, observers=[Observing(), attempts_only]).report(lag)
    assert events == [lag]
