"""Arrow tables of models, and the data frames and Parquet files that are made of them.

The columns of a table depend on the model and on ``decimals``, never on its rows, so tables of the same model can be
concatenated. The single exception: a number that ``decimal128(38, 18)`` cannot hold exactly makes its column
``decimal256(76, 38)``, because exact digits matter more than a stable schema. In files, decimals have the scale that
their column needs, because many readers know nothing wider than ``decimal128``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from .._decimals import Decimals
from .._values import readable
from ..errors import ConfigurationError
from .columns import DECIMAL, columns_of, fitted, has_wide_decimals, settled, unfitted, widened

if TYPE_CHECKING:
    import pandas
    import polars

from collections.abc import Iterable
from pathlib import Path

MAX_SHOWN = 80
"""Characters of an invalid value that an error shows."""

UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)
"""Errors of pyarrow for a value that does not fit its column."""


def schema_of(model: type[Any], *, key: bool = False, decimals: Decimals = "exact") -> pa.Schema:
    """Return the Arrow schema of a model's table, optionally with a ``key`` column."""
    keys = [pa.field("key", pa.string())] if key else []
    return pa.schema(keys + [pa.field(column.name, column.type) for column in columns_of(model, decimals)])


def table_of(
    items: Collection[Any], model: type[Any], *, keys: Sequence[str] | None = None, decimals: Decimals = "exact"
) -> pa.Table:
    """Return a table with one row per item of class ``model``.

    The ``keys``, one for each item, become the first column.

    Raises:
        ConfigurationError: a value fits no column.
    """
    columns = {} if keys is None else {"key": _array("key", list(keys), pa.string())}
    for column in columns_of(model, decimals):
        values = [getattr(item, column.name) for item in items]
        if column.write is not None:
            values = [None if value is None else column.write(value) for value in values]
        columns[column.name] = _array(f"{model.__name__}.{column.name}", values, column.type)
    return pa.table(columns)


def _array(name: str, values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return the values as an array of the type, or of the wide one if they need it."""
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:  # lone surrogates, which no Arrow string can hold
        return _array(name, readable(values), type_)
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


def write(
    path: Path, schema: pa.Schema, measured: Iterable[pa.Table], written: Iterable[pa.Table], *, encode: bool = False
) -> None:
    """Write tables to one file, a row group each, with decimals at the scale that each column needs."""
    from pyarrow.parquet import ParquetWriter

    needed = [unfitted(field.type) for field in schema]
    for table in measured:
        needed = [fitted(table[name].combine_chunks(), so_far)
                  for name, so_far in zip(schema.names, needed, strict=True)]  # fmt: skip
    fields = [field.with_type(settled(type_, encode=encode)) for field, type_ in zip(schema, needed, strict=True)]
    schema = pa.schema(fields)
    with ParquetWriter(path, schema) as writer:
        for table in written:
            writer.write_table(table.cast(schema))


def pandas_of(
    items: Collection[Any], model: type[Any], *, keys: Sequence[str] | None, decimals: Decimals
) -> pandas.DataFrame:
    """Return a frame whose decimals, if exact, are the objects of the models.

    Arrow decimals of pandas fail on products, whose digits exceed every Arrow type. Objects compute as in Python.
    """
    import pandas

    table = table_of(items, model, keys=keys, decimals=decimals)
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    for column in columns_of(model, decimals):
        if column.type == DECIMAL:
            values = [getattr(item, column.name) for item in items]
            frame[column.name] = pandas.Series(values, dtype=object, index=frame.index)
    return frame


def polars_of(table: pa.Table) -> polars.DataFrame:
    """Return a frame of the table.

    Raises:
        ConfigurationError: a column is wider than the decimals of Polars.
    """
    import polars

    for field in table.schema:
        if has_wide_decimals(field.type):
            raise ConfigurationError(
                f"{field.name} must fit Decimal(38, 18) for Polars, got a longer number: "
                'pass decimals="string" or decimals="float"'
            )
    return cast("polars.DataFrame", polars.from_arrow(table))
