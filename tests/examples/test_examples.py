"""The folder of examples: programs short enough to copy, listed where users look."""

import ast
from pathlib import Path

from tests.tables import for_each

from ..documents import ROOT
from .conftest import FOLDER

PROGRAMS = sorted(FOLDER.glob("*.py"))


def test_there_are_twelve_examples_and_a_test_of_each() -> None:
    assert len(PROGRAMS) == 12
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "examples").glob("test_*.py")}
    assert {path.stem for path in PROGRAMS} == tested - {"examples"}


@for_each("path", PROGRAMS)
def test_example_is_short_says_how_to_run_it_and_is_listed(path: Path) -> None:
    source = path.read_text("utf-8")
    name = path.name
    longest = 170 if name == "lumibot_broker.py" else 120  # its base class demands 16 methods
    assert 30 <= source.count("\n") <= longest
    assert f"python examples/{name}" in (ast.get_docstring(ast.parse(source)) or "")
    assert f"examples/{name}" in (ROOT / "docs" / "programs.md").read_text("utf-8")
