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
from typing import TYPE_CHECKING, Any, TextIO

import attrs
import msgspec

from .._decimals import Decimals, decimal_text
from ..arrow import schema_of, to_arrow
from ..arrow import write_parquet as write_tables
from ..errors import ConfigurationError
from ..models import converter

if TYPE_CHECKING:
    import pyarrow

Rows = Callable[[], Iterable[tuple[str | None, Any]]]
"""Returns key and row (as JSON values) of all results in order, at each call. The key is None if none was requested."""

GROUP = 10_000
"""Rows per group of a Parquet file, and rows held in memory."""

encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode


@attrs.frozen(kw_only=True)
class Style:
    """Choices of the caller.

    Attributes:
        raw: leave strings in CSV unmarked, also those that a spreadsheet would run as formulas.
        decimals: how Parquet holds decimals.
        keyed: begin each row with its ``key``.
    """

    raw: bool = False
    decimals: Decimals = "exact"
    keyed: bool = True


def write_jsonl(path: Path, rows: Rows, model: type[Any], style: Style) -> None:
    """Write each row as a JSON object in the form of the wire, with ``key`` before its fields."""
    with path.open("wb") as file:
        for key, row in rows():
            keyed = {"key": key} | row | {"key": key} if style.keyed else row
            file.write(encode(keyed) + b"\n")


FORMULA_OPENERS = tuple("=+-@\t\r\n＝＋－＠'")
"""Beginnings of a cell that a spreadsheet may run as a formula, and the quote, so that marking can be undone."""


def mark_formula(cell: str) -> str:
    """Put a quote before a string that a spreadsheet would run. Remove one leading quote to get the string back."""
    return f"'{cell}" if cell.startswith(FORMULA_OPENERS) else str(cell)


class _UnixLines:
    """File whose lines end in LF, whatever terminator they are written with."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def write_csv(path: Path, rows: Rows, model: type[Any], style: Style) -> None:
    """Write ``key`` and the fields of the model, with strings marked that a spreadsheet would run as formulas."""
    write_str = str if style.raw else mark_formula
    names = [field.name for field in attrs.fields(model)]
    with path.open("w", newline="", encoding="utf-8") as file:
        # csv quotes only line breaks that occur in its terminator: a bare CR would begin a new row.
        writer = csv.writer(_UnixLines(file), lineterminator="\r\n")
        writer.writerow(["key", *names] if style.keyed else names)
        for key, row in rows():
            item = converter.structure(row, model)
            cells = [*([key] if style.keyed else []), *(getattr(item, name) for name in names)]
            writer.writerow([write_str(cell) if isinstance(cell, str) else _cell(cell) for cell in cells])


def write_parquet(path: Path, rows: Rows, model: type[Any], style: Style) -> None:
    """Write ``key`` and the fields of the model, typed. Needs pyarrow.

    Raises:
        ConfigurationError: a number is too large for any column.
    """

    def tables() -> Iterator[pyarrow.Table]:
        rest = iter(rows())
        while group := list(islice(rest, GROUP)):
            keys, raw = zip(*group, strict=True)
            items = converter.structure(list(raw), list[model])  # type: ignore[valid-type]
            yield to_arrow(items, model, keys=list(keys) if style.keyed else None, decimals=style.decimals)

    write_tables(path, schema_of(model, key=style.keyed, decimals=style.decimals), tables(), tables())


FORMATS: Mapping[str, Callable[[Path, Rows, type[Any], Style], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def put_in_place(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a file, and put it in place. A reader sees the old file or the whole new one.

    Raises:
        ConfigurationError: the file cannot be written, or its format cannot hold a value. The old file is kept.
    """
    aside = path.with_name(f".{path.name}.tmp")
    try:
        write(aside)
        replace_durably(path, aside)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)


def replace_durably(path: Path, aside: Path) -> None:
    """Rename ``aside`` to ``path``, through to the disk."""
    if aside.is_file():
        _sync(aside)
    aside.replace(path)
    if sys.platform != "win32":
        _sync(path.parent)  # before what it was made from is removed


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
