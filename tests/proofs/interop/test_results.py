"""Outcomes of calls, judged by what the simulator's ledger has of them."""

from __future__ import annotations

import pytest

from brokerage_async.simulator.ledger import RequestRecord
from tests.proofs.interop.results import ClientRun, Outcome, failures, judge


def sent(target: str, operation: str | None = None, *, method: str = "GET", status: int = 200) -> RequestRecord:
    return RequestRecord(seq=1, at=0.0, method=method, target=target, operation=operation, status=status)


TOKEN = sent("/oauth/token", "oauth.token", method="POST")
LISTS = sent("/watchlists", "watchlists.list")


def test_accepted_answer_passes() -> None:
    result = judge("get", "sandbox", [TOKEN, LISTS], None)
    assert (result.outcome, result.requests, result.error) == (Outcome.PASSED, ("watchlists.list",), "")


def test_rejected_answer_fails_with_its_error() -> None:
    result = judge("get", "sandbox", [LISTS], "ValidationError: x")
    assert (result.outcome, result.error) == (Outcome.FAILED, "ValidationError: x")


def test_call_that_sends_nothing_fails() -> None:
    assert judge("get", "sandbox", [], None) == judge("get", "sandbox", [], "sent nothing")
    assert judge("get", "sandbox", [], "KeyError: 1").error == "KeyError: 1"


@pytest.mark.parametrize(
    ("record", "shape"),
    [
        (sent("/customers/me?x=1"), "GET /customers/me"),
        (sent("/accounts/5WT22491/complex-orders/7", method="DELETE"), "DELETE /accounts/…/complex-orders/…"),
        (
            sent("/accounts/5WT22491/complex-orders/live", "complex_orders.get", status=404),
            "GET /accounts/…/complex-orders/live",
        ),
    ],
)
def test_address_outside_of_the_schema_is_not_covered(record: RequestRecord, shape: str) -> None:
    result = judge("get", "sandbox", [LISTS, record], "an error")
    assert (result.outcome, result.error) == (Outcome.NOT_COVERED, "")
    assert result.requests == ("watchlists.list", shape)


def test_production_only_operation_is_expected_to_fail_in_the_sandbox() -> None:
    record = sent("/margin/accounts/5WT22491/requirements", "margin.requirements", status=404)
    assert judge("get", "sandbox", [record], "404").outcome is Outcome.PRODUCTION_ONLY
    assert judge("get", "production", [record], "404").outcome is Outcome.FAILED


def test_token_request_alone_is_a_call() -> None:
    assert judge("refresh", "sandbox", [TOKEN], None).requests == ("oauth.token",)


def test_failures_name_client_environment_and_call() -> None:
    results = (judge("a", "sandbox", [LISTS], None), judge("b", "sandbox", [LISTS], "broken"))
    run = ClientRun(client="SDK", version="1", environment="sandbox", results=results)
    assert failures([run]) == ["SDK (sandbox): b: broken"]
