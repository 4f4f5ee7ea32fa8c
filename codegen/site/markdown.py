"""Pages of MyST Markdown from templates, which write prose, code and references to Python objects into tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codegen.template import from_template

__all__ = ["page"]

_SPECIAL = re.compile(r"([\\|*_<>\[\]{}])")


def page(template: str, **values: Any) -> str:
    """Return a page that is made of its template and the values."""
    folder = Path(__file__).parent / "templates"
    return from_template(template, {**values, "reference": reference}, folder, cell=cell, code=code)


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
