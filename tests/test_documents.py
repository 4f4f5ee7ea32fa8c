"""Blocks of the documentation are found, and written for the type checkers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .documents import PAGES, ROOT, TYPED, blocks, program, write


def test_every_block_is_found_under_its_mark() -> None:
    for page in PAGES:
        marked = {mark: len(blocks(page, mark)) for mark in ("", "pytest", "notebook")}
        assert sum(marked.values()) == page.read_text("utf-8").count("\n```python\n"), page
    assert [len(blocks(ROOT / "docs" / "synchronous.md", mark)) for mark in ("", "notebook")] == [2, 4]


def test_there_are_seven_programs() -> None:
    assert len(blocks(ROOT / "docs" / "programs.md")) == 7
    assert "fetch_to_file" in program("A nightly fetch into Parquet")
    with pytest.raises(ValueError, match="Another"):
        program("Another")


def test_blocks_become_files(tmp_path: Path) -> None:
    files = write(tmp_path)
    assert set(files) == set(tmp_path.glob("*.py"))
    alone = [block for page in PAGES for mark in ("", "pytest") for _, block in blocks(page, mark)]
    assert sorted(path.read_text("utf-8") for path in files) == sorted(alone)
    settings = json.loads((tmp_path / "pyrightconfig.json").read_text("utf-8"))
    assert settings["typeCheckingMode"] == "strict"
    strict = {path for pattern in settings["include"] for path in tmp_path.glob(pattern)}
    assert {path.stem.partition("_line")[0] for path in strict} == {Path(n).stem.replace("-", "_") for n in TYPED}


def mypy(files: list[Path]) -> subprocess.CompletedProcess[str]:
    """Check the files in strict mode, with the settings of the project."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_blocks_pass_mypy_in_strict_mode(tmp_path: Path) -> None:
    checked = mypy(write(tmp_path))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    wrong = "from brokerage_async.models import Order, OrderEdit\nOrderEdit.of(Order(), prize=1)\nOrderEdit.of(None)\n"
    (tmp_path / "wrong.py").write_text(wrong)
    checked = mypy([tmp_path / "wrong.py"])
    assert re.findall(r"\[([\w-]+)\]", checked.stdout) == ["call-arg", "arg-type"], checked.stdout


EVASIONS = re.compile(r"\bcast\(|^\s*assert\b.*\bNone\b|type: ignore|: Any\b", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_evade_no_type_checker(page: Path) -> None:
    for mark in ("", "pytest", "notebook"):
        for line, block in blocks(page, mark):
            assert not EVASIONS.search(block), (line, EVASIONS.findall(block))
