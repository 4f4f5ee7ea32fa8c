"""Cuts the rows of a huge list body into chunks that can be decoded one at a time.

The end of a chunk is guessed, not parsed for: it lies where ``},{`` and the first key of the first row occur. The chunk
is put between brackets and decoded like any other list, which proves the guess: JSON is read from left to right, so a
text that is a whole list once its last comma is a bracket ended between two rows. A wrong guess does not decode, and
the next candidate is tried. The last candidate is found by counting brackets, which is slower and always right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import attrs

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
_CLOSING = {b"{": "}", b"[": "]"}

#: Stands for the rows in the rest of the body when they are cut out.
PLACE = "the rows were here"


@attrs.define
class Chunker:
    """The rows of one body: their JSON path, how far they have been taken, and where the next chunk may end.

    The caller goes on to the ``position`` behind a chunk that was right; ``closing`` is known once all were taken.
    """

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
            if first and (path := rows_path(_head(body, opening.end()))):
                return cls(body=body, path=path, opening=opening.end(), position=opening.end(), first_key=first[1])
        return None

    def candidates(self) -> Iterator[tuple[bytes, int, int | None]]:
        """Yield chunks from the present position on as (list, position after it, position of the closing bracket).

        The last one is not a guess. Yields nothing when the rows do not end.
        """
        left = len(self.body) - self.position
        nearly_done = left <= SIZE + SIZE // 4
        if nearly_done:
            for end in self._last_ends():
                yield self._chunk(end)
        elif (end := self.body.rfind(b"},{" + self.first_key, self.position, self.position + SIZE)) >= 0:
            yield self._chunk(end + 1)
        counted = self._counted_end(self.position + COUNTED_SIZE + SIZE // 4)
        if counted is None:
            if not nearly_done and left <= MAX_WHOLE:
                for end in self._last_ends():
                    yield self._chunk(end)
            counted = self._counted_end(len(self.body))
        if counted is not None:
            yield self._chunk(counted)

    def rest(self) -> bytes:
        """Return the body with a mark in place of its rows."""
        end = len(self.body) if self.closing is None else self.closing
        return b"".join(
            (memoryview(self.body)[: self.opening], b'"', PLACE.encode(), b'"', memoryview(self.body)[end:])
        )

    def _chunk(self, end: int) -> tuple[bytes, int, int | None]:
        rows = b"".join((b"[", memoryview(self.body)[self.position : end], b"]"))
        following = _NEXT.match(self.body, end)
        if following is None or following[1] == b"]":
            return rows, end, end if following is None else following.start(1)
        return rows, following.end(), None

    def _last_ends(self) -> Iterator[int]:
        """Yield ends of the last row: before one of the last closing brackets of the body."""
        bracket = len(self.body)
        for _ in range(4):
            bracket = self.body.rfind(b"]", self.position, bracket)
            if bracket < 0:
                return
            yield bracket

    def _counted_end(self, limit: int) -> int | None:
        depth = 0
        for token in _BRACKETS.finditer(self.body, self.position, limit):
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


def rows_path(envelope: Any) -> str | None:
    """Return the JSON path of the rows' mark in a body, or None where no rows are expected."""
    if not isinstance(envelope, dict):
        return None
    data = envelope.get("data")
    if data == [PLACE]:
        return "$.data"
    if isinstance(data, dict) and data.get("items") == [PLACE]:
        return "$.data.items"
    return "$.items" if envelope.get("items") == [PLACE] else None


def _head(body: bytes, opening: int) -> Any:
    """Return the body up to the rows as untyped JSON, with the mark in place of the rows. None where it is not JSON."""
    opened: list[str] = []
    for token in _BRACKETS.finditer(body, 0, opening):
        if token[0] in _CLOSING:
            opened.append(_CLOSING[token[0]])
        elif token[0] in (b"]", b"}") and opened:
            opened.pop()
    try:
        return json.loads(f'{body[:opening].decode()}"{PLACE}"{"".join(reversed(opened))}')
    except (ValueError, RecursionError):
        return None
