"""Faults of the streams."""

import pytest

from brokerage_async.simulator.streams.faults import DELIVER, StreamFaults


def test_fault_meets_the_next_events_of_its_type() -> None:
    faults = StreamFaults()
    faults.add("late(2.5)", kind="Order", times=2)
    faults.add("duplicate")
    assert [faults.deliver(kind).name for kind in ("", "Order", "AccountBalance", "Order", "Order")] == [
        "deliver", "late", "duplicate", "late", "deliver",
    ]  # fmt: skip
    faults.add("lose")
    faults.refusals, faults.is_half_open = 1, True
    faults.clear()
    assert (faults.deliver("Order"), faults.refuses(), faults.is_half_open) == (DELIVER, False, False)
    faults = StreamFaults()
    faults.add("lose", kind="protocol")
    assert [faults.deliver(kind).name for kind in ("Order", "", "")] == ["deliver", "lose", "deliver"]
    faults.is_deaf = True
    faults.clear()
    assert not faults.is_deaf
    faults = StreamFaults()
    faults.refusals = 1
    assert [faults.refuses(), faults.refuses()] == [True, False]
    with pytest.raises(ValueError, match=r"fault must be one of lose, .* got 'explode'"):
        StreamFaults().add("explode")
