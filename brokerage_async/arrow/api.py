"""Tables of models, and the data frames and Parquet files that are made of them.

The columns of a table depend on the model and on ``decimals``, never on its rows, so tables of the same model can be
concatenated. The single exception: a number that ``decimal128(38, 18)`` cannot hold exactly makes its column
``decimal256(76, 38)``, because exact digits matter more than a stable schema. In files, decimals have the scale that
their column needs, because many readers know nothing wider than ``decimal128``.

The functions import pyarrow, pandas and Polars only when they are called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import attrs

from .._decimals import Decimals
from ..errors import ConfigurationError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

EXTRAS = {"arrow": ["pyarrow"], "pandas": ["pyarrow", "pandas"], "polars": ["pyarrow", "polars"]}
"""Packages that each extra installs."""


def require(extra: Literal["arrow", "pandas", "polars"]) -> None:
    """Check that the packages of an extra are installed.

    Raises:
        ConfigurationError: a package is missing. The message says how to install it.
    """
    for package in EXTRAS[extra]:
        try:
            import_module(package)
        except ImportError as missing:
            raise ConfigurationError(f'{package} is missing: pip install "brokerage-async[{extra}]"') from missing


def to_arrow(
    rows: Iterable[Any],
    model: type[Any] | None = None,
    *,
    keys: Sequence[str] | None = None,
    decimals: Decimals = "exact",
) -> pyarrow.Table:
    """Return an Arrow table with one row per model and one column per field.

    Exact decimals are ``decimal128(38, 18)``. A column with a number that this type cannot hold is ``decimal256(76,
    38)``. Dates are ``date32``, points in time ``timestamp('us', 'UTC')``, enumerations strings, nested models structs,
    lists lists. Raw JSON and the unknown fields in ``extra`` are JSON strings.

    Args:
        rows: models of one class.
        model: their class. Pass it wherever ``rows`` may be empty.
        keys: values of a first column ``key``, one for each row.
        decimals: see `Decimals`.

    Raises:
        ConfigurationError: pyarrow is missing, an argument is invalid, or a number fits no column.
    """
    require("arrow")
    import pyarrow as pa

    from .columns import array_of, columns_of

    items, model = _checked(rows, model, decimals)
    columns = {} if keys is None else {"key": array_of("key", list(keys), pa.string())}
    for column in columns_of(model, decimals):
        values = [getattr(item, column.name) for item in items]
        if column.write is not None:
            values = [None if value is None else column.write(value) for value in values]
        columns[column.name] = array_of(f"{model.__name__}.{column.name}", values, column.type)
    return pa.table(columns)


def to_pandas(
    rows: Iterable[Any],
    model: type[Any] | None = None,
    *,
    keys: Sequence[str] | None = None,
    decimals: Decimals = "exact",
) -> pandas.DataFrame:
    """Return a pandas frame with one row per model and one column per field.

    Exact decimals are `decimal.Decimal` objects with the digits of the models, or None. All other columns have the
    types of `to_arrow` (`pandas.ArrowDtype`), so integers and booleans keep their type where values are missing.

    The arguments are those of `to_arrow`.

    Raises:
        ConfigurationError: as from `to_arrow`, or pandas is missing.
    """
    require("pandas")
    import pandas

    from .columns import DECIMAL, columns_of

    items, model = _checked(rows, model, decimals)
    frame = to_arrow(items, model, keys=keys, decimals=decimals).to_pandas(types_mapper=pandas.ArrowDtype)
    for column in columns_of(model, decimals):
        if column.type == DECIMAL:  # Arrow decimals of pandas fail on products, whose digits exceed every Arrow type
            values = [getattr(item, column.name) for item in items]
            frame[column.name] = pandas.Series(values, dtype=object, index=frame.index)
    return frame


def to_polars(
    rows: Iterable[Any],
    model: type[Any] | None = None,
    *,
    keys: Sequence[str] | None = None,
    decimals: Decimals = "exact",
) -> polars.DataFrame:
    """Return a Polars frame with one row per model and one column per field.

    Exact decimals are ``Decimal(38, 18)``, the widest that Polars has. All other columns have the types of `to_arrow`.

    The arguments are those of `to_arrow`.

    Raises:
        ConfigurationError: as from `to_arrow`, Polars is missing, or a column is wider than its decimals.
    """
    require("polars")
    import polars

    table = to_arrow(rows, model, keys=keys, decimals=decimals)
    for field in table.schema:
        if "decimal256" in str(field.type):  # at any depth
            raise ConfigurationError(
                f"{field.name} must fit Decimal(38, 18) for Polars, got a longer number: "
                'pass decimals="string" or decimals="float"'
            )
    return cast("polars.DataFrame", polars.from_arrow(table))


def schema_of(model: type[Any], *, key: bool = False, decimals: Decimals = "exact") -> pyarrow.Schema:
    """Return the Arrow schema of a model's table, optionally with a ``key`` column.

    Raises:
        ConfigurationError: pyarrow is missing, or an argument is invalid.
    """
    require("arrow")
    import pyarrow as pa

    from .columns import columns_of

    _, model = _checked((), model, decimals)
    keys = [pa.field("key", pa.string())] if key else []
    return pa.schema(keys + [pa.field(column.name, column.type) for column in columns_of(model, decimals)])


def joined(tables: Sequence[pyarrow.Table]) -> pyarrow.Table:
    """Concatenate tables of the same model. A column that is wide in one of them is wide in the result."""
    import pyarrow

    return pyarrow.concat_tables(tables, promote_options="permissive")


def write_parquet(
    path: Path,
    schema: pyarrow.Schema,
    measured: Iterable[pyarrow.Table],
    written: Iterable[pyarrow.Table],
    *,
    encode: bool = False,
) -> None:
    """Write tables to one Parquet file, a row group for each.

    Exact decimals get the scale that their column needs: ``decimal128(38, scale)``, or ``decimal256(76, scale)`` if
    its numbers have more digits.

    Args:
        path: the file.
        schema: columns of the tables, with decimals of any width.
        measured: tables with all the rows, in any order, which determine the scales.
        written: the tables again, in their order. It is read after ``measured`` has ended.
        encode: give strings the type of a dictionary.

    Raises:
        ConfigurationError: pyarrow is missing.
    """
    require("arrow")
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    from .columns import fitted, settled, unfitted

    needed = [unfitted(field.type) for field in schema]
    for table in measured:
        needed = [fitted(table[name].combine_chunks(), so_far)
                  for name, so_far in zip(schema.names, needed, strict=True)]  # fmt: skip
    fields = [field.with_type(settled(type_, encode=encode)) for field, type_ in zip(schema, needed, strict=True)]
    schema = pa.schema(fields)
    with ParquetWriter(path, schema) as writer:
        for table in written:
            writer.write_table(table.cast(schema))


def _checked(rows: Iterable[Any], model: type[Any] | None, decimals: str) -> tuple[Collection[Any], type[Any]]:
    """Return the rows as a collection, and their class. Raise ConfigurationError for invalid arguments."""
    if decimals not in get_args(Decimals):
        raise ConfigurationError(f"decimals must be 'exact', 'string' or 'float', got {decimals!r}")
    items = rows if isinstance(rows, list | tuple) else list(rows)
    if model is None:
        if not items:
            raise ConfigurationError("model must be given if rows may be empty, such as to_arrow(rows, models.Order)")
        model = type(items[0])
    if not isinstance(model, type) or not attrs.has(model):
        raise ConfigurationError(f"model must be a class of models, got {model!r}")
    for item in items:
        if not isinstance(item, model):
            raise ConfigurationError(f"rows must all be of class {model.__name__}, got {type(item).__name__}")
    return items, model
