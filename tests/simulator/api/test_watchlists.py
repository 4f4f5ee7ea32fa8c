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
    for name in ("", ".", ".."):  # no path can name them
        assert harness.ask("POST", "/watchlists", {**LIST, "name": name}).status == 422


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


def test_public_lists_name_instruments_of_the_catalogue(harness: Harness) -> None:
    lists = harness.decoded("watchlists.list_public", "/public-watchlists")
    assert len(lists) > 3
    for one in lists:
        assert (one.order_index, one.user_id) == (100, "-1")
        assert 0 < len(one.watchlist_entries) <= 200
        for entry in one.watchlist_entries:
            assert harness.state.prices.is_known(entry.symbol)
            assert entry.instrument_type is not None
    [found] = [one for one in harness.decoded("watchlists.list_public", "/public-watchlists") if "'" in one.name]
    assert harness.decoded("watchlists.get_public", "/public-watchlists/Trader%27s%20ETFs") == found
    assert harness.ask("GET", "/public-watchlists/NOSUCH").status == 404
    [first, *_] = harness.rows("/public-watchlists")
    assert set(first["watchlist-entries"][0]) == {"symbol", "instrument_type"}
    [documented, *_] = Harness(wire="documented").login().rows("/public-watchlists")
    assert set(documented["watchlist-entries"][0]) == {"symbol", "instrument-type"}
    one = harness.get(f"/public-watchlists/{first['name'].replace(' ', '%20')}")["data"]
    assert set(one["watchlist-entries"][0]) == {"symbol", "instrument-type"}
    full = harness.decoded("watchlists.list_public", "/public-watchlists")
    rows = harness.rows("/public-watchlists?counts-only=true")
    assert [set(row) for row in rows] == [{"name", "id", "watchlist-entry-count"}] * len(full)
    assert [row["watchlist-entry-count"] for row in rows] == [len(one.watchlist_entries) for one in full]
    lists = harness.decoded("watchlists.list_pairs", "/pairs-watchlists")
    assert [one.order_index for one in lists] == [1, 2, 3]
    assert harness.decoded("watchlists.get_pairs", "/pairs-watchlists/Tech%20Pairs") == lists[1]
    for pair in (pair for one in lists for pair in one.pairs_equations):
        assert (pair.left_action, pair.right_action) == ("Buy", "Sell")
        assert harness.state.prices.is_known(pair.left_symbol)
        assert harness.state.prices.is_known(pair.right_symbol)
    assert harness.ask("GET", "/pairs-watchlists/NOSUCH").status == 404


async def test_deleted_watchlist_comes_back_or_nothing_does() -> None:
    """The client takes either for a success."""
    for without, is_returned in (((), True), (["deleted_watchlists_are_returned"], False)):
        harness = Harness(without=without).login()
        for name in ("One", "Two"):
            harness.ask("POST", "/watchlists", {"name": name, "watchlist-entries": [{"symbol": "AAPL"}]})
        answer = harness.ask("DELETE", "/watchlists/One")
        assert (answer.status, b'"One"' in answer.body) == (200, is_returned)
        async with harness.sim.client(transport=harness.sim.transport()) as client:
            assert await client.watchlists.delete("Two") is None
            assert await client.watchlists.list() == []
