"""The life of an order comes from one table, and an order is complete once nothing more is to come."""

import itertools
from decimal import Decimal

from brokerage_async._generated.models import Fill, Order, OrderLeg, OrderStatus
from brokerage_async._generated.order_statuses import ORDER_STATUSES
from brokerage_async.protocol.order_status import TERMINAL, TRANSITIONS, is_complete
from tests.tables import for_each

WORKING = {"Live", "Cancel Requested", "Replace Requested", "Remove Pending"}
SUBMISSION = {"Received", "Routed", "In Flight", "Contingent"}


def test_every_known_status_has_one_phase_and_the_published_path_is_in_the_table() -> None:
    assert {"Filled", "Cancelled", "Expired", "Rejected", "Removed", "Partially Removed", "Dead"} == TERMINAL
    assert {status.value for status in OrderStatus} == SUBMISSION | WORKING | TERMINAL
    for phase, named in (("submission", SUBMISSION), ("working", WORKING), ("terminal", TERMINAL)):
        assert {name for name, row in ORDER_STATUSES.items() if row.phase == phase} == named
    assert {name for name, following in TRANSITIONS.items() if not following} == TERMINAL
    path = ["Received", "Routed", "In Flight", "Live", "Cancel Requested", "Filled"]
    assert all(after in TRANSITIONS[before] for before, after in itertools.pairwise(path))
    rejectable = {name for name, row in ORDER_STATUSES.items() if "Rejected" in row.followed_by}
    assert rejectable >= {"Received", "Routed", "Live"}
    assert {after for following in TRANSITIONS.values() for after in following} == set(TRANSITIONS)


def order(status: str, legs: str) -> Order:
    """Build an order of legs like ``2/1``: a quantity, and the sum of its fills in two parts."""
    made = []
    for quantity, filled in [leg.split("/") for leg in legs.split()]:
        fills = [Fill(quantity=Decimal(filled) / 2) for _ in range(2) if filled != "0"]
        made.append(OrderLeg(quantity=None if quantity == "?" else Decimal(quantity), fills=fills))
    return Order(status=OrderStatus(status), legs=made)


@for_each(
    "status, complete, open",
    [
        ("Live", [], ["2/2"]),
        ("Under Review", [], ["2/2"]),
        ("Filled", ["2/2", "1/1 2/2", "?/0.3"], ["2/1", "2/0", "1/1 2/0", "1/1 2/1", "?/0"]),
        ("Cancelled", ["2/0 4/0", "2/0 ?/0", "2/1 4/2", "3/1 9/3"], ["2/1 4/0", "2/1 ?/1"]),
        ("Partially Removed", [], ["2/0 4/2"]),
        ("Rejected", [""], []),
        ("Dead", ["2/0"], []),
    ],
)
def test_order_is_complete_with_its_last_fill(status: str, complete: list[str], open: list[str]) -> None:
    assert [legs for legs in complete + open if is_complete(order(status, legs))] == complete
    assert not is_complete(Order())
    assert is_complete(Order(status=OrderStatus.CANCELLED))
    assert not is_complete(Order(status=OrderStatus.FILLED, legs=(OrderLeg(quantity=Decimal(1)),)))
