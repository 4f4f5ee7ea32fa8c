"""Every snippet of the documentation passes the type checker as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.snippets import ROOT, snippets, write

EVASIONS = re.compile(r"\bcast\(|^\s*assert\b.*\bNone\b|type: ignore|: Any\b", re.MULTILINE)


def mypy(files: list[Path]) -> subprocess.CompletedProcess[str]:
    """Check the files in strict mode, with the settings of the project."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_snippets_pass_mypy_in_strict_mode(tmp_path: Path) -> None:
    files = write(tmp_path)
    assert len(files) > 25
    checked = mypy(files)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (tmp_path / "wrong.py").write_text(
        "from brokerage_async.models import Order, OrderEdit\nOrderEdit.of(Order(), prize=1)\nOrderEdit.of(None)\n"
    )
    checked = mypy([tmp_path / "wrong.py"])
    assert re.findall(r"\[([\w-]+)\]", checked.stdout) == ["call-arg", "arg-type"], checked.stdout


@pytest.mark.parametrize(("name", "source"), list(snippets()), ids=[name for name, _ in snippets()])
def test_snippet_evades_no_type_checker(name: str, source: str) -> None:
    assert not EVASIONS.search(source), EVASIONS.findall(source)
