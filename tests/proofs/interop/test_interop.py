"""The page of calls, and the pages for users of other clients."""

from pathlib import Path

from tests.documents import ROOT
from tests.proofs.interop.results import UNEXPLAINED, Outcome
from tests.tables import for_each

from .pages import PAGES, PLACES, SCRIPT, called, theirs


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
