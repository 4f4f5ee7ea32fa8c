"""Snapshots and state files: a brokerage returns to a recorded state and has the same future. The ledger."""

import asyncio
import json
import os
import sqlite3
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from brokerage_async import Client, tickets
from brokerage_async.operation import Effect
from brokerage_async.simulator import PricePath, Simulator
from brokerage_async.simulator.ledger import Ledger
from brokerage_async.simulator.recording import RequestEntry, Snapshot, StateError, StateFile
from brokerage_async.tickets import buy_to_open
from tests.simulator.harness import Harness, limit, market
from tests.tables import for_each
from tests.trading import SMALL

pytestmark = pytest.mark.virtual_time


def simulator(path: Path, **options: Any) -> Simulator:
    return Simulator(**{"state": path, "seed": 3, **SMALL, **options})


async def trade(client: Client, account: str) -> None:
    """Leave a filled order, a working one, a cancelled one, an alert-free watchlist and a spent token."""
    await client.orders.submit(account, tickets.market(buy_to_open("AAPL", 10)))
    await asyncio.sleep(30)
    await client.orders.submit(account, tickets.limit(buy_to_open("AAPL", 5), price="20"))
    gone = await client.orders.submit(account, tickets.limit(buy_to_open("MSFT", 5), price="20"))
    await asyncio.sleep(5)
    await client.orders.cancel(account, gone.order.id or "")


async def books(client: Client, account: str) -> tuple[Any, ...]:
    orders = await client.orders.live("me", [account])
    positions = await client.positions.list(account)
    transactions = await client.transactions.list(account).collect()
    return orders, positions, transactions


async def test_restarted_simulator_has_the_same_books_clock_and_ledger(tmp_path: Path) -> None:
    first = simulator(tmp_path / "state")
    account = first.account_numbers[0]
    async with first.client() as client:
        await trade(client, account)
        kept = await books(client, account)
    first.set_price("MSFT", 99)
    first.expire_tokens()
    first._file.close()  # the process ends here without closing anything else
    second = simulator(tmp_path / "state", start=datetime(2030, 1, 1, tzinfo=UTC))  # counts for a new file only
    assert second.ledger.history() == first.ledger.history().replace('"delivered": true', '"delivered": null')
    assert (second.clock.now(), second.price("MSFT")) == (first.clock.now(), 99)
    async with second.client() as client:
        assert await books(client, account) == kept
        await trade(client, account)
    second._file.close()
    assert {str(order.status) for order in kept[0]} == {"Filled", "Live", "Cancel Requested"}


def test_other_options_raise_and_leave_it_closed(tmp_path: Path) -> None:
    simulator(tmp_path / "state")._file.close()
    for name, other, message in (("seed", 4, "3 for the state file .*, got 4"), ("environment", "production", "")):
        with pytest.raises(StateError, match=f"{name} must be {message}"):
            simulator(tmp_path / "state", **{name: other})
        simulator(tmp_path / "state")._file.close()


def test_file_belongs_to_one_simulator_at_a_time(tmp_path: Path) -> None:
    sim = simulator(tmp_path / "state")
    with pytest.raises(StateError, match=r"cannot open the state file .*: another simulator uses it"):
        simulator(tmp_path / "state")
    sim._file.close()
    simulator(tmp_path / "state")._file.close()
    sim = simulator(tmp_path / "state", prices={"AAPL": PricePath([(0, 5)])})
    assert sim.price("AAPL") == 5
    with pytest.raises(StateError, match="set_source cannot be kept in a state file: pass prices="):
        sim.set_source("AAPL", PricePath([(0, 6)]))
    sim._file.close()


@pytest.mark.skipif(sys.platform == "win32", reason="modes of Unix")
def test_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    simulator(tmp_path / "state")._file.close()
    assert stat.S_IMODE(os.stat(tmp_path / "state").st_mode) == 0o600


def used_file(path: Path) -> Path:
    path.unlink(missing_ok=True)
    sim = simulator(path)
    sim.set_price("AAPL", 5)
    sim._file.close()
    return path


def test_file_of_another_kind_or_truncated_raises_and_stays_unlocked(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be seen as one" * 100)
    for path in (tmp_path / "text", tmp_path):
        with pytest.raises(StateError, match="cannot open the state file"):
            StateFile(path)
    content = used_file(tmp_path / "state").read_bytes()
    for size in (10, 100, 4096, len(content) // 2):
        (tmp_path / "state").write_bytes(content[:size])
        for _ in range(2):  # the second time it would be locked if the first one had left it open
            with pytest.raises(StateError, match=r"not a database|malformed"):
                simulator(tmp_path / "state")


@for_each(
    "change, message",
    [
        ("UPDATE settings SET value = '1' WHERE name = 'format'", "was written by another version"),
        ("DELETE FROM settings WHERE name = 'start'", "is damaged"),
        ("UPDATE settings SET value = 'x' WHERE name = 'start'", "is damaged"),
        ("DROP TABLE settings; CREATE TABLE settings (a)", "is damaged"),
        ("UPDATE entries SET action = 'nope'", "nope cannot be repeated"),
        ('UPDATE entries SET content = \'{"symbol": "AAPL"}\'', "set_price cannot be repeated"),
        ('UPDATE entries SET content = \'{"symbol": "AAPL", "price": "-1"}\'', "set_price cannot be repeated"),
        ("UPDATE entries SET content = 'null'", "is damaged"),
        ("UPDATE entries SET at = 'noon'", "is damaged"),
        ("INSERT INTO entries (at, content) VALUES (1, '{')", "is damaged"),
        ('UPDATE entries SET action = NULL, content = \'{"record": {"zap": 1}}\'', "is damaged"),
    ],
)
def test_file_that_cannot_be_repeated_raises(tmp_path: Path, change: str, message: str) -> None:
    connection = sqlite3.connect(used_file(tmp_path / "state"))
    connection.executescript(change)
    connection.close()
    with pytest.raises(StateError, match=message):
        simulator(tmp_path / "state")


@pytest.mark.virtual_time(False)
async def test_leaving_the_simulator_closes_the_file(tmp_path: Path) -> None:
    for count in (1, 2):
        async with simulator(tmp_path / "state") as sim, sim.client() as client:
            await client.watchlists.list()
            assert sim.ledger.count("watchlists.list") == count


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


async def test_past_is_repeated_or_refused_but_never_changed(tmp_path: Path) -> None:
    sim = Simulator(state=tmp_path / "state", **SMALL)
    await buy(sim, tickets.market(buy_to_open("AAPL", 10)))
    snapshot, before = sim.snapshot(), sim.ledger.history()
    sim.rate_limit, sim.withdrawn_versions = 0, ["20250101"]
    sim.restore(snapshot)
    assert sim.ledger.history() == before
    assert (sim.rate_limit, sim.withdrawn_versions) == (0, {"20250101"})
    *entries, submit = snapshot.entries
    assert isinstance(submit, RequestEntry)
    changed = attrs.evolve(submit, record=attrs.evolve(submit.record, order_ids=("7",)))
    with pytest.raises(StateError, match=r"POST /accounts/\w+/orders created other orders than before"):
        sim.restore(Snapshot((*entries, changed), sim.clock.now()))
    assert sim.ledger.history() == before
    sim.set_price("AAPL", 5)
    assert len(sim._file.entries()) == len(snapshot.entries) + 1
    sim._file.close()


def test_orders_requests_and_transitions_are_recorded(harness: Harness) -> None:
    ledger, third = harness.sim.ledger, harness.accounts[2]
    first, second = (harness.place(limit(external_identifier="a"), account) for account in (None, third))
    assert [record.order_id for record in ledger.orders(external_identifier="a")] == [first, second]
    assert [record.order_id for record in ledger.orders(account_number=third)] == [second]
    assert ledger.orders(external_identifier="b") == []
    identifier = harness.trade(market())
    events = [event for event in ledger.events if event.order_id == identifier]
    assert [event.before for event in events] == [None, "Received", "Routed", "In Flight", "Live"]
    assert [event.terminal for event in events] == [False, False, False, False, True]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert [event.seq for event in ledger.events] == list(range(1, len(ledger.events) + 1))


def test_history_has_requests_and_transitions_by_time_as_json_lines(harness: Harness) -> None:
    ledger = Ledger()
    moved = {"order_id": "7", "account_number": "A", "external_identifier": None, "before": None, "after": "Received"}
    ledger.record_request(2.0, "GET", "/b")
    ledger.transition(now=1.5, terminal=False, **moved)
    ledger.transition(now=1.0, terminal=False, **moved)
    ledger.record_request(1.0, "GET", "/a")
    lines = [json.loads(line) for line in ledger.history().splitlines()]
    assert [(line["at"], line.get("target")) for line in lines] == [(1.0, "/a"), (1.0, None), (1.5, None), (2.0, "/b")]
    identifier = harness.place(limit(external_identifier="mine"))
    harness.ask("GET", "/watchlists", authorization=None)
    ledger = harness.sim.ledger
    *_, placed, refused = ledger.requests
    assert (refused.operation, refused.processed, refused.status) == ("watchlists.list", False, 401)
    assert (placed.operation, placed.effect, placed.processed) == ("orders.submit", Effect.MUTATE, True)
    assert (placed.external_identifiers, placed.order_ids) == (("mine",), (identifier,))
    assert (ledger.count("orders.submit"), ledger.count("watchlists.list"), ledger.count("oauth.token")) == (1, 1, 1)
    assert [entry.operation for entry in ledger.processed()] == ["oauth.token", "orders.submit"]
    assert list(ledger.processed("watchlists.list")) == []
