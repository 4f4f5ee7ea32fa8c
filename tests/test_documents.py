"""Blocks of the documentation are found, and pass the type checker unchanged."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import for_each

from .documents import PAGES, ROOT, STRICT, blocks, modules, program, write

EVASIONS = re.compile(r"\bcast\(|^\s*assert\b.*\bNone\b|type: ignore|: Any\b", re.MULTILINE)


def mypy(files: list[Path]) -> subprocess.CompletedProcess[str]:
    """Check the files in strict mode, with the settings of the project."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip


def test_every_block_is_found_under_its_mark(tmp_path: Path) -> None:
    for page in PAGES:
        marked = {mark: len(blocks(page, mark)) for mark in ("", "pytest", "notebook", "tastytrade")}
        assert sum(marked.values()) == page.read_text("utf-8").count("\n```python\n"), page
    assert [len(blocks(ROOT / "docs" / "synchronous.md", mark)) for mark in ("", "notebook")] == [2, 4]
    assert len(blocks(ROOT / "docs" / "programs.md")) == 8
    assert "fetch_to_file" in program("A nightly fetch into Parquet")
    with pytest.raises(ValueError, match="Another"):
        program("Another")
    written = write(tmp_path)
    assert {path.stem: path.read_text("utf-8") for path in written} == modules()
    settings = json.loads((tmp_path / "pyrightconfig.json").read_text("utf-8"))
    checked = [path for pattern in settings["include"] for path in tmp_path.glob(pattern)]
    assert settings["typeCheckingMode"] == "strict"
    pages = [page for page in PAGES if page.stem.lower().replace("-", "_") in STRICT]
    assert len(pages) == len(STRICT)
    assert len(checked) == sum(len(blocks(page)) for page in pages) > 20


@pytest.mark.slow
def test_blocks_pass_mypy_in_strict_mode(tmp_path: Path) -> None:
    files = write(tmp_path)
    assert len(files) > 25
    checked = mypy(files)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (tmp_path / "wrong.py").write_text(
        "from brokerage_async.models import Order, OrderEdit\nOrderEdit.of(Order(), prize=1)\nOrderEdit.of(None)\n"
    )
    checked = mypy([tmp_path / "wrong.py"])
    assert re.findall(r"\[([\w-]+)\]", checked.stdout) == ["call-arg", "arg-type"], checked.stdout


@for_each("name", modules())
def test_block_evades_no_type_checker(name: str) -> None:
    assert not EVASIONS.search(modules()[name]), EVASIONS.findall(modules()[name])
