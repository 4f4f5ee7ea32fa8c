"""Pieces of MyST Markdown: tables, code, references to Python objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["cell", "code", "reference", "table"]

_SPECIAL = re.compile(r"([\\|*_<>\[\]{}])")


def cell(prose: str) -> str:
    """Return prose as one table cell. Literals between backticks stay unchanged."""
    parts = " ".join(prose.split()).split("`")
    return "`".join(part if index % 2 else _SPECIAL.sub(r"\\\1", part) for index, part in enumerate(parts))


def code(literal: str) -> str:
    """Return a literal of code for a table cell."""
    return f"`{literal.replace('|', chr(92) + '|')}`"


def reference(name: str) -> str:
    """Return a link to a Python object of the package, shown by its last name."""
    return f"{{py:obj}}`~brokerage_async.{name}`"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or an empty str without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(headings)} |", "|---" * len(headings) + "|", *lines]) + "\n"
