"""Prices from files: CSV, or Parquet with the extra ``[arrow]``."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .price_path import PricePath

__all__ = ["read_prices"]


def read_prices(path: str | os.PathLike[str]) -> PricePath:
    """Return the rows of a file as a price source.

    The columns are ``time`` and ``price``, and optionally ``bid``, ``ask``, ``bid_size``, ``ask_size`` and ``volume``;
    others are ignored. A time is in ISO 8601 with a zone, in Parquet also a timestamp (UTC if it has no zone).

    Args:
        path: a file whose name ends in ``.csv`` or ``.parquet``.

    Raises:
        ValueError: the file has another name, or a row is not valid.
        ImportError: pyarrow is needed for Parquet: ``pip install 'brokerage-async[arrow]'``.
    """
    file = Path(path)
    match file.suffix.lower():
        case ".csv":
            with file.open(encoding="utf-8-sig", newline="") as lines:
                rows = [_row(row) for row in csv.DictReader(lines)]
        case ".parquet":
            rows = [_row(row) for row in _parquet_rows(file)]
        case suffix:
            raise ValueError(f"prices must be in a .csv or .parquet file, got {suffix or 'no suffix'}: {file.name}")
    try:
        return PricePath(rows)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None


def _parquet_rows(file: Path) -> Iterable[Mapping[str, Any]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'brokerage-async[arrow]'") from None
    rows: list[Mapping[str, Any]] = parquet.read_table(file).to_pylist()
    return rows


_COLUMNS = ("time", "price", "bid", "ask", "bid_size", "ask_size", "volume")


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known columns that have a value."""
    found = {name: row[name] for name in _COLUMNS if row.get(name) not in (None, "")}
    time = found.get("time")
    if isinstance(time, str):
        try:
            found["time"] = datetime.fromisoformat(time)
        except ValueError:
            raise ValueError(f"time must be in ISO 8601 with a zone, got {time!r}") from None
    elif isinstance(time, datetime) and time.tzinfo is None:
        found["time"] = time.replace(tzinfo=UTC)
    return found
