"""Public names of the package: which there are, which lack a docstring, which the reference does not list."""

import ast
import inspect
import re
import zlib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import attrs

PACKAGE = "brokerage_async"
INTERNAL = {
    "BrokerageSession": "what makes the calls of a client, for extensions",
    "Brokerage": "the simulator without its doors",
    "InMemoryTransport": "carries the requests of a client in memory",
    "RefreshTurn": "of stores of tokens that machines share",
    "Response": "an HTTP response of a fault that is written by hand",
    "Bar": "of the random walk's candles",
    "ActionEntry": "of a snapshot",
    "RequestEntry": "of a snapshot",
    "Terms": "a tuple",
    "StreamServer": "its page has what tests call",
}
"""Classes without a public name that public attributes give all the same, with the reason."""


@attrs.frozen
class Name:
    """A public name: where users import it from, and its documentation if it has any.

    ``origin`` tells what it is: the same for two names of one object, and for what two classes inherit from one.
    """

    module: str
    name: str
    value: Any = attrs.field(repr=False, eq=False)
    doc: str | None = attrs.field(repr=False, eq=False)
    origin: object = attrs.field(repr=False, eq=False)

    @property
    def full(self) -> str:
        """Dotted name, such as ``brokerage_async.bulk.Bulk``."""
        return f"{self.module}.{self.name}"


def modules() -> list[ModuleType]:
    """Import and return the public modules: the package, and those in it that declare ``__all__``."""
    root = import_module(PACKAGE)
    folder = Path(str(root.__file__)).parent
    found = [path.parent.name for path in folder.glob("*/__init__.py")] + [path.stem for path in folder.glob("*.py")]
    public = [import_module(f"{PACKAGE}.{name}") for name in sorted(found) if not name.startswith("_")]
    return [root, *(module for module in public if hasattr(module, "__all__"))]


def names() -> list[Name]:
    """Return every public name, and the methods and properties that users reach on every public class."""
    found: list[Name] = []
    for module in modules():
        for name in module.__all__:
            value = getattr(module, name)
            own = Name(module.__name__, name, value, _doc(module, name, value), id(value))
            found += [own, *(_members(own) if inspect.isclass(value) else ())]
    return found


def undocumented() -> list[str]:
    """Return the public names without a docstring."""
    return sorted({each.full for each in names() if not each.doc})


def unexplained() -> list[str]:
    """Return the fields of public classes without a docstring, in the class or below the field."""
    return [
        f"{owner.full}.{name}"
        for owner in names()
        if inspect.isclass(owner.value) and attrs.has(owner.value)
        for name in (field.name for field in attrs.fields(owner.value))
        if not name.startswith("_")
        and name != "extra"
        and not any(
            re.search(rf"^ +(\w+, )*{name}(, \w+)*:|`{name}`", each.__doc__ or "", re.MULTILINE)
            or (each.__module__.startswith(PACKAGE) and name in explained_below(each))
            for each in owner.value.__mro__
        )
    ]


def explained_below(owner: type) -> list[str]:
    """Return the fields of a class that have a docstring below them."""
    prefix = f"{owner.__name__}."
    found = _docs(str(import_module(owner.__module__).__file__))
    return [name.removeprefix(prefix) for name in found if name.startswith(prefix)]


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text("utf-8"))


@cache
def _docs(file: str) -> dict[str, str]:
    """Return the str below each assignment of a module, by its name or by ``Class.name``."""
    body = _tree(file).body
    blocks = [("", body), *(("", node.body) for node in body if isinstance(node, ast.If))]
    blocks += [(f"{node.name}.", node.body) for node in body if isinstance(node, ast.ClassDef)]
    return {
        prefix + target.id: below.value.value
        for prefix, block in blocks
        for statement, below in pairwise(block)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])[:1]
        if isinstance(target, ast.Name)
    }


def hidden() -> list[str]:
    """Return the public attributes that give an object whose class has no public name. Operations have their pages."""
    public = {id(each.value) for each in names()}
    return [
        f"{each.full}: {given.__name__}"
        for each in names()
        for given in _given(each.value)
        if id(given) not in public
        and given.__module__.startswith(PACKAGE)
        and not given.__module__.endswith("_generated.endpoints")
        and given.__name__ not in INTERNAL
    ]


def _given(value: Any) -> Iterator[type]:
    """Yield the classes of the attributes of a class, or of what a function or property returns."""
    annotated = getattr(value, "__func__", getattr(value, "fget", value))
    try:
        hints = get_type_hints(annotated)
    except (NameError, TypeError):  # a name that only type checkers import, such as pyarrow, or no annotations
        return
    is_class = inspect.isclass(value)
    pending = [hint for name, hint in hints.items() if name[0] != "_" and (is_class or name == "return")]
    while pending:
        hint = pending.pop()
        pending += get_args(hint)
        if inspect.isclass(hint):
            yield hint


def missing(listed: frozenset[str]) -> list[str]:
    """Return the public names that an inventory does not list, nor any other name of the same object."""
    shown = {each.origin for each in names() if each.full in listed}
    return [each.full for each in names() if each.origin not in shown]


def inventory(path: Path) -> frozenset[str]:
    """Return the names of Python objects and modules in an ``objects.inv`` of Sphinx."""
    content = path.read_bytes()
    for _ in range(4):  # lines of plain words come before the compressed part
        content = content.partition(b"\n")[2]
    lines = zlib.decompress(content).decode().splitlines()
    return frozenset(line.split(" ")[0] for line in lines if " py:" in line)


def _members(owner: Name) -> Iterator[Name]:
    """Yield the methods and properties that a class has from this package, inherited ones too."""
    seen: set[str] = set()
    for origin in [each for each in owner.value.__mro__ if each.__module__.startswith(PACKAGE)]:
        for name, value in vars(origin).items():
            function = getattr(value, "__func__", getattr(value, "fget", value))
            if not name.startswith("_") and name not in seen and inspect.isfunction(function):
                full = f"{owner.name}.{name}"
                yield Name(owner.module, full, value, inspect.getdoc(getattr(owner.value, name)), (origin, name))
            seen.add(name)


def _doc(module: ModuleType, name: str, value: Any) -> str | None:
    own = getattr(value, "__doc__", None)
    if own is None or own == type(value).__doc__:  # a constant, an alias, an annotation
        own = doc_below(module, name)
    return own or None


def doc_below(module: ModuleType, name: str) -> str | None:
    """Return the str below the assignment of a name, in this module or the one it is imported from."""
    found = _docs(str(module.__file__)).get(name)
    for statement in _tree(str(module.__file__)).body:
        if isinstance(statement, ast.ImportFrom) and any(name in (each.name, each.asname) for each in statement.names):
            package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
            source = import_module("." * statement.level + (statement.module or ""), package)
            found = found or doc_below(source, name)
    return found
