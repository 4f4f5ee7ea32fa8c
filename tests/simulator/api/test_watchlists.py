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


def test_replace_renames_in_place_and_delete_removes(harness: Harness) -> None:
    for name in ("One", "Two"):
        harness.ask("POST", "/watchlists", {"name": name, "watchlist-entries": [{"symbol": "AAPL"}]})
    body = {"name": "First", "watchlist-entries": [{"symbol": "MSFT"}], "order-index": 7}
    replaced = harness.ask("PUT", "/watchlists/One", body)
    assert json.loads(replaced.body)["data"]["watchlist-entries"][0]["symbol"] == "MSFT"
    assert [row["name"] for row in harness.rows("/watchlists")] == ["First", "Two"]
    assert harness.get("/watchlists/First")["data"]["order-index"] == 7
    assert harness.ask("PUT", "/watchlists/First", {**body, "name": "Two"}).status == 422
    assert harness.ask("DELETE", "/watchlists/First").status == 200
    assert [row["name"] for row in harness.rows("/watchlists")] == ["Two"]
    for method in ("GET", "DELETE"):
        assert harness.ask(method, "/watchlists/First").status == 404
    assert harness.ask("PUT", "/watchlists/First", body).status == 404
