"""Difference of two partitions of `Bulk.universe`: what was listed, delisted and changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._decimals import decimal_text
from ..arrow import require, schema_of
from ..errors import ConfigurationError
from .formats import encode
from .universe import KINDS, MANIFEST, PARTITION

if TYPE_CHECKING:
    import pyarrow

COUNTED = frozenset({"days_to_expiration"})
"""Fields that change with every day, at any depth."""

UNDERLYING = {"equity_options": ("underlying_symbol", ""), "future_options": ("product_code", "/")}
"""Column and prefix of the underlyings, as `Bulk.universe` takes them."""

Change = tuple[str, str, str, str | None, str | None, str | None]


def universe_diff(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> pyarrow.Table:
    """Compare two partitions of `Bulk.universe`, row by row and field by field.

    The table has the columns ``kind``, ``symbol``, ``change`` (``listed``, ``delisted`` or ``changed``), ``field``,
    ``before`` and ``after``, all strings, sorted by symbol: one row for each instrument that was listed or delisted,
    and one for each field that changed. Values are written as digits without trailing zeros, ISO 8601, ``true`` or
    ``false``, and JSON for nested ones. Null where there is none. Numbers that are equal are not a change, whatever
    their scale, nor are fields that count the days, such as ``days_to_expiration``. Kinds that one side did not fetch
    are not compared, nor are options of underlyings that it did not fetch or that failed there.

    Args:
        before: partition, or a directory of them whose newest one counts.
        after: likewise.

    Raises:
        ConfigurationError: pyarrow is missing (extra ``arrow``), or there is no partition.
    """
    require("arrow")
    import pyarrow as pa

    one, other = _Partition(before), _Partition(after)
    changes = [change for kind in KINDS if kind in one.counts and kind in other.counts
               for change in _changes(kind, one, other)]  # fmt: skip
    changes.sort(key=lambda change: (change[1], change[0]))  # fields stay in the order of the columns
    names = ("kind", "symbol", "change", "field", "before", "after")
    columns = zip(*changes, strict=True) if changes else [()] * len(names)
    return pa.table([pa.array(column, pa.string()) for column in columns], names=list(names))


class _Partition:
    """Partition of one day, and what its manifest says of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = Path(path)
        if folder.name == PARTITION:
            folder = folder.parent
        if not (folder / PARTITION).exists():
            days = sorted(each.parent for each in folder.glob(f"day=*/{PARTITION}"))
            if not days:
                raise ConfigurationError(f"partition must be one of client.bulk.universe, got {str(path)!r}")
            folder = days[-1]
        manifest = json.loads((folder / MANIFEST).read_text())
        self.counts: dict[str, int] = manifest["counts"]
        self._failed = frozenset(manifest["failed"])
        self._chosen: list[str] | None = manifest["underlyings"]
        self._file = folder / PARTITION

    def fetched(self, underlying: str) -> bool:
        """Return whether the options on an underlying were fetched, if it has any."""
        return underlying not in self._failed and (self._chosen is None or underlying in self._chosen)

    def rows(self, kind: str, other: _Partition) -> pyarrow.Table:
        """Return the rows of a kind, in its columns, without options whose underlying the other did not fetch."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = ["symbol", *(field.name for field in schema_of(KINDS[kind]) if field.name != "symbol")]
        table = pq.read_table(self._file, columns=columns, filters=[("kind", "==", kind)], partitioning=None)  # pyright: ignore[reportArgumentType]
        if kind not in UNDERLYING:
            return table
        name, prefix = UNDERLYING[kind]
        underlyings = table[name].cast(pa.string())
        wanted = {each: other.fetched(f"{prefix}{each}") for each in underlyings.unique().to_pylist()}
        return table.filter(pa.array([wanted[each] for each in underlyings.to_pylist()], pa.bool_()))


def _changes(kind: str, one: _Partition, other: _Partition) -> Iterator[Change]:
    """Yield what was listed, delisted and changed of a kind."""
    import pyarrow as pa

    old, new = one.rows(kind, other), other.rows(kind, one)
    old_rows, new_rows = ({symbol: row for row, symbol in enumerate(each["symbol"].to_pylist())} for each in (old, new))
    yield from ((kind, symbol, "delisted", None, None, None) for symbol in old_rows if symbol not in new_rows)
    yield from ((kind, symbol, "listed", None, None, None) for symbol in new_rows if symbol not in old_rows)
    both = [symbol for symbol in old_rows if symbol in new_rows]
    old, new = (
        each.take(pa.array((rows[symbol] for symbol in both), pa.int64()))
        for each, rows in ((old, old_rows), (new, new_rows))
    )
    for field in old.column_names:
        if field in COUNTED or old[field].equals(new[field]):
            continue
        for symbol, *values in zip(both, old[field].to_pylist(), new[field].to_pylist(), strict=True):
            before, after = map(_comparable, values)
            if before != after:
                yield kind, symbol, "changed", field, before, after


def _comparable(value: Any) -> str | None:
    """Return a value as the table shows it, the same for equal values."""
    match value:
        case None | str():
            return value
        case bool() | dict() | list():
            return encode(_stripped(value)).decode()
        case Decimal():
            digits = decimal_text(value)
            return digits.rstrip("0").rstrip(".") if "." in digits else digits
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _stripped(value: Any) -> Any:
    """Return nested values with plain decimals, and without fields that count the days."""
    match value:
        case dict():
            return {name: _stripped(inner) for name, inner in value.items() if name not in COUNTED}
        case list():
            return [_stripped(inner) for inner in value]
        case Decimal():
            return Decimal(_comparable(value) or 0)
        case _:
            return value
