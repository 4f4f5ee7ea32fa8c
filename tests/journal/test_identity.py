"""Orders that the service shows in another form than they were sent in, on every journal."""

import logging
from typing import Any

import attrs
import pytest

from brokerage_async import tickets
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


def check(placement: Placement, components: int, *more: str) -> None:
    assert placement.outcome is Outcome.PLACED
    assert [warning.code for warning in placement.warnings] == [*more, *["position_effect_changed"] * components]
    assert BOTH in placement.note


async def test_close_that_became_an_opening_is_ours_in_every_journal(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    """Answered, lost and recovered, and asked for again: single and complex orders."""
    for kind, make, components in (("place", single, 1), ("place_complex", exclusive, 2)):
        sim = Simulator(**SMALL)
        account = sim.account_numbers[0]
        allowed: dict[str, Any] = {"allow_warnings": ["closing_with_no_position"]}
        caplog.clear()
        async with sim.client(transport=sim.transport()) as client:
            place: Any = getattr(OrderEntry(client, journal, reconcile=POLICY), kind)
            dry_run = ["closing_with_no_position"] * components
            check(await place(account, make(f"{kind} answered"), **allowed), components, *dry_run)

            sim.faults.add("POST", r"orders$", "drop_after")
            check(await place(account, make(f"{kind} lost"), **allowed), components, *dry_run)

            sim.faults.add("POST", r"orders$", "drop_after")
            sim.faults.add("GET", rf"{LISTS}|/complex-orders", faults.status(403), times=None)
            with pytest.raises(OrderOutcomeUnknownError):
                await place(account, make(f"{kind} left"), **allowed)
            sim.faults.clear()
            later = OrderEntry(client, journal, reconcile=POLICY)
            with caplog.at_level(logging.WARNING, "brokerage_async.order_entry"):
                (found,) = await later.recover()
            check(found, components)
            assert caplog.text.count("position_effect_changed") == 3 * components
            check(await getattr(later, kind)(account, make(f"{kind} left"), **allowed), components)

            entries = await journal.entries("sandbox")
            assert {entry.state for entry in entries} == {EntryState.PLACED}
            assert [entry.note for entry in entries if BOTH not in entry.note] == []
            assert sim.ledger.count(f"{'complex_orders' if components > 1 else 'orders'}.submit") == 3


async def test_order_that_shows_no_identifier_is_known_by_everything_else(journal: Journal) -> None:
    """Answered, lost, recovered and asked for again. It is cancelled by its id."""
    for kind, make in (("place", order), ("place_complex", bracket_order)):
        sim = Simulator(**SMALL, without=["external_identifier_echoed"])
        account, name = sim.account_numbers[0], "complex_orders" if kind == "place_complex" else "orders"
        async with sim.client(transport=sim.transport()) as client:
            entry = OrderEntry(client, journal, reconcile=POLICY)
            place: Any = getattr(entry, kind)
            ids = []

            def check_unnamed(placement: Placement, ids: list[str] = ids) -> None:
                assert placement.outcome is Outcome.PLACED
                assert [warning.code for warning in placement.warnings] == ["identifier_not_echoed"]
                assert "shows no external identifier" in placement.note
                ids.append(placement.order_id)

            check_unnamed(await place(account, make(f"{kind} answered")))
            sim.faults.add("POST", r"orders$", "drop_after")
            check_unnamed(await place(account, make(f"{kind} lost")))
            sim.faults.add("POST", r"orders$", "drop_after")
            sim.faults.add("GET", rf"{LISTS}|/complex-orders", faults.status(403), times=None)
            with pytest.raises(OrderOutcomeUnknownError):
                await place(account, make(f"{kind} left"))
            sim.faults.clear()
            (found,) = await entry.recover()
            check_unnamed(found)
            check_unnamed(await place(account, make(f"{kind} left")))
            assert ids[2] == ids[3]
            assert len(set(ids)) == 3 == sim.ledger.count(f"{name}.submit")
            sim.clock.advance(5)  # an order in flight cannot be cancelled yet
            change = await (entry.cancel if kind == "place" else entry.cancel_complex)(account, ids[0])
            assert change.outcome is ChangeOutcome.APPLIED


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
