"""Quote alerts over the interface: created, listed, cancelled."""

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness


def test_cancel_is_idempotent(harness: Harness) -> None:
    identifier = harness.alert()
    for _ in range(2):
        response = harness.ask("DELETE", f"/quote-alerts/{identifier}")
        assert (response.status, response.body) == (204, b"")
    assert harness.rows("/quote-alerts") == []


def test_alerts_are_listed_cancelled_and_checked(harness: Harness) -> None:
    harness.alert()
    codec.decode(OPERATIONS["quote_alerts.list"], harness.ask("GET", "/quote-alerts").body, strict=True)
    for change in ({"operator": ">="}, {"threshold": 5}, {"symbol": None}):
        body = {"field": "Last", "operator": ">", "symbol": "AAPL", "threshold": "1", **change}
        assert harness.ask("POST", "/quote-alerts", body).status == 422
