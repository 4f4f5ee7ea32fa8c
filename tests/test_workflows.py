"""Workflows and hooks: actions pinned by commit, sessions that exist, versions that agree with the project."""

import re
import tomllib
from typing import Any

import yaml

from tests.tables import for_each

from .documents import ROOT

FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NOXFILE = (ROOT / "noxfile.py").read_text("utf-8")


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "workflows" / name).read_text("utf-8"))
    return loaded


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
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
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
