"""Columns of a model: the Arrow type of each field, and the conversion of its values."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec
import pyarrow as pa
import pyarrow.compute

from .._decimals import Decimals, decimal_text
from .._values import readable
from ..errors import ConfigurationError

pc: Any = pyarrow.compute
"""Its functions are made at run time, so type checkers do not know them."""

DECIMAL = pa.decimal128(38, 18)
WIDE = pa.decimal256(76, 38)
UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)
"""Errors of pyarrow for a value that does not fit its column."""
MAX_SHOWN = 80
"""Characters of such a value that an error shows."""

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
    """Return the columns of an attrs class, in field order."""
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
    """Return the Arrow type for a type hint, and its converter."""
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


def widened(type_: pa.DataType) -> pa.DataType:
    """Return the type with its decimals as ``decimal256(76, 38)``."""
    return _with_decimals(type_, lambda _: WIDE)


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


def has_wide_decimals(type_: pa.DataType) -> bool:
    """Return True if a decimal of the type is wider than ``decimal128``."""
    if pa.types.is_list(type_):
        return has_wide_decimals(type_.value_type)
    if pa.types.is_struct(type_):
        return any(has_wide_decimals(field.type) for field in type_)
    return bool(pa.types.is_decimal256(type_))


def array_of(name: str, values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return the values as an array of the type, or of the wide one if they need it.

    Raises:
        ConfigurationError: a value fits neither.
    """
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:  # lone surrogates, which no Arrow string can hold
        return array_of(name, readable(values), type_)
    except UNFIT:
        wide = widened(type_)
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
