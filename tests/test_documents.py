"""Blocks of the documentation are found, and written for the type checkers."""

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


def test_typed_blocks_become_files(tmp_path: Path) -> None:
    write(tmp_path)
    written = {path.read_text("utf-8") for path in tmp_path.glob("*.py")}
    assert written == {block for name in TYPED for _, block in blocks(ROOT / "docs" / name)}
    assert '"strict"' in (tmp_path / "pyrightconfig.json").read_text("utf-8")
