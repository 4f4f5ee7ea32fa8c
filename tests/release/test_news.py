"""Fragments are named by topic and kind, hold a sentence, and become a section of the changelog."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.site.pages import ROOT, START, upcoming

from .checks import fragment_problems


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "changelog.d").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "changelog.d/template.md.jinja", tmp_path / "changelog.d")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("fleet.added.md", "One sentence,\nover two lines.\n", None),
        ("fleet.removed.md", "A sentence.\n", "must be named TOPIC.added.md"),
        ("fleet.added.rst", "A sentence.\n", "must be named TOPIC.added.md"),
        ("Fleet of ten.added.md", "A sentence.\n", "must be named TOPIC.added.md"),
        ("fleet.fixed.md", "\n", "must have 1 to 6 lines, got 0"),
        ("fleet.fixed.md", "Long.\n" * 7, "must have 1 to 6 lines, got 7"),
        ("fleet.fixed.md", "- A sentence,\n  over two lines.\n", None),
        ("fleet.fixed.md", "- A sentence.\n- Another.\n", "must be one entry"),
        ("fleet.fixed.md", "## A heading\n", "must be one entry"),
    ],
)
def test_fragment_problems(project: Path, name: str, content: str, problem: str | None) -> None:
    (project / "changelog.d" / name).write_text(content)
    found = fragment_problems(project / "changelog.d")
    assert (problem is None) == (found == [])
    assert problem is None or problem in found[0]


def test_upcoming_without_fragments_is_empty(project: Path) -> None:
    assert upcoming(project, "1.2.3") == ""


def test_upcoming_sorts_fragments_by_kind_and_indents_them(project: Path) -> None:
    (project / "changelog.d/b.fixed.md").write_text("Mended,\nsee `b`.\n")
    (project / "changelog.d/a.added.md").write_text("- New.\n")
    shown = upcoming(project, "1.2.3", "2026-12-01").rstrip()
    assert shown == "## 1.2.3 (2026-12-01)\n\n### Added\n\n- New.\n\n### Fixed\n\n- Mended,\n  see `b`."


def test_fragments_of_this_project_have_no_problems() -> None:
    assert fragment_problems(ROOT / "changelog.d") == []
    assert START in (ROOT / "CHANGELOG.md").read_text("utf-8")
