"""Page of the outcomes."""

from __future__ import annotations

from pathlib import Path

from tests.proofs.interop.page import REASONS, UNEXPLAINED, page, reason
from tests.proofs.interop.results import CallResult, ClientRun, Outcome


def run(environment: str, *results: CallResult) -> ClientRun:
    return ClientRun(client="SDK", version="1.2", environment=environment, results=results)


def call(name: str, outcome: Outcome, error: str = "", *requests: str) -> CallResult:
    return CallResult(name=name, outcome=outcome, requests=requests, error=error)


def test_page_shows_the_environments_side_by_side() -> None:
    production = run(
        "production",
        call("a", Outcome.PASSED, "", "orders.list"),
        call("b", Outcome.FAILED, "x | y", "orders.live", "orders.list"),
        call("c", Outcome.NOT_COVERED, "", "GET /c"),
    )
    sandbox = run(
        "sandbox",
        call("a", Outcome.PRODUCTION_ONLY, "", "orders.list"),
        call("b", Outcome.PASSED, "", "orders.live"),
        call("c", Outcome.NOT_COVERED, "", "GET /c"),
    )
    written = page([[production, sandbox]])
    assert "## SDK 1.2\n\n- production: 1 of 2 covered calls pass\n- sandbox: 1 of 1 covered calls pass\n" in written
    assert "| `a` | `orders.list` | passed | production only |\n" in written
    assert "| `b` | `orders.live`, `orders.list` | FAILED: x \\| y | passed |\n" in written
    assert written.endswith("Left out:\n\n- `c`: `GET /c`, which is not in the schema\n")


def test_requests_outside_of_the_schema_have_a_reason() -> None:
    for request, why in REASONS.items():
        assert reason(call("c", Outcome.NOT_COVERED, "", "orders.list", request)) == why


def test_page_in_the_documentation_has_no_failure() -> None:
    written = (Path(__file__).parents[3] / "docs" / "reference" / "reports" / "interop.md").read_text("utf-8")
    for client in ("PyPI `tastytrade`", "npm `@tastytrade/api`"):
        assert f"## {client} " in written
    assert Outcome.FAILED not in written
    assert "| passed | passed |" in written
    assert UNEXPLAINED not in written
