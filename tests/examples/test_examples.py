"""The folder of examples: programs short enough to copy, listed where users look."""

import ast
from pathlib import Path

from tests.tables import for_each

from ..documents import ROOT
from .conftest import FOLDER

PROGRAMS = sorted(FOLDER.glob("*.py"))


def test_there_are_eleven_examples_and_a_test_of_each() -> None:
    assert len(PROGRAMS) == 11
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "examples").glob("test_*.py")}
    assert {path.stem for path in PROGRAMS} == tested - {"examples"}


@for_each("path", PROGRAMS)
def test_example_is_short_says_how_to_run_it_and_is_listed(path: Path) -> None:
    source = path.read_text("utf-8")
    name = path.name
    assert 30 <= source.count("\n") <= 120
    assert f"python examples/{name}" in (ast.get_docstring(ast.parse(source)) or "")
    assert f"examples/{name}" in (ROOT / "docs" / "programs.md").read_text("utf-8")
