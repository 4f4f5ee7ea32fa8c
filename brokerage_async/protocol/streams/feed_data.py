"""Rows of FEED_DATA messages, compact or full, as market events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from ..._values import raw_object
from ..decoding.columns import ColumnDecoder
from ..decoding.issues import IGNORED, Issues, describe
from ..decoding.lenient import structure_rows
from ..registry import wires
from .events import MARKET_EVENTS, UnknownEvent

__all__ = ["Columns", "default_columns", "events_of"]

EVENT_TYPE = "eventType"
_TYPE = frozenset({EVENT_TYPE})
#: Usually 0, or the wall clock of the server: not asked for, which saves a fifth of a frame.
_UNASKED = frozenset({"eventTime"})

Columns = Mapping[str, Sequence[str]]
"""Names of the columns of each event type."""


@lru_cache(maxsize=64)
def default_columns(kind: str) -> tuple[str, ...]:
    """Return the columns to ask for: the fields of the model, in its order."""
    wire = wires()[MARKET_EVENTS[kind]]
    names = [field.encode_name for field in msgspec.structs.fields(wire) if "__alias" not in field.name]
    return tuple(name for name in names if name not in _UNASKED)


@lru_cache(maxsize=256)
def _decoder(kind: str, columns: tuple[str, ...]) -> ColumnDecoder:
    return ColumnDecoder(MARKET_EVENTS[kind], columns, ignored=_TYPE)


def events_of(data: Any, columns: Columns, issues: Issues) -> Iterator[tuple[str, list[Any]]]:
    """Yield type and events of each block of rows in the ``data`` of a FEED_DATA message.

    ``columns`` are those that the server announced. Rows may be objects, concatenated values or lists of values, and
    an older form announces the columns beside them. A block that cannot be read is reported and left out.
    """
    if not isinstance(data, list):
        issues.report("$.data", f"expected a list, got {describe(data)}", IGNORED)
    elif data and isinstance(data[0], dict):
        yield from _full(data, issues)
    else:
        yield from _compact(data, columns, issues)


def _full(rows: list[Any], issues: Issues) -> Iterator[tuple[str, list[Any]]]:
    """Yield the events of objects, those of one type in one block as far as they follow one another."""
    start = 0
    for end in range(1, len(rows) + 1):
        kind = _type_of(rows[start])
        if end < len(rows) and _type_of(rows[end]) == kind:
            continue
        objects = (row for row in rows[start:end] if isinstance(row, dict))
        block = [{key: value for key, value in row.items() if key != EVENT_TYPE} for row in objects]
        model = MARKET_EVENTS.get(kind)
        if model is None:
            yield kind, [UnknownEvent(type=kind, fields=raw_object(row)) for row in block]
        else:
            yield kind, structure_rows(model, block, f"$.{kind}", issues)
        start = end


def _type_of(row: Any) -> str:
    return str(row.get(EVENT_TYPE, "")) if isinstance(row, dict) else ""


def _compact(data: list[Any], columns: Columns, issues: Issues) -> Iterator[tuple[str, list[Any]]]:
    for position in range(0, len(data) - 1, 2):
        head, values = data[position], data[position + 1]
        names: Any = None
        if isinstance(head, list) and len(head) == 2:
            head, names = head
        if not isinstance(head, str) or not isinstance(values, list):
            issues.report("$.data", f"expected a type and its rows, got {describe(head)}", IGNORED)
            return
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            names = columns.get(head)
        if names is None and head in MARKET_EVENTS:
            names = default_columns(head)
        try:
            if values and isinstance(values[0], list):
                values = [value for row in values for value in row]
            yield head, _rows(head, tuple(names or ()), values, issues)
        except (TypeError, ValueError) as error:
            issues.report(f"$.{head}", str(error), IGNORED)


def _rows(kind: str, names: tuple[str, ...], values: list[Any], issues: Issues) -> list[Any]:
    if kind in MARKET_EVENTS:
        return _decoder(kind, names).decode(values, f"$.{kind}", issues)
    width = len(names)
    if not width or len(values) % width:
        return [UnknownEvent(type=kind, fields=raw_object({"values": values}))]
    rows = zip(*[iter(values)] * width, strict=True)
    return [UnknownEvent(type=kind, fields=raw_object(dict(zip(names, row, strict=True)))) for row in rows]
