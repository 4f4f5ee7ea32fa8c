"""The files that a fetch ends in: JSON lines, CSV and Parquet, each written aside and then put in place at once."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import attrs
import msgspec

from .._values import decimal_text
from ..errors import ConfigurationError
from ..models import converter

__all__ = ["FORMATS", "Rows", "put_in_place"]

Rows = Callable[[], Iterable[tuple[str, Any]]]
"""Key and row (as JSON values) of everything that was found, in order, as often as it is called."""

GROUP = 10_000
"""Rows that stand together in a Parquet file, and in memory."""

encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode


def write_jsonl(path: Path, rows: Rows, model: type[Any]) -> None:
    """A JSON object for each row, in the form in which the service sends it, with ``key`` before its fields (and in
    place of one of that name)."""
    with path.open("wb") as file:
        for key, row in rows():
            file.write(encode({"key": key} | row | {"key": key}) + b"\n")


def write_csv(path: Path, rows: Rows, model: type[Any]) -> None:
    """``key`` and the fields of the model; what is no single value stands there as JSON."""
    names = [field.name for field in attrs.fields(model)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["key", *names])
        for key, row in rows():
            item = converter.structure(row, model)
            writer.writerow([key, *(_cell(getattr(item, name)) for name in names)])


def write_parquet(path: Path, rows: Rows, model: type[Any]) -> None:
    """``key`` and the fields of the model, typed; needs pyarrow.

    Raises:
        ConfigurationError: a number is too large for any column.
    """
    from ..arrow import write_parquet as write

    def groups() -> Iterator[tuple[list[str], list[Any]]]:
        rest = iter(rows())
        while group := list(islice(rest, GROUP)):
            keys, raw = zip(*group, strict=True)
            yield list(keys), converter.structure(list(raw), list[model])  # type: ignore[valid-type]

    try:
        write(path, groups, model)
    except (ValueError, OverflowError) as error:
        raise ConfigurationError(f"Parquet cannot hold a value ({error}); JSON lines and CSV can") from None


FORMATS: Mapping[str, Callable[[Path, Rows, type[Any]], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def put_in_place(path: Path, rows: Rows, model: type[Any]) -> None:
    """Write ``path`` in the format that its name asks for. Whoever looks sees the old file or the whole new one.

    Raises:
        ConfigurationError: the file cannot be written, or its format cannot hold what was found; the old file is left
            as it was.
    """
    aside = path.with_name(path.name + ".tmp")
    try:
        FORMATS[path.suffix](aside, rows, model)
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case Decimal():
            return decimal_text(value)
        case date():  # date-times too
            return value.isoformat()
        case str() | int():
            return str(value)
        case _:
            return encode(converter.unstructure(value)).decode() if value else ""
