"""A toy schema of a garden, generated and imported like the real one."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@pytest.fixture(scope="session")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    """What the toy schema generates, imported."""
    with imported(TOY, tmp_path_factory.mktemp("garden")) as package:
        yield package


@contextmanager
def imported(schema: Path, tmp_path: Path) -> Iterator[Package]:
    """What a schema generates, imported for as long as it lasts."""
    folder = tmp_path / f"generated_{next(_numbers)}"
    assert main(["--schema", str(schema), "--out", str(folder)]) == 0
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    try:
        yield Package(folder)
    finally:
        sys.path.remove(str(tmp_path))
        for name in [name for name in sys.modules if name.startswith(folder.name)]:
            del sys.modules[name]
