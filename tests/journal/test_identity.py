"""Orders that the service shows in another form than they were sent in, on every journal."""

import logging
from typing import Any

import attrs
import pytest

from brokerage_async import Client, tickets
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import EntryState, Journal
from brokerage_async.order_entry import ChangeOutcome, OrderEntry, Outcome, Placement, ReconcilePolicy
from brokerage_async.simulator import Simulator, faults
from tests.trading import LISTS, SMALL, bracket_order, exclusive_orders, order

POLICY = ReconcilePolicy(first=0.01, visibility_delay=0.05, max_interval=0.02, give_up=0.1)
BOTH = "AAPL was sent as Sell to Close and the service has Sell to Open"


def single(name: str) -> Any:
    order = tickets.limit(tickets.sell_to_close("AAPL", 10), price=900)
    return attrs.evolve(order, external_identifier=name, advanced_instructions=None)


def exclusive(name: str) -> Any:
    made = exclusive_orders(name)
    return attrs.evolve(made, orders=tuple(attrs.evolve(each, advanced_instructions=None) for each in made.orders))


async def place_in_every_way(sim: Simulator, client: Client, journal: Journal, kind: str, make: Any) -> list[Placement]:
    """Place an order that is answered, one whose answer is lost, and one that is recovered and then asked for again."""
    account, allowed = sim.account_numbers[0], ["closing_with_no_position"]
    first, later = (OrderEntry(client, journal, reconcile=POLICY) for _ in range(2))

    async def place(entry: OrderEntry, name: str) -> Placement:
        placement: Placement = await getattr(entry, kind)(account, make(f"{kind} {name}"), allow_warnings=allowed)
        return placement

    answered = await place(first, "answered")
    sim.faults.add("POST", r"orders$", "drop_after")
    lost = await place(first, "lost")
    sim.faults.add("POST", r"orders$", "drop_after")
    sim.faults.add("GET", rf"{LISTS}|/complex-orders", faults.status(403), times=None)
    with pytest.raises(OrderOutcomeUnknownError):
        await place(first, "left")
    sim.faults.clear()
    (recovered,) = await later.recover()
    placements = [answered, lost, recovered, await place(later, "left")]
    assert [placement.outcome for placement in placements] == [Outcome.PLACED] * 4
    assert sim.ledger.count(f"{'complex_orders' if kind == 'place_complex' else 'orders'}.submit") == 3
    return placements


async def test_close_that_became_an_opening_is_ours(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    for kind, make, components in (("place", single, 1), ("place_complex", exclusive, 2)):
        sim = Simulator(**SMALL)
        caplog.clear()
        async with sim.client(transport=sim.transport()) as client:
            with caplog.at_level(logging.WARNING, "brokerage_async.order_entry"):
                placements = await place_in_every_way(sim, client, journal, kind, make)
        changed = ["position_effect_changed"] * components
        dry_run = ["closing_with_no_position"] * components
        codes = [[warning.code for warning in placement.warnings] for placement in placements]
        assert codes == [dry_run + changed, dry_run + changed, changed, changed]
        assert [placement.note for placement in placements if BOTH not in placement.note] == []
        assert caplog.text.count("position_effect_changed") == 3 * components
        entries = await journal.entries("sandbox")
        assert {entry.state for entry in entries} == {EntryState.PLACED}
        assert [entry.note for entry in entries if BOTH not in entry.note] == []


async def test_order_that_shows_no_identifier_is_known_by_everything_else(journal: Journal) -> None:
    """It is cancelled by its id."""
    for kind, make in (("place", order), ("place_complex", bracket_order)):
        sim = Simulator(**SMALL, without=["external_identifier_echoed"])
        async with sim.client(transport=sim.transport()) as client:
            placements = await place_in_every_way(sim, client, journal, kind, make)
            codes = [[warning.code for warning in placement.warnings] for placement in placements]
            assert codes == [["identifier_not_echoed"]] * 4
            assert [each.note for each in placements if "shows no external identifier" not in each.note] == []
            ids = [str(placement.order_id) for placement in placements]
            assert (ids[2], len(set(ids))) == (ids[3], 3)
            sim.clock.advance(5)  # an order in flight cannot be cancelled yet
            entry = OrderEntry(client, journal, reconcile=POLICY)
            cancel = entry.cancel if kind == "place" else entry.cancel_complex
            assert (await cancel(sim.account_numbers[0], ids[0])).outcome is ChangeOutcome.APPLIED


async def test_close_of_nothing_is_refused_by_default() -> None:
    sim = Simulator(**SMALL)
    async with sim.client(transport=sim.transport()) as client:
        entry = client.order_entry()
        order = tickets.market(tickets.sell_to_close("AAPL", 10))
        placements = [
            await entry.place(sim.account_numbers[0], order),
            await entry.place_complex(sim.account_numbers[0], exclusive_orders("n")),
        ]
        assert [placement.outcome for placement in placements] == [Outcome.REFUSED] * 2
        assert sim.ledger.count("orders.submit") + sim.ledger.count("complex_orders.submit") == 0
