"""Recorded prices: the quotes and trades of a recording, each held until the next one."""

from __future__ import annotations

import bisect
import json
from array import array
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from math import inf, isnan, nan
from operator import itemgetter
from pathlib import Path
from typing import Any

from .quotes import PRICE_LIMIT, Listing, Quote

__all__ = ["RecordedPrices", "Replay", "read_recording"]

_FIELDS = ("bid_price", "ask_price", "bid_size", "ask_size", "price", "day_volume")


class RecordedPrices:
    """Source of the recorded prices of one symbol. Its times are seconds since the start of the simulation."""

    def __init__(self) -> None:
        self._times = array("d")
        self._values = tuple(array("d") for _ in _FIELDS)

    def __len__(self) -> int:
        return len(self._times)

    def add(self, at: float, values: dict[str, float | None]) -> None:
        """Add a quote or trade. Values that it lacks stay those before. One of the same time replaces the last."""
        is_new = not self._times or at > self._times[-1]
        for name, column in zip(_FIELDS, self._values, strict=True):
            if is_new:
                column.append(column[-1] if column else nan)
            if name in values:
                column[-1] = nan if values[name] is None else float(values[name] or 0)
        if is_new:
            self._times.append(at)

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote of the last row that has come. Of the first one before that."""
        position = max(0, self._following(listing, now) - 1)
        bid, ask, bid_size, ask_size, price, volume = (column[position] for column in self._values)
        sides = [side for side in (bid, ask) if 0 < side < PRICE_LIMIT]
        last = (
            price if 0 < price < PRICE_LIMIT else round(sum(sides) / len(sides), 7) if sides else float(listing.level)
        )
        if not 0 < bid <= ask < PRICE_LIMIT:  # one side is missing, or they cross: nothing trades but at the last price
            bid = ask = last
        return Quote(
            since=listing.start + self._times[position],
            last=_decimal(last),
            bid=_decimal(bid),
            ask=_decimal(ask),
            bid_size=None if isnan(bid_size) else _decimal(bid_size),
            ask_size=None if isnan(ask_size) else _decimal(ask_size),
            volume=None if isnan(volume) else _decimal(volume),
        )

    def next_change(self, listing: Listing, now: float) -> float:
        """Return the time of the next row."""
        position = self._following(listing, now)
        return listing.start + self._times[position] if position < len(self._times) else inf

    def _following(self, listing: Listing, now: float) -> int:
        """Return the position of the first row after a time. Sums are compared, so that rounding repeats no row."""
        return bisect.bisect_right(self._times, now, key=lambda time: listing.start + time)


def _decimal(value: float) -> Decimal:
    return Decimal(int(value)) if value.is_integer() else Decimal(str(value))


class Replay(dict[str, RecordedPrices]):
    """Recorded prices by symbol, for ``Simulator(prices=...)``.

    Attributes:
        start: when the first row was received. The simulation starts there: ``run(..., start=replay.start)``.
        gaps: begin and end of each time in which prices may be missing, and the last ones are held. A begin of None
            is not known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.start: datetime | None = None
        self.gaps: list[tuple[datetime | None, datetime]] = []


def read_recording(directory: Path) -> Replay:
    """Return the prices of the quotes and trades in a directory, in both forms.

    Raises:
        ValueError: there are none.
        ImportError: pyarrow is missing.
    """
    replay = Replay()
    rows = _rows(directory, replay)
    if not rows.num_rows:
        raise ValueError(f"{directory} must have quotes or trades that were recorded, got none")
    first = rows["received_at"][0].as_py()
    replay.start = first
    replay.gaps = sorted(set(replay.gaps), key=itemgetter(1))
    for batch in rows.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            symbol, at = row.pop("symbol"), row.pop("received_at")
            is_trade = row["price"] is not None
            given = {name: row[name] for name in (_FIELDS[4:] if is_trade else _FIELDS[:4])}
            if symbol not in replay:
                replay[symbol] = RecordedPrices()
            replay[symbol].add((at - first).total_seconds(), given)
    return replay


def _rows(directory: Path, replay: Replay) -> Any:
    """Return all rows in the order of their arrival, quotes before trades of the same time, and collect the gaps."""
    try:
        import pyarrow as pa
        import pyarrow.compute

        compute: Any = pyarrow.compute  # its functions are made at run time
    except ImportError:
        raise ImportError("a recording needs pyarrow: pip install 'brokerage-async[arrow]'") from None
    from ...arrow.segments import batches_of, recorded_files

    def tables() -> Iterator[pa.Table]:
        for path in recorded_files(directory):
            if path.name.startswith(("Quote-", "Trade-")):
                for batch, gaps in batches_of(path):
                    for gap in gaps:
                        since = gap["since"] and datetime.fromisoformat(gap["since"])
                        replay.gaps.append((since, datetime.fromisoformat(gap["at"])))
                    names = json.loads((batch.schema.metadata or {}).get(b"symbols", b"{}"))
                    streamer = batch.column("event_symbol").to_pylist()
                    symbols = pa.array([names.get(name, name) for name in streamer], pa.string())
                    table = pa.Table.from_batches([batch]).append_column("symbol", symbols)
                    kept = [name for name in ("symbol", "received_at", *_FIELDS) if name in table.column_names]
                    yield table.select(kept)

    empty = pa.schema(
        [
            ("symbol", pa.string()),
            ("received_at", pa.timestamp("us", "UTC")),
            *((name, pa.float64()) for name in _FIELDS),
        ]
    )
    table = pa.concat_tables([empty.empty_table(), *tables()], promote_options="default")
    return table.take(compute.sort_indices(table, [("received_at", "ascending")]))
