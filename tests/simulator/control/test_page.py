"""Page and reference of the control interface, the views behind them, and the requests that they send."""

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.control import api, server
from tests.schema import bundle
from tests.simulator.harness import Harness, leg, limit, market
from tests.tables import for_each


def test_page_has_what_its_script_uses_and_nothing_from_elsewhere() -> None:
    ids = set(re.findall(r'id="([\w-]+)"', server.PAGE))
    used = set(re.findall(r'(?:byId|rows)\("(\w+)"', server.SCRIPT))
    assert used
    assert used <= ids
    forms = set(re.findall(r'data-action="(\w+)"', server.PAGE))
    assert forms == set(re.findall(r"^  (\w+): \(", server.SCRIPT, re.MULTILINE))
    routes = {(route.method, re.sub(r"\{\w+\}", "{}", route.path)) for route in api.CONTROL_ROUTES}
    calls = re.findall(r'"(GET|PUT|POST|PATCH|DELETE)", ["`]([^"`]+)["`]', server.SCRIPT)
    assert len(calls) >= 12
    for method, path in calls:
        plain = re.sub(r"\$\{path\}", "/orders/{}", path)
        assert (method, re.sub(r"\$\{[^}]*\}", "{}", plain)) in routes, path
    assert '<html lang="en">' in server.PAGE
    assert 'href="#orders"' in server.PAGE
    assert 'aria-live="polite"' in server.PAGE
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", server.PAGE + server.SCRIPT + server.STYLE)
    assert not re.findall(r"<script>|\son\w+=|innerHTML", server.PAGE + server.SCRIPT)  # the policy forbids them
    assert "color-scheme: light dark" in server.STYLE
    fields = re.findall(r"<(?:input|select)[^>]*>", server.PAGE)
    labelled = re.findall(r"<label>[^<]*<input", server.PAGE)
    assert len(fields) == len(labelled) > 5


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node, which parses the script")
def test_script_is_valid(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(server.SCRIPT)
    done = subprocess.run(["node", "--check", tmp_path / "page.js"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_price_has_the_course_of_the_past_hour(harness: Harness) -> None:
    prices = harness.state.prices
    view = api.price_view(prices, "AAPL", harness.now)
    assert len(view.history) == 61
    assert view.history[-1] == view.last == str(prices.underlying_price("AAPL", harness.now))
    assert view.history[0] == str(prices.underlying_price("AAPL", harness.now - 3600))
    assert len(set(view.history)) > 10
    harness.sim.set_price("AAPL", "150")
    held = api.price_view(prices, "AAPL", harness.sim.clock.now())
    assert (held.is_held, held.history[-1], held.history[0]) == (True, "150", view.history[0])


def test_orders_and_fills_are_the_newest_first_with_what_is_allowed(harness: Harness) -> None:
    resting, filled = harness.place(limit("100.00")), harness.place(market())
    first, second, *_ = api.order_views(harness.state)
    assert (first.id, second.id) == (filled, resting)
    assert (second.can_fill, second.can_reject, second.can_expire, second.can_remove) == (True, True, True, True)
    harness.wait(30)
    first, second, *_ = api.order_views(harness.state)
    assert (first.status, first.is_terminal, first.filled, first.size) == ("Filled", True, "10", "10")
    assert (first.can_fill, first.can_reject, first.can_expire) == (False, False, False)
    assert (second.status, second.can_fill, second.can_reject, second.can_expire) == ("Live", True, True, True)
    fills = api.state_view(harness.brokerage, 1.0, harness.now).fills
    assert sum(int(fill.quantity) for fill in fills) == 10
    assert {(fill.order_id, fill.action, fill.symbol) for fill in fills} == {(filled, "Buy to Open", "AAPL")}
    assert [fill.at for fill in fills] == sorted((fill.at for fill in fills), reverse=True)


def test_ledger_shows_the_newest_requests_with_their_timings(harness: Harness) -> None:
    harness.ask("GET", "/watchlists")
    under_way, answered = harness.brokerage.ledger.requests[-2:]
    under_way.elapsed, answered.elapsed = None, 0.01234
    shown = api.ledger_view(harness.brokerage.ledger).requests[-2:]
    assert [each.milliseconds for each in shown] == [None, 12.3]
    ledger = harness.brokerage.ledger
    ledger.requests.clear()
    for number in range(300):
        ledger.record_request(harness.now, "GET", f"/{number}")
    shown = api.ledger_view(ledger).requests
    assert len(shown) == api.MAX_ROWS
    assert shown[-1].target == "/299"


def test_prices_are_those_of_traded_and_held_underlyings_up_to_a_number(harness: Harness) -> None:
    harness.place(limit("1.00", leg("BRK/B")))
    shown = [price.symbol for price in api.state_view(harness.brokerage, 1.0, harness.now).prices]
    assert {"AAPL", "MSFT", "SPY", "BRK/B"} <= set(shown)
    for definition in harness.state.catalogue.equities.definitions[:60]:
        harness.sim.set_price(definition.symbol, "5")
    assert len(api.state_view(harness.brokerage, 1.0, harness.now).prices) == api.MAX_PRICES


def test_request_to_an_encoded_path_is_sent_as_the_owner_with_a_valid_token(harness: Harness) -> None:
    control = api.ControlApi(harness.brokerage, harness.sim.clock, "")
    placed = control.send("post", f"/accounts/{harness.account}/orders", json.dumps(limit()), harness.now)
    assert placed.status == 201
    assert control.send("GET", "/watchlists", None, harness.now).status == 200
    _, *operations = [record.operation for record in harness.brokerage.ledger.requests]  # the first is the harness's
    assert operations == ["oauth.token", "orders.submit", "watchlists.list"]
    assert control.send("GET", "/watchlists", None, harness.now + 901).status == 200
    harness.sim.revoke()
    assert control.send("GET", "/watchlists", None, harness.now).status == 401
    for target in ("watchlists", "http://elsewhere/", "/a b", "/é", "/a\r\nHost: x", ""):
        with pytest.raises(ValueError, match="target must be an encoded path"):
            control.send("GET", target, None, harness.now)


class Parsed(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.update(attrs)
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, name: str) -> set[str]:
        return {value or "" for key, value in self.attributes if key == name}


def page_of(name: str) -> str:
    return server.reference_page(name, "5WT777") or ""


@for_each("name", OPERATIONS)
def test_page_has_parameters_fields_and_answers(name: str) -> None:
    page, operation = page_of(name), bundle.OPERATIONS[name]
    parsed = Parsed(page)
    assert {target[1:] for target in parsed.values("href") if target.startswith("#")} <= parsed.values("id")
    for parameter in map(bundle.resolved, operation.get("parameters", ())):
        assert f'name="{parameter["name"]}" data-in="{parameter["in"]}"' in page
    for status in operation["responses"]:
        assert f"<td>{status}</td>" in page
    success = bundle.success_schema(name)
    for schema in bundle.alternatives(success or {}):
        for field in bundle.resolved(schema).get("properties", {}):
            assert f"<code>{field}</code>" in page
    assert ("<textarea" in page) is ("requestBody" in operation)


def test_pages_are_complete_and_load_nothing_from_elsewhere() -> None:
    assert {f"/reference/{name}" for name in OPERATIONS} <= Parsed(page_of("")).values("href")
    for page in map(page_of, ("", *OPERATIONS)):
        assert not re.search(r"(src|href)=\"https?:|<script>|\son\w+=", page)
        assert server.INVENTED_ACCOUNT not in page
    assert server.reference_page("orders.lve", "5WT777") is server.reference_page("../page.css", "5WT777") is None
    (body,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page_of("margin.dry_run"), re.DOTALL)
    assert '"account-number": "5WT777"' in unescape(body)
    shown = page_of("orders.list")
    for cell in ("documented", "published"):
        assert f'<td class="quiet">{cell}</td>' in shown
    for words in ('array of <a href="#Order">Order</a>', "string or null", "<td>date</td>", "<code>Asc</code>"):
        assert words in shown, words
    assert '<td class="quiet">documented</td>' not in page_of("backtests.get").partition("Answers")[0]
