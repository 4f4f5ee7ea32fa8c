"""Parquet files of models, written group by group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .columns import widened
from .tables import schema_of, table_of

__all__ = ["write"]


def write(path: Path, groups: Callable[[], Iterable[tuple[Sequence[str], Collection[Any]]]], model: type[Any]) -> None:
    """Write groups of keys and items to one file, with wide columns if a number needs them."""
    narrow = schema_of(model, key=True)
    try:
        _write(path, groups(), model, narrow)
    except pa.ArrowInvalid:
        _write(path, groups(), model, pa.schema([field.with_type(widened(field.type)) for field in narrow]))


def _write(
    path: Path, groups: Iterable[tuple[Sequence[str], Collection[Any]]], model: type[Any], schema: pa.Schema
) -> None:
    with pq.ParquetWriter(path, schema) as writer:
        for keys, items in groups:
            writer.write_table(table_of(items, model, keys=keys).cast(schema))
