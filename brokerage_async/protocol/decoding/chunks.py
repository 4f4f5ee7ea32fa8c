"""Cuts the rows of a huge list body into chunks that can be decoded one at a time.

The end of a chunk is guessed, not parsed for: it lies where ``},{`` and the first key of the first row occur. The chunk
is put between brackets and decoded like any other list, which proves the guess: JSON is read from left to right, so a
text that is a whole list once its last comma is a bracket ended between two rows. A wrong guess does not decode, and
the next candidate is tried. The last candidate is found by counting brackets, which is slower and always right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import attrs

from .lenient import parse

#: Bytes in a chunk: about 150 rows, 1 to 2 ms.
SIZE = 256 * 1024
#: Places that are examined for the begin of the rows.
MAX_OPENINGS = 8
#: Most bytes that are tried as a whole where the first row is longer than a chunk: about 10 ms.
MAX_WHOLE = 4 * 1024 * 1024
#: Bytes in a chunk whose end had to be counted out.
COUNTED_SIZE = 32 * 1024

_OPENING = re.compile(rb'"(?:items|data)"\s*:\s*\[\s*')
_FIRST_KEY = re.compile(rb'\{\s*("(?:[^"\\]|\\.){0,200}"\s*:)')
# A string that does not end counts as one up to the end of the body: searched at every quote, it would take minutes.
_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_NEXT = re.compile(rb"\s*([,\]])\s*")

#: Stands for the rows in the rest of the body when they are cut out.
PLACE = "the rows were here"


@attrs.define
class Chunker:
    """The rows of one body. Once all were taken, ``closing`` is the position of the bracket behind them."""

    body: bytes
    path: str
    opening: int
    position: int
    first_key: bytes
    closing: int | None = None

    @classmethod
    def of(cls, body: bytes) -> Chunker | None:
        """Return a chunker at the first row, or None when the body does not begin like a list of objects."""
        for opening in islice(_OPENING.finditer(body, 0, SIZE), MAX_OPENINGS):
            # Not necessarily in the first row: that one may be null, and the others need chunks just the same.
            first = _FIRST_KEY.search(body, opening.end(), opening.end() + SIZE)
            if first and (path := rows_path(body[: opening.end()])):
                return cls(body=body, path=path, opening=opening.end(), position=opening.end(), first_key=first[1])
        return None

    def candidates(self) -> Iterator[bytes]:
        """Yield lists that may be the next rows, until one decodes. The last one is not a guess."""
        start = self.position
        for end in self._ends(start):
            following = _NEXT.match(self.body, end)
            if following is not None and following[1] == b",":
                self.position, self.closing = following.end(), None
            else:
                self.closing = following.start(1) if following else end
            yield b"".join((b"[", memoryview(self.body)[start:end], b"]"))

    def _ends(self, start: int) -> Iterator[int]:
        left = len(self.body) - start
        nearly_done = left <= SIZE + SIZE // 4
        if nearly_done:
            yield from self._last_ends(start)
        elif (end := self.body.rfind(b"},{" + self.first_key, start, start + SIZE)) >= 0:
            yield end + 1
        counted = self._counted_end(start, start + COUNTED_SIZE + SIZE // 4)
        if counted is None:
            if not nearly_done and left <= MAX_WHOLE:
                yield from self._last_ends(start)
            counted = self._counted_end(start, len(self.body))
        if counted is not None:
            yield counted

    def rest(self) -> bytes:
        """Return the body with a mark in place of its rows."""
        return self.body[: self.opening] + f'"{PLACE}"'.encode() + self.body[self.closing :]

    def _last_ends(self, start: int) -> Iterator[int]:
        """Yield ends of the last row: before one of the last closing brackets of the body."""
        bracket = len(self.body)
        for _ in range(4):
            bracket = self.body.rfind(b"]", start, bracket)
            if bracket < 0:
                return
            yield bracket

    def _counted_end(self, start: int, limit: int) -> int | None:
        depth = 0
        for token in _BRACKETS.finditer(self.body, start, limit):
            if token[0] in (b"{", b"["):
                depth += 1
            elif token[0] in (b"}", b"]"):
                depth -= 1
                if depth < 0:
                    return token.start()
                if depth == 0 and token.end() - start > COUNTED_SIZE:
                    return token.end()
        return None


def rows_path(head: bytes) -> str | None:
    """Return the JSON path of the list that begins at the end of ``head``, or None where no rows are expected."""
    for path, end in (("$.data.items", b"]}}"), ("$.data", b"]}"), ("$.items", b"]}")):
        try:
            found = parse(b'%b"%b"%b' % (head, PLACE.encode(), end))
            for key in path.split(".")[1:]:
                found = found[key]
        except (LookupError, TypeError, ValueError):
            continue
        if found == [PLACE]:
            return path
    return None
