"""Mutants of one source file: mutmut's operators, and rules for the code that is never mutated.

The rules are general and were fixed before the first run. Code that cannot change behaviour is left out:
annotations and other typing, docstrings, decorators, log records, ``__repr__``, and prose: any string that contains a
space, which in this code is a sentence of an error (keys, codes and words of the wire have none).
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators

#: Path, function, code before and after, and number among equal ones. It stays the same when lines move.
Key: TypeAlias = tuple[str, str, str, str, int]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change to one source file."""

    path: str
    number: int  # among the mutants of the file
    line: int
    last_line: int
    first: int  # lines of the body of the function
    last: int
    function: str  # dotted name of the outermost function or method; "" outside of functions and in their signatures
    before: str
    after: str
    occurrence: int  # from 1, among equal changes to the function

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}#{self.number}"

    @property
    def key(self) -> Key:
        return self.path, self.function, self.before, self.after, self.occurrence


TYPING = m.OneOf(
    m.Call(func=m.Name(value=m.MatchRegex(r"TypeVar|ParamSpec|NewType"))),
    m.Subscript(value=m.Name(value=m.MatchRegex(r"Callable|Literal|Mapping|Sequence"))),
)
LOGGING = m.Call(func=m.Attribute(value=m.Name(value=m.MatchRegex(r"logger|logging|warnings"))))
NEVER_MUTATED = m.OneOf(
    m.Annotation(),
    m.Decorator(),
    m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())]),
    m.Assign(targets=[m.AssignTarget(m.Name(value=m.MatchRegex(r"__\w+__")))]),
    m.AnnAssign(annotation=m.Annotation(m.Name("TypeAlias"))),
    m.If(test=m.Name("TYPE_CHECKING")),
    m.Assign(value=TYPING | LOGGING),
    m.AnnAssign(value=LOGGING),
    TYPING,
    LOGGING,
    m.Call(func=m.Name("cast")),
    # mutmut leaves these out as well: their replacements raise at once
    m.Call(func=m.Name("len") | m.Name("isinstance")),
)


def is_prose(node: cst.CSTNode) -> bool:
    """Return whether a string, in whichever form, contains a space."""
    if isinstance(node, cst.SimpleString | cst.FormattedStringText):
        return " " in node.value
    if isinstance(node, cst.FormattedString):
        return any(is_prose(part) for part in node.parts)
    return isinstance(node, cst.ConcatenatedString) and (is_prose(node.left) or is_prose(node.right))


def drops_prose(node: cst.CSTNode, mutated: cst.CSTNode) -> bool:
    """Return whether only a sentence is missing from the mutated node."""
    if isinstance(node, cst.Call) and isinstance(mutated, cst.Call):
        kept = [arg.value for arg in mutated.args]
        return any(is_prose(arg.value) and not any(arg.value is value for value in kept) for arg in node.args)
    if isinstance(node, cst.Lambda):
        return is_prose(node.body)
    return isinstance(node, cst.Assign | cst.AnnAssign) and node.value is not None and is_prose(node.value)


class _Finder(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if m.matches(node, NEVER_MUTATED) or is_prose(node):
            return False
        if isinstance(node, cst.FunctionDef) and node.name.value in {"__repr__", "__str__", "__rich_repr__"}:
            return False
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                self.found += [(node, other) for other in operator(node) if not drops_prose(node, other)]
        return True


class SourceFile:
    def __init__(self, path: str) -> None:
        self.path = path
        wrapper = MetadataWrapper(cst.parse_module(Path(path).read_text("utf-8")), unsafe_skip_copy=True)
        finder = _Finder()
        wrapper.visit(finder)
        self._module = wrapper.module
        self._found = finder.found
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)

    def mutants(self) -> Iterator[Mutant]:
        seen: Counter[tuple[str, str, str]] = Counter()
        for number, (node, other) in enumerate(self._found):
            function, around = self._function_of(node)
            where, whole = self._positions[node], self._positions[around]
            before, after = (" ".join(self._module.code_for_node(one).split()) for one in (node, other))
            lines = where.start.line, where.end.line, whole.start.line, whole.end.line
            seen[function, before, after] += 1
            yield Mutant(self.path, number, *lines, function, before, after, seen[function, before, after])

    def _function_of(self, node: cst.CSTNode) -> tuple[str, cst.CSTNode]:
        """Return the outermost function in whose body a node stands, by name, and its body; else "" and the node."""
        path = [node]
        while (parent := self._parents.get(path[0])) is not None:
            path.insert(0, parent)
        names = []
        for outer, inner in pairwise(path):
            if isinstance(outer, cst.ClassDef | cst.FunctionDef):
                names.append(outer.name.value)
            if isinstance(outer, cst.FunctionDef):
                return (".".join(names), inner) if inner is outer.body else ("", node)
        return "", node

    def mutated(self, mutant: Mutant) -> str:
        """Return the source with this change."""
        node, other = self._found[mutant.number]
        changed = self._module.deep_replace(node, other)
        assert isinstance(changed, cst.Module)
        return changed.code
