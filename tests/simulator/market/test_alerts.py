"""Quote alerts: when they trigger and when they expire."""

from decimal import Decimal

from tests.simulator.house import House


def test_an_alert_triggers_once_the_quote_crosses(house: House) -> None:
    first, second = house.alert(), house.alert("<", "150.00")
    house.wait(600)
    assert [row["triggered-at"] for row in house.rows("/quote-alerts")] == [None, None]
    house.world.market.set_price("AAPL", Decimal(251), house.now)
    rows = {row["alert-external-id"]: row for row in house.rows("/quote-alerts")}
    assert rows[first]["triggered-at"] == rows[first]["completed-at"] == "2026-06-10T14:10:00.000+00:00"
    assert rows[second]["triggered-at"] is None


def test_an_alert_looks_every_minute(house: House) -> None:
    house.alert(threshold="100.00")
    assert house.rows("/quote-alerts")[0]["triggered-at"] is None
    house.wait(61)
    assert house.rows("/quote-alerts")[0]["triggered-at"] == "2026-06-10T14:01:00.000+00:00"


def test_an_alert_expires(house: House) -> None:
    house.alert(field="IV")
    house.wait(91 * 86400)
    house.login()
    (row,) = house.rows("/quote-alerts")
    assert row["expired-at"] == row["completed-at"] == row["expires-at"]
    assert row["triggered-at"] is None
