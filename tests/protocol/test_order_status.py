"""Every status of the schema is either final or not, by name."""

from __future__ import annotations

from brokerage_async._generated.models import OrderStatus
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator.trading.orders import TRANSITIONS

WORKING = {"Received", "Routed", "In Flight", "Live", "Contingent", "Cancel Requested", "Replace Requested"}


def test_every_known_status_is_either_working_or_terminal() -> None:
    assert {status.value for status in OrderStatus} == WORKING | TERMINAL
    assert not WORKING & TERMINAL


def test_members_and_plain_strings_are_found_alike() -> None:
    assert all(status in TERMINAL and status.value in TERMINAL for status in OrderStatus if status.value not in WORKING)
    assert OrderStatus("Under Review") not in TERMINAL


def test_simulated_orders_leave_no_terminal_status() -> None:
    assert not TERMINAL & {status.value for status in TRANSITIONS}
