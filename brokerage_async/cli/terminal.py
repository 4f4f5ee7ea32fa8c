"""Strings of the service and of users on a terminal: shown, never obeyed."""

from __future__ import annotations

import json
import logging
import re
import unicodedata

OBEYED = re.compile(r"[^\t\n -~]")
"""Candidates; whether a character is shown after all is asked one by one."""


def printable(content: str) -> str:
    """Return ``content`` with everything written out that a terminal would obey instead of show.

    These are control characters and escape sequences, and invisible characters such as those that turn the direction
    of writing around. Line breaks and tabs stay.
    """
    if content.isprintable():
        return content
    return OBEYED.sub(lambda m: m[0] if _is_shown(m[0]) else m[0].encode("unicode_escape").decode(), content)


def printable_json(content: str) -> str:
    r"""Return the same JSON with such characters written as ``\uXXXX``."""
    return OBEYED.sub(lambda match: match[0] if _is_shown(match[0]) else json.dumps(match[0])[1:-1], content)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


class PlainFormatter(logging.Formatter):
    """Formatter of log records for a terminal, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:  # noqa: D102
        return printable(super().format(record))
