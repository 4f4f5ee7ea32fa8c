"""Quote alerts: when they trigger and when they expire."""

from decimal import Decimal

from brokerage_async.simulator import PricePath
from tests.simulator.harness import Harness


def test_alert_triggers_once_the_quote_crosses(harness: Harness) -> None:
    first, second = harness.alert(), harness.alert("<", "150.00")
    harness.wait(600)
    assert [row["triggered-at"] for row in harness.rows("/quote-alerts")] == [None, None]
    harness.state.prices.set_price("AAPL", Decimal(251), harness.now)
    rows = {row["alert-external-id"]: row for row in harness.rows("/quote-alerts")}
    assert rows[first]["triggered-at"] == rows[first]["completed-at"] == "2026-06-10T14:10:00.000+00:00"
    assert rows[second]["triggered-at"] is None
    harness = Harness(prices={"AAPL": PricePath([(0, "200")])}).login()
    harness.alert(field="IV")
    harness.wait(91 * 86400)
    harness.login()
    (row,) = harness.rows("/quote-alerts")
    assert row["expired-at"] == row["completed-at"] == row["expires-at"]
    assert row["triggered-at"] is None


def test_alert_is_checked_every_minute(harness: Harness) -> None:
    harness.alert(threshold="100.00")
    assert harness.rows("/quote-alerts")[0]["triggered-at"] is None
    harness.wait(61)
    assert harness.rows("/quote-alerts")[0]["triggered-at"] == "2026-06-10T14:01:00.000+00:00"
