"""A toy schema of a garden, generated and imported like the real one."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from codegen.__main__ import main

HERE = Path(__file__).parent
TOY = HERE / "toy"
GOLDEN = HERE / "golden"

_numbers = itertools.count()


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A copy of the toy schema that may be changed."""
    return Path(shutil.copytree(TOY, tmp_path / "schema"))


class Package:
    """A generated package that was imported."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name

    def __getattr__(self, module: str) -> ModuleType:
        return importlib.import_module(f"{self.name}.{module}")


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """What the toy schema generates, imported."""
    yield from imported(TOY, tmp_path, monkeypatch)


def imported(schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    folder = tmp_path / f"generated_{next(_numbers)}"
    assert main(["--schema", str(schema), "--out", str(folder)]) == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Package(folder)
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]
