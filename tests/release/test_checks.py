"""The command compares two builds, and fails for any problem."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.site.pages import ROOT

from . import checks as command
from .conftest import Build


@pytest.fixture
def dist(tmp_path: Path, wheel: Build, sdist: Build, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    for path in (wheel(), sdist()):
        shutil.move(path, folder)
    (tmp_path / "CHANGELOG.md").write_text("## 1.0.0 (unreleased)\n\n- All.\n")
    fragments = tmp_path / "changelog.d"
    fragments.mkdir()
    shutil.copy(ROOT / "changelog.d/template.md.jinja", fragments)
    settings = (ROOT / "pyproject.toml").read_text("utf-8").partition("[tool.towncrier]")[2].partition("[tool.hatch")[0]
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\n\n[tool.towncrier]{settings}')
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "__version__", "1.0.0")
    return folder


def test_equal_builds_pass_and_show_their_hashes(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = shutil.copytree(dist, dist.parent / "again")
    assert command.main([str(dist), str(again)]) == 0
    assert capsys.readouterr().out.endswith("1.0.0 is fit to be released\n")


def test_builds_that_differ_fail(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = Path(shutil.copytree(dist, dist.parent / "again"))
    with next(again.glob("*.whl")).open("ab") as file:
        file.write(b"\n")
    assert command.main([str(dist), str(again)]) == 1
    assert "two builds must have the same hashes" in capsys.readouterr().out


def test_final_release_needs_a_day_and_an_address(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(dist), "--final"]) == 1
    shown = capsys.readouterr().out
    assert "must give the day" in shown
    assert "must have [project.urls]" in shown


def test_builds_that_differ_or_hold_a_stranger_fail(dist: Path) -> None:
    shutil.copy(next(dist.glob("*.whl")), dist / "another-1.0.0-py3-none-any.whl")
    assert command.main([str(dist)]) == 1


def test_tag_of_another_version_fails(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(dist), "--tag", "v1.0.0"]) == 0
    assert command.main([str(dist), "--tag", "v1.0.1"]) == 1
    assert "the tag must be v1.0.0, got v1.0.1" in capsys.readouterr().out


def test_fragments_are_news_until_the_final_release_which_leaves_none(
    dist: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (dist.parent / "CHANGELOG.md").write_text("## 0.9.0 (2026-01-01)\n\n- Old.\n")
    assert command.main([str(dist)]) == 1
    assert "must be 1.0.0, got 0.9.0" in capsys.readouterr().out
    (dist.parent / "changelog.d/topic.added.md").write_text("News.\n")
    assert command.main([str(dist)]) == 0
    assert command.main([str(dist), "--final"]) == 1
    assert "must hold all fragments of changelog.d" in capsys.readouterr().out
