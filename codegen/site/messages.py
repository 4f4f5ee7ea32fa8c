"""Index of the messages of errors, read from the ``raise`` statements of the package."""

import ast
from collections.abc import Iterator
from pathlib import Path

import attrs

from codegen.template import from_template

MIN_LETTERS = 4
"""Length of the shortest message that is worth a row, without its values."""

HOMES = {"JournalError": "journal.JournalError"}
"""Classes of errors that are not in ``brokerage_async.errors``."""

UNREAD = frozenset({"_generated", "cli"})
"""Rooms whose messages are generated, or meant for the console."""


@attrs.frozen(order=True)
class Message:
    """A message with values left out, the class that carries it, and the modules that raise it."""

    words: str
    error: str
    modules: tuple[str, ...]


def messages(package: Path, errors: frozenset[str]) -> list[Message]:
    """Return the messages of all errors of the given classes, sorted without regard to case."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if not UNREAD & set(parts):
            module = ".".join(part for part in parts if part != "__init__")
            for raised in _raised(path, errors):
                found.setdefault(raised, set()).add(module)
    read = [Message(words, name, tuple(sorted(modules))) for (words, name), modules in found.items()]
    return sorted(read, key=lambda each: (each.words.lstrip("… '\"").lower(), each.error))


def _raised(path: Path, errors: frozenset[str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            position = 1 if name == "ErrorDetail" else 0  # the code of a detail comes first
            if name in errors and len(node.args) > position:
                words = _words(node.args[position])
                if len(words.replace("…", "").strip()) >= MIN_LETTERS:
                    yield words, name


def _words(node: ast.expr) -> str:
    """Return a message with `…` for every value."""
    match node:
        case ast.Constant(value=str(words)):
            return words
        case ast.JoinedStr(values=values):
            return "".join(map(_words, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _words(left) + _words(right)
        case _:
            return "…"


def render(package: Path, errors: frozenset[str]) -> str:
    """Return the page."""
    return from_template("messages.md", {"messages": messages(package, errors), "homes": HOMES})
