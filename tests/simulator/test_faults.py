import pytest

from brokerage_async.protocol.request import Request
from brokerage_async.simulator import faults
from brokerage_async.simulator.faults import Fate, FaultPlan, parse
from tests.simulator.house import House, limit


def test_faults_are_met_in_order_and_counted() -> None:
    plan = FaultPlan()
    plan.add("GET", r"/orders", "status(503)", times=2)
    plan.add("*", r".", faults.drop_after)
    assert plan.pending == 3
    assert [fault and fault.name for fault in (plan.take("GET", "/a/orders") for _ in range(4))] == [
        "status(503)",
        "status(503)",
        "drop_after",
        None,
    ]


def test_methods_and_addresses_have_to_match() -> None:
    plan = FaultPlan()
    plan.add("post", r"/orders$", "hang", times=None)
    assert plan.take("GET", "/a/orders") is None
    assert plan.take("POST", "/a/orders/dry-run") is None
    assert all(plan.take("POST", "/a/orders") is faults.hang for _ in range(3))
    plan.clear()
    assert plan.take("POST", "/a/orders") is None


@pytest.mark.parametrize("times", [0, -1])
def test_somebody_has_to_meet_a_fault(times: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        FaultPlan().add("GET", "/", "hang", times=times)


@pytest.mark.parametrize(
    "text",
    [
        *("refuse", "drop_before", "drop_after", "hang", "hang_after", "truncate", "garbage"),
        *("rate_limited", "unauthorized", "delay(0.5)", "delay_after(2)"),
        *("status(500)", "after_status(502)", "html(502)", "after_html(504)"),
    ],
)
def test_short_texts(text: str) -> None:
    assert parse(text).name == text


@pytest.mark.parametrize(
    "text", ["", "explode", "status", "status(x)", "status(5.5)", "delay(1.2.3)", "delay(.)", "drop_after(1)"]
)
def test_unknown_faults_name_the_known_ones(text: str) -> None:
    with pytest.raises(ValueError, match="drop_before"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "status", "processed", "fate"),
    [
        ("status(503)", 503, False, Fate.DELIVER),
        ("after_status(503)", 503, True, Fate.DELIVER),
        ("html(502)", 502, False, Fate.DELIVER),
        ("after_html(502)", 502, True, Fate.DELIVER),
        ("drop_before", None, False, Fate.DROP),
        ("drop_after", 201, True, Fate.DROP),
        ("hang", None, False, Fate.HANG),
        ("hang_after", 201, True, Fate.HANG),
        ("truncate", 201, True, Fate.TRUNCATE),
        ("garbage", 201, True, Fate.DELIVER),
        ("rate_limited", 429, False, Fate.DELIVER),
        ("unauthorized", 401, False, Fate.DELIVER),
        ("delay(1)", 201, True, Fate.DELIVER),
    ],
)
def test_what_is_done_and_what_is_answered(
    house: House, text: str, status: int | None, processed: bool, fate: Fate
) -> None:
    url = f"http://house.invalid/accounts/{house.account}/orders"
    body = b'{"order-type":"Market","time-in-force":"Day","external-identifier":"x","legs":[{"action":"Buy to Open",'
    body += b'"instrument-type":"Equity","symbol":"AAPL","quantity":"1"}]}'
    request = Request(method="POST", url=url, headers=house.headers, body=body)
    outcome = house.brokerage.serve(request, house.now, parse(text))
    assert outcome.fate is fate
    assert outcome.entry.status == status
    assert (outcome.entry.fault, outcome.entry.operation) == (text, "orders.submit")
    assert outcome.entry.processed is processed
    assert len(house.sim.ledger.orders(external_identifier="x")) == processed


def test_a_body_can_be_put_in_place_of_the_true_one(house: House) -> None:
    request = Request(method="GET", url="http://house.invalid/watchlists", headers=house.headers)
    outcome = house.brokerage.serve(request, house.now, faults.body(b"{}"))
    assert outcome.response is not None
    assert (outcome.response.status, outcome.response.body) == (200, b"{}")


def test_scripted_faults_do_not_touch_the_core(house: House) -> None:
    house.sim.faults.add("*", ".", "status(503)", times=None)
    assert house.place(limit())
