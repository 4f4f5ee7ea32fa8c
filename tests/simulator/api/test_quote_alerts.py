"""Alerts over the interface: made, listed, taken away."""

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.house import House


def test_cancelling_is_idempotent(house: House) -> None:
    identifier = house.alert()
    for _ in range(2):
        response = house.ask("DELETE", f"/quote-alerts/{identifier}")
        assert (response.status, response.body) == (204, b"")
    assert house.rows("/quote-alerts") == []


def test_rows_are_what_the_schema_says(house: House) -> None:
    house.alert()
    codec.decode(OPERATIONS["quote_alerts.list"], house.ask("GET", "/quote-alerts").body, strict=True)


def test_what_is_refused(house: House) -> None:
    for change in ({"operator": ">="}, {"threshold": 5}, {"symbol": None}):
        body = {"field": "Last", "operator": ">", "symbol": "AAPL", "threshold": "1", **change}
        assert house.ask("POST", "/quote-alerts", body).status == 422
