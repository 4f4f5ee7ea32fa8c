import asyncio
import json

import pytest

from brokerage_async import errors, tickets
from brokerage_async.protocol.request import Request
from brokerage_async.simulator import Simulator, faults
from brokerage_async.simulator.faults import ConnectionAction, FaultPlan, parse
from tests.simulator.harness import Harness, limit, market
from tests.tables import for_each


def test_faults_are_taken_in_order_by_method_and_path() -> None:
    plan = FaultPlan()
    plan.add("GET", r"/orders", "status(503)", times=2)
    plan.add("*", r".", faults.drop_after)
    assert plan.pending == 3
    taken = [plan.take("GET", "/a/orders") for _ in range(4)]
    assert [fault and fault.name for fault in taken] == ["status(503)", "status(503)", "drop_after", None]
    plan = FaultPlan()
    plan.add("post", r"/orders$", "hang", times=None)
    assert plan.take("GET", "/a/orders") is None
    assert plan.take("POST", "/a/orders/dry-run") is None
    assert all(plan.take("POST", "/a/orders") is faults.hang for _ in range(3))
    plan.clear()
    assert plan.take("POST", "/a/orders") is None

    for times in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            plan.add("GET", "/", "hang", times=times)


def test_parse_unknown_fault_lists_the_known_ones() -> None:
    for text in ("", "explode", "status", "status(x)", "status(5.5)", "delay(1.2.3)", "delay(.)", "drop_after(1)"):
        with pytest.raises(ValueError, match="drop_before"):
            parse(text)


@for_each(
    "text, status, processed, connection_action",
    [
        ("refuse", None, False, ConnectionAction.REFUSE),
        ("status(503)", 503, False, ConnectionAction.DELIVER),
        ("after_status(503)", 503, True, ConnectionAction.DELIVER),
        ("html(502)", 502, False, ConnectionAction.DELIVER),
        ("after_html(502)", 502, True, ConnectionAction.DELIVER),
        ("drop_before", None, False, ConnectionAction.DROP),
        ("drop_after", 201, True, ConnectionAction.DROP),
        ("hang", None, False, ConnectionAction.HANG),
        ("hang_after", 201, True, ConnectionAction.HANG),
        ("truncate", 201, True, ConnectionAction.TRUNCATE),
        ("garbage", 201, True, ConnectionAction.DELIVER),
        ("rate_limited", 429, False, ConnectionAction.DELIVER),
        ("unauthorized", 401, False, ConnectionAction.DELIVER),
        ("delay(0.5)", 201, True, ConnectionAction.DELIVER),
        ("delay_after(2)", 201, True, ConnectionAction.DELIVER),
    ],
)
def test_fault_decides_processing_and_response(
    text: str, status: int | None, processed: bool, connection_action: ConnectionAction
) -> None:
    harness = Harness().login()
    url = f"http://simulator.invalid/accounts/{harness.account}/orders"
    body = json.dumps(market(external_identifier="x")).encode()
    request = Request(method="POST", url=url, headers=harness.headers, body=body)
    served = harness.brokerage.serve(request, harness.now, parse(text))
    assert parse(text).name == text
    assert served.connection_action is connection_action
    assert served.record.status == status
    assert (served.record.fault, served.record.operation) == (text, "orders.submit")
    assert served.record.processed is processed
    assert len(harness.sim.ledger.orders(external_identifier="x")) == processed


def test_body_replaces_the_real_one_and_handle_takes_no_fault(harness: Harness) -> None:
    request = Request(method="GET", url="http://simulator.invalid/watchlists", headers=harness.headers)
    served = harness.brokerage.serve(request, harness.now, faults.body(b"{}"))
    assert (served.response.status, served.response.body) == (200, b"{}")
    harness.sim.faults.add("*", ".", "status(503)", times=None)
    assert harness.place(limit())


@pytest.mark.virtual_time
async def test_submit_held_beyond_the_read_timeout_is_processed_later() -> None:
    simulator = Simulator(equities=100)
    account, order = simulator.account_numbers[0], tickets.limit(tickets.buy_to_open("AAPL", 1), price="100")
    async with simulator.client(timeout=5.0) as client:
        simulator.faults.add("POST", r"/orders$", "delay(120)")
        with pytest.raises(errors.ResponseLostError):
            await client.orders.submit(account, order)
        assert not simulator.ledger.orders(account_number=account)
        await asyncio.sleep(121)
        simulator.settle()
        (placed,) = simulator.ledger.orders(account_number=account)
        assert placed.status == "Live"
