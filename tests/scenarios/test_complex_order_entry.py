"""Complex orders through order entry: their identifiers, and conclusions from lists that show only parts of them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from brokerage_async import tickets
from brokerage_async._generated.models import ComplexOrderType, NewComplexOrder
from brokerage_async.errors import InvalidRequestError, OrderOutcomeUnknownError
from brokerage_async.journal import EntryState
from brokerage_async.order_entry import Outcome
from brokerage_async.simulator import faults
from tests import trading
from tests.http.calls import raised_by
from tests.partial_listings import altered, emptied, hiding, oldest_first, unlinked, unnamed
from tests.tables import for_each
from tests.trading import COMPLEX, UNLISTED, Floor, bracket_order, hold, on_floor, order, place_unknown

pytestmark = pytest.mark.virtual_time

SUBMIT = COMPLEX.submit
SINGLE_LISTS, COMPLEX_LIST = r"[0-9]/orders(/live)?($|\?)", r"/complex-orders($|\?)"
COMPLEX_GET = r"/complex-orders/\d+$"


def pair(name: str) -> NewComplexOrder:
    return tickets.pair(order(name), tickets.limit(tickets.sell_to_open("MSFT", 10), price="9000"), at_most="0.01")


def triggered(name: str) -> NewComplexOrder:
    return tickets.one_triggers_other(order(name), tickets.limit(tickets.sell_to_close("AAPL", 5), price="900"))


KINDS: dict[str, Callable[[str], NewComplexOrder]] = {
    "OTOCO": bracket_order,
    "OCO": trading.exclusive_orders,
    "OTO": triggered,
    "PAIRS": pair,
}


def placed(here: Floor, name: str = "mine") -> int:
    return len(here.complex_ids(name))


@for_each("kind", KINDS)
@on_floor()
async def test_every_type_is_placed_and_found_again(here: Floor, kind: str) -> None:
    hold(here, quantity=20)
    one = await here.entry.place_complex(here.account, KINDS[kind]("one"))
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    two = await here.entry.place_complex(here.account, KINDS[kind]("two"))
    for placement in (one, two):
        assert placement.outcome is Outcome.PLACED
        assert placement.order is None
        assert placement.complex_order.type == kind
        assert placement.require().order_id == placement.complex_order.id
    assert (placed(here, "one"), placed(here, "two")) == (1, 1)


UNNAMED: dict[str, list[tuple[str, faults.Fault]]] = {
    "nothing shows a name": [(r"/(complex-)?orders", unnamed())],
    "nothing but the complex order, without a name": [(SINGLE_LISTS, UNLISTED), (r"/complex-orders", unnamed())],
}
PARTIAL: dict[str, list[tuple[str, faults.Fault]]] = {
    "only the trigger is shown": [(r"/(complex-)?orders", hiding("oco-1-order"))],
    "only the exits are shown": [(r"/(complex-)?orders", hiding("trigger-order"))],
    "the trigger has lost its name": [(r"/(complex-)?orders", unnamed("trigger-order"))],
    "the exits have lost their names": [(r"/(complex-)?orders", unnamed("oco-1-order"))],
    "orders are not listed, the complex order is": [(SINGLE_LISTS, UNLISTED)],
    "the complex order is not listed, its orders are": [(COMPLEX_LIST, UNLISTED)],
    "orders do not name their complex order": [(SINGLE_LISTS, unlinked())],
    "complex orders come oldest first": [(SINGLE_LISTS, UNLISTED), (COMPLEX_LIST, oldest_first())],
}


@for_each("faulty", PARTIAL | UNNAMED)
@on_floor()
async def test_partial_listing_is_enough_to_find_it(here: Floor, faulty: str) -> None:
    """Without any name, it is found by its terms."""
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    for path, fault in (PARTIAL | UNNAMED)[faulty]:
        here.sim.faults.add("GET", path, fault, times=None)
    placement = await here.entry.place_complex(here.account, bracket_order("mine"), resubmit=1)
    assert (placement.outcome, placement.attempts, placed(here)) == (Outcome.PLACED, 1, 1)
    assert [each.code for each in placement.warnings] == ["identifier_not_echoed"] * (faulty in UNNAMED)


PAGE_OF_TEN = json.dumps({"data": {"items": [{"id": number} for number in range(10)]}}).encode()
UNREADABLE: dict[str, list[tuple[str, faults.Fault | str]]] = {
    "complex orders cannot be listed": [(SINGLE_LISTS, UNLISTED), (COMPLEX_LIST, "status(503)")],
    "complex orders may not be listed": [(SINGLE_LISTS, UNLISTED), (COMPLEX_LIST, "status(403)")],
    "it is listed but cannot be read": [(COMPLEX_GET, "status(503)")],
    "it is listed but cannot be found": [(COMPLEX_GET, "status(404)")],
    "it is listed but its own answer is blank": [(COMPLEX_GET, faults.body(b'{"data":{}}'))],
    "it is listed but another one is answered": [(COMPLEX_GET, faults.body(b'{"data":{"id":"999"}}'))],
    "a page of ten without pagination": [(SINGLE_LISTS, UNLISTED), (COMPLEX_LIST, faults.body(PAGE_OF_TEN))],
    "nothing but an empty list": [(SINGLE_LISTS, UNLISTED), (COMPLEX_LIST, faults.body(b'{"data":{"items":[]}}'))],
    "no orders in it": [(SINGLE_LISTS, UNLISTED), (r"/complex-orders", emptied())],
    "no links at all": [(r"/orders", unlinked()), (COMPLEX_LIST, UNLISTED)],
}


@for_each("faulty", UNREADABLE)
@on_floor()
async def test_doubtful_listing_never_counts_as_absent(here: Floor, faulty: str) -> None:
    for path, fault in UNREADABLE[faulty]:
        here.sim.faults.add("GET", path, fault, times=None)
    error = await place_unknown(here, kind=COMPLEX, fault="drop_after", resubmit=1)
    assert error.code in ("undetermined", "identifier_conflict")
    assert (error.operation, placed(here)) == ("complex_orders.submit", 1)
    here.sim.faults.clear()
    (found,) = await here.another_entry().recover()
    assert found.outcome is Outcome.PLACED
    assert found.complex_order is not None


async def test_list_may_be_ahead_of_the_complex_order_itself(here: Floor) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    here.sim.faults.add("GET", COMPLEX_GET, "status(404)", times=2)
    placement = await here.entry.place_complex(here.account, bracket_order("mine"))
    assert placement.outcome is Outcome.PLACED
    assert here.sim.ledger.count("complex_orders.get") == 3


async def test_older_complex_order_without_names_is_not_ours(here: Floor) -> None:
    await here.client.complex_orders.submit(here.account, bracket_order())
    await asyncio.sleep(600)
    here.sim.faults.add("POST", SUBMIT, "drop_before")
    placement = await here.entry.place_complex(here.account, bracket_order("mine"), resubmit=1)
    assert (placement.outcome, placement.attempts, placed(here)) == (Outcome.PLACED, 2, 1)


async def test_complex_order_that_ended_before_and_shows_no_orders_is_not_ours(here: Floor) -> None:
    older = await here.entry.place_complex(here.account, bracket_order("older"))
    await here.entry.cancel_complex(here.account, older.order_id)
    await asyncio.sleep(600)
    here.sim.faults.add("GET", SINGLE_LISTS, UNLISTED, times=None)
    here.sim.faults.add("GET", COMPLEX_LIST, emptied(), times=None)
    assert (await place_unknown(here, kind=COMPLEX, fault="drop_before")).code == "absent"


async def test_single_order_under_the_name_of_a_component_is_reported_by_its_id(here: Floor) -> None:
    single = await here.entry.place(here.account, order("mine.1"))
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    placement = await here.entry.place_complex(here.account, bracket_order("mine"))
    assert placement.note.endswith(f"2 live orders carry this identifier: {single.order_id}, {placement.order_id}")


def another(change: str) -> NewComplexOrder:
    """A complex order that shares its trigger order with ``mine``, but not everything."""
    ours = bracket_order("mine")
    profit, loss = (attrs.evolve(each, external_identifier=f"mine.{n}") for n, each in enumerate(ours.orders, 1))
    dearer = tickets.limit(tickets.sell_to_close("AAPL", 10), price="901")
    larger = tickets.limit(tickets.buy_to_open("AAPL", 11), price="10")
    changes: dict[str, dict[str, Any]] = {
        "an exit": {"orders": (attrs.evolve(dearer, external_identifier="mine.1"), loss)},
        "a name": {"orders": (profit, attrs.evolve(loss, external_identifier="theirs"))},
        "the type": {"type": ComplexOrderType.OTO},
        "the trigger": {"trigger_order": attrs.evolve(larger, external_identifier="mine")},
    }
    return attrs.evolve(ours, **{"orders": (profit, loss), **changes[change]})


@for_each("first", [True, False])
@for_each("change", ["an exit", "a name", "the type", "the trigger"])
@on_floor()
async def test_complex_order_that_shares_only_a_component_is_another_one(here: Floor, change: str, first: bool) -> None:
    """Alone, or beside ours."""
    here.sim.faults.add("POST", SUBMIT, "drop_before" if first else "drop_after")
    placing = asyncio.ensure_future(here.entry.place_complex(here.account, bracket_order("mine"), resubmit=1))
    await asyncio.sleep(0.45)  # after the submit, before the first poll
    theirs = (await here.client.complex_orders.submit(here.account, another(change))).complex_order
    assert theirs is not None
    if first:
        error = await raised_by(placing, OrderOutcomeUnknownError)
        assert error.code == "identifier_conflict"
        (found,) = await here.another_entry().recover()
        assert (found.outcome, found.code) == (Outcome.UNKNOWN, "identifier_conflict")
    else:
        placement = await placing
        assert placement.outcome is Outcome.PLACED
        assert placement.order_id != theirs.id


def at_another_price(document: Any) -> Any:
    document["data"]["complex-order"]["orders"][0]["price"] = "901.00"
    return document


def bare(document: Any) -> Any:
    return {**document, "data": document["data"]["complex-order"]}


@for_each("change", [at_another_price, bare])
@on_floor()
async def test_answer_that_shows_another_order_or_none_is_looked_into(here: Floor, change: Any) -> None:
    here.sim.faults.add("POST", SUBMIT, altered("changed", change))
    placement = await here.entry.place_complex(here.account, bracket_order("mine"))
    found = (placement.outcome, here.sim.ledger.count("orders.list_live"), placed(here))
    assert found == (Outcome.PLACED, 1, 1)


@for_each("name", ["mine", "new"])
@on_floor()
async def test_complex_order_whose_trigger_was_replaced_is_found(here: Floor, name: str) -> None:
    here.sim.faults.add("POST", SUBMIT, "drop_after")
    placing = asyncio.ensure_future(here.entry.place_complex(here.account, bracket_order("mine"), resubmit=1))
    await asyncio.sleep(0.45)
    (record,) = here.orders("mine")
    terms = {"order-type": "Limit", "time-in-force": "Day", "price": "11.00"}
    target = f"/accounts/{here.account}/orders/{record.order_id}"
    await here.client.request("PUT", target, body={**terms, "external-identifier": name})
    placement = await placing
    assert (placement.outcome, placed(here, name)) == (Outcome.PLACED, 1)
    assert placement.complex_order.trigger_order.replaces_order_id == record.order_id


async def test_name_of_another_order_is_refused(here: Floor) -> None:
    await here.entry.place(here.account, order("single"))
    await here.entry.place_complex(here.account, bracket_order("mine"))
    for asked in (bracket_order("single"), another("an exit")):
        error = await raised_by(here.another_entry().place_complex(here.account, asked), InvalidRequestError)
        assert (error.code, error.operation) == ("identifier_in_use", "complex_orders.submit")
    assert (placed(here, "single"), placed(here)) == (0, 1)


async def test_recovery_finds_both_kinds_in_one_sweep(here: Floor) -> None:
    hold(here, "MSFT")  # no account takes orders for both sides of a symbol
    here.sim.faults.add("POST", r"/(complex-)?orders$", "hang_after", times=None)
    for place in (
        here.entry.place_complex(here.account, bracket_order("complex")),
        here.entry.place_complex(here.account, trading.exclusive_orders("exclusive", "MSFT")),
        here.entry.place(here.account, order("single")),
    ):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await place
    here.sim.faults.clear()
    found = await here.another_entry().recover()
    outcomes = {one.external_identifier: one.outcome for one in found}
    assert outcomes == dict.fromkeys(("complex", "exclusive", "single"), Outcome.PLACED)
    assert [one.complex_order is None for one in found] == [False, False, True]
    assert {entry.state for entry in await here.journaled()} == {EntryState.PLACED}
