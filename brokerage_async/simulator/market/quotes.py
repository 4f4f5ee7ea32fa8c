"""Quotes, and the sources that they come from: random walks, and scripted and recorded prices.

Each row of a program, a file or a recording holds until the next one. A random walk has a tape: when quotes and trades
come, their volumes, and bars of them. All are pure functions of seed, symbol and time. The walk is a sum of random
values on grids of 1, 2, 4 ... minutes, each interpolated, with amplitudes that grow with the root of the distance. So
the price of any minute is known without those before it. Within a minute, prices lie between those of its two ends.
Every quote comes with a trade at its price.
"""

from __future__ import annotations

import bisect
import csv
import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf, isfinite, isnan, nan, pi, sin
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import attrs

from ..._generated.models import InstrumentCollection
from ..keyed_random import KeyedRandom, key_of
from .calendar import TradingSession, latest_session

PRICE_LIMIT: int = 10**9
"""Bound of prices."""

_LEAST_PRICE = Decimal("0.0000001")


def next_minute(now: float) -> float:
    return (now // 60 + 1) * 60.0


def check_price(name: str, price: Decimal) -> Decimal:
    """Return a price, or raise ValueError unless it is positive, below 10**9, and not smaller than any tick."""
    if not price.is_finite() or not 0 < price < PRICE_LIMIT:
        raise ValueError(f"{name} must be positive and below {PRICE_LIMIT}, got {price}")
    if price < _LEAST_PRICE:
        raise ValueError(f"{name} must be at least {_LEAST_PRICE:f}, got {price}")
    return price


def number_of(name: str, value: object) -> Decimal:
    """Return a number that a caller gave, or raise ValueError."""
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def amount_of(name: str, value: object) -> Decimal:
    """Return a price or quantity that a caller gave, which have the same bounds. ValueError for other values."""
    number = number_of(name, value)
    if not number.is_finite() or number <= 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return check_price(name, number)


def places_of(level: Decimal) -> int:
    return 2 if level >= 2 else 4 if level >= Decimal("0.1") else 7


@attrs.frozen
class Quote:
    """Market of one instrument from ``since`` (epoch seconds) until the next quote.

    Buyers trade at ``ask`` and sellers at ``bid``, up to ``ask_size`` and ``bid_size``. A size of None has no bound.
    ``last`` is the price of the latest trade, ``volume`` the quantity traded today.
    """

    since: float
    last: Decimal
    bid: Decimal
    ask: Decimal
    bid_size: Decimal | None = None
    ask_size: Decimal | None = None
    volume: Decimal | None = None


@attrs.frozen(kw_only=True, eq=False)
class Listing:
    """Underlying as a price source sees it: its price level at ``start`` (epoch seconds), and random values.

    ``collection`` is its exchange calendar, None for trading around the clock. ``pace`` is the number of its quotes a
    second, and ``liquidity`` its share, up to 1, of the volume of the most liquid ones.
    """

    symbol: str
    level: Decimal
    start: float
    random: KeyedRandom
    collection: InstrumentCollection | None = None
    pace: float = 1 / 60
    liquidity: float = 1.0


class PriceSource(Protocol):
    """Quotes of one underlying as a function of time."""

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote at ``now`` (epoch seconds)."""
        ...

    def next_change(self, listing: Listing, now: float) -> float:
        """Return when the quote of ``now`` is replaced, in epoch seconds after ``now``. Infinity for never."""
        ...


_COLUMNS = ("bid_price", "ask_price", "bid_size", "ask_size", "price", "day_volume")


class _HeldRows:
    """Rows of prices that each hold until the next one. Times count from the start of the simulation, or from 1970."""

    _times: Any
    """A list or an array of numbers, in order."""
    _is_relative = True

    def __len__(self) -> int:
        return len(self._times)

    def _origin(self, listing: Listing) -> float:
        return listing.start if self._is_relative else 0.0

    def _following(self, listing: Listing, now: float) -> int:
        """Return the position of the first row after a time. Sums are compared, so that rounding repeats no row."""
        origin = self._origin(listing)
        return bisect.bisect_right(self._times, now, key=lambda time: origin + time)

    def next_change(self, listing: Listing, now: float) -> float:
        """Return the time of the next row."""
        position = self._following(listing, now)
        return self._origin(listing) + self._times[position] if position < len(self._times) else inf


class RecordedPrices(_HeldRows):
    """Source of the recorded prices of one symbol. Its times are seconds since the start of the simulation."""

    def __init__(self) -> None:
        self._times: array[float] = array("d")
        self._values = tuple(array("d") for _ in _COLUMNS)

    def add(self, at: float, values: dict[str, float | None]) -> None:
        """Add a quote or trade. Values that it lacks stay those before. One of the same time replaces the last."""
        is_new = not self._times or at > self._times[-1]
        for name, column in zip(_COLUMNS, self._values, strict=True):
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
        middle = round(sum(sides) / len(sides), 7) if sides else float(listing.level)
        last = price if 0 < price < PRICE_LIMIT else middle
        if not 0 < bid <= ask < PRICE_LIMIT:  # one side is missing, or they cross: nothing trades but at the last price
            bid = ask = last
        exact: list[Any] = [
            None if isnan(each) else Decimal(int(each) if each.is_integer() else str(each))
            for each in (last, bid, ask, bid_size, ask_size, volume)
        ]
        return Quote(listing.start + self._times[position], *exact)


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
    """Return the prices of the quotes and trades in a directory, in both forms."""
    try:
        import pyarrow as pa
        import pyarrow.compute

        compute: Any = pyarrow.compute  # its functions are made at run time
    except ImportError:
        raise ImportError("a recording needs pyarrow: pip install 'brokerage-async[arrow]'") from None
    from ...arrow.segments import batches_of, recorded_files

    replay = Replay()

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
                    kept = [name for name in ("symbol", "received_at", *_COLUMNS) if name in table.column_names]
                    yield table.select(kept)

    fields = [("symbol", pa.string()), ("received_at", pa.timestamp("us", "UTC"))]
    empty = pa.schema([*fields, *((name, pa.float64()) for name in _COLUMNS)]).empty_table()
    rows = pa.concat_tables([empty, *tables()], promote_options="default")
    # In the order of their arrival, quotes before trades of the same time.
    rows = rows.take(compute.sort_indices(rows, [("received_at", "ascending")]))
    if not rows.num_rows:
        raise ValueError(f"{directory} must have quotes or trades that were recorded, got none")
    first = rows["received_at"][0].as_py()
    replay.start = first
    replay.gaps = sorted(set(replay.gaps), key=itemgetter(1))
    for batch in rows.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            symbol, at = row.pop("symbol"), row.pop("received_at")
            is_trade = row["price"] is not None
            given = {name: row[name] for name in (_COLUMNS[4:] if is_trade else _COLUMNS[:4])}
            if symbol not in replay:
                replay[symbol] = RecordedPrices()
            replay[symbol].add((at - first).total_seconds(), given)
    return replay


_FIELDS = ("time", "price", "bid", "ask", "bid_size", "ask_size", "volume")


class PricePath(_HeldRows):
    """Source of scripted prices.

    Args:
        rows: pairs of time and price, or mappings with ``time``, ``price`` and optionally ``bid``, ``ask``,
            ``bid_size``, ``ask_size`` and ``volume``. A time is an aware datetime, or a number of seconds since the
            start of the simulation. Bid and ask are the price where they are missing, and a size has no bound.

    Raises:
        ValueError: there are no rows, they are not in order of time, or one is not valid.
    """

    def __init__(self, rows: Iterable[tuple[datetime | float, Decimal | int | str] | Mapping[str, Any]]) -> None:
        found = [_row(number, row) for number, row in enumerate(rows, start=1)]
        if not found:
            raise ValueError("a price path must have at least one row")
        self._is_relative = found[0][1]
        if any(is_relative != self._is_relative for _, is_relative in found):
            raise ValueError("times of a price path must be all datetimes or all seconds since the start")
        self._quotes = [quote for quote, _ in found]
        self._times = [quote.since for quote in self._quotes]
        for number, (before, after) in enumerate(pairwise(self._times), start=2):
            if after <= before:
                raise ValueError(f"times of a price path must increase, got row {number} no later than the one before")

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote of the last row that has come. Of the first one before that."""
        quote = self._quotes[max(0, self._following(listing, now) - 1)]
        return attrs.evolve(quote, since=self._origin(listing) + quote.since)


def _row(number: int, row: tuple[Any, Any] | Mapping[str, Any]) -> tuple[Quote, bool]:
    """Return a quote, and whether its time is relative to the start of the simulation."""
    fields: dict[str, Any] = dict(row) if isinstance(row, Mapping) else dict(zip(("time", "price"), row, strict=True))
    unknown = ", ".join(sorted(map(str, set(fields) - set(_FIELDS))))
    if unknown or not {"time", "price"} <= set(fields):
        problem = f"unknown {unknown}" if unknown else "no time or no price"
        raise ValueError(f"row {number} must have the fields {', '.join(sorted(_FIELDS))}, got {problem}")
    time = fields["time"]
    if isinstance(time, datetime) and time.tzinfo is None:
        raise ValueError(f"time of row {number} must have a time zone, got {time}")
    at = time.timestamp() if isinstance(time, datetime) else float(time)
    if not isfinite(at):
        raise ValueError(f"time of row {number} must be finite, got {time}")

    def read(name: str) -> Decimal:
        return number_of(f"{name} of row {number}", fields[name])

    price = check_price(f"price of row {number}", read("price"))
    bid, ask = (
        price if fields.get(name) is None else check_price(f"{name} of row {number}", read(name))
        for name in ("bid", "ask")
    )
    if bid > ask:
        raise ValueError(f"bid of row {number} must not be above the ask, got {bid} and {ask}")
    given = [name for name in ("bid_size", "ask_size", "volume") if fields.get(name) is not None]
    sizes = {name: read(name) for name in given}
    for name, size in sizes.items():
        if not (size.is_finite() and size >= 0):
            raise ValueError(f"{name} of row {number} must be at least 0, got {size}")
    return Quote(since=at, last=price, bid=bid, ask=ask, **sizes), not isinstance(time, datetime)


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


_LEVELS = 14
"""Grids, the last one of about 11 days."""
_BLOCK_LEVEL = 6
_BLOCK = 1 << _BLOCK_LEVEL
"""Minutes whose heights are computed together: the grids from here on are straight lines within them."""
_WALK, _SIZE, _VOLUME, _JITTER, _BRIDGE = range(101, 106)
_MAX_SWING = 0.9
_MAX_MINUTES, _MAX_TICKS = 30, 3_000
_DAY_OF_SIZES = 936
"""Volume of a day of the most liquid symbols, as a multiple of the size of a quote."""
_EXTENDED_PART, _U_SHAPE = 0.04, 0.6
"""Part of the volume before and after regular hours, and how much more is traded at their ends than in the middle."""


@attrs.frozen
class Bar:
    """Trades of a period, their volume, and the ``total`` volume of the session until its end."""

    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    volume: int
    count: int
    total: int

    @staticmethod
    def merged(bars: Iterable[Bar]) -> Bar | None:
        """Return the bar of successive periods, None without one."""
        if not (some := list(bars)):
            return None
        return Bar(
            some[0].open,
            max(each.high for each in some),
            min(each.low for each in some),
            some[-1].close,
            sum(each.volume for each in some),
            sum(each.count for each in some),
            some[-1].total,
        )


def _positive(walk: RandomWalk, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{attribute.name} must be at least 0 and below 1, got {value}")


@attrs.frozen(kw_only=True)
class RandomWalk:
    """Source of prices that change once a minute, or several times a second with ``Simulator(pace=)``.

    They change in the regular and extended hours of the exchange, and are held in between.

    Attributes:
        volatility: typical change within a minute, as a fraction of the price. A day has about 20 times as much.
        spread: distance between bid and ask, as a fraction of the price. At least 2 ticks.
        size: mean number of shares offered and wanted at a time.
        price: price at the start, by default the instrument's.
    """

    volatility: float = attrs.field(default=0.0003, validator=_positive)
    spread: float = attrs.field(default=0.0002, validator=_positive)
    size: int = 5_000
    price: Decimal | None = None

    def quote(self, listing: Listing, now: float) -> Quote:
        """Return the quote of the last tick."""
        return self.tick(listing, now)[0]

    def next_change(self, listing: Listing, now: float) -> float:
        """Return the time of the next tick. After the last one of a session, a day later at most."""
        return self.tick(listing, now)[1]

    def tick(self, listing: Listing, now: float) -> tuple[Quote, float]:
        """Return the quote of the last tick and the time of the next."""
        tape = _tape(self, listing, latest_session(listing.collection, now))
        number = tape.number(now)
        prices, sizes = tape.prices(tape.height(number)), tape.sizes(number)
        quote = Quote(tape.time(number), *prices, *sizes, Decimal(tape.volume(number)))
        if number + 1 < tape.count:
            return quote, tape.time(number + 1)
        following = (now // 900 + 1) * 900.0  # sessions begin and end at quarters of an hour
        while following < now + 86400 and latest_session(listing.collection, following) == tape.session:
            following += 900
        return quote, following

    def trade(self, listing: Listing, now: float) -> int:
        """Return the size of the last trade."""
        tape = _tape(self, listing, latest_session(listing.collection, now))
        number = tape.number(now)
        return tape.volume(number) - tape.volume(number - 1)

    def bar(self, listing: Listing, session: TradingSession, start: float, end: float) -> Bar | None:
        """Return the trades of a session from ``start`` until before ``end``, None without any."""
        tape = _tape(self, listing, session)
        first, last = tape.number_from(start), tape.number_from(end) - 1
        if last < first:
            return None
        low, high = tape.extremes(first, last)
        heights = tape.height(first), high, low, tape.height(last)
        opened, highest, lowest, closed = (tape.prices(each)[0] for each in heights)
        total = tape.volume(last)
        return Bar(opened, highest, lowest, closed, total - tape.volume(first - 1), last - first + 1, total)


class _Tape:
    """Ticks of one session, numbered from 0 at its start. Minutes begin with a tick, others come at random times."""

    def __init__(self, walk: RandomWalk, listing: Listing, session: TradingSession) -> None:
        rate = 60 * listing.pace
        self._ticks = min(max(1, round(rate)), _MAX_TICKS)  # in a minute
        self._minutes = 1 if rate >= 1 else ceil(min(1 / rate, _MAX_MINUTES))  # of a tick
        self._period = 60.0 * self._minutes / self._ticks
        self._first = int(session.start // 60)
        self.session = session
        self.count: int = ceil((session.close_ext - session.start) / self._period - 1e-9)
        key = key_of(listing.symbol)
        self._key, self._random, self._lots = key, listing.random, _lots(walk.size)
        self._sizes = listing.random.under(key, _SIZE)
        self._swing = walk.volatility
        level = listing.level if walk.price is None else walk.price
        self._tick = Decimal(1).scaleb(-places_of(level))
        self._level = float(level / self._tick)
        self._half_spread = Decimal(str(walk.spread)) / 2
        opened = latest_session(listing.collection, listing.start)
        self._origin = self._minute(int(min(listing.start, opened.close_ext - 1) // 60))
        pace = listing.random.between(0.5, 1.5, key, _VOLUME, session.day.toordinal())
        self._volume = walk.size * _DAY_OF_SIZES * listing.liquidity * pace

    def number(self, now: float) -> int:
        """Return the last tick that has come."""
        number = min(int((now - self.session.start) // self._period), self.count - 1)
        if self._ticks == 1:
            return number
        if number > 0 and self.time(number) > now:
            number -= 1
        while number + 1 < self.count and self.time(number + 1) <= now:
            number += 1
        return number

    def number_from(self, at: float) -> int:
        """Return the first tick from a time on."""
        if at <= self.session.start:
            return 0
        number = self.number(at)
        return number + (self.time(number) < at)

    def time(self, number: int) -> float:
        part = 0.0
        if number % self._ticks:
            part = self._random.between(0.0, 0.9, self._key, _JITTER, self._first, number)
        return self.session.start + self._period * (number + part)

    def sizes(self, number: int) -> tuple[Decimal, Decimal]:
        minute, within = divmod(number, self._ticks)
        bits = self._sizes.bits(self._first + minute * self._minutes, within)
        return self._lots[bits & 255], self._lots[bits >> 8 & 255]

    def volume(self, number: int) -> int:
        """Return the volume of the session until after a tick. Each trades one share or contract at least."""
        if number < 0:
            return 0
        session = self.session
        end = min(session.close_ext, session.start + self._period * (number + 1))
        before = _EXTENDED_PART if session.open > session.start else 0.0
        after = _EXTENDED_PART if session.close_ext > session.close else 0.0
        done = min(1.0, max(0.0, (end - session.open) / (session.close - session.open)))
        part = (1 - before - after) * (done + _U_SHAPE * sin(2 * pi * done) / (2 * pi))
        if before:
            part += before * min(1.0, (end - session.start) / (session.open - session.start))
        if after and end > session.close:
            part += after * (end - session.close) / (session.close_ext - session.close)
        return int(self._volume * part) + number + 1

    def prices(self, height: float) -> tuple[Decimal, Decimal, Decimal]:
        swing = max(-_MAX_SWING, self._swing * (height - self._origin))
        ticks = max(2, round(self._level * (1 + swing)))
        last = self._tick * ticks
        half = max(self._tick, (last * self._half_spread).quantize(self._tick))
        return last, last - half, last + half

    def height(self, number: int) -> float:
        """Return the height of the walk at a tick: in a minute with several, they lead from its begin to its end."""
        minute, within = divmod(number, self._ticks)
        minute = self._first + minute * self._minutes
        begin = self._minute(minute)
        if not within:
            return begin
        done = within / (self._ticks - 1)
        noise = self._random.between(-2.0, 2.0, self._key, _BRIDGE, minute, within) * done * (1 - done)
        return begin + (self._minute(minute + 1) - begin) * min(1.0, max(0.0, done + noise))

    def extremes(self, first: int, last: int) -> tuple[float, float]:
        """Return the lowest and highest height of some ticks. Of a whole minute, they are at its begin and end."""
        begin = min(last + 1, -(-first // self._ticks) * self._ticks)
        end = max(begin, (last + 1) // self._ticks * self._ticks)
        heights = [self.height(number) for number in (*range(first, begin), *range(end, last + 1))]
        if end > begin:
            minutes = range(begin // self._ticks, end // self._ticks + (self._ticks > 1))
            heights += [self._minute(self._first + minute * self._minutes) for minute in minutes]
        return min(heights), max(heights)

    def _minute(self, minute: int) -> float:
        return _heights(self._random, self._key, minute >> _BLOCK_LEVEL)[minute % _BLOCK]


_tape = lru_cache(maxsize=4096)(_Tape)


@lru_cache(maxsize=64)
def _lots(size: int) -> list[Decimal]:
    """Return sizes from a fifth to nine fifths of their mean, in lots of 100."""
    return [Decimal(max(1, round(size * (0.2 + 1.6 * part / 256) / 100)) * 100) for part in range(256)]


@lru_cache(maxsize=2048)  # of 2 KB each, four times as many as the symbols of a large program
def _heights(random: KeyedRandom, key: int, block: int) -> tuple[float, ...]:
    """Return the heights of the minutes of a block, in units of the volatility."""
    first = block << _BLOCK_LEVEL
    base = slope = 0.0
    heights = [0.0] * _BLOCK
    for level, grid in enumerate(_grids(random, key)):
        length, scale = 1 << level, 2.0 ** (level / 2)
        cell, within = divmod(first, length)
        values = [(2 * unit - 1) * scale for unit in grid.units(cell, max(_BLOCK // length, 1) + 1)]
        if level >= _BLOCK_LEVEL:
            step = (values[1] - values[0]) / length
            base, slope = base + values[0] + step * within, slope + step
            continue
        parts = [part / length for part in range(length)]
        added = [left + (right - left) * part for left, right in pairwise(values) for part in parts]
        heights = [height + more for height, more in zip(heights, added, strict=True)]
    return tuple(base + slope * minute + height for minute, height in enumerate(heights))


@lru_cache(maxsize=4096)
def _grids(random: KeyedRandom, key: int) -> list[KeyedRandom]:
    return [random.under(key, _WALK, level) for level in range(_LEVELS)]
