"""Elements of a large JSON array, parsed some at a time, so that the loop runs between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ..decoding.lenient import parse

LARGE = 24 * 1024
"""Characters of a message, or of some elements, that are parsed in one go: 1 to 3 ms."""

# Atomic groups rather than possessive ones: before Python 3.11.5 the latter match wrongly where they hold alternatives.
_STRING = r'"(?>(?:[^"\\]++|\\.)*)"'
_DEPTH = 8
_NESTED = _STRING
for _level in range(_DEPTH):
    _NESTED = r'[\[{](?>(?:[^"\[\]{}]++|' + _STRING + "|" + _NESTED + r")*)[\]}]"
_ELEMENT = r"\s*+(?:" + _STRING + r'|[^"\[\]{},\s]++|' + _NESTED + r")\s*+"
_MANY = re.compile(f"(?>(?:{_ELEMENT},)*)", re.DOTALL)
_FLOATS = msgspec.json.Decoder()
_END = re.compile(f"(?>(?:{_ELEMENT})?)\\s*+\\]", re.DOTALL)


def elements_of(body: str, at: int, *, as_floats: bool = False) -> Iterator[tuple[list[Any], int]]:
    """Yield the elements of an array in lists, each with the position behind them.

    ``at`` is the position behind the opening bracket. Numbers with a fraction are Decimals, or floats where that is
    enough. An element may hold others, `_DEPTH` levels of them.

    Raises:
        ValueError: this is not JSON, or an element is longer than `LARGE`.
    """
    is_last = False
    while not is_last:
        match = _MANY.match(body, at, at + LARGE)
        end = at if match is None else match.end()
        if last := _END.match(body, end, end + LARGE):
            text, is_last, position = body[at : last.end()], True, last.end()
        elif end > at:
            text, position = body[at : end - 1] + "]", end
        else:
            raise ValueError(f"an element is not JSON, or longer than {LARGE} characters")
        array = f"[{text}".encode(errors="replace")
        try:
            yield (_FLOATS.decode if as_floats else parse)(array), position
        except msgspec.DecodeError:
            yield parse(array), position
        at = position
