"""Checks that every request must pass, and its record in the ledger."""

import json

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Effect
from tests.simulator.harness import Harness, limit
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


def test_request_without_valid_token_is_unauthorized(harness: Harness) -> None:
    for authorization in (None, "", "Bearer", "Bearer x.y.z", "Basic abc"):
        assert harness.ask("GET", "/watchlists", authorization=authorization).status == 401


def test_public_operation_needs_no_token_and_an_unknown_address_does(harness: Harness) -> None:
    target = "/margin-requirements-public-configuration"
    assert harness.ask("GET", target, authorization=None).status == 200
    assert harness.ask("GET", target).status == 200
    assert harness.ask("GET", target, authorization="Bearer x.y.z").status == 401
    assert harness.ask("GET", "/nowhere").status == 404
    assert harness.ask("GET", "/nowhere", authorization=None).status == 401


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


def test_context_echoes_the_path(harness: Harness) -> None:
    assert harness.get("/watchlists")["context"] == "/watchlists"


def test_rate_limit_returns_a_bare_429(harness: Harness) -> None:
    harness.sim.rate_limit = 3
    assert [harness.ask("GET", "/watchlists").status for _ in range(5)] == [200, 200, 200, 429, 429]
    refused = harness.ask("GET", "/watchlists")
    assert (refused.status, dict(refused.headers), refused.body) == (429, {}, b"")
    harness.wait(1.01)
    assert harness.ask("GET", "/watchlists").status == 200


def test_ledger_records_every_request(harness: Harness) -> None:
    harness.ask("GET", "/watchlists", user_agent=None)
    harness.place(limit(external_identifier="mine"))
    *_, refused, placed = harness.sim.ledger.requests
    assert (refused.operation, refused.processed, refused.status) == ("watchlists.list", False, 401)
    assert (placed.operation, placed.effect, placed.processed) == ("orders.submit", Effect.MUTATE, True)
    assert placed.external_identifiers == ("mine",)
    (order,) = harness.sim.ledger.orders(external_identifier="mine")
    assert placed.order_ids == (order.order_id,)
