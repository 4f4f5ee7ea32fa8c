"""Record batches of market events, straight from their rows of JSON values."""

from __future__ import annotations

import contextlib
import struct
from array import array
from collections.abc import Sequence
from math import isfinite
from typing import Any

import attrs
import pyarrow as pa

from .._values import readable
from ..protocol.decoding.fields import wire_fields
from ..protocol.decoding.issues import Issues, describe
from ..protocol.registry import wires
from .api import schema_of
from .columns import UNFIT, pc

_MOMENT, _DAY = pa.timestamp("us", tz="UTC"), pa.date32()
_NUMBERS = {_MOMENT: pa.int64(), _DAY: pa.int32()}
"""Types of the numbers that stand for points in time (epoch ms) and days (since 1970)."""

_FLOAT = pa.float64()
_CODES = {pa.int64(): "q", pa.int32(): "i"}
_BOUNDS = {_MOMENT: 62_135_596_800_000, _DAY: 719_162}
"""Largest of these numbers: 1970 years before and after 1970."""

_BYTES = array("i", range(65_537))
"""Offsets of strings of one byte each."""


@attrs.frozen
class _Column:
    """Facts of a column that are known before its values are: comparing types of pyarrow takes long.

    Attributes:
        field: name and type.
        position: place of its values in a row, None if the rows lack it.
        stored: type of the numbers that it is made from.
        code: code of an array of these, None if they are not integers.
        bound: largest of these, None if they stand for no time.
    """

    field: pa.Field
    position: int | None
    stored: pa.DataType
    code: str | None
    bound: int | None


def event_schema(model: type[Any]) -> pa.Schema:
    """Return the columns of batches of a market event.

    They are those of its table with floats, without ``extra``, and ``received_at``.
    """
    columns = [field for field in schema_of(model, decimals="float") if field.name != "extra"]
    columns.append(pa.field("received_at", pa.timestamp("us", tz="UTC")))
    return pa.schema(columns, metadata={"event_type": model.__name__})


class RowReader:
    """Reader of concatenated rows of one model, with the JSON keys of their values.

    A column that the model lacks is reported and left out. One that the rows lack is null.
    """

    def __init__(self, model: type[Any], columns: Sequence[str], issues: Issues) -> None:
        self._schema = event_schema(model)
        self._name, self._issues, self._width = model.__name__, issues, len(columns)
        targets = {field.key: field.target for field in dict(wire_fields(wires()[model])).values()}
        found = {targets[key]: number for number, key in enumerate(columns) if key in targets}
        for key in columns:
            if key not in targets and key != "eventType":
                issues.report(f"$.{self._name}.{key}", "unknown column", "left out of the batches")
        self._columns: list[_Column] = []
        for field in [*self._schema][:-1]:
            stored = _NUMBERS.get(field.type, field.type)
            self._columns.append(
                _Column(field, found.get(field.name), stored, _CODES.get(stored), _BOUNDS.get(field.type))
            )

    def batch(self, values: list[Any], received: array[int], *, as_floats: bool = False) -> pa.RecordBatch:
        """Return whole rows as a batch, with the epoch microseconds at which each was received.

        A value that does not fit is null, and reported unless it is NaN. With ``as_floats`` there is no Decimal.

        Raises:
            ResponseDecodeError: a value does not fit, in strict mode.
        """
        count, arrived = len(received), self._schema[-1].type
        columns = [
            pa.nulls(count, column.field.type)
            if column.position is None
            else self._array(column, values[column.position :: self._width], as_floats)
            for column in self._columns
        ]
        columns.append(pa.Array.from_buffers(arrived, count, [None, pa.py_buffer(received)]))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _array(self, column: _Column, values: list[Any], as_floats: bool) -> pa.Array:
        if column.stored == _FLOAT and as_floats:  # half the time of pyarrow, but huge Decimals would be infinite
            with contextlib.suppress(struct.error, OverflowError):
                numbers = pa.py_buffer(struct.pack(f"{len(values)}d", *values))
                return pa.Array.from_buffers(_FLOAT, len(values), [None, numbers])
        try:
            return _array(values, column)
        except (*UNFIT, ValueError, TypeError):
            try:
                return _array([None if value == "NaN" else value for value in values], column)
            except (*UNFIT, ValueError, TypeError):
                return _array([self._fitting(column.field, value) for value in values], column)

    def _fitting(self, field: pa.Field, value: Any) -> Any:
        """Return a value in the type of its column, None if it has none."""
        try:
            return None if value is None or value == "NaN" else _read(value, field.type)
        except (ValueError, OverflowError):
            path = f"$.{self._name}.{field.name}"
            self._issues.report(path, f"expected {field.type}, got {describe(value)}", "null in the batches")
            return None


def _array(values: list[Any], column: _Column) -> pa.Array:
    first, count, type_, stored = values[0], len(values), column.field.type, column.stored
    if first.__class__ is int and first == values[-1] and values.count(first) == count:  # mostly a column of 0
        if column.bound is not None and not first:
            return pa.nulls(count, type_)
        numbers = pa.repeat(pa.scalar(first, stored), count)
    elif column.code is None:
        if first.__class__ is str and len(first) == 1 and count < len(_BYTES):  # mostly a column of exchange codes
            try:
                letters = "".join(values)
            except TypeError:
                letters = ""
            if len(letters) == count and letters.isascii() and all(values):
                buffers = [None, pa.py_buffer(_BYTES), pa.py_buffer(letters.encode())]
                return pa.Array.from_buffers(stored, count, buffers)
        return pa.array(values, stored)
    else:
        try:
            numbers = pa.Array.from_buffers(stored, count, [None, pa.py_buffer(array(column.code, values))])
        except TypeError:  # None, or another type of value
            if float in map(type, values):
                raise ValueError from None  # pyarrow would cut its fraction off
            numbers = pa.array(values, stored)
    if column.bound is None:
        return numbers
    span = pc.min_max(numbers)
    if span["min"].is_valid and not -column.bound <= span["min"].as_py() <= span["max"].as_py() <= column.bound:
        raise ValueError
    if 0 in values:
        numbers = pc.if_else(pc.equal(numbers, 0), None, numbers)  # there is none
    return numbers.view(pa.timestamp("ms", tz="UTC")).cast(type_) if stored == pa.int64() else numbers.view(type_)


def _read(value: Any, type_: pa.DataType) -> Any:
    """Return a JSON value in a type. Raises ValueError or OverflowError if it has none there."""
    if type_ == pa.string() and not isinstance(value, bool | list | dict):
        return readable(str(value))
    if type_ == pa.bool_() and isinstance(value, bool):
        return value
    if isinstance(value, bool | list | dict) or type_ in (pa.string(), pa.bool_()):
        raise ValueError
    number = float(value)
    if type_ == pa.float64():
        return number if isfinite(number) else None
    whole = value if isinstance(value, int) else int(number)
    bound = _BOUNDS.get(type_, 2**63 - 1)
    if (whole != number and not isinstance(value, int)) or not -bound <= whole <= bound:
        raise ValueError
    return whole
