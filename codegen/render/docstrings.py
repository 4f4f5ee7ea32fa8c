"""Docstrings of generated code: line lengths, sections and notes on observed facts."""

from __future__ import annotations

import re
import textwrap

WIDTH = 108
"""Width of a docstring line before indentation."""

_LITERAL = re.compile(r"`[^`]+`")
_GLUE = "\x00"


def fill(paragraph: str, indent: str = "", hanging: str | None = None) -> str:
    """Wrap a paragraph without breaking literals such as ``AAPL  260612C00110000``.

    Args:
        paragraph: Paragraph on one line.
        indent: Indentation of the first line.
        hanging: Indentation of the other lines, the same by default.
    """
    glued = _LITERAL.sub(lambda literal: literal[0].replace(" ", _GLUE), paragraph)
    filled = textwrap.fill(
        glued,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return filled.replace(_GLUE, " ")


def with_provenance(description: str, observed: bool) -> str:
    """Return the description, marked as undocumented if ``observed``."""
    return f"{description} Observed, not documented." if observed else description


def class_docstring(
    description: str, section: str, *, observed: bool = False, observed_values: tuple[str, ...] = ()
) -> str:
    """Return the docstring of a model or enumeration; its first sentence gets the first line."""
    summary, stop, details = description.partition(". ")
    values = ", ".join(f"`{value}`" for value in observed_values)
    unlisted = " Observed on the wire, not described there." if observed else ""
    blocks = (
        f"{summary}{stop.strip()}",
        details,
        f"Observed, not documented: {values}." if values and not observed else "",
        f"See section {section} of the service document.{unlisted}",
    )
    return "\n\n".join(fill(block) for block in blocks if block)
