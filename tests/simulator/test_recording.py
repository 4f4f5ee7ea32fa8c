"""Snapshots: a brokerage returns to a recorded state and has the same future. The ledger."""

import asyncio
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from brokerage_async import tickets
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.ledger import Ledger
from brokerage_async.simulator.recording import RequestEntry, Snapshot, StateError
from brokerage_async.tickets import buy_to_open
from tests.simulator.harness import Harness, limit, market
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
    await buy(sim, tickets.market(buy_to_open("AAPL", 10)))
    snapshot, before, now = sim.snapshot(), sim.ledger.history(), sim.clock.now()
    futures = []
    for _ in range(2):
        await buy(sim, tickets.limit(buy_to_open("MSFT", 5), price="20"))
        sim.set_price("AAPL", 5)
        futures.append(sim.ledger.history())
        sim.restore(snapshot)
        assert (sim.ledger.history(), sim.clock.now()) == (before, now)
        assert sim.price("AAPL") > 100
    assert futures[0] == futures[1] != before
    if kept:
        assert len(sim._file.entries()) == len(snapshot.entries)
        sim._file.close()


async def test_past_is_repeated_or_refused_but_never_changed() -> None:
    sim = Simulator(**SMALL)
    await buy(sim, tickets.market(buy_to_open("AAPL", 10)))
    snapshot, before = sim.snapshot(), sim.ledger.history()
    sim.rate_limit, sim.withdrawn_versions = 0, ["20250101"]
    sim.restore(snapshot)
    assert sim.ledger.history() == before
    assert (sim.rate_limit, sim.withdrawn_versions) == (0, {"20250101"})
    entries = [
        attrs.evolve(entry, record=attrs.evolve(entry.record, order_ids=("7",)))
        if isinstance(entry, RequestEntry) and entry.record.order_ids
        else entry
        for entry in snapshot.entries
    ]
    with pytest.raises(StateError, match=r"POST /accounts/\w+/orders created other orders than before"):
        sim.restore(Snapshot(tuple(entries), sim.clock.now()))


def test_orders_requests_and_transitions_are_recorded(harness: Harness) -> None:
    first = harness.place(limit(external_identifier="a"))
    second = harness.place(limit(external_identifier="a"), harness.accounts[2])
    ledger = harness.sim.ledger
    assert [record.order_id for record in ledger.orders(external_identifier="a")] == [first, second]
    assert [record.order_id for record in ledger.orders(account_number=harness.accounts[2])] == [second]
    assert ledger.orders(external_identifier="b") == []
    identifier = harness.trade(market())
    events = [event for event in harness.sim.ledger.events if event.order_id == identifier]
    assert [event.before for event in events] == [None, "Received", "Routed", "In Flight", "Live"]
    assert [event.terminal for event in events] == [False, False, False, False, True]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert [event.seq for event in harness.sim.ledger.events] == list(range(1, len(harness.sim.ledger.events) + 1))


def test_history_has_requests_and_transitions_by_time_as_json_lines(harness: Harness) -> None:
    ledger = Ledger()
    moved = {"order_id": "7", "account_number": "A", "external_identifier": None, "before": None, "after": "Received"}
    ledger.record_request(2.0, "GET", "/b")
    ledger.transition(now=1.5, terminal=False, **moved)
    ledger.transition(now=1.0, terminal=False, **moved)
    ledger.record_request(1.0, "GET", "/a")
    lines = [json.loads(line) for line in ledger.history().splitlines()]
    assert [(line["at"], line.get("target")) for line in lines] == [(1.0, "/a"), (1.0, None), (1.5, None), (2.0, "/b")]
    harness.place(limit())
    harness.ask("GET", "/watchlists", authorization=None)
    ledger = harness.sim.ledger
    assert (ledger.count("orders.submit"), ledger.count("watchlists.list"), ledger.count("oauth.token")) == (1, 1, 1)
    assert [entry.operation for entry in ledger.processed()] == ["oauth.token", "orders.submit"]
    assert list(ledger.processed("watchlists.list")) == []
