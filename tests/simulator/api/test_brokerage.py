"""Checks that every request must pass, interface versions, and its record in the ledger."""

import json

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.versions import CHANGES, VERSIONS
from tests.simulator.harness import Harness, limit, switched
from tests.tables import for_each


def test_missing_user_agent_gets_an_html_page(harness: Harness) -> None:
    response = harness.ask("GET", "/watchlists", user_agent=None)
    assert response.status == 401
    assert response.headers["content-type"] == "text/html"
    assert b"<html>" in response.body


def test_malformed_user_agent_is_unauthorized(harness: Harness) -> None:
    for agent in ("curl", "curl/", "/1.0", "my app/1.0", "a/b/c"):
        response = harness.ask("GET", "/watchlists", user_agent=agent)
        assert (response.status, json.loads(response.body)["error"]["code"]) == (401, "unauthorized")


def test_request_without_valid_token_is_unauthorized_but_for_a_public_operation(harness: Harness) -> None:
    for authorization in (None, "", "Bearer", "Bearer x.y.z", "Basic abc"):
        assert harness.ask("GET", "/watchlists", authorization=authorization).status == 401
    assert harness.error("GET", "/nowhere", status=404).keys() == {"code", "message"}
    assert harness.ask("GET", "/nowhere", authorization=None).status == 401
    target = "/margin-requirements-public-configuration"
    assert harness.ask("GET", target, authorization=None).status == 200
    assert harness.ask("GET", target).status == 200
    assert harness.ask("GET", target, authorization="Bearer x.y.z").status == 401


@for_each(
    "method, target, allowed",
    [
        ("DELETE", "/watchlists", "GET, POST"),
        ("HEAD", "/watchlists", "GET, POST"),
        ("GET", "/accounts/X/orders/1/dry-run?x=1", "POST"),
        ("PUT", "/oauth/token", "POST"),
    ],
)
def test_wrong_method_is_not_allowed(harness: Harness, method: str, target: str, allowed: str) -> None:
    response = harness.ask(method, target)
    assert (response.status, response.headers["allow"]) == (405, allowed)
    assert response.headers["content-type"] == "application/json"
    assert json.loads(response.body)["error"]["code"] == "method_not_allowed"


@for_each("operation", [name for name, one in OPERATIONS.items() if one.production_only])
def test_production_only_operation_is_missing_in_sandbox(harness: Harness, production: Harness, operation: str) -> None:
    data = OPERATIONS[operation]
    body = b"{}" if data.body is not None else None
    for where, statuses in ((harness, {404, 502}), (production, {200, 422})):
        target = data.path.replace("{account_number}", where.account)
        target = target.replace("{instrument_type}", "Equity").replace("{symbol}", "AAPL")
        assert where.ask(data.method, target, body).status in statuses


def test_rate_limit_returns_a_bare_429(harness: Harness) -> None:
    harness.sim.rate_limit = 3
    assert [harness.ask("GET", "/watchlists").status for _ in range(5)] == [200, 200, 200, 429, 429]
    refused = harness.ask("GET", "/watchlists")
    assert (refused.status, dict(refused.headers), refused.body) == (429, {}, b"")
    harness.wait(1.01)
    assert harness.ask("GET", "/watchlists").status == 200


GONE = ["20240430", "20230101", "20260230", "20261301", "1", "latest", "", "2026-02-11", "20٢٦1012", "2026W01"]


def served(harness: Harness, version: str | None) -> str | None:
    """Return the version that answers a request, None for a 406, as the lists show it."""
    sent = {} if version is None else {"accept_version": version}
    live = f"/customers/me/orders/live?account-numbers[]={harness.account}"
    targets = [live, f"/accounts/{harness.account}/orders/live", "/instruments/equity-options"]
    answers = [harness.ask("GET", target, **sent) for target in targets]
    if {answer.status for answer in answers} == {406}:
        assert {json.loads(answer.body)["error"]["code"] for answer in answers} == {406}
        return None
    paged = ["pagination" in json.loads(answer.body) for answer in answers]
    return VERSIONS[sum(paged)] if paged == sorted(paged) else f"mixed: {paged}"


def test_dates_get_the_newest_version_that_is_not_newer() -> None:
    every, current, later = VERSIONS, ("20250813", "20261012"), ("20270101",)
    cases: list[tuple[tuple[str, ...], str | None, str | None]] = [
        *((every, version, version) for version in VERSIONS),
        *((every, version, None) for version in GONE),
        (every, None, "20240501"),
        (every, "2.0.1", "20240501"),
        (every, "20250714", "20240501"),
        (every, "20250812", "20250715"),
        (every, "20261011", "20250813"),
        (every, "29991231", "20261012"),
        (current, None, "20250813"),
        (current, "20250812", None),
        (current, "20261012", "20261012"),
        (later, None, "20261012"),
        (later, "20261012", None),
        (later, "20270101", "20261012"),
    ]
    harnesses = {alive: Harness(versions=alive).login() for alive in (every, current, later)}
    found = [(alive, asked, served(harnesses[alive], asked)) for alive, asked, _ in cases]
    assert [case for case in found if case not in cases] == []

    loose = Harness(versions=current, without=["older_versions_get_a_406", "no_version_gets_the_oldest"]).login()
    assert (served(loose, "20240501"), served(loose, None)) == ("20250813", "20261012")


def test_changes_begin_with_their_version_and_can_be_switched_off() -> None:
    account = Harness().account
    live = f"/customers/me/orders/live?account-numbers[]={account}"
    seen = {  # what an answer that shows the change has in its body
        "balances_are_a_list": (f"/accounts/{account}/balances", b'"items"'),
        "equity_options_in_pages": ("/instruments/equity-options", b'"pagination"'),
        "account_live_list_in_pages": (f"/accounts/{account}/orders/live", b'"pagination"'),
        "customer_live_list_in_pages": (live, b'"pagination"'),
        "order_searches_need_a_start": (f"/accounts/{account}/orders", b'"error"'),
    }
    wrong = []
    for change, since in CHANGES.items():
        target, shown = seen[change]
        for harness, begun in switched(change, since, "never"):
            for version in (None, *VERSIONS, "20270101"):
                answer = harness.ask("GET", target, accept_version=version)
                is_shown = (version or "") >= begun
                status = 400 if is_shown and shown == b'"error"' else 200
                if (shown in answer.body, answer.status) != (is_shown, status):
                    wrong.append((change, begun, version))
    assert wrong == []


def test_pages_have_published_sizes() -> None:
    harness, loose = Harness().login(), Harness(without=["pages_have_maxima"]).login()
    owned = f"/accounts/{harness.account}"
    customer = f"account-numbers[]={harness.account}&start-date=2026-01-01"
    cases = [
        (f"{owned}/orders?start-date=2026-01-01", 100, 200),
        (f"{owned}/orders/live?", 100, 200),
        (f"/customers/me/orders?{customer}", 100, 200),
        (f"/customers/me/orders/live?{customer}", 100, 200),
        (f"{owned}/complex-orders?", 10, 200),
        (f"{owned}/transactions?", 250, 2_000),
        (f"{owned}/balance-snapshots?", 250, 2_000),
        ("/instruments/equities/active?", 1_000, 5_000),
        ("/instruments/equity-options?", 1_000, 1_000),
    ]
    found = []
    for target, _, largest in cases:
        shown = harness.get(target, accept_version="20261012")["pagination"]["per-page"]
        asked = ((harness, largest), (harness, largest + 1), (loose, largest + 1))
        answers = [one.ask("GET", f"{target}&per-page={size}", accept_version="20261012") for one, size in asked]
        found.append((target, shown, largest, [answer.status for answer in answers]))
    assert found == [(*case, [200, 400, 200]) for case in cases]


def test_versions_that_can_exist_are_withdrawn_at_any_time(harness: Harness) -> None:
    older = Harness(withdrawn_versions=["20251101"])
    for version, status in (("20251101", 406), ("20251102", 200), ("20240430", 406), (None, 200)):
        older.headers.pop("Accept-Version", None)
        older.headers |= {} if version is None else {"Accept-Version": version}
        assert older.token().status == status
    harness.place(limit())
    harness.sim.withdrawn_versions = {"20250813", "2.0.1"}
    assert harness.sim.withdrawn_versions == {"20250813", "2.0.1"}
    for version, status in (("20250813", 406), ("2.0.1", 406), ("20250814", 200), (None, 200)):
        assert harness.ask("GET", "/watchlists", accept_version=version).status == status
    harness.sim.withdrawn_versions = VERSIONS
    assert harness.ask("GET", "/watchlists").status == 406
    for options, named in [({"versions": ["2025"]}, "versions"), ({"withdrawn_versions": ["2025-11-01"]}, "withdrawn")]:
        with pytest.raises(ValueError, match=f"^{named}.* must be dates of the form YYYYMMDD, got '2025"):
            Simulator(**options)  # type: ignore[arg-type]
