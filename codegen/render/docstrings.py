"""Docstrings of generated code: line lengths, sections and notes on observed facts."""

import re
import textwrap

WIDTH = 108
"""Width of a docstring line before indentation."""

_LITERAL = re.compile(r"`[^`]+`")
_GLUE = "\x00"


def fill(paragraph: str, indent: str = "", hanging: str | None = None) -> str:
    """Wrap a paragraph without breaking literals such as ``AAPL  260612C00110000``.

    ``indent`` is the indentation of the first line, ``hanging`` of the others, the same by default.
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


#: Notes on facts of one field or parameter that the service document does not contain, by provenance.
_NOTES = {
    "recorded": "Recorded, not documented.",
    "published": "Published, not recorded.",
    "client": "Known from other clients only.",
}
_SOURCES = {
    "recorded": "Recorded from the service",
    "published": "Published by the service",
    "client": "Known from other clients",
}


def with_provenance(description: str, provenance: str, owner: str = "documented") -> str:
    """Return the description, with a note if its provenance differs from its owner's."""
    return f"{description} {_NOTES[provenance]}" if provenance in _NOTES and provenance != owner else description


def source(section: str, provenance: str, request: str = "") -> str:
    """Return the sentences on the source of a component, or of the operation that makes ``request``."""
    if not section:
        known = f"{request}: {_SOURCES[provenance].lower()}" if request else _SOURCES[provenance]
        return f"{known}, not in the service document."
    described = f" {_SOURCES[provenance]}, not described there." if provenance in _SOURCES else ""
    return f"{f'{request}:' if request else 'See'} section {section} of the service document.{described}"


def class_docstring(
    description: str,
    section: str,
    *,
    provenance: str = "documented",
    observed_values: tuple[str, ...] = (),
) -> str:
    """Return the docstring of a model or enumeration. Its first sentence gets the first line."""
    summary, stop, details = description.partition(". ")
    values = ", ".join(f"`{value}`" for value in observed_values)
    blocks = (
        f"{summary}{stop.strip()}",
        details,
        f"Not in the service document: {values}." if values and provenance == "documented" else "",
        source(section, provenance),
    )
    return "\n\n".join(fill(block) for block in blocks if block)
