"""Arrow tables of models, every column typed by the model. Needs pyarrow: ``pip install "brokerage-async[arrow]"``.

The columns of a table depend on the model alone, never on its rows, so tables of the same model can be concatenated and
written to one file. The single exception: a number that ``decimal128(38, 18)`` cannot hold exactly makes its column
``decimal256(76, 38)``, because exact digits matter more than a stable schema.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as _missing:
    raise ImportError('Arrow tables need pyarrow: pip install "brokerage-async[arrow]"') from _missing

__all__ = ["Column", "columns_of", "joined", "schema_of", "table_of", "table_of_found", "write_parquet"]

DECIMAL = pa.decimal128(38, 18)
_WIDE = pa.decimal256(76, 38)
_SCALARS: Mapping[Any, pa.DataType] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    Decimal: DECIMAL,
    date: pa.date32(),
    datetime: pa.timestamp("us", tz="UTC"),
}


@attrs.frozen
class Column:
    """Column for one field.

    ``write`` converts values for pyarrow, None if they need no conversion.
    """

    name: str
    type: pa.DataType
    write: Callable[[Any], Any] | None = None


_COLUMNS: dict[type[Any], tuple[Column, ...]] = {}


def schema_of(model: type[Any], *, key: bool = False) -> pa.Schema:
    """Return the Arrow schema of a model's table, optionally with a ``key`` column."""
    keys = [pa.field("key", pa.string())] if key else []
    return pa.schema(keys + [pa.field(column.name, column.type) for column in columns_of(model)])


def table_of(items: Collection[Any], model: type[Any], *, keys: Sequence[str] | None = None) -> pa.Table:
    """Return a table with one row per item of class ``model``.

    The ``keys``, one for each item, become the first column.
    """
    names, arrays = ([], []) if keys is None else (["key"], [pa.array(keys, pa.string())])
    for column in columns_of(model):
        values = [getattr(item, column.name) for item in items]
        if column.write is not None:
            values = [None if value is None else column.write(value) for value in values]
        names.append(column.name)
        arrays.append(_array(values, column.type))
    return pa.table(dict(zip(names, arrays, strict=True)))


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of the same model.

    A column that is wide in one of them is wide in the result.
    """
    return pa.concat_tables(tables, promote_options="permissive")


def write_parquet(
    path: Path, groups: Callable[[], Iterable[tuple[Sequence[str], Collection[Any]]]], model: type[Any]
) -> None:
    """Write groups of keys and items to one Parquet file.

    ``groups`` is called a second time if a number needs wide columns.

    Raises:
        pyarrow.ArrowInvalid, OverflowError: a number is too large for the widest column.
    """
    narrow = schema_of(model, key=True)
    try:
        _write_parquet(path, groups(), model, narrow)
    except pa.ArrowInvalid:
        _write_parquet(path, groups(), model, pa.schema([field.with_type(_widened(field.type)) for field in narrow]))


def _write_parquet(
    path: Path, groups: Iterable[tuple[Sequence[str], Collection[Any]]], model: type[Any], schema: pa.Schema
) -> None:
    with pq.ParquetWriter(path, schema) as writer:
        for keys, items in groups:
            writer.write_table(table_of(items, model, keys=keys).cast(schema))


def table_of_found(found: Mapping[str, Any], model: type[Any] | None = None) -> pa.Table:
    """Return a table of values beside their ``key``; list values give several rows."""
    keys, items = list[str](), list[Any]()
    for key, value in found.items():
        several: Iterable[Any] = value if isinstance(value, (list, tuple)) else (value,)
        for item in several:
            keys.append(key)
            items.append(item)
    if model is None and items:
        model = type(items[0])
    return pa.table({"key": pa.array([], pa.string())}) if model is None else table_of(items, model, keys=keys)


def columns_of(model: type[Any]) -> tuple[Column, ...]:
    """Return the columns of an attrs class, in field order."""
    if model not in _COLUMNS:
        _COLUMNS[model] = _columns(model, frozenset())
    return _COLUMNS[model]


def _columns(model: type[Any], outer: frozenset[type[Any]]) -> tuple[Column, ...]:
    hints = get_type_hints(model)
    return tuple(Column(f.name, *_arrow_type(hints[f.name], outer | {model})) for f in attrs.fields(model))


def _arrow_type(hint: Any, outer: frozenset[type[Any]]) -> tuple[pa.DataType, Callable[[Any], Any] | None]:
    """Return the Arrow type for a type hint, and its converter."""
    if get_origin(hint) in (Union, types.UnionType):
        inner = [argument for argument in get_args(hint) if argument is not types.NoneType]
        hint = inner[0] if len(inner) == 1 else Any
    if hint in _SCALARS:
        return _SCALARS[hint], None
    if isinstance(hint, type) and issubclass(hint, Enum):
        return pa.string(), str
    if get_origin(hint) is tuple:
        item, write = _arrow_type(get_args(hint)[0], outer)
        return pa.list_(item), list if write is None else _each_by(write)
    if isinstance(hint, type) and attrs.has(hint) and hint not in outer:
        columns = _columns(hint, outer)
        return pa.struct([pa.field(column.name, column.type) for column in columns]), _struct_by(columns)
    return pa.string(), _to_json  # raw JSON, and recursive models


def _each_by(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: [None if value is None else write(value) for value in values]


def _struct_by(columns: tuple[Column, ...]) -> Callable[[Any], Any]:
    def write(value: Any) -> dict[str, Any]:
        row = {}
        for column in columns:
            field = getattr(value, column.name)
            row[column.name] = field if field is None or column.write is None else column.write(field)
        return row

    return write


def _to_json(value: Any) -> str | None:
    """Encode raw JSON; None for an empty object, such as most ``extra``."""
    if value == {}:
        return None
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return attrs.asdict(value, recurse=False) if attrs.has(type(value)) else str(value)


def _array(values: list[Any], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type_)
    except pa.ArrowInvalid:
        wide = _widened(type_)
        if wide == type_:
            raise
        return pa.array(values, wide)


def _widened(type_: pa.DataType) -> pa.DataType:
    """Return the type with its decimals as ``decimal256(76, 38)``."""
    if type_ == DECIMAL:
        return _WIDE
    if pa.types.is_list(type_):
        return pa.list_(_widened(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_widened(field.type)) for field in type_])
    return type_
