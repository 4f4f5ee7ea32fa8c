"""Watchlists and quote alerts."""

from brokerage_async.models import InstrumentType
from brokerage_async.simulator import PricePath
from tests.simulator.harness import Harness, switched

ENTRIES = [{"symbol": "AAPL"}, {"symbol": "BRK/B", "instrument-type": "Equity"}]
LIST = {"name": "tech / core", "watchlist-entries": ENTRIES}


def test_created_watchlist_is_listed(harness: Harness) -> None:
    created = harness.data("POST", "/watchlists", LIST, 201)
    assert created["order-index"] == 9999
    assert created["watchlist-entries"] == LIST["watchlist-entries"]
    harness.ask("POST", "/watchlists", {**LIST, "name": "b", "group-name": "g", "order-index": 1})
    rows = harness.rows("/watchlists")
    assert [row["name"] for row in rows] == ["tech / core", "b"]
    assert rows[0] == created
    nameless = [{**LIST, "name": name} for name in ("", ".", "..")]  # no path can name them
    for body in (LIST, {"name": "x"}, {**LIST, "order-index": "1"}, {**LIST, "Name": "x"}, *nameless):
        harness.error("POST", "/watchlists", body)


def test_replace_renames_in_place_and_delete_removes(harness: Harness) -> None:
    for name in ("One", "Two"):
        harness.data("POST", "/watchlists", {**LIST, "name": name}, 201)
    body = {"name": "First", "watchlist-entries": [{"symbol": "MSFT"}], "order-index": 7}
    assert harness.data("PUT", "/watchlists/One", body)["watchlist-entries"][0]["symbol"] == "MSFT"
    _, two = rows = harness.rows("/watchlists")
    assert [row["name"] for row in rows] == ["First", "Two"]
    assert harness.get("/watchlists/First")["data"]["order-index"] == 7
    assert harness.ask("PUT", "/watchlists/First", {**body, "name": "Two"}).status == 422
    assert harness.ask("DELETE", "/watchlists/First").status == 200
    assert [row["name"] for row in harness.rows("/watchlists")] == ["Two"]
    names = [row["cms-id"] for row in (two, harness.data("PUT", "/watchlists/Two", {**LIST, "name": "Two"}))]
    names.append(harness.data("POST", "/watchlists", {**LIST, "name": "Three"}, 201)["cms-id"])
    assert names[0] == names[1] != names[2]
    for method in ("GET", "DELETE"):
        assert harness.ask(method, "/watchlists/First").status == 404
    assert harness.ask("PUT", "/watchlists/First", body).status == 404


def test_public_lists_name_instruments_of_the_catalogue() -> None:
    harness = Harness(equities=3_000).login()
    lists = harness.decoded("watchlists.list_public")
    assert len({one.name for one in lists}) == len({one.id for one in lists}) == len(lists) > 3
    assert max(len(one.watchlist_entries) for one in lists) == 200
    for one in lists:
        assert (one.order_index, one.user_id) == (100, "-1")
        assert one.watchlist_entries
        for entry in one.watchlist_entries:
            assert harness.state.prices.is_known(entry.symbol)
            kind, find = entry.instrument_type, harness.state.catalogue.instrument
            assert kind is InstrumentType.INDEX or find(kind, entry.symbol) is not None
    [found] = [one for one in lists if "'" in one.name]
    assert harness.decoded("watchlists.get_public", watchlist_name="Trader's ETFs") == found
    rows = harness.rows("/public-watchlists?counts-only=true")
    assert [set(row) for row in rows] == [{"name", "id", "watchlist-entry-count"}] * len(lists)
    assert [row["watchlist-entry-count"] for row in rows] == [len(one.watchlist_entries) for one in lists]


def test_entries_of_public_lists_have_the_keys_of_their_form(harness: Harness) -> None:
    [first, *_] = harness.rows("/public-watchlists")
    [documented, *_] = Harness(wire="documented").login().rows("/public-watchlists")
    one = harness.get(harness.target("watchlists.get_public", watchlist_name=first["name"]))["data"]
    keys = [set(each["watchlist-entries"][0]) for each in (first, documented, one)]
    assert keys == [{"symbol", f"instrument{dash}type"} for dash in "_--"]


def test_pairs_lists_buy_one_known_symbol_and_sell_another(harness: Harness) -> None:
    lists = harness.decoded("watchlists.list_pairs")
    assert [one.order_index for one in lists] == [1, 2, 3]
    assert harness.decoded("watchlists.get_pairs", pairs_watchlist_name="Tech Pairs") == lists[1]
    for pair in (pair for one in lists for pair in one.pairs_equations):
        assert (pair.left_action, pair.right_action) == ("Buy", "Sell")
        assert pair.left_symbol != pair.right_symbol
        assert all(map(harness.state.prices.is_known, (pair.left_symbol, pair.right_symbol)))


async def test_deleted_watchlist_comes_back_or_nothing_does() -> None:
    """The client takes either for a success."""
    for harness, is_returned in switched("deleted_watchlists_are_returned", True, False):
        for name in ("One", "Two"):
            harness.data("POST", "/watchlists", {**LIST, "name": name}, 201)
        answer = harness.ask("DELETE", "/watchlists/One")
        assert (answer.status, b'"One"' in answer.body) == (200, is_returned)
        async with harness.sim.client(transport=harness.sim.transport()) as client:
            assert await client.watchlists.delete("Two") is None
            assert await client.watchlists.list() == []


def test_alerts_are_listed_checked_and_cancelled_more_than_once(harness: Harness) -> None:
    identifier = harness.alert()
    assert len(harness.decoded("quote_alerts.list")) == 1
    for change in ({"operator": ">="}, {"threshold": 5}, {"symbol": None}):
        body = {"field": "Last", "operator": ">", "symbol": "AAPL", "threshold": "1", **change}
        harness.error("POST", "/quote-alerts", body)
    for _ in range(2):
        response = harness.ask("DELETE", f"/quote-alerts/{identifier}")
        assert (response.status, response.body) == (204, b"")
    assert harness.rows("/quote-alerts") == []


def test_alert_triggers_once_the_quote_crosses(harness: Harness) -> None:
    first, second = harness.alert(), harness.alert("<", "150.00")
    harness.wait(600)
    assert [row["triggered-at"] for row in harness.rows("/quote-alerts")] == [None, None]
    ask = harness.alert(field="Ask")
    harness.sim.set_price("AAPL", "249.99")  # two cents below what is asked for
    assert [row["alert-external-id"] for row in harness.rows("/quote-alerts") if row["triggered-at"]] == [ask]
    harness.sim.set_price("AAPL", 251)
    rows = {row["alert-external-id"]: row for row in harness.rows("/quote-alerts")}
    assert rows[first]["triggered-at"] == rows[first]["completed-at"] == "2026-06-10T14:10:00.000+00:00"
    assert rows[second]["triggered-at"] is None
    harness = Harness(prices={"AAPL": PricePath([(0, "200")])}).login().quiet()
    harness.alert(field="IV")
    harness.wait(91 * 86400)
    harness.login()
    (row,) = harness.rows("/quote-alerts")
    assert row["expired-at"] == row["completed-at"] == row["expires-at"]
    assert row["triggered-at"] is None
    harness = Harness().login()
    harness.alert(threshold="100.00")
    assert harness.rows("/quote-alerts")[0]["triggered-at"] is None
    harness.wait(61)
    assert harness.rows("/quote-alerts")[0]["triggered-at"] == "2026-06-10T14:01:00.000+00:00"
