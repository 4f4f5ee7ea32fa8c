"""A release is refused unless its files, version, news and builds are in order. Workflows and hooks are pinned."""

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from brokerage_async import __version__
from codegen.site.copies import upcoming
from codegen.site.pages import ROOT, START
from tests.tables import for_each

from . import checks
from .checks import REQUIRED_IN_SDIST, REQUIRED_IN_WHEEL, built_problems, fragment_problems, version_problems

WHEEL, SDIST = "brokerage_async-1.0.0-py3-none-any.whl", "brokerage_async-1.0.0.tar.gz"
INFO = "brokerage_async-1.0.0.dist-info"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def pack(folder: Path, *more: str, without: str = "", version: str = "1.0.0") -> Path:
    """Write a wheel and an sdist, complete but for one file, and with further ones."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr(f"{INFO}/METADATA", f"Name: brokerage-async\nVersion: {version}\n")
        for name in {*REQUIRED_IN_WHEEL, f"{INFO}/licenses/LICENSE", *more} - {without}:
            archive.writestr(name, "")
    with tarfile.open(folder / SDIST, "w:gz") as archive:
        for name in {*REQUIRED_IN_SDIST, *more} - {without}:
            archive.addfile(tarfile.TarInfo(f"brokerage_async-1.0.0/{name}"), io.BytesIO())
    return folder


def test_wheel_and_sdist_hold_their_parts_and_no_stranger(tmp_path: Path) -> None:
    assert built_problems(pack(tmp_path), "1.0.0") == []
    for part in (*REQUIRED_IN_WHEEL, *REQUIRED_IN_SDIST):
        required = {WHEEL: REQUIRED_IN_WHEEL, SDIST: REQUIRED_IN_SDIST}
        lacking = [f"{name} lacks {part}" for name, parts in required.items() if part in parts]
        assert built_problems(pack(tmp_path, without=part), "1.0.0") == lacking
    for more in ("tests/test_client.py", "codegen/spec.py", "brokerage_async/orders.json", "x.py"):
        assert built_problems(pack(tmp_path, more), "1.0.0") == [f"{WHEEL} must hold the package only, got {more}"]
    for more in ("docs/_build/html/index.html", ".nox/x", "tests/__pycache__/a.pyc"):
        assert f"{SDIST} must not hold {more}" in built_problems(pack(tmp_path, more), "1.0.0")
    assert "version 1.0.0 in its metadata, got 0.9" in built_problems(pack(tmp_path, version="0.9"), "1.0.0")[0]
    assert built_problems(pack(tmp_path, without=f"{INFO}/licenses/LICENSE"), "1.0.0") == [f"{WHEEL} lacks the license"]
    (tmp_path / "another-1.0.0-py3-none-any.whl").write_bytes(b"")
    assert "must hold one wheel and one sdist" in built_problems(tmp_path, "1.0.0")[0]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a project with its settings, and without news."""
    (tmp_path / "changelog.d").mkdir()
    settings = (ROOT / "pyproject.toml").read_text("utf-8").partition("[tool.towncrier]")[2].partition("[tool.hatch")[0]
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\n\n[tool.towncrier]{settings}')
    shutil.copy(ROOT / "changelog.d/template.md.jinja", tmp_path / "changelog.d")
    return tmp_path


def test_release_is_refused_for_another_build_tag_or_changelog(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(*options: str, said: str) -> bool:
        passed = checks.main([str(dist), *options]) == 0
        assert said in capsys.readouterr().out
        return passed

    monkeypatch.setattr(checks, "ROOT", project)
    monkeypatch.setattr(checks, "__version__", "1.0.0")
    dist = pack(project / "dist")
    again = Path(shutil.copytree(dist, project / "again"))
    changelog = project / "CHANGELOG.md"
    changelog.write_text("## 1.0.0 (unreleased)\n\n- All.\n")
    assert check(str(again), said="1.0.0 is fit to be released\n")
    with (again / WHEEL).open("ab") as file:
        file.write(b"\n")
    assert not check(str(again), said="two builds must have the same hashes")
    assert check("--tag", "v1.0.0", said="fit to be released")
    assert not check("--tag", "v1.0.1", said="the tag must be v1.0.0, got v1.0.1")
    assert not check("--final", said="must give the day")
    assert not check("--final", said="must have [project.urls]")
    changelog.write_text("## 0.9.0 (2026-01-01)\n\n- Old.\n")
    assert not check(said="must be 1.0.0, got 0.9.0")
    (project / "changelog.d/topic.added.md").write_text("News.\n")
    assert check(said="fit to be released")
    assert not check("--final", said="must hold all fragments of changelog.d")


def test_checks_need_only_the_packages_of_a_release() -> None:
    hidden = "import sys; sys.modules['yaml'] = None; import tests.release.checks"  # a generator's, in no release
    subprocess.run([sys.executable, "-c", hidden], cwd=ROOT, check=True)


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
    assert problem in found[0] if problem else found == []


def test_upcoming_sorts_fragments_by_kind_and_indents_them(project: Path) -> None:
    assert upcoming(project, "1.2.3") == ""
    (project / "changelog.d/b.fixed.md").write_text("Mended,\nsee `b`.\n")
    (project / "changelog.d/a.added.md").write_text("- New.\n")
    shown = upcoming(project, "1.2.3", "2026-12-01").rstrip()
    assert shown == "## 1.2.3 (2026-12-01)\n\n### Added\n\n- New.\n\n### Fixed\n\n- Mended,\n  see `b`."


def test_this_project_has_sound_fragments_and_its_version_is_the_newest() -> None:
    assert fragment_problems(ROOT / "changelog.d") == []
    assert START in (ROOT / "CHANGELOG.md").read_text("utf-8")
    changelog = upcoming(ROOT, __version__) + (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert version_problems(__version__, changelog, final=False) == []


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
    assert problem in found[0] if problem else found == []


def test_bill_of_materials_names_this_version_and_its_dependencies() -> None:
    project = PROJECT["project"]
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


FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
NOXFILE = (ROOT / "noxfile.py").read_text("utf-8")


def workflow(name: str) -> Any:
    return yaml.safe_load((FOLDER / "workflows" / name).read_text("utf-8"))


@for_each("path", WORKFLOWS)
def test_a_workflow_may_only_read_and_its_actions_are_pinned_and_its_jobs_end(path: Any) -> None:
    used = re.findall(r"uses: ([^.]\S+)(.*)", path.read_text("utf-8"))
    assert used
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action) for action, _ in used)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in used)
    loaded = workflow(path.name)
    assert loaded["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job or job.get("uses", "").startswith("./") for job in loaded["jobs"].values())
    writing = [name for name, job in loaded["jobs"].items() if "permissions" in job]
    assert writing == (["publish"] if path.name == "publish.yml" else [])


def test_workflows_use_one_commit_of_each_action_and_test_everywhere() -> None:
    used = {pin for path in WORKFLOWS for pin in re.findall(r"uses: ([^.]\S+)", path.read_text("utf-8"))}
    names = [pin.partition("@")[0] for pin in used]
    assert len(names) == len(set(names))
    matrix = workflow("tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    classifiers = PROJECT["project"]["classifiers"]
    assert matrix["python"] == [name.rpartition(" ")[2] for name in classifiers if re.search(r":: 3\.\d+$", name)]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert all(f'"{version}"' in NOXFILE for version in matrix["python"])
    sessions = workflow("tests.yml")["jobs"]["checks"]["strategy"]["matrix"]["session"]
    proofs = workflow("proofs.yml")["jobs"]["proofs"]["strategy"]["matrix"]["session"]
    for name in [*sessions, *proofs, "checked_docs"]:
        assert re.search(rf"^@nox\.session\ndef {name}\(", NOXFILE, re.MULTILINE), name
    publish = workflow("publish.yml")["jobs"]["publish"]
    assert (publish["permissions"], publish["environment"]) == ({"id-token": "write"}, "pypi")
    assert not any("run" in step for step in publish["steps"])
    assert "password" not in (FOLDER / "workflows" / "publish.yml").read_text("utf-8").partition("jobs:")[2]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    (pinned,) = [each for each in PROJECT["dependency-groups"]["codegen"] if each.startswith("ruff")]
    assert {each for hook in hooks for each in hook.get("additional_dependencies", ())} == {pinned}


@for_each("name", ["defect", "wish"])
def test_forms_of_issues_have_what_the_host_requires(name: str) -> None:
    form = yaml.safe_load((FOLDER / "ISSUE_TEMPLATE" / f"{name}.yml").read_text("utf-8"))
    assert {"name", "description", "body"} <= set(form)
    identifiers = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(identifiers) == len(set(identifiers))
    assert all("label" in field["attributes"] for field in form["body"] if field["type"] != "markdown")
