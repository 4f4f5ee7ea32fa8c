"""Output files of a fetch: JSON lines, CSV and Parquet, written aside and then put in place at once."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import attrs
import msgspec

from .._decimals import decimal_text
from ..arrow import write_parquet as write_groups
from ..errors import ConfigurationError
from ..models import converter

__all__ = ["FORMATS", "Rows", "put_in_place"]

Rows = Callable[[], Iterable[tuple[str, Any]]]
"""Returns key and row (as JSON values) of all results in order, at each call."""

GROUP = 10_000
"""Rows per group of a Parquet file, and rows held in memory."""

encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode


def write_jsonl(path: Path, rows: Rows, model: type[Any]) -> None:
    """Write each row as a JSON object in the form of the wire, with ``key`` before its fields."""
    with path.open("wb") as file:
        for key, row in rows():
            file.write(encode({"key": key} | row | {"key": key}) + b"\n")


FORMULA_OPENERS = tuple("=+-@\t\r\n＝＋－＠'")
"""Beginnings of a cell that a spreadsheet may run as a formula, and the quote, so that marking can be undone."""


def write_csv(path: Path, rows: Rows, model: type[Any]) -> None:
    """Write ``key`` and the fields of the model, with strings marked that a spreadsheet would run as formulas."""
    _write_csv(path, rows, model, mark_formula)


def write_raw_csv(path: Path, rows: Rows, model: type[Any]) -> None:
    """Write ``key`` and the fields of the model, with every string unchanged."""
    _write_csv(path, rows, model, str)


def mark_formula(cell: str) -> str:
    """Put a quote before a string that a spreadsheet would run. Remove one leading quote to get the string back."""
    return f"'{cell}" if cell.startswith(FORMULA_OPENERS) else str(cell)


class _UnixLines:
    """File whose lines end in LF, whatever terminator they are written with."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def _write_csv(path: Path, rows: Rows, model: type[Any], write_str: Callable[[str], str]) -> None:
    names = [field.name for field in attrs.fields(model)]
    with path.open("w", newline="", encoding="utf-8") as file:
        # csv quotes only line breaks that occur in its terminator: a bare CR would begin a new row.
        writer = csv.writer(_UnixLines(file), lineterminator="\r\n")
        writer.writerow(["key", *names])
        for key, row in rows():
            item = converter.structure(row, model)
            cells = [key, *(getattr(item, name) for name in names)]
            writer.writerow([write_str(cell) if isinstance(cell, str) else _cell(cell) for cell in cells])


def write_parquet(path: Path, rows: Rows, model: type[Any]) -> None:
    """Write ``key`` and the fields of the model, typed. Needs pyarrow.

    Raises:
        ConfigurationError: a number is too large for any column.
    """

    def groups() -> Iterator[tuple[list[str], list[Any]]]:
        rest = iter(rows())
        while group := list(islice(rest, GROUP)):
            keys, raw = zip(*group, strict=True)
            yield list(keys), converter.structure(list(raw), list[model])  # type: ignore[valid-type]

    write_groups(path, groups, model)


FORMATS: Mapping[str, Callable[[Path, Rows, type[Any]], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def put_in_place(path: Path, rows: Rows, model: type[Any], *, raw: bool = False) -> None:
    """Write ``path`` in the format that its name asks for. A reader sees the old file or the whole new one.

    ``raw`` leaves strings in CSV unmarked, also those that a spreadsheet would run as formulas.

    Raises:
        ConfigurationError: the file cannot be written, or its format cannot hold a value. The old file is kept.
    """
    aside = path.with_name(path.name + ".tmp")
    try:
        (write_raw_csv if raw and path.suffix == ".csv" else FORMATS[path.suffix])(aside, rows, model)
        _sync(aside)
        aside.replace(path)
        if sys.platform != "win32":
            _sync(path.parent)  # before the checkpoint is removed
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Write a file or a folder through to the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        case int():
            return str(value)
        case _:
            return encode(converter.unstructure(value)).decode() if value else ""
