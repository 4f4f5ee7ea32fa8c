"""Data frames of models: pandas and Polars, both by way of Arrow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from .._decimals import Decimals
from ..errors import ConfigurationError
from .columns import DECIMAL, columns_of, has_wide_decimals
from .tables import table_of

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["pandas_of", "polars_of"]


def pandas_of(
    items: Collection[Any], model: type[Any], *, keys: Sequence[str] | None, decimals: Decimals
) -> pandas.DataFrame:
    """Return a frame whose decimals, if exact, are the objects of the models.

    Arrow decimals of pandas fail on products, whose digits exceed every Arrow type; objects compute as in Python.
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
