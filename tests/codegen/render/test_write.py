"""Formatting, comparison and writing of generated files."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.render.write import formatted, stale_files, write


def test_formatted_sorts_formats_and_rejects_invalid_source() -> None:
    source = "import sys\nimport os\nfrom datetime import date, datetime\nx = [os.name,sys.path,   date]\n"
    assert formatted(source) == ("import os\nimport sys\nfrom datetime import date\n\nx = [os.name, sys.path, date]\n")
    with pytest.raises(RuntimeError, match="ruff rejected the generated code: "):
        formatted("def broken(:\n")


def test_formatted_ignores_the_settings_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 40\n")
    monkeypatch.chdir(tmp_path)
    line = "x = [" + ", ".join(f'"{number}"' for number in range(15)) + "]\n"
    assert formatted(line) == line


def test_stale_files_reports_different_missing_and_left_over_files(tmp_path: Path) -> None:
    for name in ("same.py", "different.py", "left_over.py", "notes.md"):
        (tmp_path / name).write_text(name)
    files = {"same.py": "same.py", "different.py": "new", "missing.py": ""}
    assert stale_files(files, tmp_path) == ["different.py", "missing.py", "left_over.py"]
    assert stale_files(files, tmp_path, whole_folder=False) == ["different.py", "missing.py"]


def test_write_leaves_exactly_the_generated_files(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    files = {"a.py": "a\n", "b.py": "b\n"}
    assert write(files, folder) == ["a.py", "b.py"]
    (folder / "b.py").write_text("edited")
    (folder / "c.py").write_text("left over")
    assert write(files, folder, whole_folder=False) == ["b.py"]
    assert (folder / "c.py").exists()
    assert write(files, folder) == ["c.py"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a.py": b"a\n", "b.py": b"b\n"}
    assert write(files, folder) == []
