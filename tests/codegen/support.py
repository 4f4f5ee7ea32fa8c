"""Toy schema of a garden: edited, read, generated and imported like the real one."""

import importlib
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.protocol.registry import wires
from codegen.__main__ import main
from codegen.bundle.document import bundle
from codegen.read.document import Document, SchemaError
from codegen.read.load import read

HERE = Path(__file__).parent
TOY = HERE / "toy"
GOLDEN = HERE / "golden"

_numbers = itertools.count()


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of ``old`` in a file that contains it."""
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))


def document(folder: Path, content: str, **others: str) -> Document:
    """Write ``openapi.yaml`` and other files into a folder, and parse it."""
    folder.mkdir(exist_ok=True)
    for name, text in {"openapi": content, **others}.items():
        (folder / f"{name}.yaml").write_text(text)
    return Document(folder)


def problems_of(schema: Path) -> list[str]:
    """Return the problems of an invalid schema, none for a valid one."""
    try:
        document = Document(schema)
        read(document)
        bundle(document)
    except SchemaError as error:
        return error.problems
    return []


class Package:
    def __init__(self, folder: Path) -> None:
        self.name = folder.name

    def __getattr__(self, module: str) -> ModuleType:
        return importlib.import_module(f"{self.name}.{module}")


@contextmanager
def imported(schema: Path, tmp_path: Path) -> Iterator[Package]:
    """Generate a package from a schema, and import it for the duration of the block."""
    folder = tmp_path / f"generated_{next(_numbers)}"
    assert main(["--schema", str(schema), "--out", str(folder)]) == 0
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    try:
        yield Package(folder)
    finally:
        sys.path.remove(str(tmp_path))
        forget(folder.name)


def forget(package: str) -> None:
    """Undo the import of a generated package, and its registration."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    for table in (wires(), REQUEST_MODELS):
        for model in [model for model in table if model.__module__.partition(".")[0] == package]:
            del table[model]
