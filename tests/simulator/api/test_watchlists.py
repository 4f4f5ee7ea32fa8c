import json

from tests.simulator.harness import Harness

ENTRIES = [{"symbol": "AAPL"}, {"symbol": "BRK/B", "instrument-type": "Equity"}]
LIST = {"name": "tech / core", "watchlist-entries": ENTRIES}


def test_created_watchlist_is_listed(harness: Harness) -> None:
    response = harness.ask("POST", "/watchlists", LIST)
    created = json.loads(response.body)["data"]
    assert response.status == 201
    assert created["order-index"] == 9999
    assert created["watchlist-entries"] == LIST["watchlist-entries"]
    harness.ask("POST", "/watchlists", {**LIST, "name": "b", "group-name": "g", "order-index": 1})
    rows = harness.rows("/watchlists")
    assert [row["name"] for row in rows] == ["tech / core", "b"]
    assert rows[0] == created


def test_invalid_watchlist_is_rejected(harness: Harness) -> None:
    assert harness.ask("POST", "/watchlists", LIST).status == 201
    assert harness.ask("POST", "/watchlists", LIST).status == 422
    assert harness.ask("POST", "/watchlists", {"name": "x"}).status == 422
    assert harness.ask("POST", "/watchlists", {**LIST, "order-index": "1"}).status == 422
    assert harness.ask("POST", "/watchlists", {**LIST, "Name": "x"}).status == 422
