"""A release is refused unless its files, version, news and builds are in order."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from brokerage_async import __version__
from codegen.site.copies import upcoming
from codegen.site.pages import ROOT, START
from tests.tables import for_each

from . import checks as command
from .checks import (
    REQUIRED_IN_SDIST,
    REQUIRED_IN_WHEEL,
    fragment_problems,
    sdist_problems,
    version_problems,
    wheel_problems,
)
from .conftest import INFO, Build


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


def test_checks_need_only_the_packages_of_a_release() -> None:
    hidden = "import sys; sys.modules['yaml'] = None; import tests.release.checks"  # a generator's, in no release
    subprocess.run([sys.executable, "-c", hidden], cwd=ROOT, check=True)


def test_builds_that_differ_or_hold_a_stranger_fail(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = Path(shutil.copytree(dist, dist.parent / "again"))
    with next(again.glob("*.whl")).open("ab") as file:
        file.write(b"\n")
    assert command.main([str(dist), str(again)]) == 1
    assert "two builds must have the same hashes" in capsys.readouterr().out
    shutil.copy(next(dist.glob("*.whl")), dist / "another-1.0.0-py3-none-any.whl")
    assert command.main([str(dist)]) == 1


def test_final_release_needs_a_day_and_an_address(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(dist), "--final"]) == 1
    shown = capsys.readouterr().out
    assert "must give the day" in shown
    assert "must have [project.urls]" in shown


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


def test_wheel_holds_its_parts_and_the_package_only(wheel: Build) -> None:
    name = wheel().name
    assert wheel_problems(wheel(), "1.0.0") == []
    for part in REQUIRED_IN_WHEEL:
        assert wheel_problems(wheel(without=[part]), "1.0.0") == [f"{name} lacks {part}"]
    for more in (
        "tests/test_client.py",
        "codegen/spec.py",
        "schema/openapi.yaml",
        "brokerage_async/orders.json",
        "x.py",
    ):
        assert wheel_problems(wheel(more=[more]), "1.0.0") == [f"{name} must hold the package only, got {more}"]
    assert "version 1.0.0 in its metadata, got 0.9" in wheel_problems(wheel(version="0.9"), "1.0.0")[0]
    assert "lacks the license" in wheel_problems(wheel(without=[f"{INFO}/licenses/LICENSE"]), "1.0.0")[0]


def test_sdist_holds_its_parts_and_no_caches(sdist: Build) -> None:
    name = sdist().name
    assert sdist_problems(sdist()) == []
    for part in REQUIRED_IN_SDIST:
        assert sdist_problems(sdist(without=[part])) == [f"{name} lacks {part}"]
    for more in ("docs/_build/html/index.html", ".nox/x", "tests/__pycache__/a.pyc"):
        assert sdist_problems(sdist(more=[more])) == [f"{name} must not hold {more}"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "changelog.d").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "changelog.d/template.md.jinja", tmp_path / "changelog.d")
    return tmp_path


@for_each(
    "name, content, problem",
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
    fragment = project / "changelog.d" / name
    fragment.write_text(content)
    found = fragment_problems(fragment.parent)
    fragment.unlink()
    assert (problem is None) == (found == [])
    assert problem is None or problem in found[0]


def test_upcoming_sorts_fragments_by_kind_and_indents_them(project: Path) -> None:
    assert upcoming(project, "1.2.3") == ""
    (project / "changelog.d/b.fixed.md").write_text("Mended,\nsee `b`.\n")
    (project / "changelog.d/a.added.md").write_text("- New.\n")
    shown = upcoming(project, "1.2.3", "2026-12-01").rstrip()
    assert shown == "## 1.2.3 (2026-12-01)\n\n### Added\n\n- New.\n\n### Fixed\n\n- Mended,\n  see `b`."


def test_fragments_of_this_project_have_no_problems() -> None:
    assert fragment_problems(ROOT / "changelog.d") == []
    assert START in (ROOT / "CHANGELOG.md").read_text("utf-8")


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


def test_bill_of_materials_names_this_version_and_its_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = json.loads((ROOT / "sbom.cdx.json").read_text("utf-8"))
    names = [re.split("[<>=;]", requirement)[0] for requirement in project["dependencies"]]
    assert [each["name"] for each in listed["components"]] == names
    own = listed["metadata"]["component"]
    assert (own["name"], own["version"]) == (project["name"], __version__)
    assert listed["dependencies"] == [{"ref": own["bom-ref"], "dependsOn": [f"pkg:pypi/{name}" for name in names]}]


def test_lock_of_a_release_takes_files_by_hash_from_the_public_index_only() -> None:
    locked = tomllib.loads((ROOT / "pylock.release.toml").read_text("utf-8"))["packages"]
    files = [wheel for each in locked for wheel in [*each.get("wheels", ()), *filter(None, [each.get("sdist")])]]
    assert {"nox", "hatchling", "build", "twine"} <= {each["name"] for each in locked}
    assert all(each["url"].startswith("https://files.pythonhosted.org/") for each in files)
    assert all(re.fullmatch("[0-9a-f]{64}", each["hashes"]["sha256"]) for each in files)
