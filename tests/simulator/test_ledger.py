import json

from brokerage_async.simulator.ledger import Ledger
from tests.simulator.harness import Harness, limit, market


def test_orders_requests_and_transitions_are_recorded(harness: Harness) -> None:
    first = harness.place(limit(external_identifier="a"))
    second = harness.place(limit(external_identifier="a"), harness.accounts[2])
    ledger = harness.sim.ledger
    assert [record.order_id for record in ledger.orders(external_identifier="a")] == [first, second]
    assert [record.order_id for record in ledger.orders(account_number=harness.accounts[2])] == [second]
    assert ledger.orders(external_identifier="b") == []
    identifier = harness.place(market())
    harness.wait(10)
    events = [event for event in harness.sim.ledger.events if event.order_id == identifier]
    assert [event.before for event in events] == [None, "Received", "Routed", "In Flight", "Live"]
    assert [event.terminal for event in events] == [False, False, False, False, True]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert [event.seq for event in harness.sim.ledger.events] == list(range(1, len(harness.sim.ledger.events) + 1))


def test_history_has_requests_and_transitions_by_time_as_json_lines(harness: Harness) -> None:
    ledger = Ledger()
    moved = {"order_id": "7", "account_number": "A", "external_identifier": None, "before": None, "after": "Received"}
    ledger.record_request(2.0, "GET", "/b")
    ledger.transition(now=1.5, terminal=False, **moved)
    ledger.transition(now=1.0, terminal=False, **moved)
    ledger.record_request(1.0, "GET", "/a")
    lines = [json.loads(line) for line in ledger.history().splitlines()]
    assert [(line["at"], line.get("target")) for line in lines] == [(1.0, "/a"), (1.0, None), (1.5, None), (2.0, "/b")]
    harness.place(limit())
    harness.ask("GET", "/watchlists", authorization=None)
    ledger = harness.sim.ledger
    assert (ledger.count("orders.submit"), ledger.count("watchlists.list"), ledger.count("oauth.token")) == (1, 1, 1)
    assert [entry.operation for entry in ledger.processed()] == ["oauth.token", "orders.submit"]
    assert list(ledger.processed("watchlists.list")) == []
