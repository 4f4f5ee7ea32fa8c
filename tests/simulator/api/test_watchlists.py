import json

from tests.simulator.house import House

ENTRIES = [{"symbol": "AAPL"}, {"symbol": "BRK/B", "instrument-type": "Equity"}]
LIST = {"name": "tech / core", "watchlist-entries": ENTRIES}


def test_a_created_list_is_listed(house: House) -> None:
    response = house.ask("POST", "/watchlists", LIST)
    created = json.loads(response.body)["data"]
    assert response.status == 201
    assert created["order-index"] == 9999
    assert created["watchlist-entries"] == LIST["watchlist-entries"]
    house.ask("POST", "/watchlists", {**LIST, "name": "b", "group-name": "g", "order-index": 1})
    rows = house.rows("/watchlists")
    assert [row["name"] for row in rows] == ["tech / core", "b"]
    assert rows[0] == created


def test_what_is_refused(house: House) -> None:
    assert house.ask("POST", "/watchlists", LIST).status == 201
    assert house.ask("POST", "/watchlists", LIST).status == 422
    assert house.ask("POST", "/watchlists", {"name": "x"}).status == 422
    assert house.ask("POST", "/watchlists", {**LIST, "order-index": "1"}).status == 422
    assert house.ask("POST", "/watchlists", {**LIST, "Name": "x"}).status == 422
