"""Scripted prices: each row, of a program or a file, holds until the next one."""

from __future__ import annotations

import bisect
import csv
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import attrs

from .quotes import Listing, Quote, check_price
from .recorded import read_recording

_FIELDS = ("time", "price", "bid", "ask", "bid_size", "ask_size", "volume")


@attrs.frozen
class _Row:
    """One row; ``at`` is in seconds from the start of the simulation, or in epoch seconds."""

    at: float
    quote: Quote
    is_relative: bool


class PricePath:
    """Source of scripted prices.

    Args:
        rows: pairs of time and price, or mappings with ``time``, ``price`` and optionally ``bid``, ``ask``,
            ``bid_size``, ``ask_size`` and ``volume``. A time is an aware datetime, or a number of seconds since the
            start of the simulation. Bid and ask are the price where they are missing, and a size has no bound.

    Raises:
        ValueError: there are no rows, they are not in order of time, or one is not valid.
    """

    def __init__(self, rows: Iterable[tuple[datetime | float, Decimal | int | str] | Mapping[str, Any]]) -> None:
        self._rows = [_row(number, row) for number, row in enumerate(rows, start=1)]
        if not self._rows:
            raise ValueError("a price path must have at least one row")
        if len({row.is_relative for row in self._rows}) > 1:
            raise ValueError("times of a price path must be all datetimes or all seconds since the start")
        for number, (before, after) in enumerate(pairwise(self._rows), start=2):
            if after.at <= before.at:
                raise ValueError(f"times of a price path must increase, got row {number} no later than the one before")
        self._times = [row.at for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote of the last row that has come. Of the first one before that."""
        origin = self._origin(listing)
        position = max(0, bisect.bisect_right(self._times, now - origin) - 1)
        row = self._rows[position]
        return attrs.evolve(row.quote, since=row.at + origin)

    def next_change(self, listing: Listing, now: float) -> float:
        """Return the time of the next row."""
        origin = self._origin(listing)
        position = bisect.bisect_right(self._times, now - origin)
        return self._times[position] + origin if position < len(self._times) else inf

    def _origin(self, listing: Listing) -> float:
        return listing.start if self._rows[0].is_relative else 0.0


def _row(number: int, row: tuple[Any, Any] | Mapping[str, Any]) -> _Row:
    fields: dict[str, Any] = dict(row) if isinstance(row, Mapping) else dict(zip(("time", "price"), row, strict=True))
    unknown = ", ".join(sorted(map(str, set(fields) - set(_FIELDS))))
    if unknown or not {"time", "price"} <= set(fields):
        problem = f"unknown {unknown}" if unknown else "no time or no price"
        raise ValueError(f"row {number} must have the fields {', '.join(sorted(_FIELDS))}, got {problem}")
    time = fields["time"]
    if isinstance(time, datetime) and time.tzinfo is None:
        raise ValueError(f"time of row {number} must have a time zone, got {time}")
    at = time.timestamp() if isinstance(time, datetime) else float(time)
    price = _price(number, "price", fields["price"])
    bid, ask = (price if fields.get(name) is None else _price(number, name, fields[name]) for name in ("bid", "ask"))
    if bid > ask:
        raise ValueError(f"bid of row {number} must not be above the ask, got {bid} and {ask}")
    given = [name for name in ("bid_size", "ask_size", "volume") if fields.get(name) is not None]
    sizes = {name: _decimal(number, name, fields[name]) for name in given}
    for name, size in sizes.items():
        if not (size.is_finite() and size >= 0):
            raise ValueError(f"{name} of row {number} must be at least 0, got {size}")
    return _Row(at, Quote(since=at, last=price, bid=bid, ask=ask, **sizes), not isinstance(time, datetime))


def _price(number: int, name: str, value: object) -> Decimal:
    return check_price(f"{name} of row {number}", _decimal(number, name, value))


def _decimal(number: int, name: str, value: object) -> Decimal:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} of row {number} must be a number, got {value!r}") from None


def read_prices(path: str | os.PathLike[str]) -> Any:
    """Return the rows of a file as a `PricePath`, or the prices of a recording as a `Replay`.

    A directory that ``client.stream.record`` wrote is a recording: ``Simulator(prices=read_prices(directory))`` replays
    its quotes and trades, from the start of the simulation on, in the pace of their arrival. Segments and Parquet files
    count alike.

    The columns are ``time`` and ``price``, and optionally ``bid``, ``ask``, ``bid_size``, ``ask_size`` and ``volume``.
    Others are ignored. A time is in ISO 8601 with a zone, in Parquet also a timestamp (UTC if it has no zone).

    Args:
        path: a file whose name ends in ``.csv`` or ``.parquet``, or a directory.

    Raises:
        ValueError: the file has another name, a row is not valid, or the directory has no quotes and trades.
        ImportError: pyarrow is needed for Parquet: ``pip install 'brokerage-async[arrow]'``.
    """
    file = Path(path)
    if file.is_dir():
        return read_recording(file)
    match file.suffix.lower():
        case ".csv":
            with file.open(encoding="utf-8-sig", newline="") as lines:
                rows = [_known(row) for row in csv.DictReader(lines)]
        case ".parquet":
            try:
                import pyarrow.parquet as parquet
            except ImportError:
                raise ImportError("Parquet needs pyarrow: pip install 'brokerage-async[arrow]'") from None
            rows = [_known(row) for row in parquet.read_table(file).to_pylist()]
        case suffix:
            raise ValueError(f"prices must be in a .csv or .parquet file, got {suffix or 'no suffix'}: {file.name}")
    try:
        return PricePath(rows)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known columns that have a value."""
    found = {name: row[name] for name in _FIELDS if row.get(name) not in (None, "")}
    time = found.get("time")
    if isinstance(time, str):
        try:
            found["time"] = datetime.fromisoformat(time)
        except ValueError:
            raise ValueError(f"time must be in ISO 8601 with a zone, got {time!r}") from None
    elif isinstance(time, datetime) and time.tzinfo is None:
        found["time"] = time.replace(tzinfo=UTC)
    return found
