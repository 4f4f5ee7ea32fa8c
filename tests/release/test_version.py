"""A release has a version, and a changelog that says what changed in it and when."""

from __future__ import annotations

from brokerage_async import __version__
from codegen.site.pages import ROOT, upcoming
from tests.tables import for_each

from .checks import version_problems

DATED = "# Changelog\n\n## 1.2.3 (2026-11-22)\n\n- New.\n\n## 1.2.2 (2026-01-01)\n\n- Old.\n"
UNRELEASED = DATED.replace("2026-11-22", "unreleased")


@for_each(
    "version, changelog, final, problem",
    [
        ("1.2.3", DATED, True, None),
        ("1.2.3", UNRELEASED, False, None),
        ("1.2.3", UNRELEASED, True, "must give the day of 1.2.3"),
        ("1.2.3", DATED.replace("2026-11-22", "soon"), False, "must give the day of 1.2.3"),
        ("1.2.4", DATED, False, "must be 1.2.4, got 1.2.3"),
        ("1.2.3", "# Changelog\n", False, "must be 1.2.3, got none"),
        ("1.2.3", DATED.replace("- New.", "Nothing."), False, "got no entries"),
        ("1.2", DATED.replace("1.2.3", "1.2"), False, "must be MAJOR.MINOR.PATCH"),
        ("1.2.3rc1", DATED.replace("1.2.3", "1.2.3rc1"), True, None),
    ],
)
def test_version_problems(version: str, changelog: str, final: bool, problem: str | None) -> None:
    found = version_problems(version, changelog, final=final)
    assert (problem is None) == (found == [])
    assert problem is None or problem in found[0]


def test_this_version_is_the_newest_of_the_changelog() -> None:
    changelog = upcoming(ROOT, __version__) + (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert version_problems(__version__, changelog, final=False) == []
