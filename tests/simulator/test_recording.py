"""Snapshots: a brokerage returns to a recorded state and has the same future."""

import asyncio
from pathlib import Path
from typing import Any

import attrs
import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.recording import RequestEntry, Snapshot, StateError
from brokerage_async.tickets import buy_to_open, limit, market
from tests.loops import on_virtual_time
from tests.trading import SMALL

pytestmark = pytest.mark.virtual_time


async def buy(sim: Simulator, ticket: Any) -> None:
    async with sim.client() as client:
        await client.orders.submit(sim.account_numbers[0], ticket)
        await asyncio.sleep(30)
    sim.settle()


@pytest.mark.parametrize("kept", [False, True])
async def test_restored_simulator_has_the_same_future(tmp_path: Path, kept: bool) -> None:
    sim = Simulator(**SMALL, **({"state": tmp_path / "state"} if kept else {}))
    await buy(sim, market(buy_to_open("AAPL", 10)))
    snapshot, before, now = sim.snapshot(), sim.ledger.history(), sim.clock.now()
    futures = []
    for _ in range(2):
        await buy(sim, limit(buy_to_open("MSFT", 5), price="20"))
        sim.set_price("AAPL", 5)
        futures.append(sim.ledger.history())
        sim.restore(snapshot)
        assert (sim.ledger.history(), sim.clock.now()) == (before, now)
        assert sim.price("AAPL") > 100
    assert futures[0] == futures[1] != before
    if kept:
        assert len(sim._file.entries()) == len(snapshot.entries)
        sim._file.close()


def test_past_is_repeated_or_refused_but_never_changed() -> None:
    @on_virtual_time
    async def main() -> None:
        sim = Simulator(**SMALL)
        await buy(sim, market(buy_to_open("AAPL", 10)))
        entries = [
            attrs.evolve(entry, record=attrs.evolve(entry.record, order_ids=("7",)))
            if isinstance(entry, RequestEntry) and entry.record.order_ids
            else entry
            for entry in sim.snapshot().entries
        ]
        with pytest.raises(StateError, match=r"POST /accounts/\w+/orders created other orders than before"):
            sim.restore(Snapshot(tuple(entries), sim.clock.now()))

    main()

    @on_virtual_time
    async def main() -> None:
        sim = Simulator(**SMALL)
        await buy(sim, market(buy_to_open("AAPL", 10)))
        snapshot, before = sim.snapshot(), sim.ledger.history()
        sim.rate_limit, sim.withdrawn_versions = 0, ["20250101"]
        sim.restore(snapshot)
        assert sim.ledger.history() == before
        assert (sim.rate_limit, sim.withdrawn_versions) == (0, {"20250101"})

    main()
