"""Models as Arrow tables, every column typed by the model. Needs pyarrow: ``pip install "brokerage-async[arrow]"``.

The columns of a table depend on the model alone, never on the rows at hand, so tables of the same model can be
concatenated and written to one file. The single exception: a number that ``decimal128(38, 18)`` cannot hold exactly
makes its column ``decimal256(76, 38)``, because a digit is worth more than a stable schema.
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
    """One column: ``name`` of the field, its Arrow ``type``, and ``write``, which makes of a value what Arrow takes
    (None: the value as it is)."""

    name: str
    type: pa.DataType
    write: Callable[[Any], Any] | None = None


_KNOWN: dict[type[Any], tuple[Column, ...]] = {}


def schema_of(model: type[Any], *, key: bool = False) -> pa.Schema:
    """The Arrow schema of a model's table; with ``key``, the text column ``key`` comes first."""
    keys = [pa.field("key", pa.string())] if key else []
    return pa.schema(keys + [pa.field(column.name, column.type) for column in columns_of(model)])


def table_of(items: Collection[Any], model: type[Any], *, keys: Sequence[str] | None = None) -> pa.Table:
    """One row for each of ``items``, all of class ``model``; ``keys``, one for each, become the first column."""
    names, arrays = ([], []) if keys is None else (["key"], [pa.array(keys, pa.string())])
    for column in columns_of(model):
        values = [getattr(item, column.name) for item in items]
        if column.write is not None:
            values = [None if value is None else column.write(value) for value in values]
        names.append(column.name)
        arrays.append(_array(values, column.type))
    return pa.table(dict(zip(names, arrays, strict=True)))


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of the same model as one; a column that is wide in one of them is wide in all."""
    return pa.concat_tables(tables, promote_options="permissive")


def write_parquet(
    path: Path, groups: Callable[[], Iterable[tuple[Sequence[str], Collection[Any]]]], model: type[Any]
) -> None:
    """Write keys and items, group by group, as one Parquet file. ``groups`` is called once more when a number turns up
    that needs wide columns.

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
    """The values of a mapping, or the items of those that are lists, as rows beside their ``key``."""
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
    """The columns of an attrs class, in the order of its fields."""
    if model not in _KNOWN:
        _KNOWN[model] = _columns(model, frozenset())
    return _KNOWN[model]


def _columns(model: type[Any], outer: frozenset[type[Any]]) -> tuple[Column, ...]:
    hints = get_type_hints(model)
    return tuple(Column(f.name, *_form(hints[f.name], outer | {model})) for f in attrs.fields(model))


def _form(hint: Any, outer: frozenset[type[Any]]) -> tuple[pa.DataType, Callable[[Any], Any] | None]:
    """How values of a type hint are stored: the Arrow type, and the function that prepares a value for it."""
    if get_origin(hint) in (Union, types.UnionType):
        inner = [argument for argument in get_args(hint) if argument is not types.NoneType]
        hint = inner[0] if len(inner) == 1 else Any
    if hint in _SCALARS:
        return _SCALARS[hint], None
    if isinstance(hint, type) and issubclass(hint, Enum):
        return pa.string(), str
    if get_origin(hint) is tuple:
        item, write = _form(get_args(hint)[0], outer)
        return pa.list_(item), list if write is None else _each_by(write)
    if isinstance(hint, type) and attrs.has(hint) and hint not in outer:
        columns = _columns(hint, outer)
        return pa.struct([pa.field(column.name, column.type) for column in columns]), _struct_by(columns)
    return pa.string(), _json_text  # raw JSON, and a model inside of itself


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


def _json_text(value: Any) -> str | None:
    """Raw JSON as text; nothing for an empty object, such as the ``extra`` of most rows."""
    if value == {}:
        return None
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return attrs.asdict(value, recurse=False) if attrs.has(type(value)) else str(value)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except pa.ArrowInvalid:
        wide = _widened(kind)
        if wide == kind:
            raise
        return pa.array(values, wide)


def _widened(kind: pa.DataType) -> pa.DataType:
    """The same type with room for any number that a service can mean."""
    if kind == DECIMAL:
        return _WIDE
    if pa.types.is_list(kind):
        return pa.list_(_widened(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_widened(field.type)) for field in kind])
    return kind
