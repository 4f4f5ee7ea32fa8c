"""Outcomes of calls judged by the simulator's ledger, their page, and the pages for users of other clients."""

from pathlib import Path

import pytest

from brokerage_async.simulator.ledger import RequestRecord
from tests.documents import ROOT, THEIRS, every_block
from tests.proofs.interop.page import UNEXPLAINED
from tests.proofs.interop.results import Outcome, judge
from tests.tables import for_each

from .pages import PAGES, PLACES, SCRIPT, called, theirs, unresolved


def sent(target: str, operation: str | None = None, *, method: str = "GET", status: int = 200) -> RequestRecord:
    return RequestRecord(seq=1, at=0.0, method=method, target=target, operation=operation, status=status)


TOKEN = sent("/oauth/token", "oauth.token", method="POST")
LISTS = sent("/watchlists", "watchlists.list")
MARGIN = sent("/margin/accounts/5WT22491/requirements", "margin.requirements", status=404)


@for_each(
    "environment, records, error, outcome, requests, told",
    [
        ("sandbox", [TOKEN, LISTS], None, Outcome.PASSED, ("watchlists.list",), ""),
        ("sandbox", [TOKEN], None, Outcome.PASSED, ("oauth.token",), ""),
        ("sandbox", [LISTS], "Error: x", Outcome.FAILED, ("watchlists.list",), "Error: x"),
        ("sandbox", [], None, Outcome.FAILED, (), "sent nothing"),
        ("sandbox", [], "KeyError: 1", Outcome.FAILED, (), "KeyError: 1"),
        ("sandbox", [MARGIN], "404", Outcome.PRODUCTION_ONLY, ("margin.requirements",), ""),
        ("production", [MARGIN], "404", Outcome.FAILED, ("margin.requirements",), "404"),
        *(
            ("sandbox", [LISTS, record], "an error", Outcome.NOT_COVERED, ("watchlists.list", shape), "")
            for record, shape in (
                (sent("/customers/me?x=1"), "GET /customers/me"),
                (sent("/accounts/5WT22491/complex-orders/7", method="DELETE"), "DELETE /accounts/…/complex-orders/…"),
                (
                    sent("/accounts/5WT22491/complex-orders/live", "complex_orders.get", status=404),
                    "GET /accounts/…/complex-orders/live",
                ),
            )
        ),
    ],
)
def test_judge(
    environment: str, records: list[RequestRecord], error: str | None, outcome: Outcome, requests: tuple[str], told: str
) -> None:
    result = judge("get", environment, records, error)
    assert (result.outcome, result.requests, result.error) == (outcome, requests, told)


def test_page_in_the_documentation_has_no_failure() -> None:
    written = (ROOT / "docs" / "reference" / "reports" / "interop.md").read_text("utf-8")
    for client in ("PyPI `tastytrade`", "npm `@tastytrade/api`"):
        assert f"## {client} " in written
    assert Outcome.FAILED not in written
    assert "| passed | passed |" in written
    assert UNEXPLAINED not in written


@for_each("page", PAGES)
def test_every_call_of_theirs_on_a_page_is_made_or_resolved(page: Path) -> None:
    names = theirs(page)
    assert len(names) > 15
    assert [name for name in names if name not in called() | PLACES.keys() | SCRIPT] == []


def test_names_of_theirs_are_read_from_pages_and_missing_ones_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("| Theirs | Ours |\n|---|---|\n| `new A({...})`, `b.c(x, y=...)` | `d` |\n| `E` with one | `f` |\n")
    assert theirs(page) == ["A", "b.c", "E"]
    for name, place in {"here": "pathlib:Path.exists", "gone": "pathlib:Path.vanish", "absent": "no_such:Path"}.items():
        monkeypatch.setitem(PLACES, name, place)
    assert [line.partition(":")[0] for line in unresolved(["here", "gone", "absent"])] == ["gone", "absent"]
    assert [mark for _, mark, _ in every_block(PAGES[0])] == [THEIRS, "", "", ""]
