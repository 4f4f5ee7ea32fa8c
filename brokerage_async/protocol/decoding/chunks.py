"""Cutting the rows of a huge list body into slices that can be decoded one at a time.

A slice is guessed, not parsed for: it ends where ``},{`` and the first key of the first row occur. Put between brackets
it is then decoded like any other list, and that is the proof: JSON is read from left to right, so text that is a whole
list when a bracket is put in place of the comma ended between two rows. A wrong guess does not decode, and the next one
is tried; the last one is found by counting brackets, which is slower and always right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs

__all__ = ["Slicer"]

#: Bytes in a slice: about 150 rows, 1 to 2 ms.
SIZE = 256 * 1024
#: Bytes in a slice whose end had to be counted out.
COUNTED_SIZE = 32 * 1024

_OPENING = re.compile(rb'"items"\s*:\s*\[\s*')
_FIRST_KEY = re.compile(rb'\{\s*("(?:[^"\\]|\\.){0,200}"\s*:)')
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
# Text that does not end counts as text up to the end: looked for again at every quote in it, it would take for ever.
_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_NEXT = re.compile(rb"\s*([,\]])\s*")

#: Stands for the rows in what is left of the body when they are taken out.
PLACE = "the rows were here"


@attrs.define
class Slicer:
    """The rows of one body: how far they have been taken, and where the next slice may end."""

    body: bytes
    opening: int
    position: int
    first_key: bytes
    closing: int | None = None

    @classmethod
    def of(cls, body: bytes) -> Slicer | None:
        """A slicer at the first row; None when the body does not begin like a list of objects."""
        opening = _OPENING.search(body, 0, SIZE)
        # Not necessarily in the first row: that one may be null, and then all the others need slices just the same.
        first = opening and _FIRST_KEY.search(body, opening.end(), opening.end() + SIZE)
        if not opening or not first:
            return None
        return cls(body=body, opening=opening.end(), position=opening.end(), first_key=first[1])

    def first_row(self) -> Any:
        """The first row as untyped JSON, or None where it cannot be read or is long."""
        text = self.body[self.position : self.position + SIZE // 16].decode("utf-8", "replace")
        try:
            return json.JSONDecoder().raw_decode(text)[0]
        except (ValueError, RecursionError):
            return None

    @property
    def finished(self) -> bool:
        """Whether all rows have been taken."""
        return self.closing is not None

    def guesses(self) -> Iterator[tuple[bytes, int, int | None]]:
        """Slices from the present position on as (list, position after it, position of the closing bracket).

        The last one is not a guess. None at all when the rows do not end.
        """
        nearly_done = len(self.body) - self.position <= SIZE + SIZE // 4
        for end in self._last_ends() if nearly_done else self._ends():
            yield self._slice(end)
        if (counted := self._counted_end()) is not None:
            yield self._slice(counted)

    def take(self, position: int, closing: int | None) -> None:
        """Go on after a slice that was right."""
        self.position = position
        self.closing = closing

    def rest(self) -> bytes:
        """The body with a mark in place of its rows."""
        end = len(self.body) if self.closing is None else self.closing
        return b"".join(
            (memoryview(self.body)[: self.opening], b'"', PLACE.encode(), b'"', memoryview(self.body)[end:])
        )

    def _slice(self, end: int) -> tuple[bytes, int, int | None]:
        text = b"".join((b"[", memoryview(self.body)[self.position : end], b"]"))
        following = _NEXT.match(self.body, end)
        if following is None or following[1] == b"]":
            return text, end, end if following is None else following.start(1)
        return text, following.end(), None

    def _ends(self) -> Iterator[int]:
        """Ends of rows somewhat before the size of a slice, the likeliest first."""
        target = self.position + SIZE
        found = self.body.rfind(b"},{" + self.first_key, self.position, target)
        if found >= 0:
            yield found + 1
        window = list(_BETWEEN.finditer(self.body, target - SIZE // 8, target))
        keys = ((each, _FIRST_KEY.match(self.body, each.end())) for each in window)
        starting_alike = [each for each, key in keys if key and key[1] == self.first_key]
        for each in reversed(starting_alike[-3:]):
            yield each.start() + 1

    def _last_ends(self) -> Iterator[int]:
        """Ends of the last row: before one of the last closing brackets of the body."""
        bracket = len(self.body)
        for _ in range(4):
            bracket = self.body.rfind(b"]", self.position, bracket)
            if bracket < 0:
                return
            yield bracket

    def _counted_end(self) -> int | None:
        depth = 0
        for token in _BRACKETS.finditer(self.body, self.position):
            match token[0]:
                case b"{" | b"[":
                    depth += 1
                case b"}" | b"]":
                    depth -= 1
                    if depth < 0:
                        return token.start()
                    if depth == 0 and token.end() - self.position > COUNTED_SIZE:
                        return token.end()
        return None
