"""Pump: events of the simulator come without a request while a stream is open."""

import asyncio

import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.transports.memory import Pump
from tests.stream.world import SMALL

pytestmark = pytest.mark.virtual_time


def pumped() -> tuple[Simulator, Pump]:
    """Return a simulator with an open stream, and a pump."""
    sim = Simulator(**SMALL)
    sim.clock.now()
    assert sim.brokerage.streams.open("/streams/account", sim.clock.now()) is not None
    return sim, Pump(sim.brokerage, sim.clock)


def schedule(sim: Simulator, seconds: float, times: list[float]) -> None:
    """Note when an event of the simulator runs."""
    loop = asyncio.get_running_loop()
    sim.brokerage.state.event_queue.at(sim.clock.now() + seconds, lambda _: times.append(loop.time()))


async def test_events_run_when_they_are_due_however_late_they_were_scheduled() -> None:
    sim, pump = pumped()
    times: list[float] = []
    schedule(sim, 5.0, times)
    pump.start()
    pump.start()
    start = asyncio.get_running_loop().time()
    await asyncio.sleep(1)
    schedule(sim, 2.0, times)
    await asyncio.sleep(10)
    assert [round(at - start, 3) for at in times] == [3.0, 5.0]
    await pump.stop()
    await pump.stop()
    sim, pump = pumped()
    times: list[float] = []
    schedule(sim, 3000.0, times)
    pump.start()
    await asyncio.sleep(1)
    sim.clock.advance(4000)
    await asyncio.sleep(0.1)
    assert len(times) == 1
    await pump.stop()


async def test_pump_ends_with_the_last_connection() -> None:
    sim, pump = pumped()
    pump.start()
    pump.check()
    assert any(task.get_name() == "simulator streams" for task in asyncio.all_tasks())
    sim.streams.forget(sim.streams.sessions[0])
    pump.check()
    pump.check()
    await asyncio.sleep(0)
    assert not any(task.get_name() == "simulator streams" for task in asyncio.all_tasks())
    assert sim.brokerage.state.event_queue.on_schedule is None
    assert sim.clock.on_advance is None
