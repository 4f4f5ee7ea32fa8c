"""Columns of a model, made of its values: the Arrow type of each field, and batches of the rows of market events."""

from __future__ import annotations

import contextlib
import struct
import types
from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec
import pyarrow as pa
import pyarrow.compute

from .._decimals import Decimals, decimal_text
from .._values import readable
from ..errors import ConfigurationError
from ..protocol.decoding.fields import wire_fields
from ..protocol.decoding.issues import Issues, describe
from ..protocol.registry import wires

pc: Any = pyarrow.compute  # its functions are made at run time, so type checkers do not know them

DECIMAL = pa.decimal128(38, 18)
WIDE = pa.decimal256(76, 38)
UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)
"""Errors of pyarrow for a value that does not fit its column."""
MAX_SHOWN = 80  # characters of such a value that an error shows

Write = Callable[[Any], Any]

_SCALARS: Mapping[Any, pa.DataType] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
}
_DECIMALS: Mapping[Decimals, tuple[pa.DataType, Write | None]] = {
    "exact": (DECIMAL, None),
    "string": (pa.string(), decimal_text),
    "float": (pa.float64(), float),
}
_encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode


@attrs.frozen
class Column:
    """Column for one field.

    ``write`` converts values for pyarrow, None if they need no conversion.
    """

    name: str
    type: pa.DataType
    write: Write | None = None


_COLUMNS: dict[tuple[type[Any], Decimals], tuple[Column, ...]] = {}


def columns_of(model: type[Any], decimals: Decimals = "exact") -> tuple[Column, ...]:
    if (model, decimals) not in _COLUMNS:
        _COLUMNS[model, decimals] = _columns(model, decimals, frozenset())
    return _COLUMNS[model, decimals]


def _columns(model: type[Any], decimals: Decimals, outer: frozenset[type[Any]]) -> tuple[Column, ...]:
    hints = get_type_hints(model)
    outer = outer | {model}
    return tuple(
        Column(field.name, pa.string(), lambda extra: write_json(extra) if extra else None)  # empty in most rows
        if field.name == "extra"
        else Column(field.name, *_arrow_type(hints[field.name], decimals, outer))
        for field in attrs.fields(model)
    )


def _arrow_type(hint: Any, decimals: Decimals, outer: frozenset[type[Any]]) -> tuple[pa.DataType, Write | None]:
    if get_origin(hint) in (Union, types.UnionType):
        inner = [argument for argument in get_args(hint) if argument is not types.NoneType]
        hint = inner[0] if len(inner) == 1 else Any
    if hint is Decimal:
        return _DECIMALS[decimals]
    if hint in _SCALARS:
        return _SCALARS[hint], None
    if isinstance(hint, type) and issubclass(hint, Enum):
        return pa.string(), str
    if get_origin(hint) is tuple:
        item, write = _arrow_type(get_args(hint)[0], decimals, outer)
        if write is None:
            return pa.list_(item), list
        return pa.list_(item), lambda values: [None if value is None else write(value) for value in values]
    if isinstance(hint, type) and attrs.has(hint) and hint not in outer:
        columns = _columns(hint, decimals, outer)

        def write_struct(value: Any) -> dict[str, Any]:
            row = {}
            for column in columns:
                field = getattr(value, column.name)
                row[column.name] = field if field is None or column.write is None else column.write(field)
            return row

        return pa.struct([pa.field(column.name, column.type) for column in columns]), write_struct
    return pa.string(), write_json  # raw JSON, and recursive models


def write_json(value: Any) -> str:
    """Encode raw JSON, or a model, with every digit of its numbers."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return _encode(readable(value)).decode()


def _with_decimals(type_: pa.DataType, change: Callable[[Any], pa.DataType]) -> pa.DataType:
    """Return the type with each decimal in it, at any depth, as ``change`` returns it."""
    if pa.types.is_decimal(type_):
        return change(type_)
    if pa.types.is_list(type_):
        return pa.list_(_with_decimals(type_.value_type, change))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_with_decimals(field.type, change)) for field in type_])
    return type_


def unfitted(type_: pa.DataType) -> pa.DataType:
    """Return the type with decimals that hold nothing yet, to be widened by `fitted`."""
    return _with_decimals(type_, lambda _: pa.decimal256(1, 0))


def fitted(values: pa.Array, so_far: pa.DataType) -> pa.DataType:
    """Return ``so_far`` with its decimals as wide as the values need, too: as many integer digits and places."""
    if pa.types.is_list(values.type):
        return pa.list_(fitted(values.flatten(), so_far.value_type))
    if pa.types.is_struct(values.type):
        pairs = zip(values.flatten(), so_far, strict=True)
        return pa.struct([field.with_type(fitted(part, field.type)) for part, field in pairs])
    if not pa.types.is_decimal(values.type):
        return so_far
    ends = [end for end in pc.min_max(values).as_py().values() if end]
    digits = max([so_far.precision - so_far.scale, *(end.adjusted() + 1 for end in ends)])
    for scale in range(so_far.scale, WIDE.scale):
        try:
            values.cast(pa.decimal256(WIDE.precision, scale))
        except pa.ArrowInvalid:
            continue  # a value has more decimal places
        return pa.decimal256(digits + scale, scale)
    return pa.decimal256(digits + WIDE.scale, WIDE.scale)


def settled(type_: pa.DataType, *, encode: bool = False) -> pa.DataType:
    """Return a `fitted` type with ``decimal128`` wherever it suffices, and with ``encode`` strings in a dictionary."""
    if encode and pa.types.is_string(type_):
        return pa.dictionary(pa.int32(), pa.string())
    return _with_decimals(
        type_, lambda fit: pa.decimal128(38, fit.scale) if fit.precision <= 38 else pa.decimal256(76, fit.scale)
    )


def array_of(name: str, values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return the values as an array of the type, or of the wide one if they need it. Raise if one fits neither."""
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:  # lone surrogates, which no Arrow string can hold
        return array_of(name, readable(values), type_)
    except UNFIT:
        wide = _with_decimals(type_, lambda _: WIDE)
        try:
            return pa.array(values, wide)
        except UNFIT as error:
            unfit = repr(next(value for value in values if not _fits(value, wide)))[:MAX_SHOWN]
            others = "JSON lines and CSV" if wide == type_ else 'decimals="string", JSON lines and CSV'
            raise ConfigurationError(
                f"{name} must fit {wide}, got {unfit}: {others} hold numbers of any length"
            ) from error


def _fits(value: Any, type_: pa.DataType) -> bool:
    try:
        pa.array([value], type_)
    except UNFIT:
        return False
    return True


_MOMENT, _DAY = pa.timestamp("us", tz="UTC"), pa.date32()
_NUMBERS = {_MOMENT: pa.int64(), _DAY: pa.int32()}
"""Types of the numbers that stand for points in time (epoch ms) and days (since 1970)."""

_FLOAT = pa.float64()
_CODES = {pa.int64(): "q", pa.int32(): "i"}
_BOUNDS = {_MOMENT: 62_135_596_800_000, _DAY: 719_162}  # largest of these numbers: 1970 years before and after 1970
_BYTES = array("i", range(65_537))  # offsets of strings of one byte each


@attrs.frozen
class EventColumn:
    """Facts of a column that are known before its values are: comparing types of pyarrow takes long."""

    field: pa.Field
    position: int | None  # of its values in a row, None if the rows lack it
    stored: pa.DataType  # of the numbers that it is made from
    code: str | None  # of an array of these, None if they are not integers
    bound: int | None  # largest of these, None if they stand for no time


def event_schema(model: type[Any]) -> pa.Schema:
    """Return the columns of batches of a market event.

    They are the columns of its table with floats, without ``extra``, and ``received_at``.
    """
    columns = [pa.field(each.name, each.type) for each in columns_of(model, "float") if each.name != "extra"]
    columns.append(pa.field("received_at", pa.timestamp("us", tz="UTC")))
    return pa.schema(columns, metadata={"event_type": model.__name__})


class RowReader:
    """Reader of concatenated rows of one model, with the JSON keys of their values.

    A column that the model lacks is reported and left out. One that the rows lack is null.
    """

    def __init__(self, model: type[Any], columns: Sequence[str], issues: Issues) -> None:
        self._schema = event_schema(model)
        self._name, self._issues, self._width = model.__name__, issues, len(columns)
        targets = {field.key: field.target for field in wire_fields(wires()[model]).values()}
        found = {targets[key]: number for number, key in enumerate(columns) if key in targets}
        for key in columns:
            if key not in targets and key != "eventType":
                issues.report(f"$.{self._name}.{key}", "unknown column", "left out of the batches")
        self._columns: list[EventColumn] = []
        for field in [*self._schema][:-1]:
            stored = _NUMBERS.get(field.type, field.type)
            self._columns.append(
                EventColumn(field, found.get(field.name), stored, _CODES.get(stored), _BOUNDS.get(field.type))
            )

    def batch(self, values: list[Any], received: array[int], *, as_floats: bool = False) -> pa.RecordBatch:
        """Return whole rows as a batch, with the epoch microseconds at which each was received.

        A value that does not fit is null, and reported unless it is NaN. With ``as_floats`` there is no Decimal.
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

    def _array(self, column: EventColumn, values: list[Any], as_floats: bool) -> pa.Array:
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


def _array(values: list[Any], column: EventColumn) -> pa.Array:
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
            if not {float, Decimal}.isdisjoint(map(type, values)):
                raise ValueError from None  # pyarrow would cut a fraction off, and write a huge exponent out
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
