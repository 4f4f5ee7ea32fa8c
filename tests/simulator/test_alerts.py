import json
from decimal import Decimal
from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol import codec
from tests.simulator.house import House


def create(house: House, operator: str = ">", threshold: str = "250.00", **change: Any) -> str:
    body = {"field": "Last", "operator": operator, "symbol": "AAPL", "threshold": threshold, **change}
    response = house.ask("POST", "/quote-alerts", body)
    assert response.status == 201
    return str(json.loads(response.body)["data"]["alert-external-id"])


def test_an_alert_triggers_once_the_quote_crosses(house: House) -> None:
    first, second = create(house), create(house, "<", "150.00")
    house.wait(600)
    assert [row["triggered-at"] for row in house.rows("/quote-alerts")] == [None, None]
    house.world.market.set_price("AAPL", Decimal(251), house.now)
    rows = {row["alert-external-id"]: row for row in house.rows("/quote-alerts")}
    assert rows[first]["triggered-at"] == rows[first]["completed-at"] == "2026-06-10T14:10:00.000+00:00"
    assert rows[second]["triggered-at"] is None


def test_an_alert_looks_every_minute(house: House) -> None:
    create(house, threshold="100.00")
    assert house.rows("/quote-alerts")[0]["triggered-at"] is None
    house.wait(61)
    assert house.rows("/quote-alerts")[0]["triggered-at"] == "2026-06-10T14:01:00.000+00:00"


def test_an_alert_expires(house: House) -> None:
    create(house, field="IV")
    house.wait(91 * 86400)
    house.login()
    (row,) = house.rows("/quote-alerts")
    assert row["expired-at"] == row["completed-at"] == row["expires-at"]
    assert row["triggered-at"] is None


def test_cancelling_is_idempotent(house: House) -> None:
    identifier = create(house)
    for _ in range(2):
        response = house.ask("DELETE", f"/quote-alerts/{identifier}")
        assert (response.status, response.body) == (204, b"")
    assert house.rows("/quote-alerts") == []


def test_rows_are_what_the_schema_says(house: House) -> None:
    create(house)
    codec.decode(OPERATIONS["quote_alerts.list"], house.ask("GET", "/quote-alerts").body, strict=True)


def test_what_is_refused(house: House) -> None:
    for change in ({"operator": ">="}, {"threshold": 5}, {"symbol": None}):
        body = {"field": "Last", "operator": ">", "symbol": "AAPL", "threshold": "1", **change}
        assert house.ask("POST", "/quote-alerts", body).status == 422
