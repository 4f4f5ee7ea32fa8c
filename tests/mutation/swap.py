"""Two ways to put a mutant in place: into functions that exist, or into the module as it is imported."""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path

from .mutant import Mutant


def live_functions() -> dict[tuple[str, str], list[types.FunctionType]]:
    """Return every function of this process by file and dotted name."""
    found: dict[tuple[str, str], list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType):
            found.setdefault((one.__code__.co_filename, one.__code__.co_qualname), []).append(one)
    return found


def functions_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the functions that stand in a module and in its classes, in the order of the source."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_flags & 1:  # optimized: a function; the body of a class is not
                yield const
            else:
                yield from functions_of(const)


def swap(mutant: Mutant, source: str, live: dict[tuple[str, str], list[types.FunctionType]]) -> bool:
    """Give the live functions the mutant's code; return False where that cannot be done."""
    path = str(Path(mutant.path).resolve())
    old = functions_of(compile(Path(path).read_text("utf-8"), path, "exec"))
    new = functions_of(compile(source, path, "exec"))
    pairs = [(one, other) for one, other in zip(old, new, strict=True) if one.co_qualname == mutant.function]
    before, after = max((pair for pair in pairs if pair[0].co_firstlineno <= mutant.line), key=_first_line)
    named = live.get((path, mutant.function), ())
    targets = [one for one in named if one.__code__.co_firstlineno == before.co_firstlineno]
    if not targets or before.co_freevars != after.co_freevars:
        return False
    for one in targets:
        one.__code__ = after
    return True


def _first_line(pair: tuple[types.CodeType, types.CodeType]) -> int:
    return pair[0].co_firstlineno


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self._source, self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Import hook that gives one module another source."""

    def __init__(self, path: str, source: str) -> None:
        self._path, self._source = str(Path(path).resolve()), source
        self._name = path.removesuffix(".py").replace("/", ".")

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        loader = _Loader(name, self._path, self._source)
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)

    def install(self) -> None:
        sys.meta_path.insert(0, self)
