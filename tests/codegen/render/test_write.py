"""Docstrings of generated code, and how files are written."""

import pydoc
from pathlib import Path

import pytest

from brokerage_async._generated.endpoints import Instruments
from codegen.render.docstrings import WIDTH, fill
from codegen.render.write import formatted, write
from tests.codegen.support import Package
from tests.tables import for_each


def test_docstrings_keep_both_blanks_of_a_symbol(garden: Package) -> None:
    for documented in (garden.endpoints.Garden.plants, garden.models.Plant):
        assert "`Rosa  canina`" in pydoc.render_doc(documented, renderer=pydoc.plaintext)
    assert "`AAPL  260612C00110000`" in pydoc.render_doc(Instruments.equity_options, renderer=pydoc.plaintext)


@for_each("word", ["`AAPL  260612C00110000`", "start-date"])
def test_fill_literals_and_wire_names_are_not_broken(word: str) -> None:
    for length in range(WIDTH - len(word), WIDTH + 1):
        lines = fill(f"{'x' * length} {word} end", "    ", "        ").splitlines()
        assert [line for line in lines if word in line]
        assert all(line.startswith("        ") for line in lines[1:])


def test_formatted_ignores_local_settings_and_rejects_invalid_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 40\n")
    monkeypatch.chdir(tmp_path)
    line = "x = [" + ", ".join(f'"{number}"' for number in range(15)) + "]\n"
    assert formatted(f"import os\n\n{line}") == line
    with pytest.raises(RuntimeError, match="ruff rejected the generated code: "):
        formatted("def broken(:\n")


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
