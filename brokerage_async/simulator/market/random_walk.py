"""Random walk of prices with its tape: when quotes and trades come, their volumes, and bars of them.

All are pure functions of seed, symbol and time. The walk is a sum of random values on grids of 1, 2, 4 ... minutes,
each interpolated, with amplitudes that grow with the root of the distance. So the price of any minute is known without
those before it. Within a minute, prices lie between those of its two ends. Every quote comes with a trade at its price.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from math import ceil, pi, sin

import attrs

from ..keyed_random import KeyedRandom, key_of
from .calendar import TradingSession, latest_session
from .quotes import Listing, Quote, places_of

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
