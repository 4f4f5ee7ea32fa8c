import asyncio

import pytest

from brokerage_async import errors
from brokerage_async.protocol.request import Request
from brokerage_async.simulator import faults
from brokerage_async.simulator.faults import FaultPlan, parse
from tests.simulator.harness import Harness, limit
from tests.trading import floor, order


def test_faults_are_taken_in_order_by_method_and_path_and_unknown_ones_refused() -> None:
    plan = FaultPlan()
    plan.add("GET", r"/orders", "status(503)", times=2)
    plan.add("*", r".", faults.drop_after)
    assert plan.pending == 3
    taken = [plan.take("GET", "/a/orders") for _ in range(4)]
    assert [fault and fault.name for fault in taken] == ["status(503)", "status(503)", "drop_after", None]
    plan = FaultPlan()
    plan.add("post", r"/orders$", "hang", times=None)
    assert plan.take("GET", "/a/orders") is plan.take("POST", "/a/orders/dry-run") is None
    assert all(plan.take("POST", "/a/orders") is faults.hang for _ in range(3))
    plan.clear()
    assert plan.take("POST", "/a/orders") is None
    for method, times, problem in (("GET", 0, "at least 1"), ("GET", -1, "at least 1"), ("GTE", 1, "or one of GET, ")):
        with pytest.raises(ValueError, match=problem):
            plan.add(method, "/", "hang", times=times)
    for text in ("", "explode", "status", "status(x)", "status(5.5)", "delay(1.2.3)", "delay(.)", "drop_after(1)"):
        with pytest.raises(ValueError, match="drop_before"):
            parse(text)


def test_body_replaces_the_real_one_and_handle_takes_no_fault(harness: Harness) -> None:
    request = Request(method="GET", url="http://simulator.invalid/watchlists", headers=harness.headers)
    served = harness.brokerage.serve(request, harness.now, faults.body(b"{}"))
    assert (served.response.status, served.response.body) == (200, b"{}")
    for text in ("refuse", "status(503)", "delay(0.5)", "retry_after(1.5)"):
        served = harness.brokerage.serve(request, harness.now, parse(text))
        assert (parse(text).name, served.record.fault) == (text, text)
    assert (served.response.status, served.response.headers["retry-after"]) == (429, "1.5")
    harness.sim.faults.add("*", ".", "status(503)", times=None)
    assert harness.place(limit())


@pytest.mark.virtual_time
async def test_submit_held_beyond_the_read_timeout_is_processed_later() -> None:
    async with floor() as here:
        here.on_submit("delay(120)")
        with pytest.raises(errors.ResponseLostError):
            await here.client.orders.submit(here.account, order("held"))
        assert here.orders("held") == []
        await asyncio.sleep(121)
        assert [placed.status for placed in here.orders("held")] == ["Live"]
