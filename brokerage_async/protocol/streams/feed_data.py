"""Rows of FEED_DATA messages, compact or full, as market events.

Large arrays are parsed some elements at a time, so that the loop runs between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from ..._values import raw_object
from ..._wire import Wire
from ..decoding.adaptive import Plan
from ..decoding.fields import UNREADABLE, wire_fields
from ..decoding.issues import IGNORED, Issues, describe
from ..decoding.lenient import build_rows, parse, structure_rows
from ..registry import wires
from .events import MARKET_EVENTS, Rows, UnknownEvent

LARGE = 24 * 1024  # characters of a message, or of some elements, that are parsed in one go: 1 to 3 ms

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


ROWS_PER_STEP, VALUES_PER_STEP = 256, 8192
"""Most rows, and values of rows, that are decoded in one step: a few ms where none of them fits."""

#: Columns that one row may have. More of them are not decoded.
MAX_COLUMNS = 256

EVENT_TYPE = "eventType"
#: Usually 0, or the wall clock of the server: not asked for, which saves a fifth of a frame.
_UNASKED = frozenset({"eventTime"})

Columns = Mapping[str, Sequence[str]]
"""Names of the columns of each event type."""

_OBJECT = re.compile(r"\s*\{")
_BLOCK = re.compile(r'\s*"([^"\\]{1,100})"\s*,\s*\[')
_NEXT = re.compile(r"\s*([,\]])")


@lru_cache(maxsize=64)
def default_columns(kind: str) -> tuple[str, ...]:
    """Return the columns to ask for: the fields of the model, in its order."""
    wire = wires()[MARKET_EVENTS[kind]]
    names = [field.encode_name for field in msgspec.structs.fields(wire) if "__alias" not in field.name]
    return tuple(name for name in names if name not in _UNASKED)


def events_of(data: Any, columns: Columns, issues: Issues, *, as_rows: bool = False) -> Iterator[tuple[str, list[Any]]]:
    """Yield type and events of the rows in the ``data`` of a FEED_DATA message, at most `ROWS_PER_STEP` at a time.

    ``columns`` are those that the server announced. Rows may be objects, concatenated values or lists of values, and
    an older form announces the columns beside them. A block that cannot be read is reported and left out.

    With ``as_rows`` the events of a block are one `Rows`, and blocks of unknown types are reported and left out.
    """
    if not isinstance(data, list):
        issues.report("$.data", f"expected a list, got {describe(data)}", IGNORED)
        return
    if data and isinstance(data[0], dict):
        yield from _full(data, issues, as_rows=as_rows)
        return
    for position in range(0, len(data) - 1, 2):
        head, values = data[position], data[position + 1]
        names: Any = None
        if isinstance(head, list) and len(head) == 2:
            head, names = head
        if not isinstance(head, str) or not isinstance(values, list):
            issues.report("$.data", f"expected a type and its rows, got {describe(head)}", IGNORED)
            return
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            names = _names(head, columns)
        try:
            yield from _rows(head, tuple(names), _flat(values), issues, as_rows=as_rows)
        except (TypeError, ValueError) as error:
            issues.report(_path(head), str(error), IGNORED)
            yield head, []


def events_of_large(
    body: str, at: int, columns: Columns, issues: Issues, *, as_rows: bool = False
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the same from JSON text, which is parsed in steps; ``at`` is the position behind the bracket of ``data``.

    The older form is not read here. What follows a block that cannot be read is left out, too.
    """
    try:
        if _OBJECT.match(body, at):
            for rows, _ in elements_of(body, at, as_floats=as_rows):
                yield from _full(rows, issues, as_rows=as_rows)
            return
        while block := _BLOCK.match(body, at):
            kind, rest, has_lists = block[1], list[Any](), body.startswith("[", block.end())
            names = _names(kind, columns)
            width = len(names) or 1
            for values, end in elements_of(body, block.end(), as_floats=as_rows):
                values = rest + (_flat(values) if has_lists else values)
                whole = len(values) - len(values) % width
                yield from _rows(kind, names, values[:whole], issues, as_rows=as_rows)
                rest, at = values[whole:], end
            yield from _rows(kind, names, rest, issues, as_rows=as_rows)
            following = _NEXT.match(body, at)
            if following is None or following[1] == "]":
                return
            at = following.end()
        if not _NEXT.match(body, at):
            raise ValueError("expected a type and its rows")
    except (TypeError, ValueError) as error:
        issues.report("$.data", str(error), IGNORED)


def _full(rows: list[Any], issues: Issues, *, as_rows: bool) -> Iterator[tuple[str, list[Any]]]:
    """Yield the events of objects. Consecutive events of one type share a block."""
    start = 0
    for end in range(1, len(rows) + 1):
        kind = _type_of(rows[start])
        if end < len(rows) and end - start < ROWS_PER_STEP and _type_of(rows[end]) == kind:
            continue
        objects = (row for row in rows[start:end] if isinstance(row, dict))
        block = [{key: value for key, value in row.items() if key != EVENT_TYPE} for row in objects]
        model = MARKET_EVENTS.get(kind)
        if as_rows:
            names = tuple(dict.fromkeys(key for row in block for key in row))
            values = [row.get(name) for row in block for name in names]
            try:
                yield from _rows(kind, names, values, issues, as_rows=True)
            except ValueError as error:
                issues.report(_path(kind), str(error), IGNORED)
        elif model is None:
            yield kind, [UnknownEvent(type=kind, fields=raw_object(row)) for row in block]
        else:
            yield kind, structure_rows(model, block, f"$.{kind}", issues)
        start = end


def _path(kind: str) -> str:
    """Return the path of an issue, with the name of an unknown type only if it looks like one."""
    return f"$.{kind}" if kind.isidentifier() and len(kind) <= 100 else "$.data"


def _type_of(row: Any) -> str:
    return str(row.get(EVENT_TYPE, "")) if isinstance(row, dict) else ""


def _names(kind: str, columns: Columns) -> Sequence[str]:
    return columns.get(kind) or (default_columns(kind) if kind in MARKET_EVENTS else ())


def _flat(values: list[Any]) -> list[Any]:
    """Return the values of rows, which may be lists."""
    return [value for row in values for value in row] if values and isinstance(values[0], list) else values


def _rows(
    kind: str, names: Sequence[str], values: list[Any], issues: Issues, *, as_rows: bool
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the events of concatenated rows.

    Raises:
        ValueError: there are too many columns, or the values do not fill whole rows.
    """
    model = MARKET_EVENTS.get(kind)
    if model is None and as_rows:
        raise ValueError("expected rows of a known type")
    if model is None and (not names or len(values) % len(names)):
        if len(values) > MAX_COLUMNS:
            raise ValueError(f"an event of an unknown type must have at most {MAX_COLUMNS} values")
        names, values = ("values",), [values] if values else []
    width = len(names)
    if not 0 < width <= MAX_COLUMNS:
        raise ValueError(f"columns must be 1 to {MAX_COLUMNS}, got {width}")
    if len(values) % width:
        raise ValueError(f"values must fill rows of {width} columns, got {len(values)}")
    if as_rows:
        yield kind, [Rows(kind, tuple(names), values)]
        return
    step = max(1, min(ROWS_PER_STEP, VALUES_PER_STEP // width)) * width
    for start in range(0, len(values) or 1, step):
        rows = list(zip(*[iter(values[start : start + step])] * width, strict=True))
        if model is not None:
            yield kind, models_of(model, tuple(names), rows, f"$.{kind}", issues)
        else:
            yield kind, [UnknownEvent(type=kind, fields=raw_object(dict(zip(names, row, strict=True)))) for row in rows]


def models_of(
    model: type[Any], columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]], path: str, issues: Issues
) -> list[Any]:
    """Return the models of rows of values. A column that the model lacks goes to ``extra``."""
    plan, many = _row_plan(wires()[model], columns)
    try:
        return build_rows(plan, msgspec.convert(rows, many), f"{path}[]", issues)
    except UNREADABLE:
        objects = [
            {name: value for name, value in zip(columns, row, strict=True) if name != EVENT_TYPE} for row in rows
        ]
        return structure_rows(model, objects, path, issues)


@lru_cache(maxsize=32)  # a server that announces other columns again and again must not fill the memory
def _row_plan(wire: type[Wire], columns: tuple[str, ...]) -> tuple[Plan, Any]:
    """Return the plan of a struct with the columns in their order, so that msgspec converts rows in C, and its list."""
    fields, learned, definitions = dict(wire_fields(wire)), list[tuple[str, str]](), list[Any]()
    for number, name in enumerate(columns):
        field = fields.pop(name, None)
        if field is not None:
            definitions.append((field.attribute, field.type, None))
        elif name == EVENT_TYPE or name in columns[:number]:
            definitions.append((f"ignored_{number}", Any, None))
        else:
            definitions.append((f"learned_{number}", Any, msgspec.UNSET))
            learned.append((f"learned_{number}", name))
    definitions += [(field.attribute, field.type, None) for field in fields.values()]  # they stay None
    struct: Any = msgspec.defstruct(wire.__name__, definitions, bases=(Wire,), array_like=True)
    return Plan(wire, struct, learned), list[struct]
