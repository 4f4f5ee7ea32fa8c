"""The life of an order comes from one table, and an order is complete once nothing more is to come."""

import itertools
from decimal import Decimal

from brokerage_async._generated.models import Fill, Order, OrderLeg, OrderStatus
from brokerage_async._generated.order_statuses import ORDER_STATUSES
from brokerage_async.protocol.order_status import TERMINAL, TRANSITIONS, is_complete, phase_of
from tests.tables import for_each

WORKING = {"Live", "Cancel Requested", "Replace Requested", "Remove Pending"}
SUBMISSION = {"Received", "Routed", "In Flight", "Contingent"}


def test_every_known_status_has_one_phase() -> None:
    assert {"Filled", "Cancelled", "Expired", "Rejected", "Removed", "Partially Removed", "Dead"} == TERMINAL
    assert {status.value for status in OrderStatus} == SUBMISSION | WORKING | TERMINAL
    for phase, named in (("submission", SUBMISSION), ("working", WORKING), ("terminal", TERMINAL)):
        assert {status.value for status in OrderStatus if phase_of(status) == phase} == named
    assert phase_of("Under Review") is phase_of(None) is None
    assert all(status in TERMINAL for status in OrderStatus if phase_of(status) == "terminal")
    assert OrderStatus("Under Review") not in TERMINAL
    assert {name for name, following in TRANSITIONS.items() if not following} == TERMINAL


def test_published_path_is_in_the_table() -> None:
    path = ["Received", "Routed", "In Flight", "Live", "Cancel Requested", "Filled"]
    assert all(after in TRANSITIONS[before] for before, after in itertools.pairwise(path))
    assert {name for name, row in ORDER_STATUSES.items() if "Rejected" in row.followed_by} >= {
        "Received",
        "Routed",
        "Live",
    }
    assert {after for following in TRANSITIONS.values() for after in following} == set(TRANSITIONS)


def order(status: str, *legs: tuple[str | None, str]) -> Order:
    """Build an order of legs with a quantity and the sum of their fills, in two parts."""
    return Order(
        status=OrderStatus(status),
        legs=tuple(
            OrderLeg(
                quantity=None if quantity is None else Decimal(quantity),
                fills=tuple(Fill(quantity=Decimal(filled) / 2) for _ in range(2) if filled != "0"),
            )
            for quantity, filled in legs
        ),
    )


@for_each(
    "shown, complete",
    [
        (order("Live", ("2", "2")), False),
        (order("Under Review", ("2", "2")), False),
        (order("Filled", ("2", "2")), True),
        (order("Filled", ("2", "1")), False),
        (order("Filled", ("2", "0")), False),
        (order("Filled", ("1", "1"), ("2", "0")), False),
        (order("Filled", ("1", "1"), ("2", "1")), False),
        (order("Filled", ("1", "1"), ("2", "2")), True),
        (order("Filled", (None, "0.3")), True),
        (order("Filled", (None, "0")), False),
        (order("Cancelled", ("2", "0"), ("4", "0")), True),
        (order("Cancelled", ("2", "1"), ("4", "0")), False),
        (order("Cancelled", ("2", "1"), ("4", "2")), True),
        (order("Cancelled", ("3", "1"), ("9", "3")), True),
        (order("Partially Removed", ("2", "0"), ("4", "2")), False),
        (order("Rejected"), True),
        (order("Dead", ("2", "0")), True),
        (Order(), False),
        (Order(status=OrderStatus.CANCELLED), True),
        (Order(status=OrderStatus.FILLED, legs=(OrderLeg(quantity=Decimal(1)),)), False),
    ],
)
def test_order_is_complete_with_its_last_fill(shown: Order, complete: bool) -> None:
    assert is_complete(shown) is complete
