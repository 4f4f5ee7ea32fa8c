"""Simulated market prices.

Every underlying has a source of quotes, by default a random walk, unless ``set_price`` holds its price. Options follow
their underlying by `option_pricing`. All prices are functions of seed, sources and time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import attrs

from ..clock import Signal
from ..keyed_random import KeyedRandom, key_of
from .calendar import TradingSession, latest_session
from .catalogue import CRYPTOCURRENCIES, KNOWN_EQUITIES, Catalogue, quarterly_dividend
from .instrument import Instrument, collection_of, product_of
from .option_pricing import YEAR, Surface, Theory, price_of, theory_of
from .quotes import Bar, Listing, PriceSource, Quote, RandomWalk, check_price, next_minute, places_of

PRICE_INTERVAL: float = 60.0
"""Seconds between two changes of a random walk without a pace, and of the time that is left of options."""

LIVELY: float = 4.0
"""Quotes a second of the most liquid symbols over a socket. Without a pace, no symbol has more than one a minute."""

_DEFAULT = RandomWalk()
_HALF_SPREAD = Decimal("0.0001")
_OPTION_LOTS = 20
"""Shares at the market of an underlying for each option contract at that of its options."""
_CACHE_SIZE = 4096
_FINE = Decimal("0.00000001")
_FAR, _NEAR, _LIQUIDITY = 121, 122, 123
_INSTANT = 5e-7
_SAMPLES = 60
"""Prices of a bar at most, where they are not a random walk's."""


class Prices:
    """Market prices of underlyings and options."""

    def __init__(self, catalogue: Catalogue, random: KeyedRandom) -> None:
        self._catalogue = catalogue
        self._random = random
        self._listing = lru_cache(_CACHE_SIZE)(self._make_listing)
        self._sources: dict[str, PriceSource] = {}
        self._held: dict[str, list[tuple[float, Quote | None]]] = {}
        self._latest: dict[str, tuple[Quote, float]] = {}
        self._bars: dict[tuple[str, float, float], Bar | None] = {}
        self.pace: float = 0.0
        self.surface: Callable[[str], Surface] = cache(self._make_surface)
        self.on_price: Signal[str, float] = Signal()
        self._live: dict[str, Quote] = {}
        self.silence: str = ""
        """Why a live source shows no prices now. Empty if it does."""
        self.version: int = 0
        """Number of times a price, source or pace was set."""

    def set_price(self, symbol: str, price: Decimal, now: float) -> None:
        """Set and hold the price of an equity, future or cryptocurrency. Any quantity trades at it."""
        check_price("price", price)
        tick = Decimal(1).scaleb(-places_of(price))
        half = max(tick, (price * _HALF_SPREAD).quantize(tick))
        quote = Quote(since=now, last=price, bid=price - half if price > half else price, ask=price + half)
        self._held.setdefault(symbol, []).append((now, quote))
        self._changed(symbol, now)

    def release(self, symbol: str, now: float) -> None:
        if self._held_quote(symbol, now) is not None:
            self._held[symbol].append((now, None))
            self._changed(symbol, now)

    def set_source(self, symbol: str, source: PriceSource, now: float) -> None:
        self._sources[symbol] = source
        self._latest.pop(symbol, None)
        self._bars.clear()
        if symbol in self._held:
            self._held[symbol].append((now, None))
        self._changed(symbol, now)

    def take(self, quotes: Mapping[str, Quote], silence: str, now: float) -> None:
        """Take the quotes that a live source shows, of options, too. While it is silent, nothing trades at any."""
        self._live |= quotes
        self.silence = silence
        if silence:
            none: dict[str, Any] = {"bid_size": Decimal(0), "ask_size": Decimal(0)}
            self._live = {symbol: attrs.evolve(quote, **none) for symbol, quote in self._live.items()}
        for symbol in quotes:
            self._changed(symbol, now)

    def set_pace(self, pace: float) -> None:
        """Let the most liquid underlyings have so many quotes a second. 0: none has more than one a minute."""
        self.pace = pace
        self.version += 1
        self._listing.cache_clear()
        self._latest.clear()
        self._bars.clear()

    def _changed(self, symbol: str, now: float) -> None:
        self.version += 1
        self.on_price.emit(symbol, now)

    def _held_quote(self, symbol: str, now: float) -> Quote | None:
        """Return the held quote of a time, None where the source is followed."""
        for since, quote in reversed(self._held.get(symbol, ())):
            if since <= now:
                return quote
        return None

    @property
    def held(self) -> dict[str, Decimal]:
        latest = {symbol: quotes[-1][1] for symbol, quotes in self._held.items()}
        return {symbol: quote.last for symbol, quote in latest.items() if quote is not None}

    def is_known(self, symbol: str) -> bool:
        """Return whether an underlying is listed, rather than priced by its name alone."""
        return symbol in self._live if self._catalogue.is_live else self._catalogue.price_level(symbol) is not None

    def underlying_quote(self, symbol: str, now: float) -> Quote:
        held = self._held_quote(symbol, now)
        if held is not None:
            return held
        if self._catalogue.is_live:
            if symbol not in self._live:
                raise LookupError(f"{symbol} has no price yet")
            return self._live[symbol]
        source = self._sources.get(symbol, _DEFAULT)
        if isinstance(source, RandomWalk):
            return self._tick(symbol, source, now)[0]
        return source.quote(self._listing(symbol), now)

    def _tick(self, symbol: str, walk: RandomWalk, now: float) -> tuple[Quote, float]:
        """Return the quote of the last tick and the time of the next, kept until then."""
        latest = self._latest.get(symbol)
        if latest is None or not latest[0].since <= now < latest[1]:
            if len(self._latest) >= _CACHE_SIZE:
                self._latest.clear()
            latest = self._latest[symbol] = walk.tick(self._listing(symbol), now)
        return latest

    def next_change(self, symbol: str, now: float) -> float:
        """Return when the price of an underlying may next change, unless it is set. At most a day later."""
        if self._held_quote(symbol, now) is not None:
            return next_minute(now)
        if self._catalogue.is_live:
            return now + 86400.0
        source = self._sources.get(symbol, _DEFAULT)
        if isinstance(source, RandomWalk):
            return min(self._tick(symbol, source, now)[1], now + 86400.0)
        return min(source.next_change(self._listing(symbol), now), now + 86400.0)

    def stamp(self, now: float) -> tuple[int, float]:
        """Return a value that differs between two times unless all prices are the same."""
        return self.version, now if self._sources or self.pace else now // PRICE_INTERVAL

    def session(self, symbol: str, now: float) -> TradingSession:
        """Return the session of an underlying that is under way, extended hours included, else the last one."""
        return latest_session(self._listing(symbol).collection, now)

    def traded(self, instrument: Instrument, now: float) -> tuple[int, int]:
        """Return the size of the last trade, and the volume of the session. Options trade with their underlying."""
        symbol = instrument.underlying
        source, listing = self._sources.get(symbol, _DEFAULT), self._listing(symbol)
        walk = source if isinstance(source, RandomWalk) else _DEFAULT
        volume = source.quote(listing, now).volume
        size, total = walk.trade(listing, now), int(walk.quote(listing, now).volume or 0 if volume is None else volume)
        if instrument.is_option:
            return total // _OPTION_LOTS - (total - size) // _OPTION_LOTS, total // _OPTION_LOTS
        return size, total

    def bar(self, instrument: Instrument, session: TradingSession, start: float, end: float) -> Bar | None:
        """Return the trades in a part of a session that has passed, None without any."""
        bar = self._underlying_bar(instrument.underlying, session, start, end)
        if bar is None or not instrument.is_option:
            return bar
        if start >= (instrument.expires_at or end):
            return None
        spots = (start, bar.open), (start, bar.high), (start, bar.low), (end, bar.close)
        found = [_last(instrument, at, *self._around(instrument, at, float(spot))) for at, spot in spots]
        total = bar.total // _OPTION_LOTS
        volume = total - (bar.total - bar.volume) // _OPTION_LOTS
        return Bar(found[0], max(found), min(found), found[-1], volume, min(volume, bar.count), total)

    def _underlying_bar(self, symbol: str, session: TradingSession, start: float, end: float) -> Bar | None:
        key = symbol, start, end
        if key in self._bars:
            return self._bars[key]
        source, listing = self._sources.get(symbol, _DEFAULT), self._listing(symbol)
        walk = source if isinstance(source, RandomWalk) else _DEFAULT
        bar = walk.bar(listing, session, start, end)
        held = self._held.get(symbol)
        if bar is not None and (walk is not source or (held and end > held[0][0])):  # sampled, as it is no walk's
            step = max(1.0, (end - start) / _SAMPLES)
            times = [start, *(start + step * n for n in range(1, int((end - start) / step))), end - _INSTANT]
            prices = [self.underlying_price(symbol, at) for at in times]
            bar = attrs.evolve(bar, open=prices[0], high=max(prices), low=min(prices), close=prices[-1])
        if end in (session.close, session.close_ext):
            if len(self._bars) >= _CACHE_SIZE:
                self._bars.clear()
            self._bars[key] = bar
        return bar

    def underlying_price(self, symbol: str, now: float) -> Decimal:
        return self.underlying_quote(symbol, now).last

    def price(self, instrument: Instrument, now: float) -> Decimal:
        """Return the last price of an instrument, per share or per unit of the underlying."""
        if instrument.strike is None:
            return self.underlying_price(instrument.underlying, now)
        if instrument.symbol in self._live:
            return self._live[instrument.symbol].last
        return _last(instrument, now, *self._around(instrument, now))

    def theory(self, instrument: Instrument, now: float) -> Theory:
        """Return the theoretical value of an option and its greeks. Time passes by the minute, as prices do."""
        return theory_of(self.surface(instrument.underlying), *self._terms(instrument, now), is_call=instrument.is_call)

    def _make_surface(self, symbol: str) -> Surface:
        equity = None if product_of(symbol) else self._catalogue.equity(symbol)
        low, high = (0.22, 0.5) if equity is not None and not (equity.is_etf or equity.is_index) else (0.13, 0.22)
        far = self._random.between(low, high, key_of(symbol), _FAR)
        near = far * self._random.between(0.85, 1.15, key_of(symbol), _NEAR)
        paid = None  # a future has no dividend
        if equity is not None and equity.price:
            paid = float(4 * quarterly_dividend(equity, self._random) / equity.price)
        return Surface(near, far, paid)

    def _terms(self, instrument: Instrument, now: float) -> tuple[float, float, float]:
        left = max(0.0, (instrument.expires_at or now) - now // PRICE_INTERVAL * PRICE_INTERVAL)
        spot = self.underlying_price(instrument.underlying, now)
        return float(spot), float(instrument.strike or 0), left / YEAR

    def _around(self, instrument: Instrument, now: float, spot: float = 0.0) -> tuple[Decimal, Decimal, Decimal]:
        """Return the prices on ticks below and above the value of an option, and the value."""
        present, strike, years = self._terms(instrument, now)
        surface = self.surface(instrument.underlying)
        value = price_of(surface, spot or present, strike, years, is_call=instrument.is_call)
        worth = Decimal(value).quantize(_FINE)
        tick = instrument.tick_at(worth)
        bid = worth // tick * tick
        return bid, bid + tick, worth

    def intrinsic(self, instrument: Instrument, now: float) -> Decimal:
        """Return the value of an option at its expiration, per unit of the underlying; 0 out of the money."""
        spot, strike = self.underlying_price(instrument.underlying, now), instrument.strike or Decimal(0)
        return max(Decimal(0), spot - strike if instrument.is_call else strike - spot)

    def market(self, instrument: Instrument, now: float) -> Quote:
        """Return the quote of an instrument: of an option, the ticks below and above its theoretical value."""
        if instrument.symbol in self._live:
            return self._live[instrument.symbol]
        quote = self.underlying_quote(instrument.underlying, now)
        if not instrument.is_option and (not instrument.is_future or instrument.underlying in self._sources):
            return quote
        if instrument.is_future:
            half = max(instrument.tick, quote.ask - quote.last)
            return attrs.evolve(quote, bid=quote.last - half, ask=quote.last + half)
        bid, ask, worth = self._around(instrument, now)
        last = _last(instrument, now, bid, ask, worth)
        return Quote(quote.since, last, bid, ask, _contracts(quote.bid_size), _contracts(quote.ask_size))

    def trade_price(self, instrument: Instrument, now: float, *, buys: bool) -> Decimal:
        """Return the execution price of an order: ask or bid, or the held price itself."""
        if self._held_quote(instrument.underlying, now) is not None:
            return self.price(instrument, now)
        quote = self.market(instrument, now)
        return quote.ask if buys or not quote.bid else quote.bid

    def _make_listing(self, symbol: str) -> Listing:
        # Of two listed equities one is a hundred times as liquid as the other, or more. Well-known ones are liquid.
        known = product_of(symbol) or symbol in CRYPTOCURRENCIES or symbol in KNOWN_EQUITIES
        decades = 0.3 if known else 4
        liquidity = 10 ** -self._random.between(0, decades, key_of(symbol), _LIQUIDITY)
        level = self._catalogue.price_level(symbol)
        return Listing(
            symbol=symbol,
            level=Decimal(10 + key_of(symbol) % 90) if level is None else level,
            start=self._catalogue.opened,
            random=self._random,
            collection=collection_of(symbol),
            pace=self.pace * liquidity or min(1 / PRICE_INTERVAL, LIVELY * liquidity),
            liquidity=liquidity,
        )


def _last(instrument: Instrument, now: float, bid: Decimal, ask: Decimal, worth: Decimal) -> Decimal:
    """Return the tick nearest to the value of an option; before its expiration at least one."""
    nearest = ask if worth - bid > ask - worth else bid
    return nearest if now >= (instrument.expires_at or now) else nearest or ask


def _contracts(shares: Decimal | None) -> Decimal | None:
    return None if shares is None else max(Decimal(1), shares // _OPTION_LOTS)
